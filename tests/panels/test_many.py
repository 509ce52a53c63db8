"""Rules of many series: killed and resumed, spread and disturbed, they are the same bit for bit."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import programs
from hedgerow.panels import engine as engines
from hedgerow.panels.engine import Engine
from hedgerow.panels.many import learn_many, packed
from hedgerow.panels.separate import TOGETHER, OneSeries

LOSS = hr.Newsvendor(1.0, 3.0)


def several(count, rows=60, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        length = (
            int(rng.integers(rows // 2, rows)) if isinstance(rows, int) else int(rows[len(made)])
        )
        x = rng.normal(size=(length, 3))
        y = np.maximum(0, 50 + 10 * x[:, 0] + 5 * rng.normal(size=length))
        made.append(OneSeries(x, y[:, None], np.ones(length)))
    return made


def policy(steps=100):
    return hr.RobustPolicy(
        LOSS, hr.ERM(), hr.SoftForest(trees=4), solver=hr.NestedSGD(steps=steps), random_state=0
    )


def same(one, other):
    one, other = packed(one), packed(other)
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


def test_lengths_of_all_kinds_compile_few_programs():
    lengths = np.random.default_rng(0).integers(30, 4000, 5 * TOGETHER)
    before = programs.compilations()
    learn_many(policy(steps=3), several(len(lengths), rows=lengths))
    compiled = programs.compilations() - before
    training = [name for name in compiled if "stretch" in name]
    assert sum(compiled[name] for name in training) <= 5
    assert training


def test_engines_say_what_they_cannot_do(monkeypatch):
    with pytest.raises(ValueError, match="engine is 'local'"):
        Engine("local", scheduler="tcp://127.0.0.1:1")
    with pytest.raises(ValueError, match="engine must be"):
        Engine("spark")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'hedgerow\[dask\]'"):
        list(Engine("dask").each(abs, [(1,)]))


def test_a_worker_with_other_numerics_refuses():
    with pytest.raises(ValueError, match="install the same everywhere"):
        engines._on_worker(-1, abs, (1,))
    assert engines._on_worker(engines.NUMERICS, abs, (-1,)) == 1


RUN = """
import sys
from tests.panels.test_many import policy, several
from hedgerow.panels.engine import Engine
from hedgerow.panels.many import learn_many
learn_many(policy(), several(48), Engine(jobs=int(sys.argv[2])), sys.argv[1])
"""


def _run(store, jobs=1):
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(Path(hr.__file__).parents[1])])
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(store), str(jobs)],
        cwd=root,
        env=os.environ | {"PYTHONPATH": path},
    )


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_at_random_and_resumed_the_files_are_the_same(tmp_path, jobs):
    learn_many(policy(), several(48), store=tmp_path / "whole")
    store, rng = tmp_path / "killed", random.Random(0)
    for _ in range(12):
        process, there = _run(store, jobs), len(list(store.glob("*.series")))
        while process.poll() is None and len(list(store.glob("*.series"))) == there:
            time.sleep(0.05)  # whatever a run has begun with, it gets a little further
        time.sleep(rng.random() * 0.3)
        process.kill()
        if process.wait() == 0:
            break
        assert process.returncode == -signal.SIGKILL
    assert process.returncode == 0
    files = sorted(file.name for file in (tmp_path / "whole").glob("*.series"))
    assert len(files) == 3
    assert files == sorted(file.name for file in store.glob("*.series"))
    for name in files:
        assert (store / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.slow
def test_processes_agree_with_one():
    own = several(40)
    assert same(learn_many(policy(), own), learn_many(policy(), own, Engine(jobs=2)))


@pytest.mark.slow
def test_a_cluster_whose_worker_is_killed_agrees_with_one_process(tmp_path):
    distributed = pytest.importorskip("distributed")
    own = several(8 * TOGETHER)
    expected = learn_many(policy(2000), own)
    killed = []

    def kill_one(pids):
        while len(list(tmp_path.glob("*.series"))) < 2:  # in the middle of the work
            time.sleep(0.02)
        pid = next(iter(pids.values()))
        os.kill(pid, signal.SIGKILL)
        killed.append((pid, len(list(tmp_path.glob("*.series")))))

    with (
        engines._one_thread(),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        thread = threading.Thread(target=kill_one, args=(client.run(os.getpid),))
        thread.start()
        found = learn_many(
            policy(2000), own, Engine("dask", scheduler=cluster.scheduler_address), tmp_path
        )
        thread.join()
        pids = set(client.run(os.getpid).values())
    assert killed
    assert killed[0][0] not in pids
    assert killed[0][1] < 8
    assert same(found, expected)


@pytest.mark.slow
def test_a_panel_is_learned_on_a_cluster_of_its_own(tmp_path):
    pytest.importorskip("distributed")
    sales = hr.datasets.load_bakery()
    sales = sales[(sales["store"] <= 5) & (sales["date"] < "2017-01-01")]
    groups = ("store", "product")
    features = hr.TimeFeatures("date", "demand", by=groups, lags=(7,), rolling=(14,))

    def fitted(**where):
        made = hr.PanelPolicy(policy(), groups, strategy="separate", features=features, **where)
        return made.fit(sales)

    here, there = fitted(), fitted(engine="dask", n_jobs=1)
    here.save(tmp_path / "here.hedgerow")
    there.save(tmp_path / "there.hedgerow")
    assert (tmp_path / "here.hedgerow").read_bytes() == (tmp_path / "there.hedgerow").read_bytes()
