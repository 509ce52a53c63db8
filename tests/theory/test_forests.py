"""No forest is steeper than its constants, in working units and in the user's."""

import copy
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.rules.affine import AffineRule
from hedgerow.rules.soft_forest import Forest
from hedgerow.theory import forest_constants, policy_constants
from tests.oracles import double
from tests.problems import SMALL, history
from tests.theory.problems import fit

ROUNDING = 1 + 1e-6  # leaves pass through their decision set in float32
FORESTS, POINTS, FEATURES, DECISIONS = 60, 20, 3, 2


def forests(depth, seed=0, decision_set=None, seen=FEATURES, trees=2):
    """Many random forests, stacked along a leading axis; gates of very different steepness."""
    rng = np.random.default_rng(seed)
    shape = (FORESTS, trees, 2**depth - 1)
    features = None
    if seen < FEATURES:
        order = np.argsort(rng.uniform(size=(FORESTS, trees, FEATURES)), axis=-1)
        features = order[..., :seen]
    return Forest(
        gate_weights=rng.normal(size=(*shape, seen)) * rng.gamma(1.0, size=(*shape, 1)),
        gate_biases=0.3 * rng.normal(size=shape),
        leaves=rng.normal(size=(FORESTS, trees, 2**depth, DECISIONS)),
        features=features,
        temperature=rng.uniform(0.3, 2.0, size=FORESTS),
        decision_set=decision_set or hr.Free(DECISIONS),
    )


def one(stack, index):
    return jax.tree.map(lambda leaf: leaf[index], stack)


def decide(rules, x):
    """Decisions (forests, points, decisions) of stacked forests, as the sum over routes."""
    seen = np.broadcast_to(x[:, None], (len(x), rules.leaves.shape[1], *x.shape[1:]))
    if rules.features is not None:
        seen = np.take_along_axis(seen, rules.features[:, :, None, :], axis=-1)
    logits = np.einsum("ftgm,ftpm->ftgp", rules.gate_weights, seen)
    logits = logits + rules.gate_biases[..., None]
    gates = 1 / (1 + np.exp(-logits / rules.temperature[:, None, None, None]))
    routes = np.ones_like(gates[:, :, :1])
    for level in range(rules.gate_biases.shape[2].bit_length()):
        gate = gates[:, :, 2**level - 1 : 2 ** (level + 1) - 1]
        routes = np.concatenate([routes * gate, routes * (1 - gate)], axis=2)
    leaves = np.asarray(rules.leaf_decisions(), np.float64)
    return np.einsum("ftlp,ftlk->fpk", routes, leaves) / routes.shape[1]


def slopes_of(function, step):
    """The function's derivative by central differences, along a new last axis."""

    def slopes(x):
        moves = [(function(x + step * e), function(x - step * e)) for e in np.eye(x.shape[-1])]
        return np.stack([(up - down) / (2 * step) for up, down in moves], axis=-1)

    return slopes


def derivatives(rules, x):
    """Slopes (f, p, k, d) and curvatures (f, p, k, d, d)."""

    def decisions(points):
        return decide(rules, points)

    return slopes_of(decisions, 1e-6)(x), slopes_of(slopes_of(decisions, 1e-4), 1e-4)(x)


def steepness(rules, x):
    """Largest slope and curvature of each forest over its points, in the operator norm."""
    slopes, curvatures = derivatives(rules, x)
    angles = np.linspace(0, np.pi, 24)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    along = np.einsum("ak,fpkij->fpaij", directions, curvatures)
    return (
        np.linalg.norm(slopes, ord=2, axis=(2, 3)).max(axis=1),
        np.abs(np.linalg.eigvalsh(along)).max(axis=(1, 2, 3)),
    )


def test_the_forests_here_are_hedgerows():
    rules = forests(3, decision_set=hr.Simplex(2), seen=2)
    x = np.random.default_rng(1).normal(size=(FORESTS, POINTS, FEATURES))
    theirs = double(jax.vmap(lambda rule, points: rule(points.T).T))(rules, x)
    np.testing.assert_allclose(decide(rules, x), theirs, atol=1e-6)  # leaves in float32 here


@pytest.mark.parametrize(
    ("depth", "decision_set", "seen"),
    [(1, None, 3), (2, hr.Simplex(2), 2), (3, None, 3), (4, None, 3)],
)
def test_no_forest_is_steeper_than_its_constants(depth, decision_set, seen):
    rules = forests(depth, decision_set=decision_set, seen=seen)
    x = np.random.default_rng(1).normal(size=(FORESTS, POINTS, FEATURES))
    slope, curvature = steepness(rules, x)
    decisions, pairs = decide(rules, x), (slice(None, POINTS // 2), slice(POINTS // 2, None))
    gaps, moves = (
        np.linalg.norm(table[:, pairs[0]] - table[:, pairs[1]], axis=2) for table in (decisions, x)
    )
    assert np.all(slope > 0)
    for i in range(FORESTS):
        bound = forest_constants(one(rules, i))
        assert bound.depth == depth
        assert slope[i] <= bound.lipschitz * ROUNDING
        assert np.max(gaps[i] / moves[i]) <= bound.lipschitz * ROUNDING
        assert curvature[i] <= bound.smoothness * ROUNDING
        # the chain from this forest's own constants to those of its norms alone
        assert bound.lipschitz <= bound.uniform_lipschitz * ROUNDING
        assert bound.smoothness <= bound.uniform_smoothness * ROUNDING
        assert bound.leaf_spread <= bound.leaf_norm * ROUNDING
        assert depth == 1 or bound.uniform_lipschitz < bound.printed_lipschitz
        assert depth == 1 or bound.uniform_smoothness < bound.printed_smoothness


def worst_tree(depth, weights, probabilities, leaves):
    """One tree over one feature whose gates have these probabilities at x = 0."""
    left = np.asarray(probabilities)
    return Forest(
        gate_weights=np.asarray(weights, float).reshape(1, -1, 1),
        gate_biases=np.log(left / (1 - left))[None],
        leaves=np.asarray(leaves, float).reshape(1, 2**depth, 1),
        features=None,
        temperature=np.float64(1.0),
        decision_set=hr.Free(1),
    )


def at_zero(rule):
    stack = jax.tree.map(lambda leaf: np.asarray(leaf)[None], rule)
    slope, curvature = derivatives(stack, np.zeros((1, 1, 1)))
    return abs(slope.item()), abs(curvature.item())


def test_depth_one_attains_its_lipschitz_constant_where_the_printed_one_is_zero():
    rule = worst_tree(1, [3.0], [0.5], [2.0, -2.0])
    bound, (slope, _) = forest_constants(rule), at_zero(rule)
    np.testing.assert_allclose([slope, bound.uniform_lipschitz], bound.lipschitz)
    np.testing.assert_allclose(slope, 3.0)
    assert bound.printed_lipschitz == bound.printed_smoothness == 0


def test_depth_one_comes_within_a_quarter_of_its_smoothness():
    steepest = 0.5 + 1 / np.sqrt(12)  # where s(1 − s)(1 − 2s) is extreme
    rule = worst_tree(1, [3.0], [steepest], [2.0, -2.0])
    _, curvature = at_zero(rule)
    np.testing.assert_allclose(
        curvature / forest_constants(rule).smoothness, 4 / 27**0.5, rtol=1e-6
    )


def test_depth_two_comes_within_an_eighth_of_its_lipschitz_constant():
    # found by search: gates that favour the way already taken, leaves by the sign of M
    rule = worst_tree(2, [1.0, 1.0, 1.0], [0.5, 0.75, 0.25], [1.0, 1.0, -1.0, -1.0])
    slope, _ = at_zero(rule)
    np.testing.assert_allclose(slope, 5 / 8)
    np.testing.assert_allclose(slope / forest_constants(rule).lipschitz, 5 / 32**0.5)


def test_a_constant_added_to_all_leaves_changes_nothing_but_their_norm():
    rule = one(forests(3), 0)
    moved = Forest(**(vars(rule) | {"leaves": rule.leaves + 100.0}))
    before, after = forest_constants(rule), forest_constants(moved)
    np.testing.assert_allclose(after.lipschitz, before.lipschitz, rtol=1e-12)
    np.testing.assert_allclose(after.smoothness, before.smoothness, rtol=1e-12)
    assert after.uniform_lipschitz > 20 * before.uniform_lipschitz


def test_equal_leaves_make_a_forest_flat():
    rule = one(forests(2), 0)
    level = Forest(**(vars(rule) | {"leaves": np.ones_like(rule.leaves)}))
    assert forest_constants(level).lipschitz == forest_constants(level).smoothness == 0


def test_gates_that_look_different_ways_add_up_to_less_than_their_number():
    weights = np.zeros((1, 3, FEATURES))
    weights[0, 0, 0] = weights[0, 1:, 1] = 2.0  # level 0 looks at one feature, level 1 at another
    rule = one(forests(2, trees=1), 0)
    across = Forest(**(vars(rule) | {"gate_weights": weights}))
    along = Forest(**(vars(rule) | {"gate_weights": np.full_like(weights, 2 / np.sqrt(3))}))
    ratio = forest_constants(along).lipschitz / forest_constants(across).lipschitz
    np.testing.assert_allclose(ratio, np.sqrt(2))


# --------------------------------------------------------------------------- a fitted policy


@pytest.fixture(scope="module")
def policy():
    X, y = history()
    return fit(X * [1.0, 50.0, 0.01] + [0, 1000, 5], 20 * y)


def test_a_policy_never_moves_faster_than_its_constant(policy):
    rng = np.random.default_rng(0)
    scales = policy.units_.x_spread
    x = policy.units_.x_centre + scales * rng.normal(size=(2000, 3))
    # along the third feature, whose unit is the smallest, the policy is steepest
    moved = x + 0.05 * scales * rng.normal(size=x.shape) * [0.01, 0.001, 1]
    ratio = np.abs(policy.predict(moved) - policy.predict(x)) / np.linalg.norm(moved - x, axis=1)
    bound = policy_constants(policy).lipschitz
    assert 0.02 * bound < ratio[np.linalg.norm(moved - x, axis=1) > 1e-5].max() < bound


def with_rule(policy, rule):
    other = copy.copy(policy)
    other.rule_ = rule
    return other


def test_the_constant_is_attained_in_the_users_units(policy):
    weights, units = np.array([0.5, -1.0, 2.0]), policy.units_
    rule = Forest(
        gate_weights=jnp.asarray(weights, jnp.float32)[None, None],
        gate_biases=jnp.zeros((1, 1), jnp.float32),
        leaves=jnp.asarray([[[3.0], [-1.0]]], jnp.float32),
        features=None,
        temperature=jnp.float32(0.5),
        decision_set=hr.Free(1),
    )
    gate = with_rule(policy, rule)
    uphill = weights * units.x_factor
    step = 0.01 * uphill / np.linalg.norm(uphill) ** 2
    up, down = gate.predict(units.x_centre + np.array([[1], [-1]]) * step)
    slope = (up - down) / (2 * np.linalg.norm(step))
    bound = policy_constants(gate).lipschitz
    # ¼·‖w‖/τ·(3 − (−1)) in working units
    np.testing.assert_allclose(bound, units.z_unit.item() * np.linalg.norm(uphill) / 0.5)
    # float32 decisions of order 1, a hundredth apart; the gate bends by 1e-4 over the step
    np.testing.assert_allclose(slope, bound, rtol=1e-3)


def test_rescaled_data_rescale_the_constants(policy):
    X, y = history()
    rescaled = fit((X * [1.0, 50.0, 0.01] + [0, 1000, 5]) * 1000, 20 * y * 7)
    before, after = policy_constants(policy), policy_constants(rescaled)
    np.testing.assert_allclose(after.lipschitz, before.lipschitz * 7 / 1e3, rtol=1e-4)
    np.testing.assert_allclose(after.smoothness, before.smoothness * 7 / 1e6, rtol=1e-4)
    working = forest_constants(rescaled.rule_), forest_constants(policy.rule_)
    np.testing.assert_allclose(working[0].lipschitz, working[1].lipschitz, rtol=1e-4)


def test_trees_that_see_some_features_use_the_units_of_those(policy):
    features = np.array([[2, 0], [1, 2], [0, 1]])
    seen = np.random.default_rng(0).normal(size=(3, 3, 2))
    spread_out = np.zeros((3, 3, 3))
    for tree in range(3):
        spread_out[tree][:, features[tree]] = seen[tree]
    few, all_three = (
        policy_constants(with_rule(policy, Forest(**(vars(policy.rule_) | changes))))
        for changes in (
            {"gate_weights": seen, "features": features},
            {"gate_weights": spread_out, "features": None},
        )
    )
    np.testing.assert_allclose(few.lipschitz, all_three.lipschitz)
    assert policy.units_.x_factor.max() > 1000 * policy.units_.x_factor.min()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: forest_constants(SMALL), "rule must be a fitted forest"),
        (lambda: policy_constants(SMALL), "policy must be a fitted hedgerow.RobustPolicy"),
    ],
)
def test_refusals_are_one_sentence(call, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        call()


def test_hard_forests_and_other_rules_have_no_such_constants(policy):
    hard = Forest(**(vars(policy.rule_) | {"temperature": np.float32(0)}))
    with pytest.raises(ValueError, match="nor a Lipschitz constant"):
        forest_constants(hard)
    affine = AffineRule(
        matrix=np.ones((1, 3), np.float32),
        offset=np.ones(1, np.float32),
        decision_set=hr.Free(1),
    )
    with pytest.raises(TypeError, match=r"these constants; .* \(write AffineRule.trees\)"):
        policy_constants(with_rule(policy, affine))
