"""The same answer everywhere: threads, processes and their starts, one row at a time; no piling up.

What cannot work says so: a process that was forked after something was compiled.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax.numpy as jnp
import joblib
import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor

import hedgerow as hr
from hedgerow import programs
from tests.problems import QUICK, SMALL, history

X, Y = history(60)
slow = pytest.mark.slow


def fitted(_=None):
    """A policy, as every process makes it."""
    return hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), rule=SMALL, solver=QUICK, random_state=0).fit(
        X, Y
    )


def orders(_=None):
    return fitted().predict(X)


def test_row_by_row_is_all_at_once():
    policy = fitted()
    expected = policy.predict(X)
    np.testing.assert_array_equal([policy.predict(row[None])[0] for row in X[:10]], expected[:10])


def test_threads_agree():
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(orders, range(8)))
    for one in found:
        np.testing.assert_array_equal(one, found[0])


@slow
def test_processes_agree():
    expected = orders()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for found in pool.map(orders, range(2)):
            np.testing.assert_array_equal(found, expected)
    for found in joblib.Parallel(n_jobs=2)(joblib.delayed(orders)(i) for i in range(2)):
        np.testing.assert_array_equal(found, expected)
    get_reusable_executor().shutdown(wait=True)  # it would stay for the tests that follow


@slow
def test_dask_agrees():
    distributed = pytest.importorskip("distributed")
    expected = orders()
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        np.testing.assert_array_equal(client.submit(orders, 0).result(), expected)


@slow
@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_threads_changes_nothing(threads):
    """XLA, BLAS and OpenMP on so many threads: the same bits as here."""
    names = ("NPROC", "PJRT_NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    code = "from tests.properties.test_processes import orders; print(orders().tobytes().hex())"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | dict.fromkeys(names, str(threads)),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split()[-1] == orders().tobytes().hex()


def _first_asked(policy, path):
    """What a forked process is asked for, each by itself."""
    return {
        "load": lambda: hr.load(path),
        "predict": lambda: policy.predict(X),
        "fit": fitted,
        "value": lambda: policy.robust_value_,
        "value on data": lambda: hr.robust_value(policy, X, Y),
        "routes": lambda: hr.explain.routes(policy, X[0]),
    }


def _asked(policy, path):
    square = hr.CustomLoss(lambda z, y: jnp.sum((z - y) ** 2), hr.Free(1))
    worst = hr.worst_case(policy, X, Y)
    given = hr.RobustPolicy.from_function(lambda x: jnp.ones(1), policy.loss, X, Y)
    return {
        **_first_asked(policy, path),
        "predict by a function": lambda: given.predict(X),
        "fit a function": lambda: hr.RobustPolicy(square, hr.ERM(), hr.Affine()).fit(X, Y),
        "fit a regressor": lambda: hr.ForestRegressor().fit(X, Y),
        "search": lambda: hr.RobustPolicyCV(square).fit(X, Y),
        "from a function": lambda: hr.RobustPolicy.from_function(jnp.sum, square, X, Y),
        "loss": lambda: square(np.ones((3, 1)), np.ones((3, 1))),
        "worst case": lambda: hr.worst_case(policy, X, Y),
        "sample": lambda: worst.sample(3),
        "density": lambda: worst.density(X[:2], Y[:2]),
        "marginal": lambda: worst.marginal_y(Y[:2]),
        "attribute": lambda: hr.explain.attribute(policy, X[0], X),
        "importance": lambda: hr.explain.importance(policy, X),
    }


def _told(ask):
    try:
        ask()
    except RuntimeError as error:
        return str(error)
    return "answered"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("asking", [_first_asked, pytest.param(_asked, marks=slow)])
def test_a_forked_process_is_told_at_once(tmp_path, asking):
    """Before, it waited forever for threads that were not there; deciding needs none."""
    policy = fitted()
    policy.save(tmp_path / "p.hedgerow")
    asked = asking(policy, tmp_path / "p.hedgerow")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of the test runner may go on here
        for name, ask in asked.items():
            signal.alarm(20)  # ends what waits
            os.write(writing, f"{name}: {_told(ask)}\n".encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        answers = dict(line.split(": ", 1) for line in told)
    os.waitpid(child, 0)
    told = {name for name, said in answers.items() if "start processes by 'spawn'" in said}
    assert told == set(asked) - {"predict"}
    assert answers["predict"] == "answered\n"


@pytest.mark.slow
@pytest.mark.skipif(not programs.MAPS.exists(), reason="memory maps are not told here")
@pytest.mark.parametrize("limit", ["maps", "bytes"])
def test_programs_of_many_shapes_do_not_pile_up(monkeypatch, limit):
    """At the kernel's limit of maps the interpreter would die; 5,000 fits: benchmarks/shapes.py."""
    released = []
    release = programs.release
    monkeypatch.setattr(programs, "release", lambda: released.append(release()))
    if limit == "maps":
        monkeypatch.setattr(programs, "MOST_MAPS", programs.memory_maps() + 150)
    else:
        monkeypatch.setattr(programs, "MOST_GROWTH", 20 * 2**20)
    monkeypatch.setattr(programs, "BETWEEN_LOOKS", 1)
    before = programs.memory_maps()
    for features in range(3, 9):  # numbers of rows share programs, numbers of features do not
        hr.RobustPolicy(
            hr.Newsvendor(0.6, 1.0), hr.ERM(), hr.Affine(), solver=hr.NestedSGD(steps=5, batch=8)
        ).fit(np.random.default_rng(0).normal(size=(31, features)), Y[:31])
    assert released
    assert programs.memory_maps() < before + 1500
