"""A loss given as a function is the same loss, found by probing what a formula would have known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import Box, CustomLoss, Free, Newsvendor, Nonnegative, Simplex

HOLDING, STOCKOUT = np.array([1.0, 0.5]), np.array([3.0, 2.0])


def newsvendor(z, y):
    return jnp.sum(HOLDING * jnp.maximum(z - y, 0) + STOCKOUT * jnp.maximum(y - z, 0))


def one_product(z, y):
    return jnp.sum(jnp.maximum(z - y, 0) + 3 * jnp.maximum(y - z, 0))


def squared(z, y):
    return jnp.sum((z - y) ** 2)


CUSTOM, EXACT = CustomLoss(newsvendor, Nonnegative(2)), Newsvendor(HOLDING, STOCKOUT)


@given(st.integers(0, 10_000))
def test_values_are_the_newsvendors(seed):
    rng = np.random.default_rng(seed)
    z, y = rng.normal(size=(4, 1, 2)), rng.normal(size=(5, 2))
    np.testing.assert_allclose(CUSTOM(z, y), EXACT(z, y), rtol=1e-12)


def test_single_rows_batches_and_lists_are_welcome():
    assert CUSTOM([2.0, 2.0], [1.0, 4.0]) == EXACT([2.0, 2.0], [1.0, 4.0]) == 5.0
    assert CUSTOM(np.ones((3, 2)), np.ones((3, 2))).shape == (3,)
    assert CUSTOM(np.ones(2), np.ones(2)).dtype == np.float64


def test_it_is_traceable_and_differentiable():
    gradient = jax.jit(jax.grad(lambda z: CUSTOM(z, jnp.array([1.0, 4.0]))))(jnp.array([2.0, 2.0]))
    np.testing.assert_array_equal(gradient, [1.0, -2.0])


def test_in_units_is_the_same_loss():
    rng = np.random.default_rng(0)
    z, y = rng.gamma(2.0, size=(5, 2)), rng.gamma(2.0, size=(5, 2))
    z_unit, y_unit = np.array([3.0, 0.01]), np.array([50.0, 7.0])
    working = CUSTOM.in_units(y_unit, z_unit, 12.0)
    np.testing.assert_allclose(working(z / z_unit, y / y_unit), CUSTOM(z, y) / 12.0, rtol=1e-12)


# --------------------------------------------------------------------------- well-posedness


def smallest(loss, order, y_scale, outcomes):
    constant = np.quantile(outcomes, 0.8, axis=0)  # away from the median, where probing starts
    cost = loss.outcome_cost(order, np.broadcast_to(np.asarray(y_scale, float), constant.shape))
    return loss.smallest_penalty(cost, constant, outcomes)


@settings(max_examples=15)
@given(
    st.floats(0.1, 1e5),
    st.lists(st.floats(0.05, 20), min_size=2, max_size=2),
    st.integers(0, 100),
)
def test_probing_finds_the_newsvendors_bound(size, y_scale, seed):
    """Also where outcomes are many thousand scales wide, as raw data with y_scale = 1 may be."""
    outcomes = size * np.random.default_rng(seed).gamma(2.0, size=(50, 2))
    exact = smallest(EXACT, 1, y_scale, outcomes)
    assert smallest(CUSTOM, 1, y_scale, outcomes) == pytest.approx(exact, rel=1e-4)
    assert smallest(CUSTOM, 2, y_scale, outcomes) == 0.0


@pytest.mark.parametrize("size", [1.0, 1e4])
def test_a_quadratic_loss_outgrows_order_one_but_not_order_two(size):
    outcomes = size * np.random.default_rng(0).normal(size=(50, 1))
    loss = CustomLoss(squared, Free(1))
    assert smallest(loss, 1, [1.5], outcomes) == np.inf
    assert smallest(loss, 2, [1.5], outcomes) == pytest.approx(1.5**2, rel=1e-4)


def test_a_cubic_loss_outgrows_both():
    outcomes = np.random.default_rng(0).normal(size=(50, 1))
    loss = CustomLoss(lambda z, y: jnp.sum(jnp.abs(z - y) ** 3), Free(1))
    assert smallest(loss, 1, [1.0], outcomes) == np.inf
    assert smallest(loss, 2, [1.0], outcomes) == np.inf


def test_a_loss_that_becomes_infinite_has_no_admissible_penalty():
    outcomes = np.random.default_rng(0).normal(size=(50, 1))
    loss = CustomLoss(lambda z, y: jnp.sum(jnp.exp(y - z)), Free(1))
    assert smallest(loss, 2, [1.0], outcomes) == np.inf


def test_a_bounded_loss_bears_any_penalty():
    outcomes = np.random.default_rng(0).normal(size=(50, 1))
    loss = CustomLoss(lambda z, y: jnp.sum(jnp.tanh(y - z)), Free(1))
    assert smallest(loss, 1, [1.0], outcomes) == 0.0


@pytest.mark.parametrize(
    ("support", "bound"),
    [((0.0, np.inf), 3.0), ((-np.inf, 50.0), 1.0), ((0.0, 50.0), 0.0), (None, 3.0)],
)
def test_probing_respects_the_support(support, bound):
    outcomes = np.random.default_rng(0).gamma(2.0, size=(50, 1))
    loss = CustomLoss(one_product, Nonnegative(1), outcome_support=support)
    assert smallest(loss, 1, [1.0], outcomes) == pytest.approx(bound, rel=1e-4)
    exact = Newsvendor(1.0, 3.0, outcome_support=support)
    assert smallest(exact, 1, [1.0], outcomes) == bound


# --------------------------------------------------------------------------- the best constant


@pytest.mark.parametrize("size", [1.0, 5000.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_generic_best_constant_is_the_quantile(size, weighted):
    rng = np.random.default_rng(1)
    outcomes = size * rng.gamma(2.0, size=(400, 2))
    weights = rng.random(400) if weighted else np.ones(400)
    exact = EXACT.best_constant(outcomes, weights)
    found = CUSTOM.best_constant(outcomes, weights)
    # Near a quantile the mean loss is flat: 2 % in the decision is 1e-4 in what it costs.
    np.testing.assert_allclose(found, exact, rtol=0.02)
    least = np.average(EXACT(exact, outcomes), weights=weights)
    assert np.average(EXACT(found, outcomes), weights=weights) == pytest.approx(least, rel=1e-4)


def test_best_constant_of_a_quadratic_is_the_mean():
    rng = np.random.default_rng(2)
    outcomes, weights = rng.normal(3.0, 2.0, size=(200, 2)), rng.random(200)
    loss = CustomLoss(squared, Free(2))
    np.testing.assert_allclose(
        loss.best_constant(outcomes, weights),
        np.average(outcomes, axis=0, weights=weights),
        rtol=1e-5,
    )


def test_best_constant_obeys_the_decision_set():
    outcomes = np.random.default_rng(3).normal(5.0, 1.0, size=(200, 2))
    # 1e-2: the end of a box is reached only in the limit of the map onto it.
    boxed = CustomLoss(squared, Box([0.0, 0.0], [2.0, 9.0])).best_constant(outcomes, np.ones(200))
    np.testing.assert_allclose(boxed, [2.0, outcomes[:, 1].mean()], atol=1e-2)
    shares = CustomLoss(squared, Simplex(2)).best_constant(outcomes, np.ones(200))
    gap = (outcomes[:, 0] - outcomes[:, 1]).mean()
    np.testing.assert_allclose(shares, [(1 + gap) / 2, (1 - gap) / 2], atol=1e-4)


def test_best_constant_of_many_rows_uses_a_sample_of_them():
    rng = np.random.default_rng(4)
    outcomes = rng.normal(3.0, 2.0, size=(20_000, 1))
    found = CustomLoss(squared, Free(1)).best_constant(outcomes, np.ones(20_000))
    # Sampling error: four standard errors of a mean of 2000 rows.
    assert found == pytest.approx(outcomes.mean(), abs=4 * 2 / 2000**0.5)


@pytest.mark.parametrize(
    "function", [lambda z, y: jnp.sum(z) * jnp.nan, lambda z, y: -jnp.exp(jnp.sum(z))]
)
def test_a_loss_without_a_finite_best_constant_says_so(function):
    loss = CustomLoss(function, Free(1))
    with pytest.raises(ValueError, match="no finite best constant decision"):
        loss.best_constant(np.ones((5, 1)), np.ones(5))


# --------------------------------------------------------------------------- the rest


def test_decisions_and_support_are_the_declared_ones():
    loss = CustomLoss(squared, Simplex(3), outcome_support=(0, np.inf))
    assert loss.decisions_for(7) == Simplex(3)
    low, high = loss.support_for(7)
    np.testing.assert_array_equal(low, np.zeros(7))
    np.testing.assert_array_equal(high, np.full(7, np.inf))
    np.testing.assert_array_equal(
        CustomLoss(squared, Free(1)).decision_unit(np.ones(1), [4.0]), [4]
    )
    np.testing.assert_array_equal(
        CustomLoss(squared, Free(1)).decision_unit(np.ones(1), [0.0]), [1]
    )


def test_what_is_not_a_function_is_refused():
    with pytest.raises(TypeError, match=r"function must be callable as function\(z, y\), got 3"):
        CustomLoss(3, Free(1))


def test_what_is_not_a_decision_set_is_refused():
    with pytest.raises(TypeError, match="decision_set must be a decision set such as"):
        CustomLoss(squared, 2)
