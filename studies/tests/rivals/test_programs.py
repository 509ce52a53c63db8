"""Every rival's program against something independent of it: a conic solver, HiGHS, the average."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

import hedgerow as hr
from hedgerow_studies.leaderboard.bikes_course import capacity
from hedgerow_studies.rivals import Problem
from hedgerow_studies.rivals.conditional_kl import robust_to_divergence
from hedgerow_studies.rivals.conformal import box_decision, conformal_quantile
from hedgerow_studies.rivals.programs import (
    newsvendor_decision,
    portfolio_decision,
    two_stage_decision,
)
from hedgerow_studies.rivals.residual_robust import ResidualRobust
from hedgerow_studies.rivals.searching import golden
from hedgerow_studies.rivals.spo_plus import choose
from hedgerow_studies.rivals.trimming import trimmed_decisions
from hedgerow_studies.rivals.wasserstein_affine import WassersteinAffine
from hedgerow_studies.trials.averages import minimiser

HOLDING, STOCKOUT = 0.6, 1.0
LOSS = hr.Newsvendor(HOLDING, STOCKOUT)
PROBLEM = Problem(LOSS)


@pytest.fixture
def history():
    draw = np.random.default_rng(7)
    X = draw.normal(size=(30, 2))
    Y = 5 + X @ [[1.0], [-0.5]] + draw.gamma(2.0, size=(30, 1))
    return X, Y


@pytest.fixture
def loads():
    draw = np.random.default_rng(3)
    return draw.gamma(4.0, 2.0, size=(25, 2)), draw.dirichlet(np.ones(25))


def newsvendor(z, y):
    return cp.maximum(HOLDING * (z - y), STOCKOUT * (y - z))


@pytest.mark.parametrize("radius", [0.3, 2.0])
def test_a_newsvendor_in_a_ball_of_order_2_is_its_conic_program(history, radius):
    """min over z, λ of λρ² + mean sup_y, sup over each piece in closed form."""
    _, Y = history
    weights = np.random.default_rng(0).dirichlet(np.ones(len(Y)))
    z, price, inverse = cp.Variable(), cp.Variable(pos=True), cp.Variable(pos=True)
    worst = cp.maximum(
        HOLDING * (z - Y[:, 0]) + HOLDING**2 / 4 * inverse,
        STOCKOUT * (Y[:, 0] - z) + STOCKOUT**2 / 4 * inverse,
    )
    cost = radius**2 * price + weights @ worst
    cp.Problem(cp.Minimize(cost), [cp.inv_pos(price) <= inverse]).solve(solver="CLARABEL")
    found = newsvendor_decision(LOSS, Y, weights, radius)
    assert found[0] == pytest.approx(float(z.value), abs=1e-4)


@pytest.mark.parametrize("radius", [0.0, 0.5, 3.0])
def test_a_second_stage_in_a_ball_of_order_2_is_its_conic_program(loads, radius):
    Y, weights = loads
    loss = capacity()
    constant, in_y, in_z = loss.recourse.pieces()
    z, price, inverse = cp.Variable(2, nonneg=True), cp.Variable(pos=True), cp.Variable(pos=True)
    steep = np.sum(in_y**2, axis=1) / 4

    def worst(y):
        return cp.max(constant + in_y @ y + in_z @ z + steep * inverse)

    cost = radius**2 * price + sum(w * worst(y) for w, y in zip(weights, Y, strict=True))
    bounds = [cp.inv_pos(price) <= inverse] if radius else [inverse <= 1e-9, price <= 1]
    value = cp.Problem(cp.Minimize(cost), bounds).solve(solver="CLARABEL")
    found = two_stage_decision(loss, Y, weights, radius)

    def robust_cost(decision):
        scores = constant + Y @ in_y.T + in_z @ decision
        taus = np.geomspace(1e-4, 1e4, 20_000) if radius else [0.0]
        return min(
            weights @ np.max(scores + steep * t, axis=1) + (radius**2 / t if radius else 0.0)
            for t in taus
        )

    # steps may end at a kink of one row
    assert robust_cost(found) == pytest.approx(value, rel=1e-4)


def test_a_portfolio_in_a_ball_of_order_2_is_at_its_worst_case():
    """The worst distribution moves every row along w: none within the ball costs more."""
    draw = np.random.default_rng(1)
    Y, omega, radius = draw.normal(0.05, 1.0, size=(40, 4)), 3.0, 0.4
    weights = np.full(40, 1 / 40)
    z = portfolio_decision(omega, Y, weights, radius)
    loss = hr.MeanVariance(omega)
    off = Y @ z[1:] - z[0] - omega / 2
    length = np.linalg.norm(z[1:])
    value = (np.sqrt(np.mean(off**2)) + radius * length) ** 2 - omega * z[0] - omega**2 / 4
    push = radius * off / np.sqrt(np.mean(off**2))
    moved = Y + push[:, None] * z[1:] / length
    assert np.mean(np.sum((moved - Y) ** 2, axis=1)) == pytest.approx(radius**2)
    assert np.mean(loss(z, moved)) == pytest.approx(value, rel=1e-9)
    for _ in range(50):
        other = np.append(z[0] + draw.normal(), draw.dirichlet(np.ones(4)))
        off = Y @ other[1:] - other[0] - omega / 2
        cost = (np.sqrt(np.mean(off**2)) + radius * np.linalg.norm(other[1:])) ** 2
        assert cost - omega * other[0] - omega**2 / 4 >= value - 1e-6


def test_a_portfolio_without_a_ball_is_the_sample_average():
    draw = np.random.default_rng(2)
    Y, weights = draw.normal(size=(60, 5)), draw.dirichlet(np.ones(60))
    loss = hr.MeanVariance(1.0)
    best = loss.best_constant(Y, weights)
    found = portfolio_decision(1.0, Y, weights, 0.0)
    assert weights @ loss(found, Y) == pytest.approx(weights @ loss(best, Y), abs=1e-6)


def test_an_affine_rule_without_a_ball_is_the_linear_program(history):
    X, Y = history
    decide = WassersteinAffine().learn(PROBLEM, X, Y, {"radius": 0.0}, 0)
    count = len(X)
    features = np.column_stack([X, np.ones(count)])
    cost = np.concatenate([np.zeros(3), np.full(count, 1 / count)])
    over = np.column_stack([HOLDING * features, -np.eye(count)])
    under = np.column_stack([-STOCKOUT * features, -np.eye(count)])
    limits = np.concatenate([HOLDING * Y[:, 0], -STOCKOUT * Y[:, 0]])
    free = [(None, None)] * (3 + count)
    least = linprog(cost, np.vstack([over, under]), limits, bounds=free, method="highs").fun
    assert np.mean(LOSS(decide(X), Y)) == pytest.approx(least, abs=1e-6)


@pytest.mark.parametrize("radius", [0.05, 0.5])
def test_an_affine_rule_in_a_ball_is_the_dual_with_a_price(history, radius):
    """inf over λ ≥ 0 of λε + mean of sups, a sup being infinite where a slope exceeds λ."""
    X, Y = history
    decide = WassersteinAffine().learn(PROBLEM, X, Y, {"radius": radius}, 0)
    points = (X - X.mean(axis=0)) / X.std(axis=0)
    unit = Y.std()
    y = Y[:, 0] / unit
    a, c, price = cp.Variable(2), cp.Variable(), cp.Variable()
    slopes = [
        cp.norm(cp.hstack([HOLDING * a, -HOLDING])),
        cp.norm(cp.hstack([-STOCKOUT * a, STOCKOUT])),
    ]
    cost = radius * price + cp.sum(newsvendor(points @ a + c, y)) / len(y)
    value = cp.Problem(cp.Minimize(cost), [s <= price for s in slopes]).solve(solver="CLARABEL")
    inverse = np.linalg.pinv(np.column_stack([points, np.ones(len(y))]))
    coefficients = inverse @ decide(X)[:, 0] / unit
    own = max(HOLDING, STOCKOUT) * np.linalg.norm(np.append(coefficients[:2], 1.0))
    losses = LOSS(decide(X) / unit, Y / unit)
    assert np.mean(losses) + radius * own == pytest.approx(value, abs=1e-6)


def test_the_wider_the_ball_the_more_constant_is_the_affine_rule(history):
    """The norm of (a, 1) is flat at a = 0, so slopes fall like 1/radius and end nowhere."""
    X, Y = history
    rival = WassersteinAffine()
    spans = [
        float(np.ptp(rival.learn(PROBLEM, X, Y, {"radius": radius}, 0)(X)))
        for radius in (1.0, 10.0, 100.0)
    ]
    assert spans[1] == pytest.approx(spans[2] * 10, rel=0.05)  # of first order in 1/radius
    assert spans[0] > 5 * spans[1]


def test_residuals_without_a_ball_are_the_residual_sample_average(history):
    X, Y = history
    rival = ResidualRobust()
    decide = rival.learn(PROBLEM, X, Y, {"mean": "linear", "radius": 0.0}, 0)
    hedged = rival.learn(PROBLEM, X, Y, {"mean": "linear", "radius": 0.5}, 0)
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 3, 11)))
    off = Y[:, 0] - cross_val_predict(model, X, Y[:, 0], cv=5)
    level = STOCKOUT / (STOCKOUT + HOLDING)
    expected = model.fit(X, Y[:, 0]).predict(X) + np.quantile(off, level, method="inverted_cdf")
    np.testing.assert_allclose(decide(X)[:, 0], expected, rtol=1e-9)
    assert np.all(hedged(X) > decide(X))  # the dearer side is hedged


def test_all_of_the_mass_is_the_sample_average(history):
    _, Y = history
    distances = np.random.default_rng(0).random((3, len(Y)))
    best = np.quantile(Y, STOCKOUT / (STOCKOUT + HOLDING), method="inverted_cdf")
    found = trimmed_decisions(PROBLEM, Y, distances, len(Y), 0.0)
    expected = np.mean(LOSS(np.array([best]), Y))
    for order in found:
        assert np.mean(LOSS(order, Y)) == pytest.approx(expected, abs=1e-4)  # golden sections


@pytest.mark.parametrize("extra", [0.05, 0.4])
def test_trimmings_are_their_linear_program(history, extra):
    """The primal adversary, in full: shares and moves of every row."""
    _, Y = history
    y, count = Y[:, 0], 6
    distances = np.random.default_rng(5).random(len(y))
    order = trimmed_decisions(PROBLEM, Y, distances[None], count, extra)[0, 0]
    budget = np.sort(distances)[:count].mean() + extra

    def worst(z):
        shares, up, down = (cp.Variable(len(y), nonneg=True) for _ in range(3))
        gap = z - y
        # moving an outcome by m costs m; away from z it gains at the slope of its side
        gain = cp.maximum(HOLDING * gap, -STOCKOUT * gap).value
        value = shares @ gain + HOLDING * cp.sum(down) + STOCKOUT * cp.sum(up)
        limits = [cp.sum(shares) == 1, shares <= 1 / count]
        limits.append(shares @ distances + cp.sum(up) + cp.sum(down) <= budget)
        return cp.Problem(cp.Maximize(value), limits).solve(solver="CLARABEL")

    grid = np.linspace(y.min(), y.max(), 60)
    assert worst(order) <= min(worst(z) for z in grid) + 1e-4  # golden sections


def test_trimmings_of_a_second_stage_hedge_against_their_worst_case(loads):
    Y, _ = loads
    problem = Problem(capacity())
    distances = np.random.default_rng(2).random((1, len(Y)))
    constant, in_y, in_z = capacity().recourse.pieces()
    z, price, level = cp.Variable(2, nonneg=True), cp.Variable(), cp.Variable()
    budget = np.sort(distances[0])[:8].mean() + 0.2
    scores = [cp.max(constant + in_y @ y + in_z @ z) for y in Y]
    above = sum(
        cp.pos(score - price * far - level) for score, far in zip(scores, distances[0], strict=True)
    )
    steepest = np.linalg.norm(in_y, axis=1).max()
    dual = price * budget + level + above / 8
    value = cp.Problem(cp.Minimize(dual), [price >= steepest]).solve(solver="CLARABEL")
    found = trimmed_decisions(problem, Y, distances, 8, 0.2)[0]
    own = np.max(constant + Y @ in_y.T + in_z @ found, axis=1)

    def at(p):
        return p * budget + np.sort(own - p * distances[0])[-8:].mean()

    assert min(at(p) for p in steepest * np.geomspace(1, 100, 5000)) == pytest.approx(
        value, rel=1e-4
    )


@pytest.mark.parametrize("kind", ["newsvendor", "two-stage", "portfolio"])
def test_a_divergence_around_weights_is_its_exponential_cone_program(loads, kind):
    Y, weights = loads
    radius = 0.2
    eta, scale, u = cp.Variable(), cp.Variable(), cp.Variable(len(Y))
    if kind == "newsvendor":
        problem, Y = PROBLEM, Y[:, :1]
        z = cp.Variable()
        losses, limits = newsvendor(z, Y[:, 0]), []
    elif kind == "two-stage":
        problem = Problem(capacity())
        constant, in_y, in_z = capacity().recourse.pieces()
        z = cp.Variable(2, nonneg=True)
        losses, limits = cp.hstack([cp.max(constant + in_y @ y + in_z @ z) for y in Y]), []
    else:
        problem, Y = Problem(hr.MeanVariance(2.0)), Y - 8.0
        level, z = cp.Variable(), cp.Variable(2, nonneg=True)
        losses, limits = cp.square(Y @ z - level) - 2.0 * (Y @ z), [cp.sum(z) == 1]
    s = cp.Variable(len(Y))
    cone = cp.constraints.ExpCone(s - eta, scale * np.ones(len(Y)), u)
    program = cp.Problem(
        cp.Minimize(scale * radius + eta - scale + weights @ u), [losses <= s, cone, *limits]
    )
    value = program.solve(solver="CLARABEL")
    found = robust_to_divergence(problem, Y, np.log(weights)[None], radius)[0]
    own = np.asarray(problem.loss(found, Y))
    alphas = np.std(own) * np.geomspace(1e-2, 1e2, 20_000)
    powers = np.exp((own - own.max()) / alphas[:, None]) @ weights
    dual = np.min(alphas * (radius + np.log(powers))) + own.max()
    # steps may end at a kink
    assert dual == pytest.approx(value, rel=2e-4)


def test_a_box_is_hedged_against_at_its_corners():
    problem = Problem(capacity())
    mean, half = np.array([6.0, 9.0]), np.array([2.0, 1.0])
    corners = np.array(
        [[mean[0] + i * half[0], mean[1] + j * half[1]] for i in (-1, 1) for j in (-1, 1)]
    )
    found = box_decision(problem, mean, half)
    worst = np.max(problem.loss(found, corners))
    draw = np.random.default_rng(0)
    for _ in range(200):
        other = np.maximum(found + draw.normal(size=2), 0)
        assert np.max(problem.loss(other, corners)) >= worst - 1e-7


def test_a_conformal_quantile_holds_its_share():
    scores = np.arange(1.0, 100.0)
    assert conformal_quantile(scores, 0.1) == 90.0
    assert conformal_quantile(scores, 0.001) == 99.0
    draw = np.random.default_rng(0)
    inside = [draw.normal() <= conformal_quantile(draw.normal(size=50), 0.2) for _ in range(4_000)]
    assert 0.78 < np.mean(inside) < 0.84  # 41/51 ± three standard errors


def test_simplex_programs_of_a_batch_are_those_of_a_solver():
    draw = np.random.default_rng(4)
    root = draw.normal(size=(6, 6))
    covariance, costs = root @ root.T, draw.normal(size=(5, 6))
    for cost, held in zip(costs, choose(costs, covariance), strict=True):
        w = cp.Variable(6, nonneg=True)
        objective = cost @ w + cp.quad_form(w, cp.psd_wrap(covariance))
        least = cp.Problem(cp.Minimize(objective), [cp.sum(w) == 1]).solve(solver="CLARABEL")
        assert cost @ held + held @ covariance @ held == pytest.approx(least, abs=1e-3)


def test_golden_sections_find_minima_inside_and_at_ends():
    centres = np.array([-2.0, 0.3, 5.0])
    found, value = golden(lambda x: (x - centres) ** 2, np.full(3, -1.0), np.full(3, 1.0))
    np.testing.assert_allclose(found, [-1.0, 0.3, 1.0], atol=1e-4)  # 2.5e-5 of the interval
    np.testing.assert_allclose(value, [1.0, 0.0, 16.0], atol=1e-4)


def test_a_second_stage_without_a_ball_is_the_weighted_average(loads):
    Y, weights = loads
    loss = capacity()
    best = minimiser(loss, Y)(weights[None])[0]
    found = two_stage_decision(loss, Y, weights, 0.0)
    assert weights @ loss(found, Y) == pytest.approx(weights @ loss(best, Y), rel=1e-7)
