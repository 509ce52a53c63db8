"""Forests as a regressor: scikit-learn's contract, folds that have not seen what they predict."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import TimeSeriesSplit
from sklearn.utils.estimator_checks import check_estimator

import hedgerow as hr
from hedgerow.forecasts.cross_fitting import cross_fit, splits_of
from tests.problems import history

SOLVER = hr.NestedSGD(steps=100, batch=32)
QUICK = hr.ForestRegressor(hr.SoftForest(trees=3), SOLVER)


def crossed(regressor, X, Y, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    return cross_fit(regressor, X, Y, weights, splits_of(5, X))


@pytest.mark.slow
def test_it_is_a_regressor_as_scikit_learn_has_it():
    check_estimator(QUICK)


def test_what_is_held_out_is_not_seen():
    """Other outcomes in a fold change nothing that is predicted there."""
    X, y = history()
    held = splits_of(5, X)[2][1]
    changed = y.copy()
    changed[held] = y.max() - y[held]
    one_look = hr.NestedSGD(steps=50, batch=32)  # so that there is nothing to choose
    first, second = (
        crossed(hr.ForestRegressor(hr.SoftForest(trees=3), one_look), X, Y[:, None]).held_out[held]
        for Y in (y, changed)
    )
    np.testing.assert_array_equal(first, second)


def test_time_runs_forward():
    X, y = history()
    splits = splits_of(TimeSeriesSplit(4), X)
    assert all(kept.max() < held.min() for kept, held in splits)
    found = cross_fit(LinearRegression(), X, y[:, None], np.ones(len(X)), splits)
    first = splits[0][1].min()
    assert np.all(np.isnan(found.held_out[:first]))
    assert np.all(np.isfinite(found.held_out[first:]))


def test_no_fold_holds_out_all_rows_of_a_context():
    """A model without a single Sunday would be off by all that is different on Sundays."""
    X = np.arange(140.0)[:, None] % 7
    for kept, held in splits_of(5, X):
        assert len(held) == 28
        assert set(X[kept, 0]) == set(X[:, 0])


def test_one_row_is_all_there_is():
    ((kept, held),) = splits_of(5, np.ones((1, 2)))
    assert list(kept) == list(held) == [0]


def test_a_typo_does_not_choose_when_to_stop():
    """Beside 1e30 no difference between two forests is left in float64."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = 20 + 5 * X[:, 0] + X[:, 1]
    spoilt = y.copy()
    spoilt[7] = 1e30
    slow = hr.NestedSGD(steps=200, learning_rate=0.01)
    rule = hr.SoftForest(trees=3)
    clean, odd = (hr.ForestRegressor(rule, slow).fit(X, target) for target in (y, spoilt))
    assert clean.steps_ > 50
    assert odd.steps_ > 50
    others = np.delete(y, 7)
    worse = np.mean((np.delete(odd.predict(X), 7) - others) ** 2)
    assert worse < 1.1 * np.mean((np.delete(clean.predict(X), 7) - others) ** 2)


def test_any_regressor_is_cross_fitted():
    X, y = history()
    found = crossed(LinearRegression(), X, y[:, None])
    kept, held = splits_of(5, X)[1]
    alone = LinearRegression().fit(X[kept], y[kept]).predict(X[held])
    np.testing.assert_allclose(found.held_out[held, 0], alone)
    np.testing.assert_allclose(found.all_seen[:, 0], LinearRegression().fit(X, y).predict(X))


def test_weights_count():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), rng.normal(size=150)
    heavy = np.where(y > 0, 10.0, 1.0)
    even, tilted = (
        hr.ForestRegressor(hr.SoftForest(trees=3), SOLVER).fit(X, y, w).predict(X).mean()
        for w in (None, heavy)
    )
    assert tilted > even + 0.3


def test_one_typo_does_not_move_the_mean():
    X, y = history(200)
    spoilt = y.copy()
    spoilt[7] *= 1000
    first, second = (
        hr.ForestRegressor(hr.SoftForest(trees=3), SOLVER).fit(X, Y).predict(X) for Y in (y, spoilt)
    )
    assert np.abs(first - second).mean() < 0.1 * y.std()


def test_several_outcomes_and_units():
    X, y = history(120)
    Y = np.column_stack([y, -3 * y])
    found = hr.ForestRegressor(hr.SoftForest(trees=3), SOLVER).fit(X, Y)
    assert found.predict(X).shape == (120, 2)
    scaled = hr.ForestRegressor(hr.SoftForest(trees=3), SOLVER).fit(1000 * X, Y * [1e3, 1e-3])
    np.testing.assert_allclose(
        scaled.predict(1000 * X) / [1e3, 1e-3],
        found.predict(X),
        rtol=1e-3,
        atol=1e-3,  # float32
    )
