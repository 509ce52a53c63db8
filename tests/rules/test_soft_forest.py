"""The forest is the sum over routes it is defined as, stays in its set, and hardens."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import Box, Free, Nonnegative, Simplex, SoftForest
from hedgerow.rules.base import Slopes, Start
from hedgerow.rules.soft_forest import MOST_DEPTH, Forest
from tests.oracles import double, gradient_by_differences, single

TREES, DEPTH, FEATURES, DECISIONS, ROWS = 3, 3, 4, 2, 5


def forest(seed=0, temperature=0.7, decision_set=None, seen=None, trees=TREES, depth=DEPTH):
    """A forest with random parameters, in plain numpy."""
    rng = np.random.default_rng(seed)
    decision_set = decision_set or Free(DECISIONS)
    gates, leaves = 2**depth - 1, 2**depth
    features = None
    if seen is not None:
        features = np.stack([rng.permutation(FEATURES)[:seen] for _ in range(trees)])
    return Forest(
        gate_weights=rng.normal(size=(trees, gates, seen or FEATURES)),
        gate_biases=rng.normal(size=(trees, gates)),
        leaves=2 * rng.normal(size=(trees, leaves, decision_set.dimension)),
        features=features,
        temperature=np.float64(temperature),
        decision_set=decision_set,
    )


def contexts(seed=0, size=1.0, rows=ROWS):
    return size * np.random.default_rng(seed + 1000).normal(size=(FEATURES, rows))


def routes(rule, x, xp=np):
    """Naively: p of every tree and leaf, the product of its gates from root to leaf."""
    probabilities, depth = [], int(np.log2(rule.leaves.shape[1]))
    for t in range(rule.gate_weights.shape[0]):
        seen = x if rule.features is None else x[rule.features[t]]
        for leaf in range(rule.leaves.shape[1]):
            probability = xp.ones(x.shape[1])
            for level in range(depth):
                # gates stand level by level; bits below `level` of the leaf's number say which
                gate = 2**level - 1 + leaf % 2**level
                logit = rule.gate_weights[t, gate] @ seen + rule.gate_biases[t, gate]
                left = 1 / (1 + xp.exp(-logit / rule.temperature))
                turns_right = leaf >> level & 1
                probability = probability * ((1 - left) if turns_right else left)
            probabilities.append(probability)
    return xp.stack(probabilities).reshape(rule.gate_weights.shape[0], -1, x.shape[1])


def decide_naively(rule, x, xp=np):
    """f(x) = (1/T) Σ_t Σ_l p_{l,t}(x) π_{l,t}, written out."""
    leaf_decisions = rule.decision_set.from_raw(xp.asarray(rule.leaves))
    return xp.einsum("tlr,tlk->kr", routes(rule, x, xp), leaf_decisions) / len(rule.leaves)


def build(rule, n_features, decision_set, start, seed=0):
    """A new forest, made by one compiled program instead of operation by operation."""
    start = Start(n_features, decision_set, jnp.asarray(start, jnp.float32))
    return jax.jit(lambda key: rule.build(key, start))(jax.random.key(seed))


decide = double(lambda rule, x: rule(x))
decide_single = single(lambda rule, x: rule(x))
route_probabilities = double(lambda rule, x: rule.route_probabilities(x))


@given(st.integers(0, 10_000), st.floats(0.1, 3.0))
def test_the_forest_is_its_sum_over_routes(seed, temperature):
    rule, x = forest(seed, temperature), contexts(seed)
    np.testing.assert_allclose(decide(rule, x), decide_naively(rule, x), atol=1e-12)
    np.testing.assert_allclose(route_probabilities(rule, x), routes(rule, x), atol=1e-12)


@given(st.integers(0, 10_000))
def test_each_tree_sees_its_own_features(seed):
    rule, x = forest(seed, seen=2), contexts(seed)
    np.testing.assert_allclose(decide(rule, x), decide_naively(rule, x), atol=1e-12)


@given(st.integers(0, 10_000), st.floats(0, 1e6))
def test_route_probabilities_sum_to_one(seed, size):
    rule, x = forest(seed), contexts(seed, size)
    probabilities = route_probabilities(rule, x)
    assert np.all(probabilities >= 0)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)


def test_a_tree_is_untouched_by_features_it_does_not_see():
    rule, x = forest(seen=2), contexts()
    for t in range(TREES):
        unseen = sorted(set(range(FEATURES)) - set(rule.features[t]))
        moved = x.copy()
        moved[unseen] += 100 * np.arange(1, len(unseen) + 1)[:, None]
        before, after = (route_probabilities(rule, data)[t] for data in (x, moved))
        np.testing.assert_array_equal(before, after)
        moved = x.copy()
        moved[rule.features[t][0]] += 1.0
        assert np.all(route_probabilities(rule, moved)[t] != before)


# --------------------------------------------------------------------------- derivatives


def total_of(decide):
    """A scalar function of all parameters and the contexts, for rules evaluated by ``decide``."""

    def total(arrays, rule):
        weights, biases, leaves, x = arrays
        rule = eqx.tree_at(
            lambda r: (r.gate_weights, r.gate_biases, r.leaves), rule, (weights, biases, leaves)
        )
        return jnp.sum(np.random.default_rng(5).normal(size=(DECISIONS, ROWS)) * decide(rule, x))

    return total


total = total_of(lambda rule, x: rule(x))
gradient_by_hand, total_double = double(jax.grad(total)), double(total)
naive_gradient = double(jax.grad(total_of(lambda rule, x: decide_naively(rule, x, jnp))))


@pytest.mark.parametrize(("decision_set", "seen"), [(Free(2), None), (Simplex(2), 2)])
def test_the_reverse_pass_is_that_of_the_naive_sum(decision_set, seen):
    rule, x = forest(3, decision_set=decision_set, seen=seen, trees=2, depth=2), contexts(3)
    arrays = rule.gate_weights, rule.gate_biases, rule.leaves, x
    by_hand = gradient_by_hand(arrays, rule)
    naive = naive_gradient(arrays, rule)
    for ours, theirs in zip(by_hand, naive, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10, rtol=1e-10)


def test_the_reverse_pass_is_the_difference_quotient():
    rule, x = forest(4), contexts(4)
    arrays = rule.gate_weights, rule.gate_biases, rule.leaves, x
    gradient = gradient_by_hand(arrays, rule)
    for j in range(4):
        numerical = gradient_by_differences(
            lambda values, j=j: total_double((*arrays[:j], values, *arrays[j + 1 :]), rule),
            arrays[j],
        )
        np.testing.assert_allclose(gradient[j], numerical, atol=1e-7)


# --------------------------------------------------------------------------- feasibility

SETS = [Box([0.1, -2.0], [0.3, 5.0]), Simplex(2), Nonnegative(2)]


@pytest.mark.parametrize("decision_set", SETS, ids=repr)
@given(seed=st.integers(0, 10_000), size=st.sampled_from([1.0, 1e3, 1e10, 1e30]))
def test_decisions_are_feasible_for_any_context(decision_set, seed, size):
    rule = forest(seed, decision_set=decision_set)
    x = contexts(seed, size)
    leaves = np.asarray(decision_set.from_raw(jnp.asarray(rule.leaves, jnp.float32)))
    decisions = decide_single(rule, x)
    assert np.all(np.isfinite(decisions))
    low, high = leaves.min(axis=(0, 1))[:, None], leaves.max(axis=(0, 1))[:, None]
    slack = 4e-7 * np.maximum(np.abs(low), np.abs(high))  # a few roundings of float32
    assert np.all((decisions >= low - slack) & (decisions <= high + slack))
    assert np.all(decision_set.contains(decisions.T))


# --------------------------------------------------------------------------- the hard limit


def test_the_forest_hardens_as_its_temperature_falls():
    soft, x = forest(7, temperature=1.0), contexts(7, rows=40)
    hard = decide(double(lambda rule: rule.hardened())(soft), x)
    gaps = [
        np.abs(decide(eqx.tree_at(lambda r: r.temperature, soft, np.float64(t)), x) - hard).max()
        for t in (1.0, 0.1, 0.01, 1e-3, 1e-5)
    ]
    assert np.all(np.diff(gaps) < 0)
    assert gaps[0] > 0.1
    assert gaps[-1] < 1e-12


def test_a_hard_forest_sends_each_context_down_one_route():
    rule, x = double(lambda rule: rule.hardened())(forest(8)), contexts(8, rows=40)
    probabilities = route_probabilities(rule, x)
    assert set(np.unique(probabilities)) == {0.0, 1.0}
    np.testing.assert_array_equal(probabilities.sum(axis=1), 1)
    logits = double(lambda rule, x: rule.gate_logits(x))(rule, x)
    decisions = np.zeros((DECISIONS, 40))
    for t in range(TREES):
        for row in range(40):
            leaf = 0
            for level in range(DEPTH):
                leaf += 2**level * int(logits[t, 2**level - 1 + leaf, row] <= 0)
            assert probabilities[t, leaf, row] == 1
            decisions[:, row] += rule.leaves[t, leaf] / TREES
    np.testing.assert_allclose(decide(rule, x), decisions, atol=1e-12)


# --------------------------------------------------------------------------- building one


@pytest.mark.parametrize(
    ("features", "depth"), [(1, 1), (2, 2), (3, 3), (4, 3), (5, 4), (10, 5), (50, 7), (10**6, 12)]
)
def test_automatic_depth_is_the_papers(features, depth):
    assert SoftForest(depth=None).depth_for(features) == depth
    assert SoftForest(depth=4).depth_for(features) == 4


@pytest.mark.parametrize(
    ("asked", "seen"), [(None, 10), (3, 3), (30, 10), (0.3, 3), (0.01, 1), (1.0, 10), (1, 1)]
)
def test_features_per_tree(asked, seen):
    assert SoftForest(features_per_tree=asked).features_for(10) == seen


def test_each_tree_draws_features_of_its_own():
    rule = SoftForest(trees=6, depth=2, features_per_tree=3)
    built = build(rule, 10, Free(1), [1.0])
    assert built.gate_weights.shape == (6, 3, 3)
    draws = [set(chosen) for chosen in np.asarray(built.features).tolist()]
    assert len(draws) == 6
    assert all(len(draw) == 3 and draw <= set(range(10)) for draw in draws)
    assert any(draw != draws[0] for draw in draws)
    whole = SoftForest(trees=6, depth=2, features_per_tree=10)
    assert build(whole, 10, Free(1), [1.0]).features is None


@pytest.mark.parametrize(
    ("decision_set", "start"),
    [(Nonnegative(2), [3.0, 0.5]), (Simplex(2), [0.3, 0.7])],
)
def test_a_new_forest_decides_near_its_start(decision_set, start):
    start, x = np.array(start), contexts(rows=50)

    def built(leaf_scale):
        rule = SoftForest(trees=20, depth=3, leaf_scale=leaf_scale)
        return build(rule, FEATURES, decision_set, start)

    np.testing.assert_allclose(
        decide_single(built(0.0), x), np.repeat(start[:, None], 50, axis=1), rtol=2e-6
    )
    near = decide_single(built(0.05), x)
    assert 0 < np.abs(near - start[:, None]).max() < 0.1
    assert np.ptp(near, axis=1).min() > 0  # and it is not constant


def test_a_key_fixes_the_forest():
    rule = SoftForest(trees=2, depth=2, features_per_tree=2)
    first, again, other = (
        jax.tree.leaves(build(rule, FEATURES, Free(1), [1.0], seed)) for seed in (0, 0, 1)
    )
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.any(first[0] == other[0])


def test_initial_gates_have_the_promised_scale():
    built = build(SoftForest(trees=200, depth=3, gate_scale=2.0), 9, Free(1), [1.0])
    # Sampling error of a standard deviation of 200·7·9 draws: 0.6 %.
    assert np.std(built.gate_weights) == pytest.approx(2.0 / 3, rel=0.03)


def informed(rule, explained, seed=0):
    """A new forest on 4 features that has been told of two directions."""
    slopes = Slopes(np.array([[1, 0, 0, 0], [0, 0.6, -0.8, 0]], np.float32), np.float32(explained))
    start = Start(FEATURES, Free(1), jnp.ones(1, jnp.float32), slopes)
    return jax.jit(lambda key: rule.build(key, start))(jax.random.key(seed))


def test_informed_gates_look_where_outcomes_rise():
    built = informed(SoftForest(trees=500, depth=2, gate_scale=2.0), [0.3, 0.1])
    weights = np.asarray(built.gate_weights).reshape(-1, FEATURES)
    first = weights[:, 0] != 0
    assert np.mean(first) == pytest.approx(0.75, abs=0.05)  # 1500 draws, three of four
    np.testing.assert_allclose(weights[~first][:, 1] * -0.8, weights[~first][:, 2] * 0.6, rtol=1e-5)
    steepness = np.abs(weights[first][:, 0])
    assert 1.0 <= steepness.min() < 1.1
    assert 2.9 < steepness.max() <= 3.0
    assert np.mean(weights[first][:, 0] > 0) == pytest.approx(0.5, abs=0.05)
    places = np.asarray(built.gate_biases).ravel()[first] / steepness
    assert np.abs(places).max() <= 1.04  # the 85 % quantile of a standard normal


def test_gates_are_random_where_nothing_is_known_or_wanted():
    nothing = informed(SoftForest(trees=3, depth=2), [0.0, 0.0])
    random = informed(SoftForest(trees=3, depth=2, gates="random"), [0.5, 0.5])
    np.testing.assert_array_equal(nothing.gate_weights, random.gate_weights)
    assert np.all(np.asarray(random.gate_weights) != 0)
    assert np.all(np.isfinite(nothing.gate_biases))


def test_informed_trees_of_few_features_see_their_part_of_the_direction():
    built = informed(SoftForest(trees=20, depth=1, features_per_tree=2), [0.0, 0.2])
    direction = np.array([0, 0.6, -0.8, 0])
    for tree in range(20):
        seen = direction[np.asarray(built.features[tree])]
        weights = np.asarray(built.gate_weights[tree, 0])
        np.testing.assert_allclose(weights[0] * seen[1], weights[1] * seen[0], atol=1e-6)


def test_only_gates_and_leaves_are_learned():
    rule = jax.tree.map(jnp.float32, forest(seen=None, decision_set=Box([0, 0], [1, 2])))
    parameters, rest = rule.split()
    assert len(jax.tree.leaves(parameters)) == 3
    assert parameters.gate_weights is rule.gate_weights
    assert parameters.gate_biases is rule.gate_biases
    assert parameters.leaves is rule.leaves
    assert parameters.temperature is None
    assert parameters.decision_set.low is None
    assert rest.leaves is None
    assert rest.temperature == rule.temperature
    whole = eqx.combine(parameters, rest)
    x = contexts()
    np.testing.assert_array_equal(decide_single(whole, x), decide_single(rule, x))


def test_chosen_features_are_not_learned():
    parameters, rest = forest(seen=2).split()
    assert parameters.features is None
    assert rest.features.shape == (TREES, 2)


# --------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"trees": 0}, ValueError, "trees must be at least 1, got 0"),
        ({"trees": 2.5}, TypeError, r"trees must be a whole number, got 2\.5"),
        ({"depth": 0}, ValueError, "depth must be at least 1, got 0"),
        ({"depth": MOST_DEPTH + 1}, ValueError, "depth must be at most 12"),
        ({"temperature": 0.0}, ValueError, "temperature must be greater than 0"),
        ({"temperature": np.nan}, ValueError, "temperature must be finite"),
        ({"gate_scale": -1.0}, ValueError, "gate_scale must be greater than 0"),
        ({"gates": "wild"}, ValueError, "gates must be one of"),
        ({"leaf_scale": -0.1}, ValueError, "leaf_scale must not be negative"),
        ({"features_per_tree": 0}, ValueError, "features_per_tree must be at least 1"),
        ({"features_per_tree": 1.5}, ValueError, "features_per_tree must be at most 1"),
        ({"features_per_tree": 0.0}, ValueError, "features_per_tree must be greater than 0"),
        ({"features_per_tree": "some"}, TypeError, "features_per_tree must be a whole number"),
    ],
)
def test_bad_settings_are_refused(settings, error, words):
    with pytest.raises(error, match=words):
        SoftForest(**settings)


def _sines(weights, rule, x):
    changed = eqx.tree_at(lambda forest: forest.gate_weights, rule, weights)
    return jnp.sum(jnp.sin(changed.gate_logits(x)))


logits_of = double(lambda rule, x: rule.gate_logits(x))
slopes_of = double(lambda weights, rule, x: jax.grad(_sines, (0, 2))(weights, rule, x))


@pytest.mark.parametrize("seen", [1, 2, 3, 4])
def test_gates_of_trees_that_see_some_features(seen):
    """One product over all features where trees see most of them; in each case the definition."""
    rule, x = forest(seen=seen), contexts()
    wide = np.zeros((TREES, 2**DEPTH - 1, FEATURES))
    for tree, features in enumerate(rule.features):
        wide[tree][:, features] = rule.gate_weights[tree]
    expected = np.einsum("tgd,dr->tgr", wide, x) + rule.gate_biases[:, :, None]
    np.testing.assert_allclose(logits_of(rule, x), expected, rtol=1e-10)
    of_weights, of_x = slopes_of(rule.gate_weights, rule, x)
    by_feature = np.einsum("tgr,dr->tgd", np.cos(expected), x)
    for tree, features in enumerate(rule.features):
        np.testing.assert_allclose(of_weights[tree], by_feature[tree][:, features], rtol=1e-8)
    np.testing.assert_allclose(of_x, np.einsum("tgd,tgr->dr", wide, np.cos(expected)), atol=1e-9)


@pytest.mark.parametrize(("seen", "copied"), [(FEATURES - 1, False), (1, True)])
def test_a_constant_feature_makes_no_copy_of_all_rows_for_every_tree(seen, copied):
    """As it did: training was four times as slow with one."""
    rule, rows = forest(seen=seen), 1000
    made = jax.make_jaxpr(rule.gate_logits)(jnp.zeros((FEATURES, rows)))
    shapes = [var.aval.shape for equation in made.eqns for var in equation.outvars]
    assert ((TREES, seen, rows) in shapes) == copied
