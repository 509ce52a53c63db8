"""Working units: numbers of order one that do not depend on the user's, and the way back."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import hedgerow as hr
from hedgerow.data import Units

RNG = np.random.default_rng(0)
X, Y = RNG.normal(3, 2, (40, 3)), RNG.gamma(4, 2, (40, 2))
WEIGHTS = RNG.uniform(0.1, 3, 40)
LOSS = hr.Newsvendor(0.6, 1.0)
SQUARE = hr.CustomLoss(lambda z, y: jnp.sum((z - y) ** 2), hr.Free(1))


def measured(X=X, Y=Y, weights=WEIGHTS, loss=LOSS, nominal=None):
    nominal = (nominal or hr.EmpiricalNominal()).build(X, Y, weights)
    return Units.measure(nominal, loss)


def test_contexts_have_mean_0_and_deviation_1_by_weight():
    working = measured().contexts(X, np.float64)
    np.testing.assert_allclose(np.average(working, axis=0, weights=WEIGHTS), 0, atol=1e-14)
    np.testing.assert_allclose(np.average(working**2, axis=0, weights=WEIGHTS), 1, rtol=1e-13)
    assert measured().contexts(X).dtype == np.float32


def test_outcomes_are_divided_by_their_deviation_and_not_centred():
    mean, variance = np.average(Y, axis=0, weights=WEIGHTS), np.cov(Y.T, aweights=WEIGHTS, ddof=0)
    units = measured()
    np.testing.assert_allclose(units.y_unit**2, np.diag(variance), rtol=1e-13)
    working = np.average(units.outcomes(Y, np.float64), axis=0, weights=WEIGHTS)
    np.testing.assert_allclose(working, mean / units.y_unit, rtol=1e-13)


def test_borrowed_outcomes_count_as_often_as_they_are_borrowed():
    """Neighbours: an outcome's mass is the sum over the contexts that borrow it."""
    nominal = hr.NeighbourNominal(5).build(X, Y, WEIGHTS)
    everything = nominal.outcomes[nominal.entry_outcome]
    variance = np.diag(np.cov(everything.T, aweights=nominal.joint_mass(), ddof=0))
    units = measured(nominal=hr.NeighbourNominal(5))
    np.testing.assert_allclose(units.y_unit**2, variance, rtol=1e-13)


def test_losses_are_counted_in_that_of_the_best_constant_decision():
    one = Y[:, :1]
    best = minimize_scalar(
        lambda z: np.average(LOSS(np.full((1, 1), z), one), weights=WEIGHTS),
        bounds=(0, one.max()),
        options={"xatol": 1e-10},
    )
    units = measured(Y=one)
    assert units.loss_unit == pytest.approx(best.fun, rel=1e-9)
    assert units.constant_loss == units.loss_unit
    assert units.constant[0] == pytest.approx(best.x, rel=1e-6)  # a kink: the minimum is sharp
    np.testing.assert_array_equal(units.z_unit, units.y_unit)


def test_a_change_of_units_changes_no_working_number():
    first, second = measured(), measured(7 + 1e3 * X, 1e-4 * Y, 5 * WEIGHTS, hr.Newsvendor(60, 100))
    same = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(
        second.contexts(7 + 1e3 * X, np.float64), first.contexts(X, np.float64), **same
    )
    np.testing.assert_allclose(
        second.outcomes(1e-4 * Y, np.float64), first.outcomes(Y, np.float64), **same
    )
    np.testing.assert_allclose(second.constant / second.z_unit, first.constant / first.z_unit)
    assert second.loss_unit == pytest.approx(100 * 1e-4 * first.loss_unit, rel=1e-12)


def test_a_feature_that_never_varies_is_ignored_whatever_comes_later():
    """Its rounding must not be taken for variation: 0.1 + 0.2 has no exact mean."""
    constant = np.column_stack([X, np.full(40, 0.1 + 0.2)])
    units = measured(constant)
    np.testing.assert_array_equal(units.x_factor > 0, [True, True, True, False])
    assert units.x_spread[3] == 0
    later = np.column_stack([X, np.full(40, 1e6)])
    np.testing.assert_array_equal(units.contexts(later)[:, 3], 0)
    np.testing.assert_allclose(units.x_spread[:3] * units.x_factor[:3], 1, rtol=1e-15)


@pytest.mark.parametrize(
    ("outcome", "unit", "loss_unit"), [(4.0, 4.0, 0.6 * 4.0), (0.0, 1.0, 0.6 * 1.0)]
)
def test_outcomes_that_never_vary_are_their_own_unit(outcome, unit, loss_unit):
    """The best constant costs nothing, so losses are counted in that of one unit too many."""
    units = measured(Y=np.full((40, 1), outcome))
    np.testing.assert_allclose(units.y_unit, [unit], rtol=1e-14)
    assert units.loss_unit == pytest.approx(loss_unit, rel=1e-12)
    assert units.constant_loss == 0


def test_decisions_without_a_unit_of_their_own_are_counted_in_their_best_constant():
    one = Y[:, :1]
    units = measured(Y=one, loss=SQUARE)
    mean = np.average(one[:, 0], weights=WEIGHTS)
    np.testing.assert_allclose(units.z_unit, [mean], rtol=1e-5)  # as far as L-BFGS went
    assert units.loss_unit == pytest.approx(np.cov(one.T, aweights=WEIGHTS, ddof=0), rel=1e-9)


@pytest.mark.parametrize("loss", [LOSS, SQUARE, hr.MeanVariance(1.0), hr.MeanCVaR()])
@pytest.mark.parametrize("noise", [0.0, 1e-10])
def test_what_rounding_leaves_of_a_loss_is_not_its_unit(loss, noise):
    """Outcomes that never vary, or hardly: being one unit off is what costs something."""
    outcomes = 40 + noise * RNG.normal(size=(40, 2))
    columns = 2 if isinstance(loss, hr.MeanVariance | hr.MeanCVaR) else 1
    units = measured(Y=outcomes[:, :columns], loss=loss)
    assert np.all(units.y_spread == 0)
    assert units.loss_unit > 1
