"""Residual nominals: the right conditional law, whole vectors, near residuals, nothing leaked."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import TimeSeriesSplit

import hedgerow as hr
from hedgerow.forecasts.cross_fitting import Crossed, cross_fit, splits_of
from hedgerow.forecasts.scales import fitted_scale
from tests.data.nominals import check_shape
from tests.problems import AUTO, history

LINE = LinearRegression()


def line_data(rows=400, seed=0, wide=0.0):
    """A line with noise of standard deviation 1 + wide·x."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 4, rows)
    return x[:, None], (10 + 2 * x + (1 + wide * x) * rng.normal(size=rows))[:, None]


def by_context(nominal):
    """Outcomes (contexts, outcomes each)."""
    return nominal.outcomes[nominal.entry_outcome, 0].reshape(len(nominal.contexts), -1)


def test_each_context_has_the_distribution_of_its_outcomes():
    X, Y = line_data()
    nominal = hr.ResidualNominal(LINE, "constant").build(X, Y, np.ones(len(X)))
    check_shape(nominal)
    outcomes = by_context(nominal)
    assert outcomes.shape == (400, 32)
    # a mean of 32 systematic draws is off by a few hundredths, the line by 1/√400
    np.testing.assert_allclose(outcomes.mean(1), 10 + 2 * nominal.contexts[:, 0], atol=0.3)
    np.testing.assert_allclose(outcomes.std(1), 1.0, atol=0.15)


def test_residuals_are_those_of_models_that_have_not_seen_the_row():
    """A forest of full trees predicts its own rows: residuals in sample would be far too small."""
    X, Y = line_data()
    full = RandomForestRegressor(20, random_state=0)
    outcomes = by_context(hr.ResidualNominal(full, "constant").build(X, Y, np.ones(len(X))))
    assert 0.9 < outcomes.std(1).mean() < 1.5


@pytest.mark.parametrize(("wide", "better"), [(1.0, True), (0.0, False)])
def test_the_scale_is_decided_by_what_was_held_out(wide, better):
    X, Y = line_data(600, wide=wide)
    nominal = hr.ResidualNominal(LINE).build(X, Y, np.ones(len(X)))
    spread = by_context(nominal).std(1)
    low, high = nominal.contexts[:, 0] < 1, nominal.contexts[:, 0] > 3
    ratio = spread[high].mean() / spread[low].mean()
    assert (ratio > 2) if better else ratio == pytest.approx(1, abs=0.1)


def test_a_scale_may_be_proportional_or_a_regressor_of_sizes():
    X, Y = line_data(600, wide=1.0)
    for scale in ("proportional", LinearRegression()):
        outcomes = by_context(hr.ResidualNominal(LINE, scale).build(X, Y, np.ones(len(X))))
        # contexts come in order, and so must spreads
        assert np.corrcoef(np.arange(600), outcomes.std(1))[0, 1] > 0.8


def test_a_typo_does_not_level_the_sizes_of_the_others():
    X, Y = line_data(600, wide=1.0)
    Y[7] *= 1000
    means = Crossed(10 + 2 * X, 10 + 2 * X)
    scale = hr.ForestRegressor(hr.SoftForest(trees=3), hr.NestedSGD(steps=100, batch=64))
    sizes = fitted_scale(scale, means, X, Y, np.ones(600), splits_of(5, X)).all_seen
    assert sizes[X > 3].mean() > 1.5 * sizes[X < 1].mean()


@pytest.mark.parametrize("apart", [50.0, 0.0])
def test_contexts_that_recur_have_outcomes_of_their_own(apart):
    """Two kinds of days, or one: no model is asked about a kind that it has never seen."""
    rng = np.random.default_rng(0)
    X = (np.arange(200.0) % 2)[:, None] if apart else np.ones((200, 1))
    Y = 50 + apart * X + rng.normal(size=(200, 1))
    nominal = hr.ResidualNominal(outcomes=16).build(X, Y, np.ones(200))
    outcomes = by_context(nominal)
    assert outcomes.shape == (2 if apart else 1, 16)
    # means of 100 rows and 16 draws
    np.testing.assert_allclose(outcomes.mean(1), 50 + apart * nominal.contexts[:, 0], atol=0.7)
    assert np.all(outcomes.std(1) < 1.5)


def test_vectors_stay_whole():
    """Two outcomes that always add up to the same keep doing so, up to their means."""
    X, _ = history(200)
    noise = np.random.default_rng(1).normal(size=200)
    Y = np.column_stack([10 + X[:, 0] + noise, 20 - X[:, 0] - noise])
    nominal = hr.ResidualNominal(LINE, "constant", 16).build(X, Y, np.ones(200))
    np.testing.assert_allclose(nominal.outcomes.sum(1), 30, atol=1e-9)


def test_near_residuals_follow_the_noise():
    X, Y = line_data(800, wide=1.0)
    nominal = hr.ResidualNominal(LINE, "constant", 32, neighbours=100).build(X, Y, np.ones(800))
    spread = by_context(nominal).std(1)
    assert spread[nominal.contexts[:, 0] > 3].mean() > 2 * spread[nominal.contexts[:, 0] < 1].mean()
    check_shape(nominal)


def test_weights_count_among_residuals():
    X, Y = line_data(300)
    off = Y[:, 0] - 10 - 2 * X[:, 0]
    heavy = np.where(off > 1, 10.0, 1.0)
    plain, tilted = (
        by_context(hr.ResidualNominal(LINE, "constant").build(X, Y, w))
        for w in (np.ones(300), heavy)
    )
    assert np.median(tilted) > np.median(plain) + 0.5


def test_time_ordered_folds_keep_the_order_of_rows():
    X, Y = line_data(200)
    folds = TimeSeriesSplit(4)
    nominal = hr.ResidualNominal(LINE, "constant", 8, folds).build(X, Y, np.ones(200))
    crossed = cross_fit(LINE, X, Y, np.ones(200), splits_of(folds, X))
    seen = np.isfinite(crossed.held_out[:, 0])
    residuals = (Y - crossed.held_out)[seen, 0]
    k = np.flatnonzero(np.isclose(nominal.contexts[:, 0], X[5, 0]))[0]
    offsets = by_context(nominal)[k] - crossed.all_seen[5, 0]
    assert all(np.isclose(residuals, offset).any() for offset in offsets)


def test_outcomes_stay_in_the_losss_support():
    X, Y = line_data(100)
    loss = hr.Newsvendor(1, 2, outcome_support=(8.0, 19.0))
    policy = hr.RobustPolicy(
        loss,
        hr.ERM(),
        hr.Affine(),
        hr.ResidualNominal(LINE, "constant"),
        hr.NestedSGD(steps=20),
    ).fit(X, np.clip(Y[:, 0], 8.0, 19.0))
    assert policy.nominal_.outcomes.min() >= 8.0
    assert policy.nominal_.outcomes.max() <= 19.0


def test_causality_is_no_longer_vacuous():
    """The causal adversary is weaker where contexts have several outcomes; nobody is warned."""
    X, y = history(60)
    nominal = hr.ResidualNominal(LINE, "constant", 8)
    values = []
    for model in (hr.CausalSinkhorn(2.0, 0.3, **AUTO), hr.Sinkhorn(2.0, 0.3, **AUTO)):
        policy = hr.RobustPolicy.from_function(
            lambda x: 5 + x[:1], hr.Newsvendor(0.6, 1.0), X, y, ambiguity=model, nominal=nominal
        )
        values.append(policy.robust_value_.value)
    assert values[0] < 0.97 * values[1]


def test_files_name_a_regressor_they_do_not_hold(tmp_path):
    X, y = history(60)
    policy = hr.RobustPolicy(
        hr.Newsvendor(1, 2),
        hr.ERM(),
        hr.Affine(),
        hr.ResidualNominal(LINE, folds=TimeSeriesSplit(3)),
        hr.NestedSGD(steps=20),
    ).fit(X, y)
    policy.save(tmp_path / "policy.hedgerow")
    again = hr.load(tmp_path / "policy.hedgerow")
    np.testing.assert_array_equal(again.predict(X), policy.predict(X))
    with pytest.raises(hr.PolicyFileError, match="set it again"):
        again.fit(X, y)


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"outcomes": 0}, ValueError, "outcomes must be"),
        ({"folds": 1}, ValueError, "at least 2"),
        ({"regressor": "forest"}, TypeError, "fit and predict"),
        ({"scale": "wide"}, ValueError, "scale must be"),
        ({"neighbours": -1}, ValueError, "neighbours must be"),
    ],
)
def test_what_cannot_be_used_is_refused(settings, error, match):
    with pytest.raises(error, match=match):
        hr.ResidualNominal(**settings)
