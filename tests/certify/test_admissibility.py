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


def needed(*arguments, **settings):
    return need(*arguments, **settings).penalty


def need(rule, loss, order, x_scale=X_SCALE, y_scale=Y_SCALE, ends=None, middle=None):
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


@pytest.mark.parametrize("ends", [(0.0, 2.0), (0.0, np.inf), (-np.inf, 2.0)])
@pytest.mark.parametrize("order", [1, 2])
def test_a_way_to_a_bound_is_not_growth(order, ends):
    """A smaller support asks for no more, and a bounded one for nothing if the rule stays put."""
    still = affine(np.zeros((1, 2)))
    closed = needed(still, NEWSVENDOR, order, ends=(0.0, 2.0))
    assert closed == 0.0
    for rule in (still, affine()):
        cut, whole = (needed(rule, NEWSVENDOR, order, ends=each) for each in (ends, None))
        assert cut <= whole * (1 + 1e-9)


def test_where_bounded_outcomes_lie_matters():
    """Ψ = z·y grows with the order as fast as demand is large: at the upper end."""
    product = hr.CustomLoss(lambda z, y: z[0] * y[0], hr.Free(1))
    found = needed(affine(), product, 1, ends=(0.0, 4.0))
    assert found == pytest.approx(4.0 * np.max(np.abs(X_SCALE * SLOPE)), rel=1e-5)


@pytest.mark.parametrize(
    ("loss", "order", "ends"),
    [(SQUARE, 2, None), (SQUARE, 2, (-1.0, 2.0)), (NEWSVENDOR, 1, None), (SQUARE, 1, None)],
)
def test_the_ray_proves_it(loss, order, ends):
    """Just below the penalty that is needed, gain less cost rises along the ray without end."""
    rule = affine()
    penalty, ray = need(rule, loss, order, ends=ends)
    penalty = 0.999 * penalty if np.isfinite(penalty) else 10.0
    distances = np.array([1e2, 1e4, 1e6])[:, None]
    x, y = (
        ray.context + distances * ray.context_direction,
        ray.outcome + distances * (ray.outcome_direction),
    )
    cost = np.sum(np.abs((x - ray.context) / X_SCALE) ** order, axis=1)
    cost += np.sum(np.abs((y - ray.outcome) / Y_SCALE) ** order, axis=1)
    decisions = np.asarray(rule(jnp.asarray(x.T))).T
    net = np.asarray(loss(decisions.astype(np.float64), y)) - penalty * cost
    assert np.all(np.diff(net) > 0)
    if ends is not None:
        assert np.all((y >= ends[0]) & (y <= ends[1]))


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
