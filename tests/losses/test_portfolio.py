"""Portfolio losses: values, log-moments without sampling, worst outcomes, programs, penalties."""

import cvxpy as cp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm, qmc

import hedgerow as hr
from hedgerow.kernels.kernel import Kernel
from tests.oracles import double, log_integral

LOSSES = [hr.MeanVariance(1.5), hr.MeanCVaR(0.5, tail=0.2)]
SCALE = np.array([0.8, 1.3])


def moments(loss, z, y, kernel, temperature):
    return loss.closed_moments(kernel).log_moment(z, y, temperature)


def slopes(loss, z, y, kernel, temperature):
    def total(z, y, temperature):
        return jnp.sum(loss.closed_moments(kernel).log_moment(z, y, temperature))

    return jax.grad(total, (0, 1, 2))(z, y, temperature)


def draws(loss, uniform, z, y, kernel, temperature):
    return loss.closed_moments(kernel).tilted_outcome(uniform, z, y, temperature)


def worst(loss, z, y, cost, penalty):
    return loss.best_response(cost)(z, y, penalty)


def needed(loss, z, cost):
    return loss.needed_penalty(cost)(z)


MOMENTS, SLOPES, DRAWS, WORST, NEEDED = map(double, (moments, slopes, draws, worst, needed))


def kernel_of(order, epsilon, low=None, high=None):
    ends = (None, None) if low is None else (np.broadcast_to(low, 2), np.broadcast_to(high, 2))
    return Kernel(order, np.float64(epsilon), SCALE, *ends)


def dense(kernel, y, half=12.0):
    """Points and log-masses of the kernel around y on a tensor grid of Gauss panels."""
    x, mass = np.polynomial.legendre.leggauss(60)
    axes = []
    for i in range(2):
        low = y[i] - half if kernel.low is None else max(kernel.low[i], y[i] - half)
        high = y[i] + half if kernel.high is None else min(kernel.high[i], y[i] + half)
        edges = np.concatenate([np.linspace(low, y[i], 7), np.linspace(y[i], high, 7)[1:]])
        middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
        points = (middle[:, None] + width[:, None] * x).ravel()
        weights = (width[:, None] * mass).ravel()
        log = np.log(weights) - np.abs((points - y[i]) / kernel.scale[i]) ** kernel.order / (
            kernel.epsilon
        )
        axes.append((points, log - np.logaddexp.reduce(log)))
    grid = np.stack(np.meshgrid(axes[0][0], axes[1][0], indexing="ij"), axis=-1).reshape(-1, 2)
    return grid, (axes[0][1][:, None] + axes[1][1][None]).ravel()


# --------------------------------------------------------------------------- values


def test_values_are_those_of_the_definitions():
    rng = np.random.default_rng(0)
    w, y, level = rng.dirichlet(np.ones(4), 7), rng.normal(size=(7, 4)), rng.normal(size=7)
    r = np.einsum("ij,ij->i", w, y)
    z = np.column_stack([level, w])
    np.testing.assert_allclose(hr.MeanVariance(3.0)(z, y), (r - level) ** 2 - 3 * r)
    tail = level - 2 * r + np.maximum(-r - level, 0) / 0.1
    np.testing.assert_allclose(hr.MeanCVaR(2.0, tail=0.1)(z, y), tail)
    np.testing.assert_allclose(hr.MeanCVaR(2.0, tail=0.1)(jnp.asarray(z), y), tail, rtol=1e-5)


def test_at_their_best_level_they_are_variance_and_cvar():
    r = np.random.default_rng(1).normal(0.1, 1.0, size=400)
    y = np.column_stack([r, r])
    variance = hr.MeanVariance(2.0)(np.array([r.mean(), 0.5, 0.5]), y).mean()
    assert variance == pytest.approx(r.var() - 2 * r.mean(), rel=1e-12)
    worst_tenth = -np.sort(r)[:40].mean()
    at_risk = -np.sort(r)[39]
    cvar = hr.MeanCVaR(2.0, tail=0.1)(np.array([at_risk, 0.5, 0.5]), y).mean()
    assert cvar == pytest.approx(worst_tenth - 2 * r.mean(), rel=1e-12)


# --------------------------------------------------------------------------- log-moments


@pytest.mark.parametrize("ends", [None, (-3.0, 4.0), (-2.5, np.inf)], ids=str)
@pytest.mark.parametrize("order", [1, 2])
def test_mean_variance_moments_equal_dense_quadrature(order, ends):
    if order == 1 and ends != (-3.0, 4.0):
        pytest.skip("infinite: the square outgrows a linear cost")
    loss, kernel = LOSSES[0], kernel_of(order, 0.4, *(ends or ()))
    z = np.array([[0.3, 0.35, 0.65], [-0.5, 0.9, 0.1], [1.0, 0.0, 1.0]])
    y = np.array([[0.5, -1.0], [1.5, 2.0], [-2.0, 0.4]])
    for penalty in (2.0, 6.0):
        got = MOMENTS(loss, z, y, kernel, penalty * 0.4)
        for row in range(3):
            grid, log_mass = dense(kernel, y[row], half=40.0)
            exact = np.logaddexp.reduce(log_mass + loss(z[row], grid) / (penalty * 0.4))
            assert got[row] == pytest.approx(exact, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("temperature", [0.05, 0.8, 30.0])
def test_mean_cvar_moments_equal_quadrature_over_the_return(temperature):
    loss, kernel, y = LOSSES[1], kernel_of(2, 0.4), np.array([0.5, -1.0])
    for z in np.array([[0.3, 0.35, 0.65], [-0.5, 0.9, 0.1], [2.0, 0.0, 1.0]]):
        r = norm(z[1:] @ y, np.linalg.norm(z[1:] * SCALE) * np.sqrt(0.4 / 2))
        tilt = r.mean() - r.var() * (0.5 + 1 / 0.2) / temperature  # where the tail's piece peaks
        exact = log_integral(
            lambda u, r=r, z=z: r.logpdf(u) + float(loss.of_return(u, z[0])) / temperature,
            -np.inf, np.inf, [r.mean(), -z[0], tilt], r.std(),
        )  # fmt: skip
        got = float(MOMENTS(loss, z, y, kernel, temperature))
        assert got == pytest.approx(exact, rel=1e-8, abs=1e-8)


def test_mean_cvar_is_sampled_where_the_return_is_not_gaussian():
    assert LOSSES[1].closed_moments(kernel_of(2, 0.4)) is not None
    assert LOSSES[1].closed_moments(kernel_of(1, 0.4)) is None
    assert LOSSES[1].closed_moments(kernel_of(2, 0.4, -3.0, 4.0)) is None


def test_saturated_truncated_moments_are_not_missed():
    """Where the square wins against the kernel, mass sits at the far end of the support."""
    kernel, z, y = kernel_of(1, 0.5, -6.0, 9.0), np.array([0.0, 0.9, 0.1]), np.array([0.5, 0.5])
    loss = hr.MeanVariance(0.0)
    grid, log_mass = dense(kernel, y)
    for penalty in (0.3, 1.0, 3.0):
        exact = np.logaddexp.reduce(log_mass + loss(z, grid) / (penalty * 0.5))
        assert float(MOMENTS(loss, z, y, kernel, penalty * 0.5)) == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize(
    ("loss", "kernel"),
    [
        (LOSSES[0], kernel_of(2, 0.4)),
        (LOSSES[0], kernel_of(1, 0.4, -3.0, 4.0)),
        (LOSSES[1], kernel_of(2, 0.4)),
    ],
)
def test_gradients_equal_finite_differences(loss, kernel):
    z, y, temperature = np.array([0.3, 0.35, 0.65]), np.array([0.5, -1.0]), 1.1
    got = np.concatenate([np.atleast_1d(g) for g in SLOPES(loss, z, y, kernel, temperature)])
    start = np.concatenate([z, y, [temperature]])

    def value(point):
        return float(MOMENTS(loss, point[:3], point[3:5], kernel, point[5]))

    step = 1e-5
    differences = [
        (value(start + step * e) - value(start - step * e)) / (2 * step) for e in np.eye(6)
    ]
    np.testing.assert_allclose(got, differences, rtol=1e-7, atol=1e-8)


def test_units_change_nothing_in_closed_form():
    """The working loss knows its log-moment: restated, it equals that of the loss itself."""
    units = np.array([2.0, 0.5]), np.array([0.7, 1.0, 1.0]), 3.0
    kernel = kernel_of(2, 0.4)
    z, y = np.array([0.3, 0.35, 0.65]), np.array([0.5, -1.0])
    restated = Kernel(2, kernel.epsilon, kernel.scale / units[0])
    for loss in LOSSES:
        working = loss.in_units(*units)
        got = MOMENTS(working, z / units[1], y / units[0], restated, 2.0 / units[2])
        assert float(got) == pytest.approx(float(MOMENTS(loss, z, y, kernel, 2.0)), rel=1e-12)


@pytest.mark.parametrize(
    ("loss", "kernel"),
    [
        (LOSSES[0], kernel_of(2, 0.4)),
        (LOSSES[0], kernel_of(2, 0.4, -1.0, 3.0)),
        (LOSSES[0], kernel_of(1, 0.4, -1.0, 3.0)),
        (LOSSES[1], kernel_of(2, 0.4)),
    ],
)
def test_draws_have_the_tilted_distribution(loss, kernel):
    z, y, temperature = np.array([0.3, 0.35, 0.65]), np.array([0.5, 1.0]), 0.9
    uniform = qmc.Sobol(2, seed=0).random(2**13)
    uniform = np.clip(uniform, 1e-12, 1 - 1e-12)
    drawn = DRAWS(loss, uniform, np.tile(z, (len(uniform), 1)), np.tile(y, (len(uniform), 1)),
                  kernel, np.float64(temperature))  # fmt: skip
    grid, log_mass = dense(kernel, y)
    log = log_mass + loss(z, grid) / temperature
    mass = np.exp(log - np.logaddexp.reduce(log))
    for statistic in (lambda u: u[:, 0], lambda u: u[:, 1], lambda u: u[:, 0] * u[:, 1],
                      lambda u: u @ z[1:], lambda u: (u @ z[1:]) ** 2):  # fmt: skip
        # 8192 quasi-random draws: their own error is a few times 1e-3
        assert statistic(drawn).mean() == pytest.approx(mass @ statistic(grid), abs=5e-3)


# --------------------------------------------------------------------------- worst outcomes


@pytest.mark.parametrize("ends", [None, (-2.0, 3.0)], ids=str)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_no_outcome_is_worse_than_the_worst(loss, order, ends):
    cost = kernel_of(order, 1.0, *(ends or ()))
    if loss.best_response(cost) is None:
        assert isinstance(loss, hr.MeanVariance)
        pytest.skip("climbed numerically")
    penalty = 9.0 if order == 1 and ends is None else 2.0
    rng = np.random.default_rng(0)
    for _ in range(4):
        z = np.concatenate([rng.normal(size=1), rng.dirichlet(np.ones(2))])
        y = rng.uniform(-1.5, 2.5, size=2)

        def gain(u, z=z, y=y):
            paid = np.sum(np.abs((u - y) / SCALE) ** order, axis=-1)
            return loss(z, u) - penalty * paid

        found = WORST(loss, z, y, cost, penalty)
        if ends is not None:
            assert np.all((found >= ends[0] - 1e-12) & (found <= ends[1] + 1e-12))
        low, high = ends or (-30.0, 30.0)
        line = np.linspace(low, high, 301)
        grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
        best = grid[np.argmax(gain(grid))]
        refined = minimize(
            lambda u: -gain(u), best, method="Nelder-Mead", bounds=[(low, high)] * 2,
            options={"xatol": 1e-10, "fatol": 1e-12},
        )  # fmt: skip
        assert gain(found) >= max(-refined.fun, gain(y)) - 1e-7


# --------------------------------------------------------------------------- programs


def returns(days=60, assets=12, seed=0):
    rng = np.random.default_rng(seed)
    return 0.05 + rng.normal(size=(days, assets)) @ rng.normal(0, 0.4, (assets, assets))


@pytest.mark.parametrize("days", [60, 8])
@pytest.mark.parametrize("return_weight", [0.0, 1.0, 9.0])
def test_the_mean_variance_program_is_solved_to_optimality(return_weight, days):
    Y = returns(days)
    mass = np.random.default_rng(1).dirichlet(np.ones(days))
    found = hr.MeanVariance(return_weight).best_constant(Y, mass)
    w = cp.Variable(Y.shape[1])
    mean = mass @ Y
    spread = cp.sum_squares(np.sqrt(mass)[:, None] * (Y - mean) @ w)
    problem = cp.Problem(cp.Minimize(spread - return_weight * mean @ w), [w >= 0, cp.sum(w) == 1])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    value = mass @ hr.MeanVariance(return_weight)(found, Y)
    assert value == pytest.approx(problem.value, abs=1e-8)
    assert found[1:].min() >= 0
    assert found[1:].sum() == pytest.approx(1, abs=1e-12)


def test_the_mean_cvar_program_is_solved_to_optimality():
    Y, loss = returns(), hr.MeanCVaR(0.5, tail=0.1)
    found = loss.best_constant(Y, np.ones(len(Y)))
    w, level = cp.Variable(Y.shape[1]), cp.Variable()
    r = Y @ w
    risk = level + cp.sum(cp.pos(-r - level)) / (0.1 * len(Y))
    problem = cp.Problem(cp.Minimize(risk - 0.5 * cp.sum(r) / len(Y)), [w >= 0, cp.sum(w) == 1])
    problem.solve(solver="CLARABEL")
    assert loss(found, Y).mean() == pytest.approx(problem.value, rel=1e-6)


# --------------------------------------------------------------------------- penalties


def test_a_diversified_portfolio_needs_a_smaller_penalty():
    loss, cost = hr.MeanVariance(), kernel_of(2, 1.0)
    even, single = NEEDED(loss, np.array([[0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]), cost)
    assert even == pytest.approx((SCALE**2).sum() / 4)
    assert single == pytest.approx(SCALE[1] ** 2)
    least = loss.smallest_penalty(loss.outcome_cost(2, SCALE), np.zeros(3), np.zeros((1, 2)))
    assert least == pytest.approx(1 / np.sum(1 / SCALE**2))
    w = (1 / SCALE**2) / np.sum(1 / SCALE**2)
    assert float(NEEDED(loss, np.array([0.0, *w]), cost)) == pytest.approx(least)


def test_below_the_needed_penalty_the_moment_diverges():
    """Dense quadrature on wider and wider grids grows without bound there, and settles above."""
    loss, z, y, epsilon = hr.MeanVariance(0.0), np.array([0.0, 0.5, 0.5]), np.zeros(2), 0.5
    kernel = kernel_of(2, epsilon)
    edge = float(NEEDED(loss, z, kernel))

    def cut_off(penalty, half):
        grid, log_mass = dense(kernel, y, half)
        return np.logaddexp.reduce(log_mass + loss(z, grid) / (penalty * epsilon))

    assert cut_off(0.9 * edge, 40) > cut_off(0.9 * edge, 20) + 10
    assert cut_off(1.5 * edge, 40) == pytest.approx(cut_off(1.5 * edge, 20), abs=1e-8)


def market(days=60, assets=3, features=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(days, features))
    return X, 0.3 * X[:, :1] + rng.normal(size=(days, assets))


QUICK = hr.SCSC(steps=20, batch=16, nodes=2)
TREE = hr.SoftForest(trees=2, depth=1)


@pytest.mark.slow
def test_order_one_needs_a_bounded_support():
    X, Y = market()
    linear = hr.Sinkhorn(5.0, 0.3, order=1)
    with pytest.raises(ValueError, match="bounded outcome_support, or use order=2"):
        hr.RobustPolicy(hr.MeanVariance(), linear, TREE, solver=QUICK).fit(X, Y)
    cvar = hr.MeanCVaR(1.0, tail=0.5)
    with pytest.raises(ValueError, match="penalty must be greater than 1"):
        hr.RobustPolicy(cvar, hr.Sinkhorn(0.9, 0.3, order=1), TREE, solver=QUICK).fit(X, Y)


@pytest.mark.slow
def test_order_one_is_valued_on_a_bounded_support():
    X, Y = market()
    loss, linear = hr.MeanVariance(outcome_support=(-8, 8)), hr.Sinkhorn(5.0, 0.3, order=1)
    policy = hr.RobustPolicy(loss, linear, TREE, solver=QUICK, random_state=0).fit(X, Y)
    assert policy.robust_value_.value > -policy.score(X, Y)


@pytest.mark.slow
def test_decisions_are_portfolios_and_the_value_is_infinite_where_it_should_be():
    X, Y = market()
    solver = QUICK.replace(steps=400)  # fewer lose to the best constant, which then takes over
    policy = hr.RobustPolicy(
        hr.MeanVariance(1.0), hr.Sinkhorn(1.5, 0.3), TREE, solver=solver, random_state=0
    ).fit(X, Y)
    z = policy.predict(X)
    assert z.shape == (60, 4)
    np.testing.assert_allclose(z[:, 1:].sum(axis=1), 1, atol=1e-6)
    assert z[:, 1:].min() >= 0
    nominal = policy.robust_value_.nominal
    assert np.isfinite(policy.robust_value_.value)
    assert policy.robust_value_.value > nominal
    # the leaves' portfolios bound every portfolio the rule can choose, and so what it needs
    leaves = np.asarray(policy.rule_.leaf_decisions())[..., 1:]
    most = np.max(np.sum(leaves**2, axis=-1))
    safe = hr.robust_value(policy, X, Y, ambiguity=hr.Sinkhorn(1.01 * most, 0.3))
    assert np.isfinite(safe.value)
    chosen = np.max(np.sum(z[:, 1:] ** 2, axis=1))
    beyond = hr.robust_value(policy, X, Y, ambiguity=hr.Sinkhorn(0.99 * chosen, 0.3))
    assert beyond.value == np.inf
    with pytest.raises(ValueError, match=r"penalty must be greater than 0\.3333"):
        hr.robust_value(policy, X, Y, ambiguity=hr.Sinkhorn(0.3, 0.3))


@pytest.mark.slow
def test_training_stays_where_values_are_finite():
    """The best constant portfolio needs a penalty of 1; a smaller one makes the rule spread."""
    X, Y = market()
    Y[:, 0] = 1 + 0.01 * Y[:, 0]
    policy = hr.RobustPolicy(
        hr.MeanVariance(5.0), hr.Sinkhorn(0.6, 0.5), TREE,
        solver=hr.SCSC(steps=600, batch=16, nodes=2, learning_rate=0.05), random_state=0,
    ).fit(X, Y)  # fmt: skip
    assert np.sum(policy.units_.constant[1:] ** 2) > 0.9
    assert policy.status_ != "diverged"
    assert np.max(np.sum(policy.predict(X)[:, 1:] ** 2, axis=1)) < 0.6
    assert np.isfinite(policy.robust_value_.value)


@pytest.mark.slow
def test_worst_case_attains_the_value():
    X, Y = market()
    policy = hr.RobustPolicy(
        hr.MeanVariance(1.0), hr.Sinkhorn(2.0, 0.3), TREE, solver=QUICK, random_state=0
    ).fit(X, Y)
    value = policy.robust_value_
    drawn = hr.worst_case(policy, X, Y).sample(20_000, seed=0)
    losses = policy.losses(drawn.x, drawn.y)
    # Monte Carlo: four standard errors
    assert losses.mean() == pytest.approx(value.expected_loss, abs=4 * losses.std() / 141)


# --------------------------------------------------------------------------- bad input


def test_bad_input_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="return_weight must not be negative"):
        hr.MeanVariance(-1.0)
    with pytest.raises(ValueError, match="tail must be less than 1"):
        hr.MeanCVaR(tail=1.0)
    with pytest.raises(ValueError, match="at least 2 assets, but Y has 1"):
        hr.RobustPolicy(hr.MeanVariance()).fit(np.zeros((9, 1)), np.zeros(9))
    with pytest.raises(ValueError, match="expected 3 numbers for 2 assets, got 2"):
        hr.MeanVariance()([0.5, 0.5], [1.0, 2.0])


@pytest.mark.parametrize("loss", LOSSES, ids=["variance", "cvar"])
@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda loss: loss([0.0, 0.5, 0.5], [np.nan, 1.0]), "y contains NaN"),
        (lambda loss: loss([0.0, 0.5, 0.5], ["a", "b"]), "y must be numeric, but it holds text"),
        (lambda loss: loss(1.0, 1.0), "expected 2 numbers for 1 assets, got 1"),
        (lambda loss: loss.realised([1.0, np.nan]), "returns contains NaN"),
        (lambda loss: loss.realised([]), "returns must be a list of numbers"),
        (lambda loss: loss.best_constant([[1.0, np.nan]], [1.0]), "Y contains NaN"),
        (lambda loss: loss.best_constant(np.eye(3), np.ones(2)), r"one entry per row \(3\)"),
        (lambda loss: loss.best_constant(np.eye(3), np.zeros(3)), "every weight is zero"),
        (lambda loss: type(loss)(1.0, outcome_support=(1.0, 0.0)), "needs low < high"),
    ],
)
def test_numbers_that_are_none_are_refused(loss, ask, sentence):
    with pytest.raises(ValueError, match=sentence):
        ask(loss)


@pytest.mark.parametrize("return_weight", [0.0, 3.0])
def test_returns_that_never_vary_leave_the_mean_to_decide(return_weight):
    """0.1 is not a binary fraction: its variance over 40 days is a rounding error, not 0."""
    best = hr.MeanVariance(return_weight).best_constant(np.tile([0.1, 0.3], (40, 1)), np.ones(40))
    assert best[1:].sum() == 1
    if return_weight:
        np.testing.assert_allclose(best, [0.3, 0.0, 1.0])


def test_cvar_of_a_normal_is_the_textbook_formula():
    """λ → ∞ leaves the nominal loss; its minimum over η under a Gaussian is φ(q)/α."""
    kernel = Kernel(2, np.float64(2.0), np.array([1.0, 1e-9]))  # standard normal returns
    loss, alpha = hr.MeanCVaR(0.0, tail=0.05), 0.05
    level = -norm.ppf(alpha)
    z = np.array([level, 1.0, 0.0])
    temperature = 1e6
    mean = temperature * float(MOMENTS(loss, z, np.zeros(2), kernel, temperature))
    assert mean == pytest.approx(norm.pdf(norm.ppf(alpha)) / alpha, rel=1e-4)


def test_a_portfolio_policy_survives_its_file(tmp_path):
    X, Y = market()
    seen = (Y.min(axis=0), Y.max(axis=0))
    for loss in (hr.MeanVariance(1.0, outcome_support=seen), hr.MeanCVaR(1.0, tail=0.2)):
        policy = hr.RobustPolicy(loss, hr.ERM(), TREE, solver=QUICK, random_state=0).fit(X, Y)
        policy.save(tmp_path / "p.hedgerow")
        again = hr.load(tmp_path / "p.hedgerow")
        np.testing.assert_array_equal(again.predict(X), policy.predict(X))
        np.testing.assert_array_equal(again.losses(X, Y), policy.losses(X, Y))
