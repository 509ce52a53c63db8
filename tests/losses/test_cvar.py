"""CVaR around a loss: thresholds, linear programs, every model, files, rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog

import hedgerow as hr
from hedgerow.kernels import Kernel
from hedgerow.losses.joint_cvar import JointCVaR
from tests.oracles import double

RNG = np.random.default_rng(0)
ROWS = 50
X = RNG.normal(size=(ROWS, 1))
Y = 6 + 1.5 * X[:, 0] + RNG.gumbel(size=ROWS) * (0.5 + np.abs(X[:, 0]))
WEIGHTS = RNG.uniform(0.2, 3.0, ROWS)
HOLDING, STOCKOUT = 0.6, 1.0
NEWSVENDOR = hr.Newsvendor(HOLDING, STOCKOUT, decision_set=hr.Free(1))
MIX = hr.CVaR(NEWSVENDOR, tail=0.2, mean_weight=0.3)


def program(features, tail, mean_weight, weights=None):
    """min over (θ, η, u, s) of Σ m (ω u + (1 − ω)(η + s/α)), u ≥ both pieces, s ≥ u − η, s ≥ 0."""
    n, k = features.shape
    mass = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    cost = np.concatenate(
        [np.zeros(k), [1 - mean_weight], mean_weight * mass, (1 - mean_weight) / tail * mass]
    )
    eye, zero, one = np.eye(n), np.zeros((n, n)), np.ones((n, 1))
    rows = np.vstack(
        [
            np.hstack([HOLDING * features, 0 * one, -eye, zero]),
            np.hstack([-STOCKOUT * features, 0 * one, -eye, zero]),
            np.hstack([0 * features, -one, eye, -eye]),
        ]
    )
    bounds = [(None, None)] * (k + 1 + n) + [(0, None)] * n
    limits = np.concatenate([HOLDING * Y, -STOCKOUT * Y, np.zeros(n)])
    found = linprog(cost, A_ub=rows, b_ub=limits, bounds=bounds, method="highs")
    return found.fun, found.x[: k + 1]


@pytest.mark.parametrize("mean_weight", [0.0, 0.3])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_the_best_constant_is_that_of_the_linear_program(mean_weight, weights):
    joint = hr.CVaR(NEWSVENDOR, 0.2, mean_weight=mean_weight).with_thresholds()
    mass = np.ones(ROWS) if weights is None else weights
    found = joint.best_constant(Y[:, None], mass)
    value = np.average(joint(np.tile(found, (ROWS, 1)), Y[:, None]), weights=mass)
    least, _ = program(np.ones((ROWS, 1)), 0.2, mean_weight, weights)
    assert value == pytest.approx(least, rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("mean_weight", [0.0, 0.3])
def test_a_trained_rule_reaches_the_linear_program(mean_weight):
    """Affine under ERM; its decisions are orders, and its threshold is the value at risk."""
    loss = hr.CVaR(NEWSVENDOR, 0.2, mean_weight=mean_weight)
    least, best = program(np.column_stack([np.ones(ROWS), X]), 0.2, mean_weight)
    policy = hr.RobustPolicy(
        loss, hr.ERM(), hr.Affine(), hr.EmpiricalNominal(), hr.NestedSGD(steps=3000), random_state=0
    ).fit(X, Y)
    assert policy.predict(X).shape == (ROWS,)
    assert policy.losses(X, Y).mean() <= 1.002 * least
    costs = NEWSVENDOR(policy.predict(X)[:, None], Y[:, None])
    mixed = mean_weight * costs.mean() + (1 - mean_weight) * hr.metrics.cvar(-costs, 0.2)
    assert least - 1e-9 <= mixed <= 1.002 * least
    assert policy.thresholds_[0] == pytest.approx(best[-1], abs=0.1)  # flat where no cost lies


@pytest.fixture(scope="module")
def trained():
    solver = hr.SCSC(steps=300)
    return hr.RobustPolicy(
        MIX,
        hr.KL(5.0, loss_scale="auto"),
        hr.Affine(),
        hr.EmpiricalNominal(),
        solver,
        random_state=0,
    ).fit(X, Y)


def test_a_policy_decides_what_the_loss_inside_decides(trained, tmp_path):
    assert trained.predict(X).shape == (ROWS,)
    assert trained.n_decisions_ == 1
    assert trained.thresholds_.shape == (1,)
    at = MIX.replace(threshold=float(trained.thresholds_[0]))
    np.testing.assert_allclose(trained.losses(X, Y), at(trained.predict(X)[:, None], Y[:, None]))
    value = trained.robust_value_
    assert value.nominal == pytest.approx(trained.losses(X, Y).mean(), rel=1e-6)  # float32 rules
    assert value.value > value.nominal
    trained.save(tmp_path / "policy.hedgerow")
    again = hr.load(tmp_path / "policy.hedgerow")
    np.testing.assert_array_equal(again.predict(X), trained.predict(X))
    np.testing.assert_array_equal(again.losses(X, Y), trained.losses(X, Y))
    assert again.robust_value_ == value


@pytest.mark.slow
def test_a_second_fit_learns_another_threshold(trained):
    solver = hr.NestedSGD(steps=50)
    policy = hr.RobustPolicy(MIX, hr.ERM(), hr.Constant(), hr.EmpiricalNominal(), solver)
    first = policy.fit(X, Y).thresholds_[0]
    second = policy.fit(X, 10 * Y).thresholds_[0]
    assert second == pytest.approx(10 * first, rel=1e-3)


def test_without_a_threshold_there_are_no_values():
    with pytest.raises(TypeError, match=r"policy\.losses"):
        MIX([1.0], [2.0])
    for wrong, words in (
        ({"tail": 1.0}, "tail must be less than 1"),
        ({"tail": 0.0}, "tail must be greater than 0"),
        ({"tail": 0.1, "mean_weight": 1.0}, "mean_weight must be less than 1"),
    ):
        with pytest.raises(ValueError, match=words):
            hr.CVaR(NEWSVENDOR, **wrong)
    with pytest.raises(TypeError, match="loss"):
        hr.CVaR("newsvendor", 0.1)


@pytest.mark.parametrize(
    ("order", "threshold"),
    [
        (2, 0.7),
        *(
            pytest.param(order, threshold, marks=pytest.mark.slow)
            for order, threshold in [(1, -0.5), (1, 0.7), (1, 5.0), (2, -0.5), (2, 0.0), (2, 5.0)]
        ),
    ],
)
def test_moments_are_those_of_quadrature(order, threshold):
    loss = hr.CVaR(hr.Newsvendor(0.6, 1.5), 0.3, mean_weight=0.2, threshold=threshold)
    kernel = Kernel(order, np.float64(0.3), np.array([0.8]), np.array([-1.0]), np.array([np.inf]))
    z, y, t = np.array([1.2]), np.array([0.9]), 2.5
    grid = np.linspace(-1, 40, 400_001)[:, None]
    weight = np.exp(-(np.abs((grid[:, 0] - y) / 0.8) ** order) / 0.3)
    tilted = weight * np.exp(loss(z, grid) / t)
    expected = np.log(tilted.sum() / weight.sum())
    found = double(lambda z, y: loss.closed_moments(kernel).log_moment(z, y, t))(z, y)
    assert float(found) == pytest.approx(expected, abs=1e-7)  # of the trapezium rule at kinks
    uniform = np.linspace(0.05, 0.95, 7)[:, None]
    drawn = double(lambda u, z, y: loss.closed_moments(kernel).tilted_outcome(u, z, y, t))(
        uniform, np.tile(z, (7, 1)), np.tile(y, (7, 1))
    )
    below = np.interp(drawn[:, 0], grid[:, 0], np.cumsum(tilted) / tilted.sum())
    np.testing.assert_allclose(below, uniform[:, 0], atol=2e-4)  # a cell of the grid
    joint = JointCVaR(loss.replace(threshold=None))
    same = double(lambda z, y: joint.closed_moments(kernel).log_moment(z, y, t))(
        np.array([threshold, 1.2]), y
    )
    assert float(same) == pytest.approx(float(found), rel=1e-12)


@pytest.mark.parametrize("inner", ["newsvendor", "two products", "pieces", "variance"])
def test_the_worst_outcome_is_no_better_anywhere_else(inner):
    loss = {
        "newsvendor": hr.Newsvendor(0.6, 1.0),
        "two products": hr.Newsvendor(np.array([0.6, 1.0]), np.array([1.0, 0.4])),
        "pieces": hr.MaxAffine(
            *map(np.array, ([0.1, -0.2], [[-1.0, 0.5], [2.0, 0.0]], [[1.0], [-1.0]]))
        ),
        "variance": hr.MeanVariance(0.5),
    }[inner]
    d = 1 if inner == "newsvendor" else 2
    cvar = hr.CVaR(loss, 0.3, mean_weight=0.25, threshold=0.8)
    cost, penalty = Kernel(2, np.float64(1.0), np.full(d, 0.7)), 4.0
    z = np.asarray(
        loss.decisions_for(d).from_raw(
            jnp.asarray(RNG.normal(size=(20, loss.decisions_for(d).dimension)))
        ),
        np.float64,
    )
    y = RNG.normal(size=(20, d))
    worst = double(lambda z, y: cvar.best_response(cost)(z, y, penalty))(z, y)

    def gain(u):
        return np.asarray(cvar(z, u)) - penalty * np.sum(((u - y) / 0.7) ** 2, axis=-1)

    best = gain(np.asarray(worst))
    for size in (0.01, 0.1, 1.0, 3.0):
        for _ in range(50):
            assert np.all(gain(worst + size * RNG.normal(size=y.shape)) <= best + 1e-9)
            assert np.all(gain(y + size * RNG.normal(size=y.shape)) <= best + 1e-9)


AUTO = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}
HEDGES = {
    "erm": hr.ERM(),
    "kl": hr.KL(radius=0.1),
    "chi": hr.ChiSquare(penalty=3.0, loss_scale="auto"),
    "tv": hr.TotalVariation(radius=0.1),
    "ratio": hr.LikelihoodRatio(radius=0.5),
    "sinkhorn": hr.Sinkhorn(10.0, 0.05, **AUTO),
    "wasserstein": hr.Wasserstein(10.0, **AUTO),
    "radius": hr.CausalWasserstein(radius=0.1, order=1, **AUTO),
}


INNER = ("recourse", "custom", "variance")
PAIRS = [(hedge, "newsvendor") for hedge in HEDGES] + [("tv", inner) for inner in INNER]
PAIRS += [("wasserstein", inner) for inner in INNER]


@pytest.mark.slow
@pytest.mark.parametrize(("hedge", "inner"), PAIRS)
def test_every_loss_trains_under_every_model(hedge, inner):
    rng = np.random.default_rng(1)
    two = np.column_stack([Y, 0.5 * Y + rng.normal(size=ROWS)])
    loss, outcomes = {
        "newsvendor": (NEWSVENDOR, Y),
        "recourse": (
            hr.InventorySubstitution([1.0, 0.7], [1.8, 1.6], [[0.0, 1.2], [np.inf, 0.0]], 0.1),
            np.maximum(two, 0.1),
        ),
        "custom": (hr.CustomLoss(absolute, hr.Free(1)), Y),
        "variance": (hr.MeanVariance(0.5, outcome_support=(-30.0, 30.0)), two),
    }[inner]
    solver = hr.solvers.default_solver(HEDGES[hedge]).set_params(steps=200)
    policy = hr.RobustPolicy(
        hr.CVaR(loss, 0.3),
        HEDGES[hedge],
        hr.Affine(),
        hr.EmpiricalNominal(),
        solver,
        random_state=0,
    ).fit(X, outcomes)
    assert policy.status_ in ("converged", "step limit")
    value = hr.robust_value(policy, X, outcomes, tolerance=0.05)
    assert value.value >= value.nominal * (1 - 1e-6)
    best = jnp.asarray(policy.units_.constant)
    fixed = hr.RobustPolicy.from_function(lambda x: best, policy.loss, X, outcomes)
    constant = hr.robust_value(fixed, X, outcomes, ambiguity=HEDGES[hedge], tolerance=0.05)
    assert (
        value.value <= 1.02 * constant.value
    )  # 200 steps, and values to 5 % where they are sampled


def absolute(z, y):
    return jnp.sum(jnp.abs(z - y))


def test_a_threshold_serves_rows_with_costs_of_their_own():
    prices = np.column_stack([X[:, 0], RNG.uniform(0.5, 2.0, ROWS)])
    loss = hr.CVaR(hr.Newsvendor(0.6, hr.Column(1), decision_set=hr.Free(1)), 0.2)
    policy = hr.RobustPolicy(
        loss,
        hr.ERM(),
        hr.Constant(),
        hr.EmpiricalNominal(),
        hr.NestedSGD(steps=500),
        random_state=0,
    ).fit(prices, Y)
    plain = hr.Newsvendor(HOLDING, 1.0)
    z = policy.predict(prices)
    costs = plain(z[:, None], Y[:, None]) * 0 + np.where(
        z > Y, HOLDING * (z - Y), prices[:, 1] * (Y - z)
    )
    at = loss.replace(threshold=float(policy.thresholds_[0]))
    np.testing.assert_allclose(policy.losses(prices, Y), at.mixed(costs, at.threshold), rtol=1e-6)
    assert policy.losses(prices, Y).mean() <= policy.units_.constant_loss * 1.002


def test_a_given_rule_is_valued_at_its_value_at_risk():
    loss = hr.CVaR(NEWSVENDOR, 0.2)
    policy = hr.RobustPolicy.from_function(lambda x: 6.5 + 1.5 * x[0], loss, X, Y)
    costs = NEWSVENDOR(6.5 + 1.5 * X, Y[:, None])
    found = hr.robust_value(policy, X, Y, ambiguity=hr.ERM()).value
    assert found == pytest.approx(hr.metrics.cvar(-costs, 0.2), rel=1e-6)  # a rule in float32
    ratio = hr.robust_value(
        hr.RobustPolicy.from_function(lambda x: 6.5 + 1.5 * x[0], NEWSVENDOR, X, Y),
        X,
        Y,
        ambiguity=hr.LikelihoodRatio(radius=4.0),
    )
    assert found == pytest.approx(ratio.value, rel=1e-6)  # bounded ratios are CVaR


@pytest.mark.slow
def test_a_search_judges_by_each_candidates_own_threshold():
    search = hr.RobustPolicyCV(
        MIX, penalties=(10, float("inf")), epsilons=(0.1,), cv=3, random_state=0
    ).fit(X, Y)
    assert np.isfinite(search.score(X, Y))
    assert search.predict(X).shape == (ROWS,)


def test_words(trained):
    said = MIX.description("€")
    assert said.short.startswith("CVaR 20")
    assert "worst 20" in said.costs
    assert jax.tree_util.tree_structure(MIX) == jax.tree_util.tree_structure(MIX.replace(tail=0.1))
