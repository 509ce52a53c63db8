"""Worst cases of the Sinkhorn models: densities, marginals and draws of one distribution."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import kstest

import hedgerow as hr
from hedgerow.certify.worst_cases.base import rows

LOSS = hr.Newsvendor(0.6, 1.0, decision_set=hr.Free(1))
X = np.array([-1.0, -1.0, 0.2, 0.2, 0.2, 1.1])[:, None]
Y = np.array([2.0, 3.5, 2.5, 3.0, 4.5, 5.0])
GRID_X, GRID_Y = np.linspace(-6, 6, 241), np.linspace(-5, 13, 721)
STEP_X, STEP_Y = GRID_X[1] - GRID_X[0], GRID_Y[1] - GRID_Y[0]


def rule(x):
    return 3 + jnp.sin(2 * x[0])


@pytest.fixture(scope="module")
def policy():
    return hr.RobustPolicy.from_function(rule, LOSS, X, Y)


@pytest.fixture(
    scope="module",
    params=[
        hr.CausalSinkhorn(0.8, 0.3),
        hr.Sinkhorn(0.8, 0.3),
        hr.CausalSinkhorn(radius=1.0, epsilon=0.3),
    ],
    ids=["causal", "plain", "radius"],
)
def worst(request, policy):
    return hr.worst_case(policy, X, Y, ambiguity=request.param, tolerance=1e-7)


@pytest.fixture(scope="module")
def density(worst):
    a, b = np.meshgrid(GRID_X, GRID_Y, indexing="ij")
    return worst.density(a.ravel(), b.ravel()).reshape(a.shape)


def test_density_integrates_to_one_and_attains_the_value(worst, density):
    cell = STEP_X * STEP_Y
    assert density.sum() * cell == pytest.approx(1, abs=1e-5)
    losses = LOSS((3 + np.sin(2 * GRID_X))[:, None, None], GRID_Y[None, :, None])
    assert np.sum(density * losses) * cell == pytest.approx(worst.expected_loss(), rel=1e-5)


def test_expected_loss_less_the_price_is_the_value(worst):
    found = worst.robust
    if found.radius is not None:
        assert worst.expected_loss() == pytest.approx(found.value, rel=1e-7)
        assert worst.discrepancy == pytest.approx(found.radius**2, rel=1e-7)
    else:
        least = -0.3 * np.log(np.pi * 0.3)
        paid = found.penalty * (worst.discrepancy - least)
        assert worst.expected_loss() - paid == pytest.approx(found.value, rel=1e-9)


def test_marginals_are_those_of_the_density(worst, density):
    assert worst.marginal_x(GRID_X) == pytest.approx(density.sum(axis=1) * STEP_Y, abs=1e-4)
    assert worst.marginal_y(GRID_Y) == pytest.approx(density.sum(axis=0) * STEP_X, abs=1e-4)


@pytest.mark.slow
def test_draws_follow_the_marginals(worst):
    draws = worst.sample(1500, seed=1)
    x, y = draws
    assert x.shape == y.shape == (1500, 1)
    assert draws.effective_sample_size > 50
    for drawn, grid, marginal in (
        (x, GRID_X, worst.marginal_x(GRID_X)),
        (y, GRID_Y, worst.marginal_y(GRID_Y)),
    ):
        below = np.cumsum(marginal) - marginal / 2
        distribution = below * (grid[1] - grid[0])
        fit = kstest(drawn[:, 0], lambda u, g=grid, d=distribution: np.interp(u, g, d))
        assert fit.pvalue > 1e-3
    assert np.array_equal(worst.sample(1500, seed=1).x, x)
    assert not np.any(worst.sample(1500, seed=2).x == x)


@pytest.mark.slow
def test_causal_worst_case_moves_contexts_without_looking_at_outcomes(policy):
    """Within one nominal context, where x goes says nothing about which ŷ it came from."""
    outcomes = np.array([1.0, 6.0, *Y[2:]])  # of the first context: far apart, on both sides
    kinds = {}
    for kind in (hr.CausalSinkhorn, hr.Sinkhorn):
        worst = hr.worst_case(policy, X, outcomes, ambiguity=kind(0.8, 0.3), tolerance=1e-7)
        drawn = [worst.sample(1500, seed) for seed in range(3)]
        x, y, source = (
            np.concatenate([getattr(d, n) for d in drawn]) for n in ("x", "y", "source")
        )
        first = source == 0
        kinds[kind] = np.corrcoef(x[first, 0], y[first, 0] > 3.5)[0, 1]
    assert abs(kinds[hr.CausalSinkhorn]) < 0.08  # three standard errors of 1500 draws
    assert abs(kinds[hr.Sinkhorn]) > 0.2


@pytest.mark.slow
def test_sampled_outcomes_follow_the_closed_form(policy):
    """A CustomLoss that is the newsvendor has the same worst case, by nodes and candidates."""
    same = hr.CustomLoss(
        lambda z, y: jnp.sum(0.6 * jnp.maximum(z - y, 0) + jnp.maximum(y - z, 0)), hr.Free(1)
    )
    examined = hr.RobustPolicy.from_function(rule, same, X, Y)
    model = hr.Sinkhorn(0.8, 0.3)
    closed, sampled = (
        hr.worst_case(p, X, Y, ambiguity=model, tolerance=1e-4) for p in (policy, examined)
    )
    where = np.linspace(0, 7, 15)
    # Gauss nodes across the kink of the loss: about 1e-3
    assert sampled.marginal_x(where) == pytest.approx(closed.marginal_x(where), rel=5e-3, abs=1e-4)
    assert sampled.density(where - 3, where) == pytest.approx(
        closed.density(where - 3, where), rel=5e-3, abs=1e-4
    )
    y = sampled.sample(300, seed=0).y[:, 0]
    grid = closed.marginal_y(GRID_Y)
    distribution = (np.cumsum(grid) - grid / 2) * STEP_Y
    assert kstest(y, lambda u: np.interp(u, GRID_Y, distribution)).pvalue > 1e-3


def test_draws_over_a_reference_measure_are_exact(policy):
    reference = (hr.Reference(np.array([[-1.0], [0.0], [1.0]])), hr.Reference([[1.0], [5.0]]))
    worst = hr.worst_case(policy, X, Y, ambiguity=hr.CausalSinkhorn(0.8, 0.5), reference=reference)
    draws = worst.sample(2000, seed=0)
    assert draws.effective_sample_size == np.inf
    for x in (-1.0, 0.0, 1.0):  # a share of 2000 draws has a standard deviation of 0.011 at most
        assert np.mean(np.isclose(draws.x, x)) == pytest.approx(worst.marginal_x([x])[0], abs=0.05)


def test_density_is_in_the_data_s_units(policy):
    """Ten times the outcome's unit, a tenth of the density."""
    wide = hr.RobustPolicy.from_function(lambda x: 10 * rule(x), LOSS, X, 10 * Y)
    scaled = hr.CausalSinkhorn(8.0, 0.3, y_scale=10.0)
    plain = hr.worst_case(policy, X, Y, ambiguity=hr.CausalSinkhorn(0.8, 0.3))
    wide = hr.worst_case(wide, X, 10 * Y, ambiguity=scaled)
    assert wide.density([0.3], [40.0]) == pytest.approx(plain.density([0.3], [4.0]) / 10, rel=1e-5)
    assert wide.marginal_x([0.3]) == pytest.approx(plain.marginal_x([0.3]), rel=1e-5)


def test_points_must_fit(worst):
    with pytest.raises(ValueError, match="x has 2 rows, but y has 1"):
        worst.density([0.0, 1.0], [1.0])
    with pytest.raises(ValueError, match=r"x must have 1 column\(s\)"):
        worst.marginal_x(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"x must have 2 column\(s\), got shape \(3,\)"):
        rows("x", [0.0, 1.0, 2.0], 2)
    with pytest.raises(ValueError, match="n must be at least 1"):
        worst.sample(0)
    with pytest.raises(TypeError, match="seed must be a whole number, got 'new'"):
        worst.sample(3, seed="new")
