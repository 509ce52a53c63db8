"""Ascent: the summits of heights whose summits are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.ambiguity import Kernels, Setting
from hedgerow.ambiguity.ascent import summits
from hedgerow.data import Batch
from hedgerow.kernels import Kernel
from hedgerow.rules.affine import AffineRule

RNG = np.random.default_rng(0)
CONTEXTS, OUTCOMES = RNG.normal(size=(4, 2)), RNG.normal(size=(4, 3, 1))
MASS = RNG.dirichlet(np.ones(3), size=4)
SLOPE, OFFSET = np.array([0.8, -0.5]), 0.3
X_SCALE, Y_SCALE = np.array([0.7, 1.5]), np.array([1.2])
SQUARE = hr.CustomLoss(lambda z, y: jnp.sum((z - y) ** 2), hr.Free(1))
NEWSVENDOR = hr.Newsvendor(0.6, 1.0, decision_set=hr.Free(1))


def climbed(loss, penalty, order=2, x_scale=X_SCALE, ends=(None, None), climbs=400):
    """Where every start of every context ends, in float64."""
    with jax.enable_x64(True):
        rule = AffineRule(
            matrix=jnp.asarray(SLOPE[None]), offset=jnp.asarray([OFFSET]), decision_set=hr.Free(1)
        )
        context = Kernel(order, jnp.asarray(1.0), jnp.asarray(x_scale))
        low, high = (None if end is None else jnp.full(1, end) for end in ends)
        outcome = Kernel(order, jnp.asarray(1.0), jnp.asarray(Y_SCALE), low, high)
        setting = Setting(loss, Kernels(context, outcome), hr.Sobol(4), None, climbs)
        batch = Batch(
            contexts=jnp.asarray(CONTEXTS),
            mass=jnp.full(4, 0.25),
            outcomes=jnp.asarray(OUTCOMES),
            outcome_mass=jnp.asarray(MASS),
            context_slot=jnp.arange(4),
            entry_slot=jnp.arange(12).reshape(4, 3),
        )
        found = jax.jit(summits)(rule, setting, batch, jnp.asarray(penalty), jax.random.key(0))
        return jax.tree.map(np.asarray, found)


def height(loss, k, x, y, penalty, order=2, x_scale=X_SCALE):
    """The definition, for context k; scales of 0 cost nothing."""
    gain = MASS[k] @ np.asarray(loss(np.array([[SLOPE @ x + OFFSET]]), y[:, None]))
    moved = np.abs(x - CONTEXTS[k]) / np.where(np.asarray(x_scale) > 0, x_scale, np.inf)
    paid = MASS[k] @ (np.abs(y - OUTCOMES[k, :, 0]) / Y_SCALE) ** order
    return gain - penalty * (np.sum(moved**order) + paid)


def test_a_concave_height_has_one_summit_and_every_start_reaches_it():
    """(z − y)² less a dear enough cost is concave; its summit solves a linear system.

    λ(x − x̂)/s² = Σ p_i (z − y_i)·slope and λ(y_i − ŷ_i)/s² = y_i − z.
    """
    penalty = 4.0
    found = climbed(SQUARE, penalty)
    for k in range(4):
        system, right = np.zeros((5, 5)), np.zeros(5)
        system[:2, :2] = penalty * np.diag(X_SCALE**-2.0) - np.outer(SLOPE, SLOPE)
        system[:2, 2:] = np.outer(SLOPE, MASS[k])
        right[:2] = penalty * CONTEXTS[k] / X_SCALE**2 + OFFSET * SLOPE
        system[2:, :2] = SLOPE
        system[2:, 2:] = (penalty / Y_SCALE**2 - 1) * np.eye(3)
        right[2:] = penalty * OUTCOMES[k, :, 0] / Y_SCALE**2 - OFFSET
        summit = np.linalg.solve(system, right)
        np.testing.assert_allclose(found.x[k], np.tile(summit[:2], (5, 1)), atol=2e-5)
        np.testing.assert_allclose(found.y[k, ..., 0], np.tile(summit[2:], (5, 1)), atol=2e-5)
        exact = height(SQUARE, k, summit[:2], summit[2:], penalty)
        np.testing.assert_allclose(found.height[k], exact, rtol=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_heights_are_those_of_where_it_ends_and_no_start_ends_below_home(order):
    found = climbed(NEWSVENDOR, 1.5, order)
    for k in range(4):
        home = height(NEWSVENDOR, k, CONTEXTS[k], OUTCOMES[k, :, 0], 1.5, order)
        for x, y, reached in zip(found.x[k], found.y[k], found.height[k], strict=True):
            exact = height(NEWSVENDOR, k, x, y[:, 0], 1.5, order)
            assert reached == pytest.approx(exact, rel=1e-10)
        assert found.height[k, 0] >= home


def test_a_known_best_response_leaves_only_contexts_to_climb():
    """p = 1 at a price above every slope: nothing moves, whatever the start."""
    found = climbed(NEWSVENDOR, 1.3, order=1)  # s_y·b = 1.2 and s_x·|slope| = 0.75 < 1.3
    np.testing.assert_array_equal(found.y, np.broadcast_to(OUTCOMES[:, None], found.y.shape))
    best = np.argmax(found.height, axis=1)
    np.testing.assert_allclose(found.x[np.arange(4), best], CONTEXTS, atol=1e-4)  # step ≥ 1e-6/λ
    cheap = climbed(NEWSVENDOR, 1.1, order=1, ends=(-5.0, 5.0))  # outcomes go to their ends
    assert np.any(np.abs(np.abs(cheap.y) - 5) < 1e-12)


def test_supports_and_pinned_features_are_kept():
    found = climbed(SQUARE, 4.0, x_scale=np.array([0.7, 0.0]), ends=(-2.5, 2.5))
    np.testing.assert_array_equal(found.x[..., 1], np.broadcast_to(CONTEXTS[:, None, 1], (4, 5)))
    assert np.all(np.abs(found.y) <= 2.5)
    assert np.all(np.ptp(found.x[..., 0], axis=1) < 1e-3)  # one summit in the free feature
    assert np.min(np.abs(found.x[:, 0, 0] - CONTEXTS[:, 0])) > 1e-3


def test_more_attempts_lead_higher():
    few, many = climbed(SQUARE, 4.0, climbs=2), climbed(SQUARE, 4.0, climbs=8)
    assert np.all(many.height >= few.height)
    assert np.any(many.height > few.height + 1e-6)
