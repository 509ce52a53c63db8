"""The generator has the law it states, and its oracle is the true optimum."""

from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.optimize import linprog, minimize
from scipy.stats import gamma, kstest, qmc

from hedgerow.datasets import make_newsvendor
from hedgerow.datasets.inventory_data import (
    expected_inventory_loss,
    inventory_scale,
    make_inventory,
    mean_oracle_inventory_loss,
    oracle_inventory_decision,
    oracle_inventory_loss,
    paper_inventory_costs,
)

SHAPES = np.array([1, 2, 4])
BOTH_DIRECTIONS = pytest.mark.parametrize("transposed", [False, True])

# Near the optimum, far below and above it, and with each product missing.
DECISIONS = np.array(
    [
        [1.2, 2.4, 4.4],
        [0.1, 0.1, 0.1],
        [6.0, 0.5, 1.0],
        [0.5, 6.0, 2.0],
        [0.3, 1.0, 9.0],
        [0.0, 3.0, 3.0],
        [2.0, 0.0, 3.0],
        [2.0, 3.0, 0.0],
        [25.0, 1.0, 60.0],
    ]
)


def allocation_cost(stocks, demands, transposed):
    """Ψ(z, y) for each row by the paper's linear program, solved with HiGHS."""
    holding, stockout, substitution = paper_inventory_costs(transposed=transposed)
    givers, takers = np.nonzero(np.isfinite(substitution))
    served = np.vstack([np.arange(3)[:, None] == givers, np.arange(3)[:, None] == takers])
    constraints = np.hstack([served, np.eye(6)])
    costs = np.concatenate([substitution[givers, takers], holding, stockout])
    return np.array(
        [
            linprog(costs, A_eq=constraints, b_eq=np.concatenate(pair), method="highs").fun
            for pair in zip(stocks, demands, strict=True)
        ]
    )


def vertex_cost(stocks, demands, transposed):
    """Ψ(z, y) as the largest of the dual vertices' affine functions, found by enumeration."""
    holding, stockout, substitution = paper_inventory_costs(transposed=transposed)
    vertices = dual_vertices(holding, stockout, substitution)
    points = np.broadcast_to(stocks, demands.shape)
    return np.max(np.hstack([points, demands]) @ vertices.T, axis=1)


def dual_vertices(holding, stockout, substitution):
    """Vertices of { η ≤ h, ν ≤ b, η_i + ν_j ≤ s_ij }, each where six constraints meet."""
    givers, takers = np.nonzero(np.isfinite(substitution))
    rows = np.hstack([givers[:, None] == np.arange(3), takers[:, None] == np.arange(3)])
    rows = np.vstack([np.eye(6), rows])
    limits = np.concatenate([holding, stockout, substitution[givers, takers]])
    bases = np.array(list(combinations(range(len(limits)), 6)))
    bases = bases[np.abs(np.linalg.det(rows[bases])) > 0.5]
    points = np.linalg.solve(rows[bases], limits[bases][..., None])[..., 0]
    feasible = np.all(points @ rows.T <= limits + 1e-9, axis=1)
    return np.unique(points[feasible].round(9), axis=0)


def test_shapes_and_ranges():
    draw = make_inventory(300, 7)
    assert draw.data.shape == (300, 7)
    assert draw.target.shape == draw.conditional_mean.shape == (300, 3)
    assert draw.scale.shape == (300,)
    assert draw.beta.shape == (7,)
    assert np.all(draw.target >= 0)
    assert len(draw.feature_names) == 7
    assert len(draw.outcome_names) == 3


def test_a_seed_fixes_the_draw():
    first, again, other = (make_inventory(50, 3, random_state=seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(first.data, again.data)
    np.testing.assert_array_equal(first.target, again.target)
    assert not np.any(first.data == other.data)
    assert not np.any(first.target == other.target)
    assert not np.any(first.beta == other.beta)


def test_giving_back_beta_changes_nothing_else():
    first = make_inventory(50, 3, random_state=4)
    again = make_inventory(50, 3, beta=first.beta, random_state=4)
    np.testing.assert_array_equal(first.data, again.data)
    np.testing.assert_array_equal(first.target, again.target)


def test_train_and_test_share_one_truth_but_no_noise():
    train = make_inventory(100, 5, random_state=0)
    test = make_inventory(100, 5, beta=train.beta, random_state=1)
    np.testing.assert_array_equal(train.beta, test.beta)
    assert not np.any(train.data == test.data)
    assert not np.any(train.target == test.target)


def test_a_generator_moves_on_between_draws():
    generator = np.random.default_rng(0)
    first, second = (make_inventory(20, 2, random_state=generator) for _ in range(2))
    assert not np.any(first.data == second.data)
    assert not np.any(first.target == second.target)


def test_contexts_are_those_of_the_newsvendor():
    draw, newsvendor = make_inventory(40, 6, random_state=3), make_newsvendor(40, 6, random_state=3)
    np.testing.assert_array_equal(draw.data, newsvendor.data)
    np.testing.assert_array_equal(draw.beta, newsvendor.beta)


def test_demands_share_no_stream_with_the_newsvendors():
    draw = make_inventory(20_000, 2, beta=[0.0, 0.0], random_state=3)
    newsvendor = make_newsvendor(20_000, 2, beta=[0.0, 0.0], random_state=3)
    everything = np.column_stack([newsvendor.target, draw.data, draw.target])
    correlations = np.corrcoef(everything.T)[:3, 3:]
    # A correlation of independent columns has a standard deviation of 1/sqrt(n).
    np.testing.assert_allclose(correlations, 0, atol=5 / np.sqrt(20_000))


def test_scale_is_the_exponential_of_the_index():
    np.testing.assert_allclose(
        inventory_scale([[1.0, 2.0], [0.0, 0.0]], [0.3, -0.4]), [np.exp(-0.5), 1.0], rtol=1e-15
    )
    draw = make_inventory(40, 6)
    np.testing.assert_array_equal(draw.scale, inventory_scale(draw.data, draw.beta))


# Ten-fold larger coefficients than the paper's spread the scale over two orders of magnitude.
@pytest.mark.parametrize("stretch", [1, 10])
def test_demands_given_context_are_gamma(stretch):
    beta = stretch * make_inventory(1, 10, random_state=0).beta
    draw = make_inventory(20_000, 10, beta=beta, random_state=6)
    low = draw.scale < np.median(draw.scale)
    for demand, shape in zip(draw.target.T, SHAPES, strict=True):
        ranks = gamma(shape, scale=draw.scale).cdf(demand)
        for part in (ranks, ranks[low], ranks[~low]):
            assert kstest(part, "uniform").pvalue > 1e-3


def test_standardised_demands_have_the_moments_of_independent_gammas():
    n = 200_000
    draw = make_inventory(n, 3, random_state=2)
    standard = draw.target / draw.scale[:, None]
    # Gamma(k): mean k, variance k, and a sample variance of variance (2k² + 6k)/n.
    assert np.all(np.abs(standard.mean(axis=0) - SHAPES) < 5 * np.sqrt(SHAPES / n))
    spread = np.sqrt((2 * SHAPES**2 + 6 * SHAPES) / n)
    assert np.all(np.abs(standard.var(axis=0) - SHAPES) < 5 * spread)
    # A correlation of independent columns has a standard deviation of 1/sqrt(n).
    between = np.corrcoef(standard.T)[np.triu_indices(3, 1)]
    np.testing.assert_allclose(between, 0, atol=5 / np.sqrt(n))
    np.testing.assert_allclose(draw.conditional_mean, draw.scale[:, None] * SHAPES, rtol=1e-15)


def test_a_rate_is_a_scale_with_the_sign_of_beta_turned():
    draw = make_inventory(30, 4)
    np.testing.assert_allclose(inventory_scale(draw.data, -draw.beta), 1 / draw.scale, rtol=1e-14)
    assert mean_oracle_inventory_loss(draw.beta) == mean_oracle_inventory_loss(-draw.beta)


@BOTH_DIRECTIONS
def test_costs_are_those_of_the_paper(transposed):
    costs = paper_inventory_costs(transposed=transposed)
    np.testing.assert_array_equal(costs.holding, [1, 0.7, 0.6])
    np.testing.assert_array_equal(costs.stockout, [1.8, 1.6, 1.2])
    substitution = costs.substitution.T if transposed else costs.substitution
    printed = [[0, 1.7, 2], [np.inf, 0, 1.5], [np.inf, np.inf, 0]]
    np.testing.assert_array_equal(substitution, printed)


def test_costs_can_be_changed_without_changing_the_papers():
    paper_inventory_costs().substitution[0, 1] = 5.0
    paper_inventory_costs(transposed=True).holding[:] = 5.0
    assert paper_inventory_costs().substitution[0, 1] == 1.7
    assert paper_inventory_costs().holding[0] == 1.0


@BOTH_DIRECTIONS
def test_expected_loss_agrees_with_linear_programs(transposed):
    draw = make_inventory(400, 3, beta=[0.5, -0.4, 0.6], random_state=9)
    stocks = np.random.default_rng(0).uniform(0, 2, (400, 3)) * draw.conditional_mean
    losses = allocation_cost(stocks, draw.target, transposed)
    np.testing.assert_allclose(
        losses, vertex_cost(stocks, draw.target, transposed), rtol=1e-9, atol=1e-9
    )
    error = losses - expected_inventory_loss(stocks, draw.scale, transposed=transposed)
    standard = error / draw.scale
    assert abs(standard.mean()) < 4 * standard.std() / np.sqrt(standard.size)


@BOTH_DIRECTIONS
def test_expected_loss_agrees_with_quasi_monte_carlo(transposed):
    uniform = qmc.Sobol(3, seed=0).random(2**16)
    demands = gamma(SHAPES).ppf(uniform)
    sampled = [vertex_cost(stocks, demands, transposed).mean() for stocks in DECISIONS]
    exact = expected_inventory_loss(DECISIONS, np.ones(len(DECISIONS)), transposed=transposed)
    # Scrambled Sobol points with the kinks and tails of this loss: about 1e-5 to 1e-4.
    np.testing.assert_allclose(exact, sampled, rtol=2e-4)


@BOTH_DIRECTIONS
def test_no_stock_loses_every_sale_and_endless_stock_keeps_everything(transposed):
    holding, stockout, _ = paper_inventory_costs(transposed=transposed)
    nothing, plenty = np.zeros((1, 3)), np.full((1, 3), 1e6)
    assert expected_inventory_loss(nothing, [2.0], transposed=transposed) == pytest.approx(
        2.0 * stockout @ SHAPES, rel=1e-14
    )
    assert expected_inventory_loss(plenty, [2.0], transposed=transposed) == pytest.approx(
        holding @ (plenty[0] - 2.0 * SHAPES), rel=1e-12
    )


@BOTH_DIRECTIONS
def test_loss_and_oracle_are_homogeneous_in_the_scale(transposed):
    ones = np.ones(len(DECISIONS))
    at_one = expected_inventory_loss(DECISIONS, ones, transposed=transposed)
    at_three = expected_inventory_loss(3 * DECISIONS, 3 * ones, transposed=transposed)
    np.testing.assert_allclose(at_three, 3 * at_one, rtol=1e-12)
    scale = np.array([0.2, 1.0, 7.0])
    np.testing.assert_allclose(
        expected_inventory_loss(
            oracle_inventory_decision(scale, transposed=transposed), scale, transposed=transposed
        ),
        oracle_inventory_loss(scale, transposed=transposed),
        rtol=1e-12,
    )


def test_rows_do_not_depend_on_their_neighbours():
    generator = np.random.default_rng(1)
    # More rows than one block holds.
    stocks, scale = generator.uniform(0, 6, (10_500, 3)), generator.uniform(0.5, 2, 10_500)
    together = expected_inventory_loss(stocks, scale)
    for row in (0, 9_999, 10_000, 10_499):
        alone = expected_inventory_loss(stocks[[row]], scale[[row]])
        np.testing.assert_allclose(together[row], alone[0], rtol=1e-13)


@BOTH_DIRECTIONS
def test_a_general_optimiser_finds_the_stored_oracle(transposed):
    found = minimize(
        lambda stocks: expected_inventory_loss(stocks[None], [1.0], transposed=transposed)[0],
        SHAPES.astype(float),
        method="Nelder-Mead",
        options={"xatol": 1e-8, "fatol": 1e-14, "maxiter": 2000},
    )
    decision = oracle_inventory_decision([1.0], transposed=transposed)[0]
    # A minimiser is known to the square root of the precision of its value.
    np.testing.assert_allclose(found.x, decision, rtol=1e-6)
    loss = oracle_inventory_loss([1.0], transposed=transposed)[0]
    assert found.fun == pytest.approx(loss, rel=1e-12)


@BOTH_DIRECTIONS
def test_no_decision_beats_the_oracle(transposed):
    scale = np.full(200, 1.7)
    oracle = oracle_inventory_decision(scale, transposed=transposed)
    best = oracle_inventory_loss(scale, transposed=transposed)
    directions = np.random.default_rng(2).standard_normal((200, 3))
    for step in (1e-3, 0.03, 0.3):
        moved = (oracle + step * directions).clip(0)
        assert np.all(expected_inventory_loss(moved, scale, transposed=transposed) > best)


def test_only_the_transposed_costs_have_the_published_oracle_loss():
    assert round(oracle_inventory_loss([1.0], transposed=True)[0], 2) == 3.29
    assert round(oracle_inventory_loss([1.0])[0], 2) == 3.40


@BOTH_DIRECTIONS
def test_mean_oracle_loss_is_that_of_a_lognormal_scale(transposed):
    draw = make_inventory(200_000, 4, random_state=5)
    losses = oracle_inventory_loss(draw.scale, transposed=transposed)
    exact = mean_oracle_inventory_loss(draw.beta, transposed=transposed)
    assert abs(losses.mean() - exact) < 4 * losses.std() / np.sqrt(losses.size)
    # Coefficients large enough to tell βᵀΣβ from βᵀβ.
    beta = np.array([0.6, 0.5])
    variance = beta @ toeplitz([1.0, 0.5]) @ beta
    unit = oracle_inventory_loss([1.0], transposed=transposed)[0]
    assert mean_oracle_inventory_loss(beta, transposed=transposed) == pytest.approx(
        unit * np.exp(variance / 2), rel=1e-14
    )


@pytest.mark.parametrize(("n_samples", "n_features"), [(0, 3), (3, 0)])
def test_empty_draws_are_refused(n_samples, n_features):
    with pytest.raises(ValueError, match="must be >= 1"):
        make_inventory(n_samples, n_features)


def test_beta_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match=r"shape \(3,\), got shape \(2,\)"):
        make_inventory(10, 3, beta=[0.1, 0.2])


def test_a_single_context_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"x\[None, :\]"):
        inventory_scale(np.zeros(3), np.zeros(3))


def test_decisions_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 3\), got shape \(3, 2\)"):
        expected_inventory_loss(np.ones((3, 2)), np.ones(2))


@pytest.mark.parametrize("stock", [-0.1, np.nan, np.inf])
def test_decisions_without_an_allocation_are_refused(stock):
    with pytest.raises(ValueError, match=r"clip\(0\)"):
        expected_inventory_loss([[1.0, stock, 1.0]], [1.0])


@pytest.mark.parametrize("scale", [[0.0], [-1.0], [np.nan], [np.inf]])
def test_scales_that_are_no_exponential_are_refused(scale):
    with pytest.raises(ValueError, match="positive and finite"):
        oracle_inventory_loss(scale)


def test_a_column_of_scales_is_refused():
    with pytest.raises(ValueError, match="ravel"):
        oracle_inventory_decision(np.ones((3, 1)))
