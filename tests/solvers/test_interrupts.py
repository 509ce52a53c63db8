"""Ctrl-C interrupts training, whichever solver is at work, and goes on to whoever called."""

import os
import signal
import threading

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import hedgerow as hr
from tests.problems import history

X, Y = history(200)
SOLVERS = {
    "stochastic": hr.SCSC(steps=2_000_000, batch=16),
    "sample average": hr.SAA(steps=2_000_000, tolerance=0.0),
    "multilevel": hr.MLMC(steps=2_000_000, batch=16),
}


@pytest.fixture
def ctrl_c():
    """Interrupts as a terminal sends them, though the tests may run in a shell's background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: os.kill(os.getpid(), signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def pressing(ctrl_c, after=2):
    """What ``verbose`` is to call: a key is pressed once some steps are done."""
    calls = []

    def report(done, total, objective):
        calls.append(done)
        if len(calls) == after:
            threading.Thread(target=ctrl_c).start()

    return report


@pytest.mark.skipif(os.name != "posix", reason="signals are sent otherwise here")
@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_a_signal_stops_training_and_what_was_learned_is_kept(ctrl_c, solver):
    policy = hr.RobustPolicy(
        hr.Newsvendor(1, 3),
        hr.CausalSinkhorn(5.0, 0.1, loss_scale="auto"),
        hr.SoftForest(trees=2, depth=2),
        hr.EmpiricalNominal(),
        solver,
        random_state=0,
        verbose=pressing(ctrl_c),
    )
    with pytest.raises(KeyboardInterrupt):
        policy.fit(X, Y)
    assert policy.status_ == "interrupted"
    assert len(policy.history_) < solver.steps
    assert np.all(np.isfinite(policy.predict(X)))


@pytest.mark.skipif(os.name != "posix", reason="signals are sent otherwise here")
def test_a_search_around_it_does_not_go_on(ctrl_c):
    fits = []

    class Counted(hr.RobustPolicy):
        def fit(self, X, y):
            fits.append(1)
            return super().fit(X, y)

    policy = Counted(
        hr.Newsvendor(1, 3),
        hr.ERM(),
        hr.Affine(),
        hr.EmpiricalNominal(),
        hr.NestedSGD(steps=2_000_000, batch=16),
        verbose=pressing(ctrl_c),
    )
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(policy, {"random_state": [0, 1, 2]}, cv=2).fit(X, Y)
    assert len(fits) == 1
