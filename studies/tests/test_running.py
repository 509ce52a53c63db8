"""The runner: resumed, shared, spread and killed, the tables are the same."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest
from studies.tests.test_worker_start import alive
from studies.tests.toy import Broken, Deadly, Toy, computed

import hedgerow
import hedgerow_studies
from hedgerow.data.table_writing import write_table
from hedgerow_studies import running, versions
from hedgerow_studies.cells import Cells
from hedgerow_studies.paper.catalogue import catalogue
from hedgerow_studies.paper.study import run, seconds
from hedgerow_studies.running import Engine


def table_bytes(rows, folder):
    """What is written to disk for these rows."""
    path = folder / "data.parquet"
    write_table(pd.DataFrame(rows), path)
    return path.read_bytes()


@pytest.fixture
def toy(tmp_path):
    return Toy("toy", log=str(tmp_path / "log.txt"))


@pytest.fixture
def whole(tmp_path):
    """The bytes of an undisturbed run's table."""
    folder = tmp_path / "undisturbed"
    rows = run([Toy("toy")], "tiny", folder)["toy"]
    return table_bytes(rows, folder)


@pytest.fixture
def from_the_first(monkeypatch):
    """Runs begin with the first cell that is missing."""
    monkeypatch.setattr(running, "_shuffled", list)


# --------------------------------------------------------------------------- what is computed


def test_rows_are_complete_and_in_order(toy, tmp_path):
    rows = run([toy], "tiny", tmp_path / "out")["toy"]
    assert [row["seed"] for row in rows] == list(np.repeat(range(12), 3))
    draw = np.random.default_rng(7).normal(size=3)
    assert [row["value"] for row in rows if row["seed"] == 7] == list(draw)
    assert seconds([toy], "tiny", tmp_path / "out")["toy"] > 0


def test_nothing_is_computed_twice(toy, tmp_path):
    told = []
    run([toy], "tiny", tmp_path / "out")
    run([toy], "tiny", tmp_path / "out", progress=lambda *what: told.append(what))
    assert sorted(computed(toy.log)) == list(range(12))
    assert told == [(12, 12, "")]


@pytest.mark.parametrize("change", ["scale", "data", "name", "numerics", "family", "library"])
def test_what_depends_on_something_else_is_computed_again(toy, tmp_path, monkeypatch, change):
    run([toy], "tiny", tmp_path / "out")
    scale, other = "tiny", toy
    if change == "scale":
        scale = "quick"
    elif change == "data":
        other = Toy("toy", log=toy.log, colour="blue")
    elif change == "name":
        other = Toy("another", log=toy.log)
    elif change == "numerics":
        monkeypatch.setattr(versions, "NUMERICS", versions.NUMERICS + 1)
    elif change == "family":
        monkeypatch.setitem(versions.FAMILIES, Toy.family, 99)
    else:
        newer = versions.libraries() | {"jax": "99.0"}
        monkeypatch.setattr(versions, "libraries", lambda: newer)
    run([other], scale, tmp_path / "out")
    assert len(computed(toy.log)) == 24


@pytest.mark.slow
def test_other_words_in_the_sources_compute_nothing_again(tmp_path):
    """Reword every file of both packages: a cell is still found under the same name."""
    for module in (hedgerow, hedgerow_studies):
        package = Path(module.__file__).parent
        changed = tmp_path / package.name
        shutil.copytree(package, changed, ignore=shutil.ignore_patterns("__pycache__"))
        for path in changed.rglob("*.py"):
            text = path.read_text().replace('"""', '"""Reworded. ', 1)
            path.write_text(f"{text}\n# One more remark.\n")
    code = (
        "import hedgerow.estimator\n"
        "from hedgerow_studies.cells import Cells\n"
        "from hedgerow_studies.paper.catalogue import catalogue\n"
        "assert hedgerow.estimator.__doc__.startswith('Reworded.')\n"
        "print(Cells('.', catalogue()['fig4'].depends()).path({'seed': 0}))\n"
    )
    (tmp_path / "empty").mkdir()
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "empty", stdout=subprocess.PIPE,
        text=True, check=True, env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    here = Cells(tmp_path / "empty", catalogue()["fig4"].depends()).path({"seed": 0})
    assert found.stdout.strip() == here.name


def test_versions_are_what_is_declared_and_installed():
    found = versions.versions("tree")
    assert found["hedgerow"] == versions.NUMERICS
    assert found["tree"] == versions.FAMILIES["tree"]
    assert found["jax"] == jax.__version__
    assert set(found) == {"hedgerow", "tree", *versions.LIBRARIES}


def test_studies_of_one_source_share_cells(tmp_path):
    log = str(tmp_path / "log.txt")
    few, many = Toy("few", log=log, count=5, shared="toy"), Toy("many", log=log, shared="toy")
    found = run([few, many], "tiny", tmp_path / "out")
    assert sorted(computed(log)) == list(range(12))
    assert found["few"] == found["many"][:15]


def test_cells_that_studies_share_take_their_time_once(tmp_path):
    few, many = Toy("few", count=5, shared="toy"), Toy("many", shared="toy")
    run([few, many], "tiny", tmp_path / "out")
    found, alone = (seconds(each, "tiny", tmp_path / "out") for each in ([few, many], [many]))
    assert sum(found.values()) == pytest.approx(alone["many"])
    assert min(found.values()) > 0


def test_damaged_cells_are_computed_again(toy, tmp_path, whole):
    run([toy], "tiny", tmp_path / "out")
    for path in sorted((tmp_path / "out" / "cells").glob("*.json"))[:3]:
        path.write_text(path.read_text()[:40])
    rows = run([toy], "tiny", tmp_path / "out")["toy"]
    assert len(computed(toy.log)) == 15
    assert table_bytes(rows, tmp_path) == whole


def test_what_is_needed_is_asked_for_before_anything_is_computed(tmp_path):
    class Needy(Toy):
        needs = "no_such_package"

    log = tmp_path / "log.txt"
    studies = [Toy("toy", log=str(log)), Needy("needy", log=str(log))]
    with pytest.raises(ImportError, match="needy needs no_such_package"):
        run(studies, "tiny", tmp_path / "out")
    assert not computed(log)


def test_unknown_scales_are_named(tmp_path):
    with pytest.raises(ValueError, match="scale must be one of"):
        run([Toy("toy")], "huge", tmp_path)


# --------------------------------------------------------------------------- mistakes, interrupts


def test_a_mistake_in_a_cell_is_raised_and_the_others_are_kept(tmp_path, from_the_first):
    with pytest.raises(ValueError, match="unlucky"):
        run([Broken("toy")], "tiny", tmp_path / "out")
    log = tmp_path / "log.txt"
    run([Toy("toy", log=str(log))], "tiny", tmp_path / "out")
    assert computed(log) == list(range(5, 12))


class Interrupted(Toy):
    """Is interrupted in a cell."""

    def run(self, cell):
        if cell["seed"] == 5:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        return super().run(cell)


def test_what_was_interrupted_is_not_kept(tmp_path, from_the_first, whole):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background shells ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            run([Interrupted("toy")], "tiny", tmp_path / "out")
    finally:
        signal.signal(signal.SIGINT, before)
    log = tmp_path / "log.txt"
    rows = run([Toy("toy", log=str(log))], "tiny", tmp_path / "out")["toy"]
    assert computed(log) == list(range(5, 12))
    assert table_bytes(rows, tmp_path) == whole


# --------------------------------------------------------------------------- processes


def test_processes_give_the_same_table_on_one_thread_each(toy, tmp_path, whole):
    before, others = dict(os.environ), multiprocessing.active_children()  # of other tests
    rows = run([toy], "tiny", tmp_path / "out", Engine(jobs=2))["toy"]
    assert table_bytes(rows, tmp_path) == whole
    lines = [line.split() for line in Path(toy.log).read_text().splitlines()]
    assert {line[2] for line in lines} <= {"1", "?"}
    assert {line[3] for line in lines} == {"1"}
    assert str(os.getpid()) not in {line[1] for line in lines}
    assert set(multiprocessing.active_children()) <= set(others)
    assert dict(os.environ) == before


@pytest.mark.slow
def test_a_mistake_in_a_process_ends_the_others_at_once(tmp_path, from_the_first):
    start, others = time.monotonic(), multiprocessing.active_children()
    with pytest.raises(ValueError, match="unlucky"):
        run([Broken("toy", slow=600.0)], "tiny", tmp_path / "out", Engine(jobs=2))
    assert time.monotonic() - start < 60
    assert set(multiprocessing.active_children()) <= set(others)


@pytest.mark.slow
def test_a_process_that_dies_is_told_of_in_one_sentence(tmp_path):
    with pytest.raises(RuntimeError, match="died, perhaps for lack of memory; what was finished"):
        run([Deadly("toy")], "tiny", tmp_path / "out", Engine(jobs=2))


def test_workers_with_other_versions_are_refused(toy):
    depends = toy.depends()
    result = running._in_worker(toy, {"seed": 1, "scale": "tiny"}, depends, None)
    assert len(result.value) == 3
    for name, other in (("hedgerow", 0), ("jax", "0.1"), ("colour", "blue")):
        with pytest.raises(ValueError, match=f"another {name} than the machine that asks"):
            running._in_worker(toy, {"seed": 1}, depends | {name: other}, None)


def script(folder, log, wait, first=0.0):
    """A run in a process of its own, to be killed; it begins at this share of what is missing."""
    code = (
        # a process started in the background of a shell ignores interrupts unless it is told not to
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from hedgerow_studies import running\n"
        "from hedgerow_studies.paper.study import run\n"
        "from studies.tests.toy import Toy\n"
        "if __name__ == '__main__':\n"
        f"    at = lambda cells: int({first} * len(cells))\n"
        "    running._shuffled = lambda cells: cells[at(cells):] + cells[:at(cells)]\n"
        f"    run([Toy('toy', log={str(log)!r}, seconds={wait})], 'tiny', {str(folder)!r}, "
        "running.Engine(jobs=2))\n"
    )
    root = str(Path(__file__).parents[2])
    given = os.environ.get("PYTHONPATH")
    environment = os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{given}" if given else root}
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=root, env=environment, start_new_session=True,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def at_work(process, log, before=0):
    """Wait until cells come in; return whether they do."""
    deadline = time.monotonic() + 60
    while len(computed(log)) == before and time.monotonic() < deadline:
        time.sleep(0.02)
        if process.poll() is not None:
            break
    return len(computed(log)) > before


@pytest.mark.slow
def test_killed_five_times_the_table_is_the_same(tmp_path, whole):
    folder, log = tmp_path / "out", tmp_path / "log.txt"
    rng = np.random.default_rng(0)
    for kill in range(5):
        process = script(folder, log, 0.15)
        working = at_work(process, log, len(computed(log)))
        assert working or kill > 0
        time.sleep(rng.uniform(0, 0.2))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    rows = run([Toy("toy", log=str(log))], "tiny", folder)["toy"]
    assert table_bytes(rows, tmp_path) == whole
    # a kill costs what was in flight: two cells at most, and those being fetched or written
    assert len(computed(log)) <= 12 + 5 * 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("send", "number"),
    [(os.kill, signal.SIGKILL), (os.kill, signal.SIGINT), (os.killpg, signal.SIGINT)],
    ids=["killed", "interrupted", "Ctrl-C"],
)
def test_workers_end_with_the_process_that_asked(tmp_path, send, number):
    """Stopped alone, as an editor does, or with its workers, as Ctrl-C does: nothing goes on."""
    log = tmp_path / "log.txt"
    process = script(tmp_path / "out", log, 0.5)
    assert at_work(process, log)
    workers = {int(line.split()[1]) for line in log.read_text().splitlines()}
    send(process.pid, number)
    errors = process.communicate(timeout=30)[1]
    deadline = time.monotonic() + 10
    while any(alive(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(alive(worker) for worker in workers)
    if number == signal.SIGINT:
        assert errors.strip().endswith("KeyboardInterrupt")
        assert "SpawnProcess" not in errors
        kept = len(list((tmp_path / "out" / "cells").iterdir()))
        assert kept <= len(computed(log))


@pytest.mark.slow
def test_two_runs_on_one_folder_share_the_work(tmp_path, whole):
    folder, log = tmp_path / "out", tmp_path / "log.txt"
    first, second = script(folder, log, 0.3), script(folder, log, 0.3, first=0.5)
    assert first.wait(120) == 0
    assert second.wait(120) == 0
    rows = run([Toy("toy", log=str(log))], "tiny", folder)["toy"]
    assert table_bytes(rows, tmp_path) == whole
    assert set(computed(log)) == set(range(12))
    assert len(computed(log)) < 24


# --------------------------------------------------------------------------- a cluster


@pytest.mark.slow
def test_on_a_cluster_whose_worker_is_killed(tmp_path, whole):
    distributed = pytest.importorskip("distributed")
    log = tmp_path / "log.txt"
    study = Toy("toy", log=str(log), seconds=0.3)
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with distributed.LocalCluster(**settings, dashboard_address=None) as cluster:
        killed = []

        def kill_one(done, total, name):
            if done == 3 and not killed:
                killed.append(int(log.read_text().splitlines()[-1].split()[1]))
                os.kill(killed[0], signal.SIGKILL)

        engine = Engine("dask", scheduler=cluster.scheduler_address)
        rows = run([study], "tiny", tmp_path / "out", engine, kill_one)["toy"]
    assert killed
    assert table_bytes(rows, tmp_path) == whole
    assert len({line.split()[1] for line in log.read_text().splitlines()}) >= 3  # a new one came


@pytest.mark.slow
def test_a_cluster_of_ones_own(toy, tmp_path, whole):
    pytest.importorskip("distributed")
    rows = run([toy], "tiny", tmp_path / "out", Engine("dask", jobs=2))["toy"]
    assert table_bytes(rows, tmp_path) == whole
    assert {line.split()[2] for line in Path(toy.log).read_text().splitlines()} <= {"1", "?"}
    with pytest.raises(ValueError, match="unlucky"):
        run([Broken("broken")], "tiny", tmp_path / "out", Engine("dask", jobs=2))


def test_a_cluster_needs_its_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'hedgerow-studies\[dask\]'"):
        run([Toy("toy")], "tiny", tmp_path, Engine("dask"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "cloud"}, "engine must be one of"),
        ({"jobs": 0}, "jobs must be"),
        ({"scheduler": "tcp://nowhere:1"}, "engine is not dask"),
    ],
)
def test_engines_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        Engine(**settings)
