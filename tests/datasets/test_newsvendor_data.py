"""The generator has the law it states, and its oracle is the true optimum."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest, norm, truncnorm

from hedgerow.datasets import (
    expected_newsvendor_loss,
    make_newsvendor,
    newsvendor_signal,
    oracle_newsvendor_decision,
    oracle_newsvendor_loss,
)

# From where the truncation halves the noise (s = 0) to where it is out of sight.
SIGNALS = np.array([0.0, 0.2, 1.0, 2.5, 5.1])


def demand_given(signal):
    """SciPy's own truncated normal: an account of y | x independent of the one under test."""
    return truncnorm(-signal, np.inf, loc=signal)


def newsvendor_loss(decision, demand, holding, stockout):
    return holding * np.maximum(decision - demand, 0) + stockout * np.maximum(demand - decision, 0)


def test_shapes_and_ranges():
    draw = make_newsvendor(300, 7)
    assert draw.data.shape == (300, 7)
    assert draw.target.shape == draw.signal.shape == draw.conditional_mean.shape == (300,)
    assert draw.beta.shape == (7,)
    assert np.all(np.abs(draw.beta) <= 0.1)
    assert np.all(draw.target >= 0)
    assert len(draw.feature_names) == 7


def test_a_seed_fixes_the_draw():
    first, again, other = (make_newsvendor(50, 3, random_state=seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(first.data, again.data)
    np.testing.assert_array_equal(first.target, again.target)
    assert not np.any(first.data == other.data)
    assert not np.any(first.beta == other.beta)


def test_giving_back_beta_changes_nothing_else():
    first = make_newsvendor(50, 3, random_state=4)
    again = make_newsvendor(50, 3, beta=first.beta, random_state=4)
    np.testing.assert_array_equal(first.data, again.data)
    np.testing.assert_array_equal(first.target, again.target)


def test_train_and_test_share_one_truth_but_no_noise():
    train = make_newsvendor(100, 5, random_state=0)
    test = make_newsvendor(100, 5, beta=train.beta, random_state=1)
    np.testing.assert_array_equal(train.beta, test.beta)
    assert not np.any(train.data == test.data)


def test_a_generator_moves_on_between_draws():
    generator = np.random.default_rng(0)
    first, second = (make_newsvendor(20, 2, random_state=generator) for _ in range(2))
    assert not np.any(first.data == second.data)


def test_contexts_have_the_stated_covariance():
    n = 200_000
    contexts = make_newsvendor(n, 4, random_state=2).data
    expected = 0.5 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    # A sample covariance of unit normals has a standard deviation of at most sqrt(2/n).
    np.testing.assert_allclose(np.cov(contexts.T), expected, atol=5 * np.sqrt(2 / n))
    np.testing.assert_allclose(contexts.mean(axis=0), 0, atol=5 / np.sqrt(n))


def test_coefficients_are_uniform():
    beta = make_newsvendor(1, 2_000, random_state=3).beta
    assert kstest(beta, "uniform", args=(-0.1, 0.2)).pvalue > 1e-3


def test_signal_at_known_points():
    # βᵀx = 0: c·(0 + 2 + 1) = 5.1.  βᵀx = −π/4: c·(−1 + 2·exp(−π²) + 1).
    contexts = np.array([[0.0, 3.0], [-np.pi / 4, 8.0]])
    signal = newsvendor_signal(contexts, [1.0, 0.0])
    np.testing.assert_allclose(signal, [5.1, 3.4 * np.exp(-(np.pi**2))], rtol=1e-12)


def test_bunch_signal_is_the_signal_of_its_contexts():
    draw = make_newsvendor(40, 6)
    np.testing.assert_array_equal(draw.signal, newsvendor_signal(draw.data, draw.beta))


# The paper's coefficients leave the signal near its middle; ten-fold larger ones reach zero,
# where half of the noise would be rejected.
@pytest.mark.parametrize("stretch", [1, 10])
def test_demand_given_context_is_truncated_normal(stretch):
    beta = stretch * make_newsvendor(1, 10, random_state=0).beta
    draw = make_newsvendor(20_000, 10, beta=beta, random_state=6)
    ranks = demand_given(draw.signal).cdf(draw.target)
    assert kstest(ranks, "uniform").pvalue > 1e-3
    low = draw.signal < np.median(draw.signal)
    assert kstest(ranks[low], "uniform").pvalue > 1e-3
    assert kstest(ranks[~low], "uniform").pvalue > 1e-3


def test_demand_agrees_with_acceptance_and_rejection():
    rng = np.random.default_rng(8)
    # A large coefficient, so that rejection happens often.
    draw = make_newsvendor(20_000, 1, beta=[1.0], random_state=7)
    rejected = draw.signal + rng.standard_normal(20_000)
    while np.any(negative := rejected < 0):
        rejected[negative] = draw.signal[negative] + rng.standard_normal(negative.sum())
    assert kstest(draw.target, rejected).pvalue > 1e-3
    # Paired by context, the difference has mean zero; each demand's variance is at most 1.
    difference = np.mean(draw.target - rejected)
    assert abs(difference) < 5 * np.sqrt(2 / 20_000)


def test_conditional_mean():
    draw = make_newsvendor(200, 1, beta=[1.0])
    np.testing.assert_allclose(
        draw.conditional_mean, demand_given(draw.signal).mean(), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize(("holding", "stockout"), [(0.6, 1.0), (2.0, 0.1)])
def test_oracle_decision_is_the_critical_quantile(holding, stockout):
    expected = demand_given(SIGNALS).ppf(stockout / (holding + stockout))
    np.testing.assert_allclose(
        oracle_newsvendor_decision(SIGNALS, holding, stockout), expected, rtol=1e-9
    )


@pytest.mark.parametrize("decision", [-1.5, 0.0, 0.7, 3.0, 9.0])
@pytest.mark.parametrize("signal", SIGNALS)
def test_expected_loss_is_the_integral_of_the_loss(decision, signal):
    law = demand_given(signal)

    def integrand(demand):
        return newsvendor_loss(decision, demand, 0.6, 1.0) * law.pdf(demand)

    # Beyond 20 the density is below 1e-48; the loss has a kink at the decision.
    integral, _ = quad(integrand, 0, 20, points=[max(decision, 0.0), signal])
    assert expected_newsvendor_loss(decision, signal) == pytest.approx(integral, rel=1e-8)


def test_no_decision_beats_the_oracle():
    oracle = oracle_newsvendor_decision(SIGNALS)
    best = oracle_newsvendor_loss(SIGNALS)
    for shift in np.linspace(-1, 1, 21):
        loss = expected_newsvendor_loss(oracle + shift, SIGNALS)
        assert np.all(loss >= best - 1e-12)
    for step in (-1e-3, 1e-3):
        assert np.all(expected_newsvendor_loss(oracle + step, SIGNALS) > best)


def test_oracle_loss_agrees_with_monte_carlo():
    draw = make_newsvendor(200_000, 3, beta=[0.5, -0.4, 0.6], random_state=9)
    losses = newsvendor_loss(oracle_newsvendor_decision(draw.signal), draw.target, 0.6, 1.0)
    exact = oracle_newsvendor_loss(draw.signal)
    error = np.mean(losses - exact)
    assert abs(error) < 4 * np.std(losses - exact) / np.sqrt(losses.size)


def test_oracle_loss_tends_to_that_of_gaussian_noise_from_below():
    gaussian = 1.6 * norm.pdf(norm.ppf(1.0 / 1.6))
    losses = oracle_newsvendor_loss(np.linspace(0, 12, 100))
    assert np.all(np.diff(losses) > -1e-12)
    assert losses[-1] == pytest.approx(gaussian, abs=1e-12)
    assert losses[0] < 0.75 * gaussian


@pytest.mark.parametrize(("n_samples", "n_features"), [(0, 3), (3, 0)])
def test_empty_draws_are_refused(n_samples, n_features):
    with pytest.raises(ValueError, match="must be >= 1"):
        make_newsvendor(n_samples, n_features)


def test_beta_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match=r"shape \(3,\), got shape \(2,\)"):
        make_newsvendor(10, 3, beta=[0.1, 0.2])


def test_beta_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="beta must be finite"):
        make_newsvendor(10, 2, beta=[0.1, np.nan])


def test_a_single_context_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"x\[None, :\]"):
        newsvendor_signal(np.zeros(3), np.zeros(3))


def test_costs_must_be_positive():
    with pytest.raises(ValueError, match="holding"):
        oracle_newsvendor_decision(SIGNALS, holding=0.0)
    with pytest.raises(ValueError, match="stockout"):
        expected_newsvendor_loss(SIGNALS, SIGNALS, stockout=-1.0)


def test_a_column_of_decisions_is_refused():
    with pytest.raises(ValueError, match="same shape"):
        expected_newsvendor_loss(SIGNALS[:, None], SIGNALS)
