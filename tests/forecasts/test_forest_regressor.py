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
QUICK = hr.ForestRegressor([hr.SoftForest(trees=3)], SOLVER)


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
    changed[held] = 1000.0
    first, second = (
        hr.ForestRegressor([hr.SoftForest(trees=3)], hr.NestedSGD(steps=50, batch=32)).cross_fit(
            X, Y[:, None], np.ones(len(X)), splits_of(5, X)
        )
        for Y in (y, changed)
    )
    member = [crossed.held_out[held] for crossed in (first, second)]
    # what is predicted there is the forest's own, times its weight in the stack
    centred = [m - m.mean() for m in member]
    across = np.linalg.norm(centred[0]) * np.linalg.norm(centred[1])
    assert abs(np.sum(centred[0] * centred[1])) == pytest.approx(across, rel=1e-6)


def test_time_runs_forward():
    X, y = history()
    splits = splits_of(TimeSeriesSplit(4), X)
    assert all(kept.max() < held.min() for kept, held in splits)
    found = cross_fit(LinearRegression(), X, y[:, None], np.ones(len(X)), splits)
    first = splits[0][1].min()
    assert np.all(np.isnan(found.held_out[:first]))
    assert np.all(np.isfinite(found.held_out[first:]))


def test_equal_rows_share_a_fold():
    X, Y = np.repeat(np.arange(20.0), 6)[:, None], np.repeat(np.arange(40.0), 3)[:, None]
    for kept, held in splits_of(4, X, Y):
        assert not set(Y[kept, 0]) & set(Y[held, 0])


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
    rules = [hr.SoftForest(trees=3)]
    clean, odd = (hr.ForestRegressor(rules, slow).fit(X, target) for target in (y, spoilt))
    assert clean.steps_[0] > 50
    assert odd.steps_[0] > 50
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


def test_weights_count_and_stacks_shrink_where_nothing_can_be_learned():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), rng.normal(size=150)
    found = hr.ForestRegressor([hr.SoftForest(trees=3)], SOLVER).fit(X, y)
    assert found.weights_.sum() < 0.6
    heavy = np.where(y > 0, 10.0, 1.0)
    tilted = hr.ForestRegressor([hr.SoftForest(trees=3)], SOLVER).fit(X, y, heavy)
    assert tilted.predict(X).mean() > found.predict(X).mean() + 0.3


def test_one_typo_does_not_move_the_mean():
    X, y = history(200)
    spoilt = y.copy()
    spoilt[7] *= 1000
    first, second = (
        hr.ForestRegressor([hr.SoftForest(trees=3)], SOLVER).fit(X, Y).predict(X)
        for Y in (y, spoilt)
    )
    assert np.abs(first - second).mean() < 0.1 * y.std()


def test_several_outcomes_and_units():
    X, y = history(120)
    Y = np.column_stack([y, -3 * y])
    found = hr.ForestRegressor([hr.SoftForest(trees=3)], SOLVER).fit(X, Y)
    assert found.predict(X).shape == (120, 2)
    scaled = hr.ForestRegressor([hr.SoftForest(trees=3)], SOLVER).fit(1000 * X, Y * [1e3, 1e-3])
    np.testing.assert_allclose(
        scaled.predict(1000 * X) / [1e3, 1e-3],
        found.predict(X),
        rtol=1e-3,
        atol=1e-3,  # float32
    )


@pytest.mark.slow
def test_a_score_is_found_where_a_line_and_trees_fail():
    """A bump along a hidden direction of 20 features: the stack beats boosting by far."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    data = hr.datasets.make_newsvendor(800, 20, random_state=2000)
    test = hr.datasets.make_newsvendor(5000, 20, beta=data.beta, random_state=1)
    truth = test.conditional_mean
    errors = [
        np.mean((model.fit(data.data, data.target).predict(test.data) - truth) ** 2)
        for model in (hr.ForestRegressor(), HistGradientBoostingRegressor(), LinearRegression())
    ]
    assert errors[0] < 0.2 * min(errors[1:])
