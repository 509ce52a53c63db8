"""Certified values: never below what any feasible distribution attains, and monotone as they must.

Around each context the adversary may choose Gaussians for context and outcome; against the kernels
their discrepancy beyond the least one is ε·KL, in closed form. So for every choice

    E_P Ψ − λ·ε·KL ≤ F_λ    and, if ε·KL ≤ ρ̄,    E_P Ψ ≤ v(ρ).
"""

import numpy as np
import pytest
from scipy.stats import norm

import hedgerow as hr
from hedgerow.certify.radii import least_discrepancy
from tests.problems import AUTO, SMALL

RNG = np.random.default_rng(0)
ROWS, CHOICES, NODES = 24, 100_000, 12
X = RNG.normal(size=(ROWS, 1))
Y = np.maximum(5 + X[:, 0] + RNG.normal(size=ROWS), 0.1)
HOLDING, STOCKOUT, EPSILON = 0.6, 1.0, 0.2
LOSS = hr.Newsvendor(HOLDING, STOCKOUT)
PENALTIES = (0.5, 2.0, 10.0)


@pytest.fixture(scope="module")
def policy():
    solver = hr.NestedSGD(steps=200, batch=24)
    return hr.RobustPolicy(LOSS, hr.ERM(), SMALL, solver=solver, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def choices(policy):
    """Expected losses and ε·KL of Gaussian choices, (choices,), in the scales of "auto"."""
    units, width = policy.units_, np.sqrt(EPSILON / 2)
    x_scale, y_scale = units.x_spread[0], units.y_spread[0]
    size = 10 ** RNG.uniform(-3, 0.5, (CHOICES, 1))
    shift_x, shift_y = (size * RNG.normal(size=(CHOICES, ROWS)) for _ in range(2))
    wide_x, wide_y = (width * np.exp(size * RNG.normal(size=(CHOICES, ROWS))) for _ in range(2))
    kl = sum(
        np.log(width / wide) + (wide**2 + shift**2) / (2 * width**2) - 0.5
        for shift, wide in ((shift_x, wide_x), (shift_y, wide_y))
    )
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    mean = Y + y_scale * shift_y
    expected = np.zeros((CHOICES, ROWS))
    for node, weight in zip(nodes, weights, strict=True):
        contexts = X[:, 0] + x_scale * (shift_x + wide_x * node)
        orders = policy.predict(contexts.reshape(-1, 1)).reshape(CHOICES, ROWS)
        deviation = y_scale * wide_y
        t = (orders - mean) / deviation
        short = deviation * (norm.pdf(t) - t * norm.sf(t))
        expected += weight * (HOLDING * (orders - mean) + (HOLDING + STOCKOUT) * short)
    return expected.mean(axis=1), EPSILON * kl.mean(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("penalty", PENALTIES)
def test_no_choice_beats_the_value(policy, choices, penalty):
    model = hr.Sinkhorn(penalty, EPSILON, x_scale="auto", y_scale="auto")
    found = hr.robust_value(policy, X, Y, ambiguity=model)
    expected, discrepancy = choices
    attained = expected - penalty * discrepancy
    assert attained.max() <= found.value + 3 * (found.stderr + found.bias)
    assert attained.max() <= found.upper < np.inf
    # and the choices are no straw men: the best of them comes near
    assert attained.max() > found.nominal


@pytest.mark.slow
@pytest.mark.parametrize("spare", [0.01, 0.1])
def test_no_choice_within_the_radius_costs_more_than_the_upper_bound(policy, choices, spare):
    scales = {"x_scale": "auto", "y_scale": "auto"}
    problem = policy.problem(X, Y, ambiguity=hr.Sinkhorn(2.0, EPSILON, **scales))
    radius = np.sqrt(least_discrepancy(problem) + spare)
    found = hr.robust_value(
        policy, X, Y, ambiguity=hr.Sinkhorn(radius=radius, epsilon=EPSILON, **scales)
    )
    expected, discrepancy = choices
    allowed = discrepancy <= spare
    assert allowed.sum() > 1000
    assert found.nominal < expected[allowed].max() <= found.upper < np.inf


@pytest.mark.slow
def test_values_rise_with_the_radius_and_fall_with_the_penalty(policy):
    auto = {"x_scale": "auto", "y_scale": "auto"}
    by_penalty = [
        hr.robust_value(policy, X, Y, ambiguity=hr.Sinkhorn(p, EPSILON, **auto)).value
        for p in (0.3, 0.5, 1.0, 3.0, 30.0)
    ]
    assert np.all(np.diff(by_penalty) < 1e-6)
    by_radius = [
        hr.robust_value(policy, X, Y, ambiguity=hr.CausalWasserstein(radius=r, **AUTO)).value
        for r in (0.01, 0.1, 0.3, 1.0, 3.0)
    ]
    assert np.all(np.diff(by_radius) > -1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
def test_a_smaller_support_never_raises_the_value(order):
    """It only takes choices from the adversary, for a rule without bounds, too."""
    values = []
    for support in (None, (0.0, np.inf), (0.0, 50.0)):
        loss = hr.Newsvendor(HOLDING, STOCKOUT, outcome_support=support)
        policy = hr.RobustPolicy.from_function(lambda x: 5.0 + 0.8 * x[0], loss, X, Y)
        model = hr.CausalWasserstein(1.5, order=order)
        values.append(hr.robust_value(policy, X, Y, ambiguity=model).value)
    assert np.all(np.isfinite(values))
    assert np.all(np.diff(values) <= 1e-6 * values[0])
