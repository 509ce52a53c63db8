"""Factors: found by Newton's method where they are, in any units, with a typo or two."""

import numpy as np
import pytest
from sklearn.linear_model import PoissonRegressor
from sklearn.utils.estimator_checks import check_estimator

import hedgerow as hr
from hedgerow.forecasts import log_linear_regressor
from hedgerow.forecasts.cross_fitting import splits_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
BETA = np.array([0.4, -0.3, 0.2, 0.0, 0.0])
MEAN = np.exp(1 + X @ BETA)
Y = RNG.poisson(MEAN).astype(float)
SHAPES = np.array([1.0, 2.0, 4.0])
TOGETHER = MEAN[:, None] * RNG.standard_gamma(SHAPES, (400, 3))


def relative_error(found, truth):
    """Root mean square of what predictions are off by, relative to the truth."""
    return np.sqrt(np.mean((found / truth - 1) ** 2))


@pytest.mark.slow
def test_it_is_a_regressor_as_scikit_learn_has_it():
    negative = {"check_regressor_multioutput": "its outcomes are negative"}
    check_estimator(hr.LogLinearRegressor(), expected_failed_checks=negative)


@pytest.mark.parametrize("shrinkage", [300.0, 1.0])
def test_the_minimiser_is_that_of_poisson_regression(monkeypatch, shrinkage):
    """scikit-learn's, which penalises the same criterion divided by twice the rows."""
    monkeypatch.setattr(log_linear_regressor, "SHRINKAGES", np.array([1e4, shrinkage]))
    target = Y / Y.mean()
    level, slopes = log_linear_regressor._path(X, target, np.ones(400), 2.0)[-1]
    other = PoissonRegressor(alpha=2.0 * shrinkage / 400, tol=1e-10, max_iter=1000).fit(X, target)
    np.testing.assert_allclose(slopes, other.coef_, atol=1e-6)
    assert level == pytest.approx(other.intercept_, abs=1e-6)


def test_factors_are_found():
    found = hr.LogLinearRegressor().fit(X, Y)
    np.testing.assert_allclose(found.slopes_[0], BETA, atol=0.08)
    assert relative_error(found.predict(X), MEAN) < 0.1


def test_weights_count_like_repeated_rows():
    counts = RNG.permutation(np.resize([0, 1, 2, 1], 400))  # 400 in all
    splits = splits_of(5, X)
    place = np.repeat(np.arange(400), counts)
    repeated = [tuple(np.flatnonzero(np.isin(place, rows)) for rows in split) for split in splits]
    weighted, several = hr.LogLinearRegressor(), hr.LogLinearRegressor()
    weighted.cross_fit(X, Y[:, None], counts.astype(float), splits)
    several.cross_fit(X[place], Y[place, None], np.ones(len(place)), repeated)
    assert weighted.shrinkages_ == several.shrinkages_
    np.testing.assert_allclose(weighted.slopes_, several.slopes_, atol=1e-6)


def test_what_moves_all_outcomes_is_learned_from_all_of_them():
    own, shared = (
        hr.LogLinearRegressor(shared=together).fit(X, TOGETHER) for together in (False, True)
    )
    truth = MEAN[:, None] * SHAPES
    assert np.ptp(shared.slopes_, axis=0).max() == 0
    assert relative_error(shared.predict(X), truth) < 0.7 * relative_error(own.predict(X), truth)


def test_outcomes_count_by_what_they_tell():
    """One that is noise alone does not drown what the others say."""
    noisy = np.column_stack([TOGETHER, RNG.exponential(size=400) ** 4])
    found = hr.LogLinearRegressor(shared=True).fit(X, noisy)
    np.testing.assert_allclose(found.slopes_[0], BETA, atol=0.08)


def test_units_and_idle_columns_change_nothing():
    plain = hr.LogLinearRegressor().fit(X, Y).predict(X)
    wider = np.column_stack([1e3 * X + 7, np.full(400, 3.0)])
    scaled = hr.LogLinearRegressor().fit(wider, 1e6 * Y).predict(wider)
    np.testing.assert_allclose(scaled, 1e6 * plain, rtol=1e-6)


def test_typos_do_not_move_the_mean():
    plain = hr.LogLinearRegressor().fit(X, Y).predict(X)
    spoilt, moved = Y.copy(), X.copy()
    spoilt[:4] *= 1e4
    moved[5] *= 1e6
    for inputs, outcomes in ((X, spoilt), (moved, Y)):
        assert relative_error(hr.LogLinearRegressor().fit(inputs, outcomes).predict(X), plain) < 0.1


def test_beyond_what_was_seen_factors_stay():
    found = hr.LogLinearRegressor().fit(X, Y)
    far, farther = found.predict(np.outer([30.0, 1e6], BETA))
    assert far == farther == found.predict(X).max()


def test_constant_and_vanishing_outcomes_are_predicted_as_they_are():
    flat = np.column_stack([np.full(400, 40.0), np.zeros(400)])
    for shared in (False, True):
        found = hr.LogLinearRegressor(shared=shared).fit(X, flat).predict(X)
        np.testing.assert_allclose(found, flat, atol=1e-12)


def test_negative_outcomes_are_refused():
    with pytest.raises(ValueError, match="must not be negative"):
        hr.LogLinearRegressor().fit(X, Y - 10)


def test_what_is_held_out_is_not_seen(monkeypatch):
    monkeypatch.setattr(log_linear_regressor, "SHRINKAGES", np.array([10.0]))
    splits = splits_of(5, X)
    held = splits[2][1]
    changed = Y.copy()
    changed[held] = Y[held][::-1]  # mean and spread of all rows, in which α is counted, stay
    first, second = (
        hr.LogLinearRegressor().cross_fit(X, y[:, None], np.ones(400), splits) for y in (Y, changed)
    )
    np.testing.assert_allclose(first.held_out[held], second.held_out[held], rtol=1e-9)
    assert not np.allclose(first.all_seen, second.all_seen)


def test_the_same_twice():
    first, second = (hr.LogLinearRegressor(shared=True).fit(X, TOGETHER) for _ in range(2))
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
