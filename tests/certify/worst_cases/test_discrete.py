"""Worst cases that are discrete: what is moved, reweighted, or left alone."""

import jax.numpy as jnp
import numpy as np
import pytest

import hedgerow as hr

LOSS = hr.Newsvendor(0.6, 1.0, decision_set=hr.Free(1))
X = np.array([-1.0, -1.0, 0.2, 0.2, 0.2, 1.1])[:, None]
Y = np.array([2.0, 3.5, 2.5, 3.0, 4.5, 5.0])


@pytest.fixture(scope="module")
def policy():
    return hr.RobustPolicy.from_function(lambda x: 3 + jnp.sin(2 * x[0]), LOSS, X, Y)


def expected_loss(worst):
    return worst.weights @ LOSS(3 + np.sin(2 * worst.x), worst.y)


def transport_cost(worst):
    moved = np.hstack([worst.x - worst.from_x, worst.y - worst.from_y])
    return worst.weights @ np.sum(moved**2, axis=1)


@pytest.mark.parametrize(
    "model",
    [
        hr.ERM(),
        hr.KL(0.5),
        hr.KL(radius=0.1),
        hr.CausalWasserstein(0.5),
        hr.CausalWasserstein(radius=0.6),
    ],
    ids=str,
)
def test_worst_case_attains_the_value(policy, model):
    worst = hr.worst_case(policy, X, Y, ambiguity=model)
    assert worst.weights.sum() == pytest.approx(1)
    # the function's constants are kept in float32
    assert expected_loss(worst) == pytest.approx(worst.expected_loss(), rel=1e-6)
    penalty = worst.robust.penalty or 0.0
    if worst.robust.radius is None:
        value = worst.expected_loss() - penalty * worst.discrepancy
        assert value == pytest.approx(worst.robust.value, rel=1e-9)
    else:
        assert worst.expected_loss() == pytest.approx(worst.robust.value, rel=1e-6)


def test_kl_weights(policy):
    worst = hr.worst_case(policy, X, Y, ambiguity=hr.KL(0.5))
    losses = LOSS(3 + np.sin(2 * worst.x), worst.y)
    weights = np.exp(losses / 0.5) / np.exp(losses / 0.5).sum()
    assert worst.weights == pytest.approx(weights, rel=1e-5)
    divergence = np.sum(weights * np.log(weights * len(weights)))
    assert worst.discrepancy == pytest.approx(divergence, rel=1e-5)
    assert np.array_equal(worst.x, worst.from_x)


def test_causal_wasserstein_moves_a_context_as_one(policy):
    worst = hr.worst_case(policy, X, Y, ambiguity=hr.CausalWasserstein(0.5))
    assert transport_cost(worst) == pytest.approx(worst.discrepancy, rel=1e-6)
    for context in np.unique(worst.source):
        assert np.ptp(worst.x[worst.source == context]) == 0
    # y-step: a quadratic cost moves outcomes by slope/(2λ), down by 0.6 or up by 1
    assert np.allclose(np.abs(worst.y - worst.from_y), np.where(worst.y > worst.from_y, 1.0, 0.6))


def test_causal_wasserstein_uses_the_radius_up(policy):
    """Where one context has two equally good places, the worst case mixes them."""
    worst = hr.worst_case(policy, X, Y, ambiguity=hr.CausalWasserstein(radius=0.6))
    assert transport_cost(worst) == pytest.approx(0.36, rel=1e-5)


def test_points_have_their_mass_and_others_none(policy):
    worst = hr.worst_case(policy, X, Y, ambiguity=hr.KL(0.5))
    assert worst.density(worst.x, worst.y) == pytest.approx(worst.weights)
    assert worst.density([[5.0]], [[5.0]]) == 0
    assert worst.marginal_x([-1.0])[0] == pytest.approx(worst.weights[worst.x[:, 0] == -1].sum())
    assert worst.marginal_y([4.5])[0] == pytest.approx(worst.weights[worst.y[:, 0] == 4.5].sum())
    x, y = draws = worst.sample(3000, seed=0)
    assert draws.effective_sample_size == np.inf
    share = np.mean((x == 1.1) & (y == 5.0))
    assert share == pytest.approx(worst.density([1.1], [5.0])[0], abs=0.03)  # sampled
