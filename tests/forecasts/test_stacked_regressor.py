"""Stacks: weights by what was held out, none below 0, and little where little is known."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import hedgerow as hr
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


def test_several_outcomes_have_weights_of_their_own():
    X, y = history(120)
    found = hr.StackedRegressor([FOREST, hr.IndexRegressor()]).fit(X, np.column_stack([y, -3 * y]))
    assert found.weights_.shape == (2, 2)
    assert found.predict(X).shape == (120, 2)
