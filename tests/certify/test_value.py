"""The certified value: strong duality against a conic solver, the best penalty, limits."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

import hedgerow as hr
from hedgerow.certify import node_plans
from tests.oracles import worst_over_plans
from tests.problems import AffineNewsvendor, history

LOSS = hr.Newsvendor(0.6, 1.0, decision_set=hr.Free(1))
X = np.array([-1.0, -1.0, 0.2, 0.2, 0.2, 1.1])
Y = np.array([2.0, 3.5, 2.5, 3.0, 4.5, 5.0])
GRID_X, GRID_Y = np.linspace(-2, 2, 9)[:, None], np.linspace(0, 7, 12)[:, None]
REFERENCE = (hr.Reference(GRID_X), hr.Reference(GRID_Y))
FAST = {("penalty", 2, True), ("radius", 2, True), ("penalty", 1, False)}


def rule(x):
    return 3 + jnp.sin(2 * x[0])


@pytest.fixture(scope="module")
def policy():
    """A rule that is a function, on three contexts with one to three outcomes each."""
    return hr.RobustPolicy.from_function(rule, LOSS, X[:, None], Y)


def problem(policy):
    """The nominal distribution and the losses on the grid, for the conic solver."""
    decisions = 3 + np.sin(2 * GRID_X)
    return {
        "x": X[:, None],
        "y": Y[:, None],
        "losses": LOSS(decisions[:, None, :], GRID_Y[None]),
        "grid_x": GRID_X,
        "grid_y": GRID_Y,
    }


@pytest.mark.parametrize(
    ("form", "order", "causal"),
    [
        pytest.param(
            form,
            order,
            causal,
            id=f"{name}-{order}-{'causal' if causal else 'plain'}",
            marks=() if (name, order, causal) in FAST else pytest.mark.slow,
        )
        for name, form in {"penalty": {"penalty": 0.6}, "radius": {"radius": 0.7}}.items()
        for order in (1, 2)
        for causal in (True, False)
    ],
)
def test_strong_duality(policy, causal, order, form):
    """The dual equals the primal over plans, solved by Clarabel, and its worst case attains it."""
    epsilon = 0.4 if "penalty" in form else 0.15
    kind = hr.CausalSinkhorn if causal else hr.Sinkhorn
    # bounded outcomes: p = 1 would ask for a penalty above 1 on the whole line
    bounded = hr.Newsvendor(0.6, 1.0, decision_set=hr.Free(1), outcome_support=(0, 7))
    examined = hr.RobustPolicy.from_function(rule, bounded, X[:, None], Y)
    model = kind(epsilon=epsilon, order=order, **form)
    worst = hr.worst_case(examined, X[:, None], Y, ambiguity=model, reference=REFERENCE)
    found = worst.robust
    parts = problem(policy)
    value, expected, discrepancy = worst_over_plans(
        **parts, epsilon=epsilon, order=order, causal=causal, **form
    )
    assert found.stderr == found.bias == 0
    if "penalty" in form:  # the dual's zero is the least discrepancy any distribution has
        terms = [
            logsumexp(-(np.abs(grid - centres[None, :, 0]) ** order) / epsilon, axis=0).mean()
            for grid, centres in ((GRID_X, parts["x"]), (GRID_Y, parts["y"]))
        ]
        value -= form["penalty"] * epsilon * sum(terms)
    assert found.value == pytest.approx(value, rel=1e-5)
    assert found.expected_loss == pytest.approx(expected, rel=1e-4)  # flat: second order
    assert found.discrepancy == pytest.approx(discrepancy, rel=1e-4)
    if "radius" in form:
        assert found.discrepancy == pytest.approx(0.7**order, rel=1e-6)

    a, b = np.meshgrid(GRID_X, GRID_Y, indexing="ij")
    mass = worst.density(a.ravel(), b.ravel()).reshape(a.shape)
    assert mass.sum() == pytest.approx(1, abs=1e-9)
    assert np.sum(mass * parts["losses"]) == pytest.approx(found.expected_loss, rel=1e-6)
    assert mass.sum(axis=1) == pytest.approx(worst.marginal_x(GRID_X), abs=1e-9)
    assert mass.sum(axis=0) == pytest.approx(worst.marginal_y(GRID_Y), abs=1e-9)


def test_weak_duality(policy):
    """Every penalty bounds the worst expected loss within a radius from above."""
    model = hr.CausalSinkhorn(radius=0.7, epsilon=0.15)
    best = hr.robust_value(policy, X[:, None], Y, ambiguity=model, reference=REFERENCE)
    for factor in (0.5, 0.8, 1.25, 2.0):
        penalty = factor * best.penalty
        priced = hr.CausalSinkhorn(penalty, 0.15)
        soft = hr.robust_value(policy, X[:, None], Y, ambiguity=priced, reference=REFERENCE)
        least = soft.discrepancy - (soft.expected_loss - soft.value) / penalty
        assert soft.value + penalty * (0.49 - least) > best.value


class TestRadius:
    """The one-dimensional dual on an affine newsvendor whose F is known by quadrature."""

    epsilon, radius = 0.3, 1.2

    def dual(self, problem, theta, log_penalty):
        problem.penalty = np.exp(log_penalty)
        problem.temperature = problem.penalty * self.epsilon
        budget = self.radius**2 + self.epsilon * np.log(np.pi * self.epsilon)
        return problem.penalty * budget + problem.sinkhorn(theta)

    def test_penalty_solves_the_dual_to_high_accuracy(self):
        problem = AffineNewsvendor(rows=12)
        slope, offset = 0.5, 3.2
        policy = hr.RobustPolicy.from_function(
            lambda x: slope * x[0] + offset, LOSS, problem.x[:, None], problem.y
        )
        model = hr.Sinkhorn(radius=self.radius, epsilon=self.epsilon)
        found = hr.robust_value(
            policy, problem.x[:, None], problem.y, ambiguity=model, tolerance=1e-9
        )
        best = minimize_scalar(
            lambda t: self.dual(problem, (slope, offset), t), (-2, 0), options={"xtol": 1e-12}
        )
        assert found.value == pytest.approx(best.fun, rel=1e-8)
        assert found.penalty == pytest.approx(np.exp(best.x), rel=1e-4)  # flat at the minimum
        assert found.value == pytest.approx(found.expected_loss, rel=1e-8)
        assert found.discrepancy == pytest.approx(self.radius**2, rel=1e-8)
        assert found.status == "converged"

    @pytest.mark.slow
    def test_rule_and_penalty_are_learned_jointly(self):
        problem = AffineNewsvendor()
        model = hr.Sinkhorn(radius=self.radius, epsilon=self.epsilon)
        policy = hr.RobustPolicy(
            LOSS, model, hr.Affine(), solver=hr.SCSC(steps=1000, batch=32), random_state=0
        ).fit(problem.x[:, None], problem.y)
        best = minimize(lambda v: self.dual(problem, v[:2], v[2]), [1, 3, 0], method="BFGS")
        assert policy.robust_value_.value <= best.fun * 1.001  # what such a run promises
        assert policy.robust_value_.value >= best.fun * (1 - 1e-7)
        # the dual is flat there: 1e-3 in the value is a few per cent in the penalty
        assert policy.robust_value_.penalty == pytest.approx(np.exp(best.x[2]), rel=0.02)
        assert policy.history_[-100:].mean() == pytest.approx(best.fun, rel=0.01)  # minibatches

    def test_kl_radius_is_kept_and_learned(self):
        problem = AffineNewsvendor()
        policy = hr.RobustPolicy(
            LOSS,
            hr.KL(radius=0.2),
            hr.Affine(),
            solver=hr.SCSC(steps=1000, batch=60),
            random_state=0,
        ).fit(problem.x[:, None], problem.y)

        def dual(v):
            losses = LOSS((v[0] * problem.x + v[1])[:, None], problem.y[:, None])
            return np.exp(v[2]) * (0.2 + logsumexp(losses / np.exp(v[2]), b=1 / len(losses)))

        best = minimize(dual, [1, 3, 0], method="Nelder-Mead", options={"maxiter": 4000})
        assert policy.robust_value_.value == pytest.approx(best.fun, rel=1e-5)
        assert policy.robust_value_.discrepancy == pytest.approx(0.2, rel=1e-6)


def test_value_never_falls_as_the_radius_grows(policy):
    values = [
        hr.robust_value(policy, X[:, None], Y, ambiguity=hr.CausalSinkhorn(radius=r, epsilon=0.3))
        for r in (0.3, 0.5, 1.0, 2.0)
    ]
    assert np.all(np.diff([v.value for v in values]) > 0)
    assert np.all(np.diff([v.penalty for v in values]) < 0)


def test_smallest_radius_leaves_the_smoothed_risk_and_smaller_ones_are_refused(policy):
    """ρ̄ → 0: the kernels themselves are the only distribution left."""
    epsilon = 0.1  # below 1/π, where smearing alone costs
    least = -epsilon * np.log(np.pi * epsilon)
    tiny = hr.CausalSinkhorn(radius=0.9 * np.sqrt(least), epsilon=epsilon)
    with pytest.raises(ValueError, match="smallest feasible radius is") as refused:
        hr.robust_value(policy, X[:, None], Y, ambiguity=tiny)
    named = float(str(refused.value).rstrip(".").split("is ")[-1])
    assert named == pytest.approx(np.sqrt(least), rel=1e-5)
    assert named >= np.sqrt(least)
    found = hr.robust_value(
        policy, X[:, None], Y, ambiguity=hr.CausalSinkhorn(radius=named, epsilon=epsilon)
    )
    rng = np.random.default_rng(0)
    noise = rng.normal(scale=np.sqrt(epsilon / 2), size=(2, 200_000, len(X)))
    decisions = 3 + np.sin(2 * (X + noise[0]))
    smoothed = LOSS(decisions[..., None], (Y + noise[1])[..., None]).mean()
    assert found.value == pytest.approx(smoothed, rel=0.01)  # ρ̄ is 1e-6, and the mean is sampled


def test_radius_counts_the_true_normalisers_of_a_cut_support():
    """Outcomes on a half-line: the mass beyond it is missing from the kernels' normalisers."""
    bounded = hr.Newsvendor(0.6, 1.0, outcome_support=(0, np.inf))
    y = np.array([0.0, 0.3, 1.0])
    policy = hr.RobustPolicy.from_function(lambda x: 1.0, bounded, np.arange(3.0)[:, None], y)
    epsilon = 0.2
    model = hr.Sinkhorn(radius=1e-3, epsilon=epsilon)
    with pytest.raises(ValueError, match="smallest feasible radius is") as refused:
        hr.robust_value(policy, np.arange(3.0)[:, None], y, ambiguity=model)
    kept = norm.logcdf(y / np.sqrt(epsilon / 2)).mean()
    least = -epsilon * (np.log(np.pi * epsilon) + kept)
    named = float(str(refused.value).rstrip(".").split("is ")[-1])
    assert named == pytest.approx(np.sqrt(least), rel=1e-5)


@pytest.mark.slow
def test_auto_scales_make_a_radius_free_of_units():
    data, y = history(rows=40, features=1)
    model = hr.CausalSinkhorn(
        radius=0.8, epsilon=0.2, x_scale="auto", y_scale="auto", loss_scale="auto"
    )
    values = [
        hr.robust_value(
            hr.RobustPolicy.from_function(
                lambda x, a=a, b=b: b * (5 + x[0] / a), hr.Newsvendor(0.6 * c, c), a * data, b * y
            ),
            a * data,
            b * y,
            ambiguity=model,
        ).value
        / (b * c)
        for a, b, c in ((1.0, 1.0, 1.0), (100.0, 0.01, 7.0))
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-5)


@pytest.mark.slow
def test_many_features_use_sobol_nodes_and_say_how_sure_they_are(monkeypatch):
    data, y = history(rows=30, features=4)
    policy = hr.RobustPolicy.from_function(lambda x: 5 + jnp.tanh(x[0] * x[1]), LOSS, data, y)
    model = hr.CausalSinkhorn(3.0, 0.3)
    rough = hr.robust_value(policy, data, y, ambiguity=model, tolerance=0.1)
    fine = hr.robust_value(policy, data, y, ambiguity=model, tolerance=4e-4, random_state=5)
    assert fine.nodes > rough.nodes
    assert abs(rough.value - fine.value) < 5 * (rough.stderr + rough.bias)
    assert fine.stderr + fine.bias <= 4e-4 * fine.value
    monkeypatch.setattr(node_plans, "MOST_EXPONENTS", 2**15)
    with pytest.warns(ConvergenceWarning, match="limit of nodes"):
        hr.robust_value(policy, data, y, ambiguity=model, tolerance=1e-9)


@pytest.mark.slow
def test_low_temperatures_are_not_underestimated(monkeypatch):
    """Where mass moves by many widths of the kernel, nodes of the kernel alone never see it."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(8, 3))
    y = 5 + data[:, 0] + rng.normal(size=8)
    policy = hr.RobustPolicy.from_function(
        lambda x: 5 + x[0] + jnp.tanh(3 * x[1] * x[2]), LOSS, data, y
    )
    model = hr.Sinkhorn(0.3, 0.01)
    found = hr.robust_value(policy, data, y, ambiguity=model)
    limit = hr.robust_value(policy, data, y, ambiguity=hr.CausalWasserstein(0.3))
    # entropy costs about λε·log-volume in each of the four coordinates
    assert limit.value - 0.1 < found.value < limit.value
    mild = hr.Sinkhorn(1.0, 0.3)  # here both ways of placing nodes work
    monkeypatch.setattr(node_plans, "STEEP", 0.0)
    found = hr.robust_value(policy, data, y, ambiguity=mild, tolerance=2e-3)
    monkeypatch.setattr(node_plans, "STEEP", np.inf)
    plain = hr.robust_value(policy, data, y, ambiguity=mild, tolerance=2e-3)
    assert found.value != plain.value
    assert found.value == pytest.approx(plain.value, abs=4 * (found.stderr + plain.stderr))


@pytest.mark.slow
def test_narrow_summits_far_away_are_found_among_features_that_do_not_matter():
    """A rule of the first feature alone: the value with that feature, by quadrature, is the truth.

    Moving pays for some contexts only, and there less than kernels that narrow make up for.
    """
    rng = np.random.default_rng(2)
    data = np.repeat(rng.normal(size=(16, 5)), 2, axis=0)
    y = 5 + np.tanh(data[:, 0]) + rng.normal(size=32)
    model = hr.CausalSinkhorn(2.2, 0.02, order=1)

    def hills(x):
        return 5 + 3 * jnp.exp(-12.5 * (x[0] - 1.5) ** 2) - 3 * jnp.exp(-12.5 * (x[0] + 2) ** 2)

    truth, found = (
        hr.robust_value(
            hr.RobustPolicy.from_function(hills, LOSS, data[:, :features], y),
            data[:, :features],
            y,
            ambiguity=model,
        )
        for features in (1, 5)
    )
    assert found.value == pytest.approx(truth.value, rel=1e-3)  # the default tolerance
    assert found.status == "converged"


@pytest.mark.slow
def test_affine_rules_need_a_penalty_that_outgrows_them(policy):
    """p = 1: a context that moves by 1 moves the order by 3, which costs up to 3 (condit-1)."""
    steep = hr.RobustPolicy.from_function(lambda x: 3 * x[0], LOSS, X[:, None], Y)
    model = hr.Sinkhorn(2.9, 0.1, order=1)
    found = hr.robust_value(steep, X[:, None], Y, ambiguity=model)
    assert (found.value, found.status) == (np.inf, "infinite")
    with pytest.raises(ValueError, match="infinite"):
        hr.worst_case(steep, X[:, None], Y, ambiguity=model)
    model = hr.Sinkhorn(3.1, 0.1, order=1)
    assert np.isfinite(hr.robust_value(steep, X[:, None], Y, ambiguity=model).value)
    within = hr.Sinkhorn(radius=3.0, epsilon=0.1, order=1)
    assert hr.robust_value(steep, X[:, None], Y, ambiguity=within).penalty > 3.0
    square = hr.CustomLoss(lambda z, y: jnp.sum((z - y) ** 2), hr.Free(1))
    joint = hr.RobustPolicy.from_function(lambda x: 2 * x[0], square, X[:, None], Y)
    # (2x − y)² against λ(x² + y²): the leading form has eigenvalue 2² + 1
    assert hr.robust_value(joint, X[:, None], Y, ambiguity=hr.Sinkhorn(4.9, 0.1)).value == np.inf
    found = hr.robust_value(joint, X[:, None], Y, ambiguity=hr.Sinkhorn(8.0, 0.1))
    assert np.isfinite(found.value)


@pytest.mark.slow
@pytest.mark.parametrize("order", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_causal_wasserstein_equals_brute_force_and_the_limit_of_causal_sinkhorn(policy, order):
    penalty = 0.5 if order == 2 else 1.2
    found = hr.robust_value(
        policy, X[:, None], Y, ambiguity=hr.CausalWasserstein(penalty, order=order), tolerance=1e-6
    )
    x, moves = np.linspace(-6, 6, 4801), np.linspace(-4, 4, 1601)
    decisions = 3 + np.sin(2 * x)
    brute = 0.0
    for context in np.unique(X):
        inner = np.mean(
            [
                np.max(
                    LOSS(decisions[:, None, None], (y + moves)[None, :, None])
                    - penalty * np.abs(moves) ** order,
                    axis=1,
                )
                for y in Y[context == X]
            ],
            axis=0,
        )
        share = np.mean(context == X)
        brute += share * np.max(inner - penalty * np.abs(x - context) ** order)
    assert found.value == pytest.approx(brute, rel=1e-4)  # the grid's spacing
    assert found.value >= brute - 1e-6
    smeared = hr.CausalSinkhorn(penalty, 1e-3, order=order)
    limit = hr.robust_value(policy, X[:, None], Y, ambiguity=smeared)
    # the adversary's entropy costs ε·log(1/ε) or so
    assert limit.value == pytest.approx(found.value, rel=0.02)
    assert limit.status == "converged"


def test_unusable_arguments_are_named(policy):
    for arguments, message in (
        ({"tolerance": 0.0}, "tolerance must be greater than 0"),
        ({"ambiguity": 3}, "ambiguity must be None or ambiguity such as"),
        ({"random_state": -1}, "random_state must be at least 0"),
        ({"reference": X}, "reference must be a pair of hedgerow.Reference"),
        ({"reference": REFERENCE, "ambiguity": hr.KL(1.0)}, "KL does not smear points out"),
        ({"reference": (hr.Reference([[0.0, 1.0]]), REFERENCE[1])}, r"of shape \(points, 1\)"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            hr.robust_value(policy, X[:, None], Y, **arguments)
    with pytest.raises(ValueError, match="column"):
        hr.robust_value(policy, X[:, None], np.stack([Y, Y], axis=1))
    with pytest.raises(ValueError, match="inconsistent"):
        hr.robust_value(policy, X[:, None], Y[:-1])
