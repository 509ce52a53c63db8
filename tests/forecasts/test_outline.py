"""An outline has the shape of what is built, so that training is compiled for it meanwhile."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import hedgerow as hr
from hedgerow import programs

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(60, 2)), 1)
Y = 5 + X[:, :1] + RNG.normal(size=(60, 1))
NOMINAL = hr.ResidualNominal(LinearRegression(), "constant", outcomes=4, folds=2)


@pytest.mark.parametrize("folds", [2, 3])
def test_it_has_the_shape(folds):
    nominal = NOMINAL.replace(folds=folds)
    X_twice, Y_twice = np.concatenate([X, X[:9]]), np.concatenate([Y, Y[:9]])
    weights = np.where(np.arange(69) == 5, 0.0, 1.0)
    built, outline = (
        getattr(nominal, name)(X_twice, Y_twice, weights) for name in ("build", "outline")
    )
    for field in ("contexts", "context_mass", "start", "count", "entry_outcome", "entry_mass"):
        assert np.array_equal(getattr(built, field), getattr(outline, field))
    assert built.outcomes.shape == outline.outcomes.shape


@pytest.mark.slow
def test_training_is_compiled_once():
    programs.release()
    before = programs.compilations()
    hr.RobustPolicy(
        hr.Newsvendor(1, 3),
        hr.ERM(),
        hr.SoftForest(2, 1),
        NOMINAL,
        hr.NestedSGD(steps=3, batch=8),
        random_state=0,
    ).fit(X, Y)
    counts = programs.compilations() - before
    assert counts["hedgerow.solvers.loop.stretch"] == 1


def test_work_that_fails_meanwhile_is_done_without():
    programs.meanwhile(lambda: 1 / 0)
    programs.awaited()
