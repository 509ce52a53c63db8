"""One problem, one model seen three times: as given, in the user's units, in working units."""

import jax
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.ambiguity import Problem
from hedgerow.data import Units
from hedgerow.losses.recourse import values as recourse_values
from hedgerow.rules.affine import ConstantRule
from tests.problems import AUTO

RNG = np.random.default_rng(0)
X, Y = RNG.normal(3, 2, (30, 2)), RNG.gamma(4, 2, (30, 2))
LOSS = hr.Newsvendor([0.6, 2.0], 1.0, outcome_support=(0.0, np.inf))
MODELS = [
    hr.CausalSinkhorn(3.0, 0.2, order=1, x_scale=[0.5, 4.0], y_scale=2.0, loss_scale=7.0),
    hr.Sinkhorn(3.0, 0.2, **AUTO),
    hr.CausalWasserstein(3.0, order=2, **AUTO),
]


def posed(model, loss=LOSS):
    nominal = hr.EmpiricalNominal().build(X, Y, np.ones(len(X)))
    return Problem.of(nominal, Units.measure(nominal, loss), loss, model)


def scales(model):
    """s_x, s_y and L as a user means them."""
    if model.x_scale == "auto":
        return X.std(axis=0), Y.std(axis=0), posed(model).units.constant_loss
    return model.x_scale, model.y_scale, model.loss_scale


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_all_three_name_the_same_adversary(model):
    """Costs of moves and their price are those that the user's numbers say."""
    problem = posed(model)
    x_scale, y_scale, loss_scale = scales(model)
    assert problem.given is model
    np.testing.assert_allclose(problem.model.x_scale, np.broadcast_to(x_scale, 2), rtol=1e-12)
    np.testing.assert_allclose(problem.model.y_scale, np.broadcast_to(y_scale, 2), rtol=1e-12)
    assert float(problem.model.loss_scale) == pytest.approx(loss_scale, rel=1e-12)
    assert problem.model.penalty == model.penalty
    priced = float(problem.working.penalty) * problem.units.loss_unit
    assert priced == pytest.approx(3.0 * loss_scale, rel=1e-12)
    with jax.enable_x64(True):
        contexts, outcomes = (
            problem.units.contexts(X, np.float64),
            problem.units.outcomes(Y, np.float64),
        )
        moved = problem.kernels.context.cost(contexts[:15], contexts[15:])
        np.testing.assert_allclose(
            moved, np.sum(np.abs((X[:15] - X[15:]) / x_scale) ** model.order, axis=1), rtol=1e-12
        )
        moved = problem.kernels.outcome.cost(outcomes[:15], outcomes[15:])
        np.testing.assert_allclose(
            moved, np.sum(np.abs((Y[:15] - Y[15:]) / y_scale) ** model.order, axis=1), rtol=1e-12
        )
    np.testing.assert_array_equal(problem.kernels.outcome.low, [0, 0])
    np.testing.assert_array_equal(problem.kernels.outcome.high, [np.inf, np.inf])


def test_the_working_loss_is_the_loss():
    problem = posed(hr.ERM())
    units, decisions = problem.units, RNG.gamma(4, 2, (30, 2))
    working = problem.working_loss()(decisions / units.z_unit, Y / units.y_unit)
    np.testing.assert_allclose(working * units.loss_unit, LOSS(decisions, Y), rtol=1e-12)


@pytest.mark.parametrize("model", [hr.ERM(), hr.KL(2.0)], ids=repr)
def test_points_that_never_move_have_no_kernels(model):
    problem = posed(model)
    assert problem.kernels is None
    with jax.enable_x64(True), pytest.raises(ValueError, match="needs kernels"):
        problem.setting(hr.Sobol(1), None).moving()


def test_under_a_radius_the_penalty_is_still_to_be_found():
    problem = posed(hr.KL(radius=0.3, loss_scale="auto"))
    assert problem.working.penalty is None
    assert problem.working.radius == 0.3
    assert problem.working.at_penalty(2.0).reduction().temperature == 2.0


def test_another_model_is_asked_about_the_same_data():
    problem = posed(hr.Sinkhorn(3.0, 0.2))
    other = problem.against(hr.KL(2.0))
    assert other.given.penalty == 2.0
    assert (other.nominal, other.units, other.pool) == (
        problem.nominal,
        problem.units,
        problem.pool,
    )
    with pytest.raises(ValueError, match="makes the robust value infinite"):
        problem.against(hr.Sinkhorn(0.9, 0.2, order=1))  # stockout 1: demand can rise for ever


def test_a_pool_is_the_problems_own(monkeypatch):
    """What one problem grows no other sees, unless it is asked about the same data."""
    monkeypatch.setattr(recourse_values, "ENUMERATION_LIMIT", 1)
    loss = hr.InventorySubstitution([1.0, 0.7], [1.8, 1.6], [[0.0, 1.2], [np.inf, 0.0]])
    first, second = posed(hr.ERM(), loss), posed(hr.ERM(), loss)
    rule = ConstantRule(
        offset=np.float32(first.units.constant / first.units.z_unit), decision_set=hr.Free(2)
    )
    z = np.broadcast_to(first.units.constant, Y.shape)

    def seen(problem):
        return problem.pool.loss()(z, Y)

    before = seen(second)
    assert first.cover(rule).gap > 0
    assert first.cover(rule).gap == 0
    np.testing.assert_allclose(seen(first), loss(z, Y), rtol=1e-6)  # the rule is float32
    np.testing.assert_array_equal(seen(second), before)
    assert np.max(loss(z, Y) - before) > 0.1
    assert first.against(hr.KL(1.0)).pool is first.pool
    assert posed(hr.ERM()).cover(rule) is None


def test_reference_measures_are_restated():
    problem = posed(hr.Sinkhorn(3.0, 0.2))
    contexts, outcomes = problem.in_working_units((hr.Reference(X[:4]), hr.Reference(Y[:5])))
    units = problem.units
    np.testing.assert_allclose(contexts.points / units.x_factor + units.x_centre, X[:4])
    np.testing.assert_allclose(outcomes.points * units.y_unit, Y[:5])
