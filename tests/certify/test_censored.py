"""Certified values and worst cases where some outcomes are only known to be at least so much."""

from dataclasses import replace
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

import hedgerow as hr
from hedgerow.certify.value import certify

ROWS, EPSILON, PENALTY, ORDER = 14, 0.2, 1.5, 5.5
HOLDING, STOCKOUT = 0.6, 1.0
LOSS = hr.Newsvendor(HOLDING, STOCKOUT)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 1))
DEMAND, STOCK = 5 + X[:, 0] + RNG.normal(size=ROWS), RNG.uniform(4, 7, ROWS)
Y, CENSORED = np.minimum(DEMAND, STOCK), DEMAND > STOCK
MODELS = [
    hr.Sinkhorn(PENALTY, EPSILON),
    hr.CausalSinkhorn(PENALTY, EPSILON),
    hr.CausalSinkhorn(2.5, EPSILON, order=1),
    hr.CausalWasserstein(PENALTY),
]


def named(model):
    return f"{type(model).__name__}-{model.order}"


SOME = [
    pytest.param(m, id=named(m), marks=[pytest.mark.slow] * (m is not MODELS[0])) for m in MODELS
]
"""One of the models at once, the others among the slow tests."""


def constant(model):
    """Always the same order: moving contexts brings nothing, so outcomes alone decide."""
    return hr.RobustPolicy.from_function(
        lambda x: jnp.full(1, ORDER) + 0 * x[:1], LOSS, X, Y, ambiguity=model, censored=CENSORED
    )


def entries(policy):
    nominal = policy.nominal_
    outcomes = nominal.outcomes[nominal.entry_outcome, 0]
    return outcomes, nominal.entry_low[:, 0], nominal.joint_mass()


def loss(u):
    return HOLDING * np.maximum(ORDER - u, 0) + STOCKOUT * np.maximum(u - ORDER, 0)


def integral(function, y, low):
    reach = 12.0
    ends = [max(low, y - reach), *sorted(p for p in {y, ORDER} if p > low), y + reach + 3]
    return sum(quad(function, a, b, epsabs=0, epsrel=1e-11)[0] for a, b in pairwise(ends) if b > a)


def log_moment(y, low, order, temperature):
    def kernel(u):
        return np.exp(-(np.abs(u - y) ** order) / EPSILON)

    tilted = integral(lambda u: kernel(u) * np.exp(loss(u) / temperature), y, low)
    return np.log(tilted / integral(kernel, y, low))


@pytest.mark.parametrize("model", SOME[:3])
def test_the_value_of_a_constant_is_that_of_quadrature(model):
    policy = constant(model)
    temperature = model.penalty * EPSILON
    exact = sum(
        mass * temperature * log_moment(y, low, model.order, temperature)
        for y, low, mass in zip(*entries(policy), strict=True)
    )
    np.testing.assert_allclose(policy.robust_value_.value, exact, rtol=1e-6)


@pytest.mark.slow
def test_the_value_without_entropy_is_the_best_move_of_every_entry():
    policy = constant(MODELS[3])
    exact = 0.0
    for y, low, mass in zip(*entries(policy), strict=True):
        grid = np.linspace(max(low, y - 6), y + 6, 200_001)
        exact += mass * np.max(loss(grid) - PENALTY * (grid - y) ** 2)
    np.testing.assert_allclose(policy.robust_value_.value, exact, rtol=1e-6)


def test_no_choice_above_the_bounds_beats_the_value():
    """Exponential densities from each bound, or around, are choices; E Ψ − λε·KL ≤ F."""
    policy = constant(MODELS[0])
    rng, attained = np.random.default_rng(1), []
    for _ in range(20):
        total = 0.0
        for y, low, mass in zip(*entries(policy), strict=True):
            slope = rng.normal(0, 2)

            def log_kernel(u, y=y):
                return -((u - y) ** 2) / EPSILON

            def tilted(u, y=y, slope=slope, log_kernel=log_kernel):
                return np.exp(log_kernel(u) + slope * (u - y))

            size = integral(lambda u: np.exp(log_kernel(u)), y, low)
            own = integral(tilted, y, low)
            gain = integral(lambda u: tilted(u) * loss(u), y, low) / own
            moved = integral(lambda u: tilted(u) * slope * (u - y), y, low) / own  # noqa: B023
            total += mass * (gain - PENALTY * EPSILON * (moved - np.log(own / size)))
        attained.append(total)
    value = policy.robust_value_
    assert max(attained) <= value.value + 1e-6
    assert max(attained) > value.nominal


def test_bounds_can_only_lower_the_value_without_entropy():
    policy = constant(MODELS[3])
    problem = policy.problem(X, Y, censored=CENSORED)
    free = replace(problem.nominal, entry_low=None)
    loose = type(problem).of(free, problem.units, LOSS, problem.given)
    key = jax.random.key(0)
    bound, unbound = (certify(p, policy.rule_, key).robust.value for p in (problem, loose))
    assert bound < unbound - 5e-4


@pytest.mark.parametrize("model", SOME)
def test_worst_cases_lie_above_the_bounds_and_attain_the_value(model):
    policy = constant(model)
    worst = hr.worst_case(policy, X, Y, censored=CENSORED)
    draws = worst.sample(20_000)
    nominal = policy.nominal_
    lows = np.minimum.reduceat(nominal.entry_low[:, 0], nominal.start)[draws.source]
    assert np.all(draws.y[:, 0] >= lows - 1e-9)
    assert np.isfinite(lows).mean() > 0.3
    error = loss(draws.y[:, 0]).std() / np.sqrt(len(draws.y))
    assert abs(loss(draws.y[:, 0]).mean() - worst.expected_loss()) < 4 * error + 1e-3


@pytest.mark.slow
def test_the_worst_cases_density_of_the_outcome_integrates_to_one():
    worst = hr.worst_case(constant(MODELS[1]), X, Y, censored=CENSORED)
    grid = np.linspace(Y.min() - 4, Y.max() + 6, 4001)
    # the density jumps at every bound, which a sum over a grid meets to its spacing
    np.testing.assert_allclose(np.trapezoid(worst.marginal_y(grid), grid), 1, rtol=3e-3)


@pytest.mark.slow
def test_a_radius_is_used_up():
    policy = constant(hr.CausalSinkhorn(radius=1.0, epsilon=EPSILON))
    np.testing.assert_allclose(policy.robust_value_.discrepancy, 1.0, rtol=1e-3)


def test_reference_measures_are_refused():
    points = np.linspace(0, 9, 30)[:, None]
    with pytest.raises(ValueError, match="leave reference out"):
        hr.robust_value(
            constant(MODELS[1]),
            X,
            Y,
            censored=CENSORED,
            reference=(hr.Reference(points - 4), hr.Reference(points)),
        )


def test_a_model_that_does_not_keep_bounds_is_told_which_method_to_write():
    class Elsewhere(hr.CausalSinkhorn):
        def censored_kernels(self, units, loss):
            return hr.ambiguity.Ambiguity.censored_kernels(self, units, loss)

    with pytest.raises(NotImplementedError, match=r"write Elsewhere\.censored_kernels"):
        constant(Elsewhere(PENALTY, EPSILON))
