"""The physics of the ambiguity models: limits, orders between them, well-posedness."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

import hedgerow as hr
from hedgerow.ambiguity import Problem
from hedgerow.certify.value import certify
from tests.problems import AUTO, QUICK, SMALL, AffineNewsvendor, history

LOSS = hr.Newsvendor(0.6, 1.0)


@pytest.fixture(scope="module")
def fitted():
    """A forest on contexts that have several outcomes each."""
    X, y = history(rows=60)
    return hr.RobustPolicy(
        LOSS, hr.ERM(), SMALL, hr.NeighbourNominal(5), QUICK, random_state=0
    ).fit(X, y)


def constant(x):
    return 5.0


def value(policy, model, loss=None):
    problem = Problem.of(policy.nominal_, policy.units_, loss or policy.loss, model)
    return certify(problem, policy.rule_, policy._key).robust


def test_erm_value_is_the_nominal_loss(fitted):
    nominal = fitted.nominal_
    decisions = fitted.predict(nominal.contexts)
    owner = np.repeat(np.arange(len(nominal.contexts)), nominal.count)
    losses = LOSS(decisions[owner, None], nominal.outcomes[nominal.entry_outcome])
    assert value(fitted, hr.ERM()).value == pytest.approx(losses @ nominal.joint_mass(), rel=1e-6)
    assert fitted.robust_value_.nominal == pytest.approx(losses @ nominal.joint_mass(), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
def test_causal_adversary_is_weaker(fitted, order):
    """log E exp Σ p G ≤ Σ p log E exp G: the causal value never exceeds the plain one."""
    causal = value(fitted, hr.CausalSinkhorn(2.0, 0.2, order=order))
    plain = value(fitted, hr.Sinkhorn(2.0, 0.2, order=order))
    assert causal.value < plain.value - 4 * (causal.stderr + plain.stderr)


def test_causal_and_plain_coincide_when_contexts_are_unique():
    X, y = history()
    policy = hr.RobustPolicy(LOSS, hr.ERM(), SMALL, solver=QUICK, random_state=0).fit(X, y)
    causal = value(policy, hr.CausalSinkhorn(2.0, 0.2)).value
    assert causal == pytest.approx(value(policy, hr.Sinkhorn(2.0, 0.2)).value, rel=1e-12)


def test_kl_value_is_the_closed_form(fitted):
    nominal = fitted.nominal_
    owner = np.repeat(np.arange(len(nominal.contexts)), nominal.count)
    losses = LOSS(
        fitted.predict(nominal.contexts)[owner, None], nominal.outcomes[nominal.entry_outcome]
    )
    expected = 0.7 * logsumexp(losses / 0.7, b=nominal.joint_mass())
    assert value(fitted, hr.KL(0.7)).value == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "model", [pytest.param(hr.Sinkhorn, marks=pytest.mark.slow), hr.CausalSinkhorn]
)
def test_robust_value_equals_quadrature(model):
    problem = AffineNewsvendor(rows=20, repeats=3)
    policy, theta = problem.fit(model, QUICK)
    exact = problem.sinkhorn(theta) if model is hr.Sinkhorn else problem.causal(theta)
    found = policy.robust_value_
    assert found.value == pytest.approx(exact, rel=1e-7)  # the rule itself is float32
    assert found.penalty == pytest.approx(problem.penalty)


@pytest.mark.slow
def test_sampled_loss_has_the_value_of_the_closed_form():
    """A CustomLoss that is the newsvendor: same value, by nodes around the outcomes."""
    problem = AffineNewsvendor(rows=20)
    policy, theta = problem.fit(hr.Sinkhorn, QUICK)
    same = hr.CustomLoss(
        lambda z, y: jnp.sum(0.6 * jnp.maximum(z - y, 0) + jnp.maximum(y - z, 0)), hr.Free(1)
    )
    sampled = value(policy, policy.ambiguity_, same)
    exact = problem.sinkhorn(theta)
    assert sampled.value == pytest.approx(exact, abs=2 * sampled.bias)
    assert sampled.bias < 1e-3 * exact  # Gauss nodes converge slowly across the loss's kink


def test_inadmissible_penalty_is_refused_before_training_and_names_the_smallest():
    X, y = history()

    def never(*_):
        raise AssertionError("training started")

    def fit(model, loss=LOSS):
        hr.RobustPolicy(loss, model, SMALL, solver=QUICK, verbose=never).fit(X, y)

    with pytest.raises(ValueError, match=r"greater than 1, or use order=2"):
        fit(hr.Sinkhorn(1.0, 0.1, order=1))
    with pytest.raises(ValueError, match=r"greater than 0\.5"):
        fit(hr.Sinkhorn(0.5, 0.1, order=1, y_scale=0.5))
    quadratic = hr.CustomLoss(lambda z, y: jnp.sum((z - y) ** 2), hr.Free(1))
    with pytest.raises(ValueError, match=r"infinite for every penalty.*outcome_support"):
        fit(hr.Sinkhorn(50.0, 0.1, order=1), quadratic)
    with pytest.raises(ValueError, match="greater than 1"):
        fit(hr.Sinkhorn(0.9, 0.1, order=2), quadratic)


def test_named_smallest_penalty_is_the_threshold():
    """Just above the named penalty a fit runs, in auto units too."""
    X, y = history()
    model = hr.Sinkhorn(0.01, 0.1, order=1, **AUTO)
    with pytest.raises(ValueError, match="greater than") as refused:
        hr.RobustPolicy(LOSS, model, SMALL, solver=QUICK).fit(X, y)
    smallest = float(str(refused.value).split("greater than ")[1].split(",")[0])
    model = hr.Sinkhorn(smallest * 1.01, 0.1, order=1, **AUTO)
    policy = hr.RobustPolicy(LOSS, model, SMALL, solver=QUICK, random_state=0).fit(X, y)
    assert np.all(np.isfinite(policy.history_))


@pytest.mark.slow
def test_bounded_outcomes_make_small_penalties_admissible():
    X, y = history()
    loss = hr.Newsvendor(0.6, 1.0, outcome_support=(0, 20))
    policy = hr.RobustPolicy(
        loss, hr.Sinkhorn(0.3, 0.1, order=1), hr.Constant(), solver=QUICK, random_state=0
    ).fit(X[:, :1], y)
    assert policy.robust_value_.value <= loss(np.array([0.0]), np.array([20.0])) + 1e-6


def test_vacuous_causality_is_said_and_alternatives_named():
    X, y = history()
    with pytest.warns(UserWarning, match="coincides with Sinkhorn.*ResidualNominal"):
        hr.RobustPolicy.from_function(constant, LOSS, X, y, ambiguity=hr.CausalSinkhorn(5.0, 0.1))


@pytest.mark.parametrize(
    "settings", [{"nominal": hr.NeighbourNominal(3)}, {"nominal": hr.AdaptedNominal(9)}, {}]
)
def test_no_such_warning_where_contexts_have_several_outcomes(settings, recwarn):
    X, y = history()
    if not settings:
        X = np.round(X[:, :1])
    model = hr.CausalSinkhorn(5.0, 0.1)
    hr.RobustPolicy.from_function(constant, LOSS, X, y, ambiguity=model, **settings)
    assert not [w for w in recwarn if "coincides" in str(w.message)]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: hr.CausalSinkhorn(penalty=-1.0), "penalty must be greater than 0"),
        (lambda: hr.CausalSinkhorn(1.0, epsilon=0.0), "epsilon must be greater than 0"),
        (lambda: hr.Sinkhorn(1.0, epsilon=-0.1), "epsilon must be greater than 0"),
        (lambda: hr.Sinkhorn(1.0, 0.1, order=0.5), "order must be at least 1"),
        (lambda: hr.Sinkhorn(1.0, 0.1, x_scale="big"), 'x_scale must be "auto"'),
        (lambda: hr.Sinkhorn(1.0, 0.1, y_scale=0.0), 'y_scale must be "auto" or greater than 0'),
        (lambda: hr.CausalSinkhorn(1.0, radius=0.5), "penalty or a radius, not both"),
        (lambda: hr.KL(1.0, radius=0.5), "penalty or a radius, not both"),
        (lambda: hr.Sinkhorn(), "Give a penalty"),
        (lambda: hr.KL(radius=0.0), "radius must be greater than 0"),
        (lambda: hr.CausalSinkhorn(radius=-1.0), "radius must be greater than 0"),
        (lambda: hr.CausalWasserstein(), "Give a penalty"),
        (lambda: hr.CausalWasserstein(1.0, order=0.5), "order must be at least 1"),
        (lambda: hr.KL(0.0), "penalty must be greater than 0"),
        (lambda: hr.KL(float("nan")), "penalty must be finite"),
    ],
)
def test_parameters_are_checked(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_scales_must_fit_the_data():
    X, y = history()
    model = hr.Sinkhorn(5.0, 0.1, x_scale=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"x_scale has 2 entries, but the data have 3 column"):
        hr.RobustPolicy(LOSS, model, SMALL, solver=QUICK).fit(X, y)
