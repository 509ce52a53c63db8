"""A curve of one score: found where lines and trees fail, in any units, with a typo or two."""

import jax
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import check_estimator

import hedgerow as hr
from hedgerow.forecasts import index_regressor
from hedgerow.forecasts.cross_fitting import splits_of
from hedgerow.forecasts.squares import SquaredError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 6))
BETA = np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0])
Y = np.tanh(2 * X @ BETA) + 0.1 * RNG.normal(size=300)


def angle(first, second):
    """Cosine of the angle between two directions."""
    return abs(first @ second) / np.linalg.norm(first) / np.linalg.norm(second)


@pytest.mark.slow
def test_it_is_a_regressor_as_scikit_learn_has_it():
    check_estimator(hr.IndexRegressor())


def test_sums_over_places_are_a_gaussian():
    """κ(u − v) = Σ_g a(u − g)·a(v − g) ∝ exp(−(u − v)²/2), within the grid."""
    u = np.linspace(-5, 5, 41)
    near = index_regressor._near(u)
    kernel = near @ near.T
    exact = np.exp(-((u[:, None] - u) ** 2) / 2) * np.sqrt(np.pi / 2)
    np.testing.assert_allclose(kernel, exact, rtol=0, atol=0.02)  # spacing 1 ripples by 1.4 %


def test_a_curve_is_the_weighted_mean_of_what_is_near():
    b = np.array([2.0, 0, 0, 0, 0, 0])
    weights = RNG.uniform(0.5, 1.5, 300)
    curve = index_regressor.Curve.of(b, X, Y, weights)
    kernel = index_regressor._near(X[:5] @ b) @ index_regressor._near(X @ b).T * weights
    expected = kernel @ Y / (kernel.sum(axis=1) + index_regressor.PRIOR)
    np.testing.assert_allclose(curve.at(X[:5]), expected, rtol=1e-10)


@pytest.mark.parametrize("typo", [0.0, 50.0])
def test_the_slope_is_that_of_a_criterion_that_leaves_every_row_out(typo):
    """As written out: the curve of all rows but one, read at that one; by finite differences."""
    n = 20
    weights = RNG.uniform(0.5, 1.5, n)
    weights[3] = 0.0
    y = Y[:n] + typo * (np.arange(n) == 5)
    b = np.array([1.0, -1.0, 0.5, 0.1, 0, 0])

    def criterion(b):
        total = 0.0
        for i in range(n):
            others = np.arange(n) != i
            curve = index_regressor.Curve.of(b, X[:n][others], y[others], weights[others])
            found = index_regressor._near(X[[i]] @ b)
            guess = (found @ curve.totals) / (found @ curve.counts + index_regressor.PRIOR)
            total += 2 * weights[i] * SquaredError()(guess, y[[i]])
        return (total + 0.3 * b @ b) / weights.sum()

    steps = 1e-5 * np.eye(6)
    expected = [(criterion(b + step) - criterion(b - step)) / 2e-5 for step in steps]
    with jax.enable_x64(True):
        found = index_regressor._slope(b, X[:n], y, weights, 0.3)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_the_direction_is_found():
    found = hr.IndexRegressor().fit(X, Y)
    assert angle(found.directions_[0], BETA) > 0.99
    assert np.mean((found.predict(X) - np.tanh(2 * X @ BETA)) ** 2) < 0.01


def test_units_typos_and_idle_columns_change_little():
    plain = hr.IndexRegressor().fit(X, Y).predict(X)
    scaled = hr.IndexRegressor().fit(X * 1e3 + 7, Y * 1e-6).predict(X * 1e3 + 7)
    np.testing.assert_allclose(scaled * 1e6, plain, atol=2e-3)  # float32
    wider = np.column_stack([X, np.full(300, 3.0)])
    np.testing.assert_allclose(hr.IndexRegressor().fit(wider, Y).predict(wider), plain, atol=2e-3)
    spoilt, moved = Y.copy(), X.copy()
    spoilt[3] *= 1e6
    moved[5] *= 1e6
    for inputs, outcomes in ((X, spoilt), (moved, Y)):
        found = hr.IndexRegressor().fit(inputs, outcomes).predict(X)
        assert np.sqrt(np.mean((found - plain) ** 2)) < 0.1 * Y.std()


def test_beyond_what_was_seen_the_curve_is_flat():
    found = hr.IndexRegressor().fit(X, Y)
    far, farther = found.predict(np.outer([10.0, 1e6], BETA))
    assert far == farther == pytest.approx(1.0, abs=0.2)


def test_each_outcome_has_its_own_direction():
    other = np.array([0, 0, 0, 1.0, 1.0, 0])
    both = np.column_stack([Y, 1000 * np.sin(X @ other)])
    found = hr.IndexRegressor().fit(X, both)
    assert angle(found.directions_[1], other) > 0.99
    assert found.predict(X).shape == (300, 2)


def test_outcomes_that_share_a_direction_learn_it_together():
    """Also where one falls as the other rises; each has a curve of its own."""
    rng = np.random.default_rng(1)
    index = X @ BETA
    truth = np.column_stack([np.tanh(2 * index), -5 * np.tanh(index), 0 * index])
    noisy = truth + rng.normal(size=(300, 3)) * [0.7, 2.0, 1.0]
    shared = hr.IndexRegressor(shared=True).fit(X, noisy)
    assert np.ptp(shared.directions_ / shared.directions_[:, [0]], axis=0).max() < 1e-9
    own = hr.IndexRegressor().fit(X, noisy)
    assert angle(shared.directions_[0], BETA) > max(angle(b, BETA) for b in own.directions_)
    first, second, third = np.corrcoef(shared.predict(X).T, truth[:, 0])[-1, :-1]
    assert first > 0.9
    assert second < -0.9
    assert np.isfinite(third)


def test_one_outcome_shares_its_direction_with_none():
    plain, shared = (hr.IndexRegressor(shared=given).fit(X, Y) for given in (False, True))
    np.testing.assert_array_equal(shared.predict(X), plain.predict(X))


def test_constant_outcomes_are_predicted_as_they_are():
    np.testing.assert_allclose(hr.IndexRegressor().fit(X, np.full(300, 40.0)).predict(X), 40.0)


def test_what_is_held_out_is_not_seen(monkeypatch):
    monkeypatch.setattr(index_regressor, "_error", lambda *_: 0.0)  # so that the coarsest is taken
    splits = splits_of(5, X)
    held = splits[2][1]
    changed = Y.copy()
    changed[held] = Y.max() + Y.min() - Y[held]
    first, second = (
        hr.IndexRegressor().cross_fit(X, y[:, None], np.ones(300), splits).held_out[held]
        for y in (Y, changed)
    )
    # centre and spread are those of all outcomes, in which training is counted
    np.testing.assert_allclose(first, second, atol=0.02)


@pytest.mark.slow
def test_a_bump_along_a_hidden_direction_is_found_where_a_line_and_trees_fail():
    data = hr.datasets.make_newsvendor(400, 50, random_state=2000)
    test = hr.datasets.make_newsvendor(5000, 50, beta=data.beta, random_state=1)
    truth = test.conditional_mean
    errors = [
        np.mean((model.fit(data.data, data.target).predict(test.data) - truth) ** 2)
        for model in (hr.IndexRegressor(), HistGradientBoostingRegressor(), LinearRegression())
    ]
    assert errors[0] < 0.25 * min(errors[1:])


def test_typos_do_not_move_the_mean():
    """Six of 300 demands, at the end of their fence only, would move it by a third of a spread."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = 55 + 10 * X[:, 0] + 4 * rng.normal(size=300)
    spoilt = y.copy()
    spoilt[:6] *= 1000
    clean, odd = (hr.IndexRegressor().fit(X, target).predict(X) for target in (y, spoilt))
    assert abs(np.mean(odd - clean)) < 0.5
