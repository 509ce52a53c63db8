"""The penalty a fixed rule needs: known eigenvalues and slopes, bounds, portfolios."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.ambiguity import Kernels
from hedgerow.certify.admissibility import smallest_penalty_for
from hedgerow.kernels import Kernel
from hedgerow.rules.affine import AffineRule, ConstantRule

SLOPE = np.array([0.8, -1.5])
X_SCALE, Y_SCALE = np.array([0.7, 1.2]), np.array([1.1])
SQUARE = hr.CustomLoss(lambda z, y: jnp.sum((z - y) ** 2), hr.Free(1))
NEWSVENDOR = hr.Newsvendor(0.6, 1.0, decision_set=hr.Free(1))
CONTEXTS = np.random.default_rng(0).normal(size=(20, 2))


def affine(matrix=SLOPE[None], decision_set=None):
    decision_set = decision_set or hr.Free(1)
    return AffineRule(
        matrix=jnp.asarray(matrix),
        offset=jnp.full(len(matrix), 0.3),
        decision_set=decision_set,
    )


def needed(rule, loss, order, x_scale=X_SCALE, y_scale=Y_SCALE, ends=None, middle=None):
    middle = np.full(len(y_scale), 0.5) if middle is None else middle
    low, high = (None, None) if ends is None else (np.full(len(y_scale), end) for end in ends)
    with jax.enable_x64(True):
        around = Kernels(
            Kernel(order, np.float64(0.1), np.asarray(x_scale)),
            Kernel(order, np.float64(0.1), np.asarray(y_scale), low, high),
        )
        return smallest_penalty_for(rule, loss, around, CONTEXTS, middle)


def test_a_squared_loss_of_an_affine_rule_has_an_eigenvalue():
    """(a·x − y)² against λ(‖x/s‖² + (y/s)²): the form has rank one, ‖s_x a‖² + s_y²."""
    expected = np.sum((X_SCALE * SLOPE) ** 2) + Y_SCALE[0] ** 2
    # seen from 10⁶ away, constants are 10⁻⁶ of what grows
    assert needed(affine(), SQUARE, 2) == pytest.approx(expected, rel=1e-5)


def test_what_is_bounded_or_pinned_does_not_count():
    expected = np.sum((X_SCALE * SLOPE) ** 2)
    found = needed(affine(), SQUARE, 2, ends=(-1.0, 2.0))
    assert found == pytest.approx(expected, rel=1e-5)
    pinned = needed(affine(), SQUARE, 2, x_scale=np.array([0.7, 0.0]))
    assert pinned == pytest.approx((0.7 * 0.8) ** 2 + Y_SCALE[0] ** 2, rel=1e-5)
    assert needed(affine(), NEWSVENDOR, 2) == 0.0  # linear against squares


def test_a_newsvendors_slope_is_that_of_the_steepest_coordinate():
    """p = 1: b per unit of order and demand, whichever feature or outcome moves it most."""
    slopes = np.abs([*(X_SCALE * SLOPE), Y_SCALE[0]])
    assert needed(affine(), NEWSVENDOR, 1) == pytest.approx(slopes.max(), rel=1e-5)


def test_squares_outgrow_order_one():
    assert needed(affine(), SQUARE, 1) == np.inf
    assert needed(affine(), SQUARE, 1, ends=(-1.0, 2.0)) == np.inf


def test_a_bounded_rule_asks_for_no_more_than_the_loss():
    """What the loss's own growth in the outcome asks for was asked before training."""
    rule = ConstantRule(offset=jnp.full(1, 0.3), decision_set=hr.Free(1))
    assert needed(rule, SQUARE, 2) == 0.0
    assert needed(rule, NEWSVENDOR, 1) == 0.0


def test_a_portfolio_needs_what_its_weights_need():
    """Σ (s_i w_i)² for p = 2, (ω + 1/α)·max s_i w_i for p = 1."""
    scale, raw = np.array([0.8, 1.3, 2.0]), np.array([0.1, 0.5, -0.2, 0.9])
    where = hr.Product(hr.Free(1), hr.Simplex(3))
    rule = ConstantRule(offset=jnp.asarray(raw), decision_set=where)
    with jax.enable_x64(True):
        weights = np.asarray(rule(jnp.zeros((2, 1), jnp.float64)))[1:, 0]
    variance = needed(rule, hr.MeanVariance(1.0), 2, y_scale=scale)
    assert variance == pytest.approx(np.sum((scale * weights) ** 2), rel=1e-6)
    tail = needed(rule, hr.MeanCVaR(0.5, tail=0.2), 1, y_scale=scale)
    assert tail == pytest.approx((0.5 + 1 / 0.2) * np.max(scale * weights), rel=1e-6)
    assert needed(rule, hr.MeanVariance(1.0), 1, y_scale=scale) == np.inf


def test_the_largest_need_of_a_portfolio_is_found_by_ascent():
    """Weights that follow the context: somewhere the riskiest asset has all of the money."""
    scale, matrix = np.array([0.8, 1.3, 2.0]), np.zeros((4, 2))
    matrix[1:] = [[1.0, 0.0], [-1.0, 0.5], [0.3, 1.0]]
    rule = affine(matrix, hr.Product(hr.Free(1), hr.Simplex(3)))
    found = needed(rule, hr.MeanVariance(0.0), 2, y_scale=scale)
    # twenty steps from 64 times as far as the data lead to weights within 1e-3 of (0, 0, 1)
    assert found == pytest.approx(scale.max() ** 2, rel=1e-3)
