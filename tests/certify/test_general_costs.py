"""Any order, norms and declared contexts: strong duality against a conic solver, and limits."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import hedgerow as hr
from tests.oracles import moved_cost, worst_over_plans

LOSS = hr.Newsvendor(0.6, 1.0, decision_set=hr.Free(1), outcome_support=(0, 7))
# temperature, rain, two one-hot columns of the sky, a price
X = np.array([[-1, 0.0, 1, 0, 2], [-1, 0.0, 1, 0, 2], [0.2, 0.5, 0, 1, 2], [1.1, 1.0, 1, 0, 3]])
Y = np.array([2.0, 3.5, 3.0, 5.0])
KINDS = [
    hr.contexts.Bounded(1, low=0, high=1),
    hr.contexts.Categorical((2, 3), mismatch=0.3),
    hr.contexts.Fixed(4),
]
GRID_X = np.array(
    [
        [a, b, *c, d]
        for a, b, c, d in itertools.product(
            (-1.5, -0.5, 0.5, 1.5), (-0.5, 0.0, 0.6, 1.2), ((1, 0), (0, 1)), (2, 3)
        )
    ],
    float,
)
GRID_Y = np.linspace(0, 7, 6)[:, None]
REFERENCE = hr.Reference(GRID_X), hr.Reference(GRID_Y)
CASES = [
    (order, norm, causal, form)
    for order in (1, 1.5, 2, 3)
    for norm in (None, 1, 2, math.inf)
    for causal in (True, False)
    for form in ("penalty", "radius")
]
FAST = [(1.5, None, True, "penalty"), (3, math.inf, False, "radius")]


def rule(x):
    return 3 + jnp.sin(2 * x[0]) + x[1] * x[2] + 0.3 * x[4]


def decisions(x):
    return 3 + np.sin(2 * x[:, :1]) + x[:, 1:2] * x[:, 2:3] + 0.3 * x[:, 4:]


def cost_of(order, norm):
    """What moving a context to the grid costs, from the declarations themselves."""
    numbers = moved_cost(order, norm)

    def cost(home, grid):
        paid = numbers(grid[:, :2] - home[:2]) + 0.3 * np.any(grid[:, 2:4] != home[2:4], axis=1)
        forbidden = (grid[:, 1] < 0) | (grid[:, 1] > 1) | (grid[:, 4] != home[4])
        return np.where(forbidden, np.inf, paid)

    return cost


@pytest.mark.parametrize(
    ("order", "norm", "causal", "form"),
    [pytest.param(*case, marks=() if case in FAST else pytest.mark.slow) for case in CASES],
)
def test_strong_duality(order, norm, causal, form):
    # at order 1 smearing points out takes 0.944 of the radius by itself
    radius = 1.1 if order == 1 else 0.9
    settings = {"penalty": {"penalty": 0.6}, "radius": {"radius": radius}}[form]
    epsilon = 0.4 if form == "penalty" else 0.15
    kind = hr.CausalSinkhorn if causal else hr.Sinkhorn
    policy = hr.RobustPolicy.from_function(rule, LOSS, X, Y)
    model = kind(epsilon=epsilon, order=order, norm=norm, contexts=KINDS, **settings)
    worst = hr.worst_case(policy, X, Y, ambiguity=model, reference=REFERENCE)
    found, cost = worst.robust, cost_of(order, norm)
    losses = LOSS(decisions(GRID_X)[:, None], GRID_Y[None])
    value, expected, discrepancy = worst_over_plans(
        X, Y[:, None], losses, GRID_X, GRID_Y, epsilon=epsilon, order=order, causal=causal,
        cost_x=cost, **settings,
    )  # fmt: skip
    if form == "penalty":  # the dual's zero is the least discrepancy any distribution has
        least = [logsumexp(-cost(x, GRID_X) / epsilon) for x in X]
        least = np.mean(least) + np.mean(
            logsumexp(-(np.abs(GRID_Y - Y) ** order) / epsilon, axis=0)
        )
        value -= 0.6 * epsilon * least
    assert found.value == pytest.approx(value, rel=1e-5)
    # the conic solver's own optimum is flat: second order in what it leaves
    assert found.expected_loss == pytest.approx(expected, rel=5e-4)
    assert found.discrepancy == pytest.approx(discrepancy, rel=2e-3, abs=1e-4)
    a, b = (part.ravel() for part in np.meshgrid(range(len(GRID_X)), range(6), indexing="ij"))
    mass = worst.density(GRID_X[a], GRID_Y[b]).reshape(losses.shape)
    assert mass.sum() == pytest.approx(1, abs=1e-9)
    assert np.sum(mass * losses) == pytest.approx(found.expected_loss, rel=1e-6)
    assert mass[(GRID_X[:, 1] < 0) | (GRID_X[:, 1] > 1)].sum() == 0


# --------------------------------------------------------------------------- limits

ONE = np.array([[-1.0], [0.2], [1.1]])
SOME = np.array([2.0, 3.0, 5.0])


def value(model, policy=None, x=ONE, y=SOME, tolerance=1e-6):
    policy = policy or hr.RobustPolicy.from_function(lambda x: 3 + jnp.sin(2 * x[0]), LOSS, x, y)
    return hr.robust_value(policy, x, y, ambiguity=model, tolerance=tolerance).value


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
def test_orders_are_continuous(order):
    """p → 1 and p → 2, certified over Lebesgue measure by another kernel's quadrature."""
    exact = value(hr.Sinkhorn(2.0, 0.2, order=order))
    near = value(hr.Sinkhorn(2.0, 0.2, order=order + 1e-6))
    assert near == pytest.approx(exact, abs=2e-5)  # 1e-6 times the derivative in p, about 1


@pytest.mark.slow
def test_wide_bounds_are_none():
    plain = value(hr.Sinkhorn(2.0, 0.2))
    wide = value(hr.Sinkhorn(2.0, 0.2, contexts=hr.contexts.Bounded(low=-50, high=50)))
    assert wide == pytest.approx(plain, rel=1e-6)


@pytest.fixture(scope="module")
def several():
    policy = hr.RobustPolicy.from_function(rule, LOSS, X, Y)

    def value_of(contexts, model=hr.CausalSinkhorn, **more):
        given = {"epsilon": 0.2} if model is hr.CausalSinkhorn else {}
        return value(model(1.5, **given, contexts=contexts, **more), policy, X, Y, 1e-2)

    return value_of


@pytest.mark.slow
def test_a_category_that_cannot_change_is_fixed(several):
    fixed = several([hr.contexts.Fixed((1, 2, 3, 4))])
    still = hr.contexts.Fixed((1, 4))
    infinite = several([still, hr.contexts.Categorical((2, 3), mismatch=math.inf)])
    assert infinite == pytest.approx(fixed, rel=1e-9)
    free = several([still, hr.contexts.Categorical((2, 3), mismatch=0.1)])
    assert free != pytest.approx(fixed, rel=1e-3)


@pytest.mark.slow
def test_climbing_a_category_finds_what_a_list_of_values_holds(several):
    """Causal Wasserstein tries every value: a maximum over both skies, by hand."""
    fixed = hr.contexts.Fixed((0, 1, 4))
    found = several([fixed, hr.contexts.Categorical((2, 3), 0.1)], hr.CausalWasserstein)
    worst = 0.0
    for context, outcomes in ((X[0], Y[:2]), (X[2], Y[2:3]), (X[3], Y[3:])):
        best = -np.inf
        for sky in ((1, 0), (0, 1)):
            moved = np.array([*context[:2], *sky, context[4]])[None]
            z = decisions(moved)[0, 0]
            u = np.linspace(0, 7, 70001)
            gain = [np.max(np.maximum(0.6 * (z - u), u - z) - 1.5 * (u - y) ** 2) for y in outcomes]
            best = max(best, np.mean(gain) - 1.5 * 0.1 * np.any(moved[0] != context))
        worst += best * len(outcomes) / 4
    assert found == pytest.approx(worst, rel=1e-6)


@pytest.mark.slow
def test_only_contexts_or_only_outcomes(several):
    """Partial ambiguity: with neither, nothing is left but the nominal loss."""
    both, neither = several(None), several(hr.contexts.Fixed(), outcomes="fixed")
    nominal = float(np.mean(LOSS(decisions(X), Y[:, None])))
    assert neither == pytest.approx(nominal, rel=1e-12)
    only_y, only_x = several(hr.contexts.Fixed()), several(None, outcomes="fixed")
    assert nominal < only_y < both + 0.01
    assert nominal < only_x < both + 0.01


@pytest.mark.slow
@given(st.floats(1.2, 6.0), st.floats(0.3, 0.95), st.sampled_from([1.5, 2, 3]))
@settings(max_examples=3, deadline=None)
def test_a_smaller_support_never_raises_the_worst_expected_loss(high, share, order):
    """At a fixed penalty and without entropy: fewer points to move to."""
    model = hr.CausalWasserstein(1.2, order=order, contexts=hr.contexts.Bounded(0, -high, high))
    small = model.replace(contexts=hr.contexts.Bounded(0, -max(share * high, 1.11), high))
    policy = hr.RobustPolicy.from_function(lambda x: 3 + jnp.sin(2 * x[0]), LOSS, ONE, SOME)
    assert value(small, policy, tolerance=1e-3) <= value(model, policy, tolerance=1e-3) + 1e-6


@pytest.mark.slow
def test_worst_cases_live_on_what_was_declared():
    rng = np.random.default_rng(0)
    day = rng.integers(0, 3, 40)
    x = np.column_stack([rng.normal(size=40), rng.gamma(1.0, size=40), np.eye(3)[day]])
    y = np.round(np.maximum(5 + x[:, 0] + day + rng.normal(size=40), 0))
    loss = hr.Newsvendor(0.6, 1.0, outcome_support=(0, np.inf))
    policy = hr.RobustPolicy.from_function(
        lambda x: 6 + 0.5 * x[0] + x[3] + 2 * x[4] - x[1], loss, x, y
    )
    kinds = [hr.contexts.Bounded(1, 0), hr.contexts.Categorical((2, 3, 4), 0.1)]
    model = hr.CausalSinkhorn(1.5, 0.3, contexts=kinds, outcomes="integers")
    worst = hr.worst_case(policy, x, y, ambiguity=model, tolerance=1e-2)
    draws = worst.sample(4000)
    assert draws.x[:, 1].min() >= 0
    # to rounding of standardised columns
    assert np.abs(draws.x[:, 2:].round() - draws.x[:, 2:]).max() < 1e-12
    assert np.all(draws.x[:, 2:].round().sum(axis=1) == 1)
    assert np.abs(draws.y - draws.y.round()).max() < 1e-9
    assert draws.y.min() >= 0
    paid = policy.losses(draws.x, draws.y[:, 0] if draws.y.ndim > 1 else draws.y)
    error = 4 * paid.std() / np.sqrt(len(paid))  # the draws' own
    assert paid.mean() == pytest.approx(worst.expected_loss(), abs=error)
    counts = np.arange(0, 40.0)
    assert worst.marginal_y(counts).sum() == pytest.approx(1, abs=1e-6)
