"""The radius of a cost: the certified value read backwards, and a closed form for KL."""

import jax
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp

import hedgerow as hr
from hedgerow.certify.reaching import radius_reaching
from tests.problems import AUTO, QUICK, SMALL, history

KEY = jax.random.key(0, impl="rbg")


@pytest.fixture(scope="module")
def policy():
    X, y = history(60, 1)
    return hr.RobustPolicy(
        hr.Newsvendor(1, 3), rule=SMALL, nominal=hr.EmpiricalNominal(), solver=QUICK, random_state=0
    ).fit(X, y)


def tilted_cost(losses, penalty):
    """Mean cost and divergence of the exponentially tilted losses, by scipy alone."""
    log_weights = losses / penalty - logsumexp(losses / penalty)
    weights = np.exp(log_weights)
    return weights @ losses, weights @ (log_weights + np.log(len(losses)))


def test_kl_radius_is_the_divergence_of_the_tilted_losses(policy):
    X, y = history(60, 1)
    losses = policy.losses(X, y)
    cost = 1.5 * losses.mean()
    found = radius_reaching(policy.problem(X, y, ambiguity=hr.KL(1.0)), policy.rule_, cost, KEY)
    penalty = brentq(lambda p: tilted_cost(losses, p)[0] - cost, 0.1, 1000)
    assert found.radius == pytest.approx(tilted_cost(losses, penalty)[1], rel=1e-6)
    assert found.status == "converged"


def test_no_radius_of_kl_reaches_more_than_the_largest_loss(policy):
    X, y = history(60, 1)
    cost = 1.01 * policy.losses(X, y).max()
    problem = policy.problem(X, y, ambiguity=hr.KL(1.0))
    assert radius_reaching(problem, policy.rule_, cost, KEY).radius == np.inf


def test_a_cost_below_the_nominal_needs_no_radius(policy):
    X, y = history(60, 1)
    problem = policy.problem(X, y, ambiguity=hr.KL(1.0))
    assert radius_reaching(problem, policy.rule_, 0.5 * policy.losses(X, y).mean(), KEY).radius == 0


@pytest.mark.parametrize(
    "model",
    [
        hr.CausalSinkhorn(penalty=10, epsilon=0.05, **AUTO),
        pytest.param(hr.CausalWasserstein(penalty=10, **AUTO), marks=pytest.mark.slow),
        pytest.param(
            hr.CausalSinkhorn(penalty=10, epsilon=0.1, order=1, **AUTO), marks=pytest.mark.slow
        ),
    ],
    ids=["sinkhorn", "wasserstein", "order-1"],
)
def test_the_value_at_the_radius_is_the_cost(policy, model):
    X, y = history(60, 1)
    cost = 1.4 * policy.losses(X, y).mean()
    problem = policy.problem(X, y, ambiguity=model)
    found = radius_reaching(problem, policy.rule_, cost, KEY, 1e-3)
    value = hr.robust_value(policy, X, y, ambiguity=model.within(found.radius), tolerance=1e-3)
    assert value.value == pytest.approx(cost, rel=3e-3)  # both are computed to 1e-3


def test_a_model_without_a_radius_says_so(policy):
    X, y = history(60, 1)
    with pytest.raises(TypeError, match=r"write ERM\.within"):
        radius_reaching(policy.problem(X, y, ambiguity=hr.ERM()), policy.rule_, 1.0, KEY)
