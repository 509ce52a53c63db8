"""Divergences: values are their duals by SciPy, worst cases attain them, training reaches them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog, minimize, minimize_scalar

import hedgerow as hr

RNG = np.random.default_rng(0)
X = np.repeat(RNG.normal(size=(9, 1)), [1, 2, 3, 1, 2, 1, 2, 2, 2], axis=0)
Y = 4 + X[:, 0] + RNG.normal(size=16)
LOSS = hr.Newsvendor(0.6, 1.0, decision_set=hr.Free(1))
WEIGHTS = RNG.uniform(0.2, 3.0, 16)
MODELS = {"chi": hr.ChiSquare, "tv": hr.TotalVariation, "ratio": hr.LikelihoodRatio}
EVERY = pytest.mark.parametrize("kind", MODELS)
WEIGHTED = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])


@pytest.fixture(scope="module")
def policy():
    return hr.RobustPolicy.from_function(lambda x: 4 + jnp.sin(2 * x[0]), LOSS, X, Y)


def losses_and_mass(policy, weights):
    weights = np.ones(len(Y)) if weights is None else weights
    return policy.losses(X, Y), weights / weights.sum()


def divergence(kind, ratio, mass):
    return {
        "chi": mass @ (ratio - 1) ** 2,
        "tv": mass @ np.abs(ratio - 1) / 2,
        "ratio": ratio[mass > 0].max() - 1,
    }[kind]


def dual_of_penalty(kind, psi, mass, penalty):
    """inf_η η + λ·E φ*((Ψ − η)/λ), or a linear program where the price is on the largest ratio."""
    n = len(psi)
    if kind == "chi":  # φ*(s) = s + s²/4 for s ≥ −2, else −1

        def value(level):
            s = np.maximum((psi - level) / penalty, -2.0)
            return level + penalty * mass @ (s + s**2 / 4)

        spread = psi.max() - psi.min()
        ends = psi.min() - 4 * penalty - spread, psi.max() + 4 * penalty
        return minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": 1e-12}).fun
    if kind == "tv":  # w = 1 + up − down, price (up + down)/2
        cost = np.concatenate([-mass * psi, mass * psi]) + penalty / 2 * np.tile(mass, 2)
        found = linprog(
            cost,
            A_eq=[np.concatenate([mass, -mass])],
            b_eq=[0.0],
            bounds=[(0, None)] * n + [(0, 1)] * n,
        )
        return mass @ psi - found.fun
    cost = np.concatenate([-mass * psi, [penalty]])  # w ≤ t, price t − 1
    found = linprog(
        cost,
        A_ub=np.hstack([np.eye(n), -np.ones((n, 1))]),
        b_ub=np.zeros(n),
        A_eq=[np.append(mass, 0.0)],
        b_eq=[1.0],
        bounds=[(0, None)] * (n + 1),
    )
    return -found.fun + penalty


def within(kind, psi, mass, radius):
    """The worst expectation within a radius, by programs that know nothing of the penalty."""
    n = len(psi)
    if kind == "chi":  # inf_{η, λ} λρ + the dual above

        def value(parameters):
            penalty = np.exp(parameters[1])
            s = np.maximum((psi - parameters[0]) / penalty, -2.0)
            return parameters[0] + penalty * (radius + mass @ (s + s**2 / 4))

        options = {"xatol": 1e-11, "fatol": 1e-14, "maxiter": 10_000, "maxfev": 10_000}
        starts = [[mass @ psi, log] for log in (-2.0, 0.0)]
        runs = [minimize(value, start, method="Nelder-Mead", options=options) for start in starts]
        return min(run.fun for run in runs)
    if kind == "tv":
        found = linprog(
            np.concatenate([-mass * psi, mass * psi]),
            A_ub=[np.tile(mass, 2) / 2],
            b_ub=[radius],
            A_eq=[np.concatenate([mass, -mass])],
            b_eq=[0.0],
            bounds=[(0, None)] * n + [(0, 1)] * n,
        )
        return mass @ psi - found.fun
    found = linprog(-mass * psi, A_eq=[mass], b_eq=[1.0], bounds=[(0, 1 + radius)] * n)
    return -found.fun


@EVERY
@WEIGHTED
@pytest.mark.parametrize("form", [{"penalty": 0.3}, {"penalty": 3.0}, {"radius": 0.3}])
def test_values_are_their_duals_and_worst_cases_attain_them(policy, kind, weights, form):
    psi, mass = losses_and_mass(policy, weights)
    worst = hr.worst_case(policy, X, Y, ambiguity=MODELS[kind](**form), sample_weight=weights)
    dual = (dual_of_penalty if "penalty" in form else within)(kind, psi, mass, *form.values())
    assert worst.robust.value == pytest.approx(dual, rel=1e-8)
    assert worst.weights.sum() == pytest.approx(1, rel=1e-12)
    order = [np.flatnonzero((X[:, 0] == x) & (y == Y))[0] for x, y in np.hstack([worst.x, worst.y])]
    ratio = worst.weights / mass[order]
    used = divergence(kind, ratio, mass[order])
    assert worst.weights @ psi[order] == pytest.approx(worst.expected_loss(), rel=1e-8)
    assert worst.discrepancy == pytest.approx(used, rel=1e-6)  # a root, to 1e-11 of the penalty
    if "penalty" in form:
        assert worst.expected_loss() - form["penalty"] * used == pytest.approx(dual, rel=1e-8)
    else:
        assert used == pytest.approx(form["radius"], rel=1e-6)


@EVERY
def test_limits_are_the_empirical_risk_and_the_worst_row(policy, kind):
    psi, mass = losses_and_mass(policy, None)

    def value(radius):
        return hr.robust_value(policy, X, Y, ambiguity=MODELS[kind](radius=radius)).value

    assert value(1e-14) == pytest.approx(mass @ psi, rel=1e-6)  # the root of 1e-14
    assert value(1.0 if kind == "tv" else 1e3) == pytest.approx(psi.max(), rel=1e-8)
    dear = hr.robust_value(policy, X, Y, ambiguity=MODELS[kind](penalty=1e9)).value
    assert dear == pytest.approx(mass @ psi, rel=1e-8)


def test_a_likelihood_ratio_bounded_by_a_radius_is_cvar(policy):
    psi, _ = losses_and_mass(policy, None)
    for tail in (0.1, 0.37):
        model = hr.LikelihoodRatio(radius=1 / tail - 1)
        found = hr.robust_value(policy, X, Y, ambiguity=model).value
        assert found == pytest.approx(hr.metrics.cvar(-psi, tail), rel=1e-9)


@EVERY
def test_gradients_are_those_of_finite_differences(kind):
    """Row weights and the divergence used, where no two rows are on an edge."""
    psi, mass = RNG.normal(size=7), RNG.dirichlet(np.ones(7))
    mass[2] = 0.0
    mass /= mass.sum()

    def risk(psi, penalty):
        return MODELS[kind](penalty=1.0).replace(penalty=penalty).risk(psi, mass)

    with jax.enable_x64(True):
        found = jax.grad(risk, argnums=(0, 1))(jnp.asarray(psi), 0.7)
        step = 1e-6
        each = [(risk(psi + step * e, 0.7) - risk(psi - step * e, 0.7)) / 2e-6 for e in np.eye(7)]
        priced = (risk(psi, 0.7 + step) - risk(psi, 0.7 - step)) / 2e-6
    np.testing.assert_allclose(found[0], each, atol=1e-8)
    assert float(found[1]) == pytest.approx(float(priced), abs=1e-8)


def test_inadmissible_parameters_are_refused():
    with pytest.raises(ValueError, match="radius must be at most 1"):
        hr.TotalVariation(radius=1.2)
    for kind in MODELS.values():
        with pytest.raises(ValueError, match="penalty must be greater than 0"):
            kind(penalty=0.0)
        with pytest.raises(ValueError, match="Give a penalty"):
            kind()


ROWS = 300
MANY = RNG.normal(size=(ROWS, 1))
DEMAND = 6 + 1.5 * MANY[:, 0] + RNG.gumbel(size=ROWS) * (0.5 + np.abs(MANY[:, 0]))
TRAINED = {
    "chi": [{"penalty": 0.8}, {"radius": 0.5}],
    "tv": [{"penalty": 2.0}, {"radius": 0.05}],
    "ratio": [{"penalty": 0.5}, {"radius": 3.0}],
}


def least(kind, form):
    """The best affine rule, by linear programming or a smooth method from many starts."""
    mass = np.full(ROWS, 1 / ROWS)

    def value(parameters):
        psi = LOSS((parameters[0] + parameters[1] * MANY[:, :1]), DEMAND[:, None])
        model = MODELS[kind](penalty=1.0)

        def risk(penalty):
            return float(model.replace(penalty=penalty).risk(psi, mass))

        if "penalty" in form:
            return risk(form["penalty"])
        low, high = np.log([1e-4, 1e3])
        found = minimize_scalar(
            lambda log: np.exp(log) * form["radius"] + risk(np.exp(log)),
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-7},
        )
        return found.fun

    with jax.enable_x64(True):
        runs = [
            minimize(value, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9})
            for start in ([6.0, 1.5], [7.5, 1.0])
        ]
    return min(run.fun for run in runs)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [64, 512], ids=["minibatch", "full batch"])
@EVERY
def test_the_default_solver_reaches_the_minimum(kind, batch):
    for form in TRAINED[kind]:
        model = MODELS[kind](**form)
        solver = hr.solvers.default_solver(model).set_params(batch=batch, steps=500)
        policy = hr.RobustPolicy(
            LOSS, model, hr.Affine(), hr.EmpiricalNominal(), solver, random_state=0, outliers="warn"
        ).fit(MANY, DEMAND)
        found = policy.robust_value_.value
        assert found <= 1.005 * least(kind, form), form


def test_a_remembering_solver_sees_what_a_minibatch_cannot():
    """With 64 of 300 rows a step, nested gradients are those of another risk."""
    model = hr.ChiSquare(radius=1.0)
    found = {}
    for name, solver in {
        "nested": hr.NestedSGD(batch=8, steps=400),
        "remembered": hr.SCSC(batch=8, steps=400),
    }.items():
        policy = hr.RobustPolicy(
            LOSS, model, hr.Constant(), hr.EmpiricalNominal(), solver, random_state=0
        ).fit(MANY, DEMAND)
        found[name] = policy.robust_value_.value
    assert found["remembered"] < found["nested"]
