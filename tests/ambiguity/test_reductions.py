"""Reductions: values by their formulas, and gradients that are the worst case's weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

from hedgerow.ambiguity import LogOfMean, Mean, MeanOfLogs, Risk, Tilt
from tests.oracles import double

RNG = np.random.default_rng(0)
LEVELS = RNG.normal(size=(5, 3))
MASS = RNG.dirichlet(np.ones(15)).reshape(5, 3)
TEMPERATURE = 0.7


def upper_half(losses, mass):
    """CVaR at one half, by the dual over its level; enough of a risk for a test."""
    level = jax.lax.stop_gradient(jnp.sort(losses.ravel()))
    return jnp.min(
        level + 2 * jnp.sum(mass * jnp.maximum(losses - level[:, None, None], 0), (1, 2))
    )


def value_and_weights(reduction, levels=LEVELS):
    return double(jax.value_and_grad(reduction.value))(levels, MASS)


@pytest.mark.parametrize(
    ("reduction", "value", "weights"),
    [
        (Mean(), np.sum(MASS * LEVELS), MASS),
        (MeanOfLogs(TEMPERATURE), TEMPERATURE * np.sum(MASS * LEVELS), TEMPERATURE * MASS),
        (
            LogOfMean(TEMPERATURE),
            TEMPERATURE * logsumexp(LEVELS, b=MASS),
            TEMPERATURE * MASS * np.exp(LEVELS - logsumexp(LEVELS, b=MASS)),
        ),
    ],
    ids=lambda part: type(part).__name__,
)
def test_values_and_weights_are_those_of_the_formulas(reduction, value, weights):
    found, gradient = value_and_weights(reduction)
    assert found == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(gradient, weights, rtol=1e-12)


def test_one_logarithm_is_the_worst_reweighting_less_its_divergence():
    """T log Σ q e^u = max_w { T Σ w u − T D(w ‖ q) }, attained by the gradient over T."""
    value, gradient = value_and_weights(LogOfMean(TEMPERATURE))

    def attained(w):
        return TEMPERATURE * np.sum(w * LEVELS - w * np.log(w / MASS))

    assert attained(gradient / TEMPERATURE) == pytest.approx(value, rel=1e-12)
    others = [attained(RNG.dirichlet(5 * np.ones(15)).reshape(5, 3)) for _ in range(200)]
    assert max(others) < value


def test_a_risks_weights_are_the_worst_case():
    """The worse half of the cases, each with twice its mass, as far as mass goes round."""
    value, weights = value_and_weights(Risk(upper_half))
    order = np.argsort(-LEVELS.ravel())
    mass = np.diff(np.minimum(np.cumsum(2 * MASS.ravel()[order]), 1), prepend=0.0)
    assert value == pytest.approx(mass @ LEVELS.ravel()[order], rel=1e-12)
    partial = np.argmax(np.cumsum(2 * MASS.ravel()[order]) > 1)  # there the risk has a kink
    found = weights.ravel()[order]
    np.testing.assert_allclose(np.delete(found, partial), np.delete(mass, partial), rtol=1e-12)


def test_who_can_be_followed_and_who_need_not():
    assert Mean().logs() is None
    assert Mean().is_linear()
    assert Risk(upper_half).logs() is None
    assert not Risk(upper_half).is_linear()
    for reduction in (MeanOfLogs(TEMPERATURE), LogOfMean(TEMPERATURE)):
        assert reduction.logs() is reduction
        assert not reduction.is_linear()


@pytest.mark.parametrize("reduction", [MeanOfLogs(TEMPERATURE), LogOfMean(TEMPERATURE)], ids=repr)
def test_levels_are_the_logarithms_of_the_objective(reduction):
    """Value and gradient from the levels: what trackers rely on."""
    exponents, log_weights = RNG.normal(size=(2, 5, 3, 4))
    slots = np.arange(15).reshape(5, 3)

    def value(exponents):
        log_moments = Tilt(exponents, log_weights, MASS, slots).log_moments()
        levels = reduction.levels(log_moments, jnp.asarray(MASS))
        return reduction.value(log_moments, jnp.asarray(MASS)), levels

    (found, levels), gradient = double(jax.value_and_grad(value, has_aux=True))(exponents)
    by_hand = logsumexp(log_weights + exponents, axis=-1)
    if np.size(levels) == 1:
        by_hand = logsumexp(by_hand, b=MASS)
    np.testing.assert_allclose(levels, by_hand, rtol=1e-12)
    assert double(reduction.of_levels)(levels, MASS) == pytest.approx(found, rel=1e-12)
    shares = np.exp(log_weights + exponents - reduction.per_node(levels))
    np.testing.assert_allclose(gradient, TEMPERATURE * MASS[:, :, None] * shares, rtol=1e-10)
    assert np.shape(reduction.slots(Tilt(exponents, log_weights, MASS, slots))) == levels.shape
    assert reduction.count(15) == levels.size
    assert reduction.spans_contexts() == (levels.size == 1)


def test_a_single_logarithm_in_the_place_of_all_is_never_smaller():
    """Jensen: log Σ q e^u ≥ Σ q u; equal where all levels are."""
    pooled = MeanOfLogs(TEMPERATURE).pooled()
    assert isinstance(pooled, LogOfMean)
    assert value_and_weights(pooled)[0] > value_and_weights(MeanOfLogs(TEMPERATURE))[0] + 0.1
    alike = value_and_weights(pooled, np.full((5, 3), 2.0))[0]
    assert alike == pytest.approx(2.0 * TEMPERATURE, rel=1e-12)
