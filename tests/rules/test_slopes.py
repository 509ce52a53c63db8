"""Slopes: ridge regression as scikit-learn has it, in any units, and nothing where nothing is."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import hedgerow as hr
from hedgerow.data.nominal import EmpiricalNominal
from hedgerow.data.units import Units
from hedgerow.rules.slopes import SHRINKAGES, outcome_slopes


def slopes_of(X, Y, weights=None, nominal=None):
    weights = np.ones(len(X)) if weights is None else weights
    built = (nominal or EmpiricalNominal()).build(X, Y, weights)
    return outcome_slopes(built, Units.measure(built, hr.Newsvendor(1, 1)))


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 4)) @ rng.normal(size=(4, 4))
    signal = X @ np.array([1.0, -2.0, 0.5, 0.0])
    Y = np.column_stack([10 + signal + rng.normal(size=150), 5 + rng.normal(size=150)])
    return X, Y


def test_directions_are_those_of_ridge_with_the_least_error_on_left_out_rows(data):
    X, Y = data
    found = slopes_of(X, Y)
    Z = (X - X.mean(0)) / X.std(0)
    y = Y[:, 0]

    def error(alpha):
        """Generalised cross-validation, from the hat matrix itself."""
        hat = Z @ np.linalg.solve(Z.T @ Z / len(Z) + alpha * np.eye(4), Z.T / len(Z))
        left = (y - y.mean()) - hat @ (y - y.mean())
        return np.mean(left**2) / (1 - np.trace(hat) / len(Z)) ** 2

    best = min(SHRINKAGES, key=error)
    ridge = Ridge(best * len(Z)).fit(Z, y).coef_
    np.testing.assert_allclose(found.directions[0], ridge / (Z @ ridge).std(), rtol=1e-5)
    assert found.explained[0] == pytest.approx(1 - error(best) / y.var(), rel=1e-5)


def test_directions_have_unit_variance_and_what_is_noise_explains_little(data):
    X, Y = data
    found = slopes_of(X, Y)
    Z = (X - X.mean(0)) / X.std(0)
    assert (Z @ found.directions[0]).std() == pytest.approx(1, rel=1e-5)
    assert found.explained[0] > 0.7
    assert 0 <= found.explained[1] < 0.1


def test_units_do_not_matter_and_repeated_rows_count_as_weights(data):
    X, Y = data
    found = slopes_of(X, Y)
    other = slopes_of(1000 * X + 3, 0.01 * Y)
    np.testing.assert_allclose(found.directions[0], other.directions[0], rtol=1e-4)
    tied = slopes_of(np.repeat(X, 2, axis=0), np.repeat(Y, 2, axis=0))
    np.testing.assert_allclose(found.directions, tied.directions, rtol=1e-4, atol=1e-6)
    weighted = slopes_of(X, Y, np.where(np.arange(150) < 100, 1.0, 0.0))
    np.testing.assert_allclose(weighted.directions, slopes_of(X[:100], Y[:100]).directions)


def test_constant_outcomes_and_features_point_nowhere(data):
    X, _ = data
    X = np.column_stack([X, np.ones(150)])
    found = slopes_of(X, np.column_stack([np.full(150, 7.0), X[:, 0] + 20]))
    assert found.explained[0] == 0
    assert not found.directions[0].any()
    assert found.directions[1, 4] == 0


def test_more_features_than_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 60))
    found = slopes_of(X, 5 + X[:, :1])
    assert np.all(np.isfinite(found.directions))
    assert 0 <= found.explained[0] < 1
