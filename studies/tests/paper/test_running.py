"""The engine: resumed, shared, spread and killed, the tables are the same."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from studies.tests.paper.toy import Toy, computed

from hedgerow.data.table_files import write_table
from hedgerow_studies.paper import code_version as versions
from hedgerow_studies.paper import running
from hedgerow_studies.paper.running import Engine, run, seconds


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


@pytest.mark.parametrize("change", ["scale", "context", "name", "code"])
def test_what_depends_on_something_else_is_computed_again(toy, tmp_path, monkeypatch, change):
    run([toy], "tiny", tmp_path / "out")
    scale, other = "tiny", toy
    if change == "scale":
        scale = "quick"
    elif change == "context":
        other = Toy("toy", log=toy.log, colour="blue")
    elif change == "name":
        other = Toy("another", log=toy.log)
    else:
        monkeypatch.setattr(running, "code_version", lambda: "another version")
    run([other], scale, tmp_path / "out")
    assert len(computed(toy.log)) == 24


def test_the_code_version_follows_what_computes_and_not_what_draws(tmp_path, monkeypatch):
    package = tmp_path / "hedgerow"
    for name in ("solvers/loop.py", "plots/style.py", "reproduce/pages/index.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("1")
    monkeypatch.setattr(versions, "files", lambda _: package)
    found = [versions.code_version.__wrapped__()]
    for name in ("plots/style.py", "reproduce/pages/index.py", "solvers/loop.py"):
        (package / name).write_text("2")
        found.append(versions.code_version.__wrapped__())
    assert found[0] == found[1] == found[2] != found[3]


def test_studies_of_one_source_share_cells(tmp_path):
    log = str(tmp_path / "log.txt")
    few, many = Toy("few", log=log, count=5, shared="toy"), Toy("many", log=log, shared="toy")
    found = run([few, many], "tiny", tmp_path / "out")
    assert sorted(computed(log)) == list(range(12))
    assert found["few"] == found["many"][:15]


def test_damaged_cells_are_computed_again(toy, tmp_path, whole):
    run([toy], "tiny", tmp_path / "out")
    for path in sorted((tmp_path / "out" / "cells").glob("*.json"))[:3]:
        path.write_text(path.read_text()[:40])
    rows = run([toy], "tiny", tmp_path / "out")["toy"]
    assert len(computed(toy.log)) == 15
    assert table_bytes(rows, tmp_path) == whole


def test_processes_give_the_same_table_on_one_thread_each(toy, tmp_path, whole):
    rows = run([toy], "tiny", tmp_path / "out", Engine(jobs=2))["toy"]
    assert table_bytes(rows, tmp_path) == whole
    lines = [line.split() for line in Path(toy.log).read_text().splitlines()]
    assert {line[2] for line in lines} <= {"1", "?"}
    assert str(os.getpid()) not in {line[1] for line in lines}


def script(folder, log, wait, first=0.0):
    """A run in a process of its own, to be killed; it begins at this share of what is missing."""
    code = (
        "from hedgerow_studies.paper import running\n"
        "from hedgerow_studies.paper.running import Engine, run\n"
        "from studies.tests.paper.toy import Toy\n"
        "if __name__ == '__main__':\n"
        f"    running.secrets.randbelow = lambda count: int({first} * count)\n"
        f"    run([Toy('toy', log={str(log)!r}, seconds={wait})], 'tiny', {str(folder)!r}, "
        "Engine(jobs=2))\n"
    )
    root = str(Path(__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": root}
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=root, env=environment, start_new_session=True
    )


def test_killed_five_times_the_table_is_the_same(tmp_path, whole):
    folder, log = tmp_path / "out", tmp_path / "log.txt"
    rng = np.random.default_rng(0)
    for kill in range(5):
        before = len(computed(log))
        process = script(folder, log, 0.15)
        deadline = time.monotonic() + 60
        while len(computed(log)) == before and time.monotonic() < deadline:
            time.sleep(0.02)
            if process.poll() is not None:
                break
        time.sleep(rng.uniform(0, 0.2))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if kill == 0:
            assert len(computed(log)) > before  # it was killed at work
    rows = run([Toy("toy", log=str(log))], "tiny", folder)["toy"]
    assert table_bytes(rows, tmp_path) == whole
    # a kill costs what was in flight: two cells at most, and those being fetched or written
    assert len(computed(log)) <= 12 + 5 * 4


def test_two_runs_on_one_folder_share_the_work(tmp_path, whole):
    folder, log = tmp_path / "out", tmp_path / "log.txt"
    first, second = script(folder, log, 0.3), script(folder, log, 0.3, first=0.5)
    assert first.wait(120) == 0
    assert second.wait(120) == 0
    rows = run([Toy("toy", log=str(log))], "tiny", folder)["toy"]
    assert table_bytes(rows, tmp_path) == whole
    assert set(computed(log)) == set(range(12))
    assert len(computed(log)) < 24


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


def test_a_cluster_of_ones_own(tmp_path, whole):
    pytest.importorskip("distributed")
    rows = run([Toy("toy")], "tiny", tmp_path / "out", Engine("dask", jobs=2))["toy"]
    assert table_bytes(rows, tmp_path) == whole


def test_a_mistake_in_a_cell_is_raised_and_the_others_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(running.secrets, "randbelow", lambda count: 0)

    class Broken(Toy):
        def run(self, cell):
            if cell["seed"] == 5:
                raise ValueError("seed 5 is unlucky")
            return super().run(cell)

    with pytest.raises(ValueError, match="unlucky"):
        run([Broken("toy")], "tiny", tmp_path / "out")
    kept = len(list((tmp_path / "out" / "cells").glob("*.json")))
    log = tmp_path / "log.txt"
    run([Toy("toy", log=str(log))], "tiny", tmp_path / "out")
    assert 5 in computed(log)
    assert len(computed(log)) == 12 - kept


class Interrupted(Toy):
    """Swallows an interrupt, as a solver does that returns the rule it has."""

    def run(self, cell):
        if cell["seed"] == 5:
            with contextlib.suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(10)
        return super().run(cell)


def test_what_was_interrupted_is_not_kept(tmp_path, monkeypatch, whole):
    monkeypatch.setattr(running.secrets, "randbelow", lambda count: 0)
    with pytest.raises(KeyboardInterrupt):
        run([Interrupted("toy")], "tiny", tmp_path / "out")
    log = tmp_path / "log.txt"
    rows = run([Toy("toy", log=str(log))], "tiny", tmp_path / "out")["toy"]
    assert computed(log) == list(range(5, 12))
    assert table_bytes(rows, tmp_path) == whole


def test_workers_with_other_code_are_refused(toy):
    depends = running._depends_on(toy)
    study, cell, result = running._in_worker(toy, {"seed": 1, "scale": "tiny"}, None, depends)
    assert (study, cell["seed"], len(result["rows"])) == (toy, 1, 3)
    with pytest.raises(ValueError, match="another code than the machine that asks"):
        running._in_worker(toy, {"seed": 1}, None, depends | {"code": "older"})


def test_what_is_needed_is_asked_for_before_anything_is_computed(tmp_path, monkeypatch):
    class Needy(Toy):
        needs = "no_such_package"

    log = tmp_path / "log.txt"
    studies = [Toy("toy", log=str(log)), Needy("needy", log=str(log))]
    with pytest.raises(ImportError, match="needy needs no_such_package"):
        run(studies, "tiny", tmp_path / "out")
    assert not computed(log)


def test_cells_that_studies_share_take_their_time_once(tmp_path):
    few, many = Toy("few", count=5, shared="toy"), Toy("many", shared="toy")
    run([few, many], "tiny", tmp_path / "out")
    found, alone = (seconds(each, "tiny", tmp_path / "out") for each in ([few, many], [many]))
    assert sum(found.values()) == pytest.approx(alone["many"])
    assert min(found.values()) > 0


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


def test_unknown_scales_are_named(tmp_path):
    with pytest.raises(ValueError, match="scale must be one of"):
        run([Toy("toy")], "huge", tmp_path)
