"""Trees of several depths: a less deep tree is one whose lower gates turn everything left."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.rules.base import Start
from hedgerow.rules.forest import OPEN
from tests.oracles import double, single

FEATURES, DEPTHS = 3, (1, 2, 4)
exactly = double(lambda rule, x: rule(x))


def built(rule, decision_set=None, seed=0):
    decision_set = decision_set or hr.Nonnegative(2)
    start = Start(FEATURES, decision_set, jnp.ones(decision_set.dimension))
    return jax.jit(lambda key: rule.build(key, start))(jax.random.key(seed))


@pytest.fixture(scope="module", params=[1.0, 20.0], ids=["crisp", "soft"])
def mixed(request):
    """τ = 20 as well: gates must be open in units of the temperature."""
    return built(hr.SoftForest(7, DEPTHS, temperature=request.param))


def walked(rule, tree, depth, x):
    """One tree of its own depth, route by route."""
    total = 0.0
    leaves = double(lambda r: r.leaf_decisions())(rule)
    for leaf in range(2**depth):
        chance = 1.0
        for level in range(depth):
            gate = 2**level - 1 + leaf % 2**level
            logit = np.asarray(rule.gate_weights[tree, gate], np.float64) @ x
            logit = logit + np.float64(rule.gate_biases[tree, gate])
            left = 1 / (1 + np.exp(-logit / np.float64(rule.temperature)))
            chance = chance * (1 - left if leaf >> level & 1 else left)
        total = total + chance * leaves[tree, leaf][:, None]
    return total


def test_every_tree_decides_by_its_own_routes(mixed):
    x = np.random.default_rng(0).normal(size=(FEATURES, 20))
    own = (3 * DEPTHS)[:7]
    naive = np.mean([walked(mixed, t, depth, x) for t, depth in enumerate(own)], axis=0)
    np.testing.assert_allclose(exactly(mixed, x), naive, rtol=1e-12)
    arrays = mixed.trees(FEATURES)
    np.testing.assert_array_equal(arrays.depths, own)
    np.testing.assert_allclose(arrays.decide(arrays.logits(x)), naive, rtol=1e-12)
    routes = arrays.routes(x)
    assert np.all(routes[0, 2:] == 0)
    np.testing.assert_allclose(routes[0, :2].sum(axis=0), 1, rtol=1e-12)
    one = arrays.one(1)
    assert one.depth == 2
    np.testing.assert_allclose(one.decide(one.logits(x)), walked(mixed, 1, 2, x), rtol=1e-12)


@pytest.mark.parametrize("decisions", [1, 2])
def test_open_gates_and_the_leaves_behind_them_get_no_gradient(decisions):
    """Exactly none: Adam would make full steps of what rounding leaves."""
    rule = built(hr.SoftForest(3, DEPTHS), hr.Free(decisions))
    x = np.random.default_rng(1).normal(size=(FEATURES, 50)).astype(np.float32)
    slopes = single(jax.grad(lambda rule, x: jnp.sum(rule(x) ** 2), allow_int=True))(rule, x)
    open_gates = np.asarray(rule.gate_biases) == OPEN
    assert open_gates.sum() == 14 + 12
    assert np.all(np.asarray(slopes.gate_biases)[open_gates] == 0)
    assert np.all(np.asarray(slopes.gate_weights)[open_gates] == 0)
    assert np.all(np.asarray(slopes.gate_weights)[~open_gates] != 0)
    assert np.all(np.asarray(slopes.leaves)[0, 2:] == 0)
    assert np.all(np.asarray(slopes.leaves)[0, :2] != 0)


def test_one_depth_for_all_is_todays_forest_bit_for_bit():
    today, named = built(hr.SoftForest(3, 2)), built(hr.SoftForest(3, (2,)))
    for one, other in zip(jax.tree.leaves(today), jax.tree.leaves(named), strict=True):
        np.testing.assert_array_equal(one, other)


def test_trees_of_a_mean_keep_their_depths():
    rule = hr.SoftForest(3, (1, 2))
    assert rule.own_depths() == (1, 2, 1)
    assert rule.mean_of(2).own_depths() == (1, 2, 1, 1, 2, 1)
    parts = [built(rule, seed=seed) for seed in (0, 1)]
    together = parts[0].averaged(parts[1:])
    np.testing.assert_array_equal(together.trees().depths, (1, 2, 1, 1, 2, 1))


def test_depth_counts_only_as_far_as_a_tree_goes():
    """A stump beside a deep tree is as steep as it is alone."""
    alone = built(hr.SoftForest(1, (1,)))
    padded = built(hr.SoftForest(2, (1, 3)))
    arrays = padded.trees(FEATURES)
    assert hr.theory.forests.constants_of(arrays.one(0)).depth == 1
    assert alone.trees(FEATURES).depths == [1]
    assert "1 to 3 questions deep" in padded.words()


@pytest.mark.parametrize(
    ("depth", "said"),
    [
        ([2, 3], "a tuple of them"),
        ((), "a tuple of them"),
        ((2, 13), "at most 12"),
        ((2, 0), "depth must be at least 1"),
        ((1, 2, 3, 4), "names 4 depths, but there are 3 trees"),
    ],
)
def test_wrong_depths_are_refused(depth, said):
    with pytest.raises(ValueError, match=said):
        hr.SoftForest(3, depth)
