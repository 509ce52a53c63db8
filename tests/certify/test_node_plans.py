"""Which nodes for which model, loss and number of features; levels that double and end."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.certify import node_plans
from hedgerow.certify.node_plans import NodePlanner
from hedgerow.kernels import GaussQuadrature, Scattered, Sobol
from tests.extending.parts import ChiSquare

RNG = np.random.default_rng(0)
LOSS = hr.Newsvendor(0.6, 1.0)
SAMPLED = hr.CustomLoss(lambda z, y: jnp.sum(jnp.abs(z - y)), hr.Nonnegative(1))
MILD = hr.CausalSinkhorn(5.0, 0.3)


def gentle(x):
    return 5 + 0.1 * jnp.tanh(x[0])


def planner(model, features=1, loss=LOSS, rule=gentle, reference=None):
    X = np.random.default_rng(1).normal(size=(12, features))
    Y = 5 + X[:, :1] + RNG.normal(size=(12, 1))
    policy = hr.RobustPolicy.from_function(rule, loss, X, Y)
    return NodePlanner(policy.problem(X, Y, ambiguity=model), policy.rule_, reference)


@pytest.fixture(autouse=True)
def in_double_precision():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("model", [hr.ERM(), hr.KL(1.0), ChiSquare(1.0)], ids=repr)
def test_points_that_never_move_need_one_level(model):
    planned = planner(model)
    plan = planned.plan(0, None)
    assert (plan.replicates, plan.contexts, plan.outcome_nodes, plan.settles) == (
        1,
        12,
        None,
        False,
    )
    assert planned.plan(1, None) is None
    assert not planned.is_blind(plan, 1.0)


def test_suprema_get_twice_as_many_starts_at_every_level():
    planned = planner(hr.CausalWasserstein(1.0), features=2)
    plans = [planned.plan(level, None) for level in range(6)]
    assert plans.pop() is None
    for level, plan in enumerate(plans):
        assert isinstance(plan.context_nodes, Scattered)
        assert plan.context_nodes.nodes.n == 4 * 2**level
        assert len(plan.context_nodes.places) > 0
        assert plan.settles


@pytest.mark.parametrize(("order", "widths"), [(1, 40.0), (2, 12.0)])
def test_one_feature_gets_panels_that_reach_beyond_what_pays(order, widths):
    epsilon = 0.05
    planned = planner(hr.Sinkhorn(5.0, epsilon, order=order))
    width = epsilon if order == 1 else np.sqrt(epsilon / 2)
    plans = [planned.plan(level, None) for level in range(3)]
    for before, after in pairwise(plans):
        assert isinstance(after.context_nodes, GaussQuadrature)
        # another scan may see further, so that panels are twice as many at least
        assert after.context_nodes.panels >= 2 * before.context_nodes.panels
        assert after.settles
    for plan in plans:
        assert plan.context_nodes.reach >= widths * width
        assert plan.context_nodes.reach / plan.context_nodes.panels <= 4.0 * width
        assert plan.replicates == 1
        assert plan.outcome_nodes is None


def test_two_features_get_a_product_rule_that_ends():
    planned = planner(MILD, features=2)
    nodes = [planned.plan(level, None).context_nodes.n for level in range(4)]
    assert nodes == [12, 24, 48, 96]
    assert planned.plan(0, None).near == 0.3
    last = next(level for level in range(9) if planned.plan(level, None) is None)
    assert 12 * 2**last > 256 or 12 * (12 * 2**last) ** 2 > node_plans.MOST_EXPONENTS


def test_many_features_get_replicates_of_sobol_points():
    planned = planner(MILD, features=3)
    for level in range(3):
        plan = planned.plan(level, None)
        assert plan.context_nodes.n == 64 * 2**level
        assert plan.replicates == 8
        assert not plan.settles  # replicates tell the error
        assert plan.modes is None
    assert not planned.is_blind(plan, float(planned.problem.working.penalty))


def test_levels_end_where_the_effort_would_pass_its_limit(monkeypatch):
    monkeypatch.setattr(node_plans, "MOST_EXPONENTS", 12 * 8 * 64 * 8)
    planned = planner(MILD, features=3)
    assert [planned.plan(level, None) is None for level in range(5)] == [False] * 4 + [True]


def test_where_moving_pays_nodes_go_where_mass_gathers():
    def steep(x):
        return 5 + 3 * jnp.tanh(4 * (x[0] - 2))

    planned = planner(hr.Sinkhorn(0.5, 0.01), features=3, rule=steep)
    plan = planned.plan(0, None)
    assert plan.modes is not None
    assert plan.modes.penalty == float(planned.problem.working.penalty)
    assert plan.near is None
    assert plan.settles
    assert not planned.is_blind(plan, plan.modes.penalty)  # it looks far already
    flat = plan._replace(modes=None, near=0.01)
    assert planned.is_blind(flat, plan.modes.penalty)


def test_under_a_radius_the_last_penalty_found_is_planned_for():
    planned = planner(hr.Sinkhorn(radius=2.0, epsilon=0.01), features=3)
    planned.plan(0, None)
    cold = planned._penalty
    planned.plan(0, 0.25)
    assert (cold, planned._penalty) == (1.0, 0.25)


def test_outcomes_get_nodes_where_the_loss_has_no_closed_form():
    assert planner(MILD).plan(1, None).outcome_nodes is None
    assert planner(MILD, loss=SAMPLED).plan(1, None).outcome_nodes.n == 32
    beyond = planner(MILD, loss=SAMPLED)
    assert beyond.plan(5, None) is None  # the largest Gauss rule has 256 nodes

    X, Y = RNG.normal(size=(12, 1)), RNG.gamma(4, 1, (12, 2))
    loss = hr.CustomLoss(lambda z, y: jnp.sum(jnp.abs(z - y)), hr.Nonnegative(2))
    policy = hr.RobustPolicy.from_function(lambda x: jnp.full(2, 4.0), loss, X, Y)
    several = NodePlanner(policy.problem(X, Y, ambiguity=MILD), policy.rule_, None)
    nodes = several.plan(1, None).outcome_nodes
    assert isinstance(nodes, Sobol)
    assert nodes.n == 64


def test_a_reference_measure_is_summed_once_and_only_where_points_are_smeared():
    reference = hr.Reference(np.linspace(-2, 2, 5)[:, None]), hr.Reference(np.arange(9.0)[:, None])
    planned = planner(MILD, reference=reference)
    plan = planned.plan(0, None)
    assert not plan.settles
    units = planned.problem.units
    np.testing.assert_allclose(plan.outcome_nodes.points * units.y_unit, np.arange(9.0)[:, None])
    assert planned.plan(1, None) is None
    for model in (hr.ERM(), hr.KL(1.0), hr.CausalWasserstein(1.0)):
        name = type(model).__name__
        with pytest.raises(ValueError, match=f"{name} does not smear points out"):
            planner(model, reference=reference).plan(0, None)
