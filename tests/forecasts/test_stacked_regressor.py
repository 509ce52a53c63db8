"""Stacks: weights by what was held out, none below 0, and little where little is known."""

import numpy as np
import pytest
from sklearn.model_selection import TimeSeriesSplit
from sklearn.utils.estimator_checks import check_estimator

import hedgerow as hr
from hedgerow.forecasts import stacked_regressor
from hedgerow.forecasts.cross_fitting import splits_of
from tests.problems import history

FOREST = hr.ForestRegressor(hr.SoftForest(trees=3), hr.NestedSGD(steps=100, batch=32))
QUICK = hr.StackedRegressor([FOREST, hr.IndexRegressor()])


@pytest.mark.slow
def test_it_is_a_regressor_as_scikit_learn_has_it():
    check_estimator(QUICK)


def test_predictions_are_those_of_the_members_around_the_mean():
    X, y = history()
    found = QUICK.fit(X, y)
    assert np.all(found.weights_ >= 0)
    centre = y.mean()
    members = np.column_stack([member.means(X)[:, 0] - centre for member in found.members_])
    np.testing.assert_allclose(found.predict(X), centre + members @ found.weights_[:, 0])
    assert not hasattr(FOREST, "steps_")  # what was given is as it was


def test_weights_are_those_of_least_squares_on_held_out_rows():
    X, y = history()
    splits = splits_of(5, X)
    stacked = hr.StackedRegressor([FOREST, hr.IndexRegressor()])
    crossed = stacked.cross_fit(X, y[:, None], np.ones(len(X)), splits)

    def error(weights):
        parts = [
            member.cross_fit(X, y[:, None], np.ones(len(X)), splits).held_out[:, 0] - y.mean()
            for member in stacked.members_
        ]
        return np.mean((y - y.mean() - np.column_stack(parts) @ weights) ** 2)

    best = np.mean((y - crossed.held_out[:, 0]) ** 2)
    assert best == pytest.approx(error(stacked.weights_[:, 0]), rel=1e-6)
    for step in np.eye(2):
        assert error(stacked.weights_[:, 0] + 0.05 * step) > best


def test_it_shrinks_where_nothing_can_be_learned():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), rng.normal(size=150)
    found = hr.StackedRegressor([FOREST, hr.IndexRegressor()]).fit(X, y)
    assert found.predict(X).std() < 0.3 * y.std()


def test_several_outcomes_share_weights_unless_their_own_are_clearly_better():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    bump = np.column_stack([np.exp(-((X[:, 0] - 0.5) ** 2)), np.exp(0.5 * X[:, 1])])
    members = [hr.IndexRegressor(), hr.LogLinearRegressor()]
    alike = bump[:, [1]] * rng.gamma(4, 0.25, (400, 2))
    shared = hr.StackedRegressor(members).fit(X, alike)
    assert np.ptp(shared.weights_, axis=1).max() == 0
    unlike = bump * rng.gamma(100, 0.01, (400, 2))
    own = hr.StackedRegressor(members).fit(X, unlike)
    assert own.weights_[0, 0] > 0.8  # a bump is no factor
    assert own.weights_[1, 1] > 0.5
    assert own.predict(X).shape == (400, 2)


def test_weights_do_not_look_at_rows_that_no_fold_holds_out():
    X, y = history(120)
    Y = np.column_stack([y, y**2])
    splits = list(TimeSeriesSplit(4).split(X))
    changed = Y.copy()
    changed[: len(splits[0][0])] = changed[: len(splits[0][0])][::-1]
    weights = [
        stacked_regressor._weights(
            [np.where(np.arange(120)[:, None] < len(splits[0][0]), np.nan, 0.5 * Y)] * 2,
            outcomes,
            np.ones(120),
            Y.mean(axis=0),
            splits,
        )
        for outcomes in (Y, changed)
    ]
    np.testing.assert_allclose(*weights)


def test_members_are_those_that_suit_the_outcomes():
    X, y = history(60)
    kinds = [type(one) for one in stacked_regressor.default_members(X, y[:, None] - 1e6)]
    assert hr.LogLinearRegressor not in kinds
    several = stacked_regressor.default_members(X, np.abs(np.column_stack([y, y])))
    assert [getattr(one, "shared", None) for one in several] == [None, False, True, True]
    wide = np.zeros((60, stacked_regressor.MOST_FEATURES + 1))
    assert len(stacked_regressor.default_members(wide, np.abs(y[:, None]))) == 2
