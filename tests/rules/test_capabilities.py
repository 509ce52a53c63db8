"""What rules may offer: what the built-in ones do, and what is said of one that does not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hedgerow as hr
from hedgerow import explain
from hedgerow.describe.page_form import PageForm
from hedgerow.describe.parts import Missing
from hedgerow.rules.base import Start, build_rule, decide_rows
from tests.oracles import double
from tests.rules.outside import Ball, Tanh

FEATURES = 3
SETS = [hr.Nonnegative(2), hr.Product(hr.Free(1), hr.Simplex(3)), hr.Box([0, -np.inf], [2, 5])]
RULES = [
    hr.SoftForest(3, 2),
    hr.SoftForest(2, 3, features_per_tree=2, temperature=0.5),
    hr.SoftForest(2, 2, leaves="linear", features_per_tree=2),
    hr.ScoreForest(2, trees=3),
    hr.Affine(),
    hr.Constant(),
    hr.TwoLayer(8),
]
exactly = double(lambda rule, x: rule(x))


def built(rule, decision_set, seed=0):
    """A fitted rule with random parameters, none of them zero."""
    start = jnp.asarray(decision_set.from_raw(jnp.zeros(decision_set.dimension)), jnp.float32)
    made = build_rule(rule, jax.random.key(seed), Start(FEATURES, decision_set, start))
    rng = np.random.default_rng(seed)
    fields = {
        name: jnp.asarray(rng.normal(size=getattr(made, name).shape), jnp.float32)
        for name in made.trainable
    }
    return type(made)(**(vars(made) | fields))


def contexts(rows=200, seed=1):
    return np.random.default_rng(seed).normal(size=(rows, FEATURES))


@pytest.mark.parametrize("decision_set", SETS, ids=repr)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
class TestBuiltIn:
    def test_decisions_are_those_of_the_compiled_rule(self, rule, decision_set):
        made, x = built(rule, decision_set), contexts()
        decisions = made.decide(x)
        assert decisions.dtype == np.float64
        np.testing.assert_allclose(decisions, exactly(made, x.T).T, rtol=1e-12, atol=1e-12)
        compiled = decide_rows(made, x)  # in float32
        assert np.abs(decisions - compiled).max() <= 1e-6 * max(1, np.abs(decisions).max())

    def test_bounds_hold_over_the_box(self, rule, decision_set):
        made = built(rule, decision_set)
        for centre in contexts(3):
            width = np.array([0.5, 0.0, 2.0])
            low, high = made.bounds(centre, width)
            inside = centre + width * np.random.default_rng(0).uniform(-1, 1, (500, FEATURES))
            found = exactly(made, inside.T)
            assert np.all(found >= low[:, None] - 1e-12)
            assert np.all(found <= high[:, None] + 1e-12)

    def test_what_they_say_of_themselves(self, rule, decision_set):
        made = built(rule, decision_set)
        assert " " in made.words()
        assert "Rule" not in made.words()
        assert made.check_storable() is None
        assert isinstance(made.page_form(), PageForm)
        trees = made.trees(FEATURES)
        assert not made.page_form().trees or trees is not None
        if trees is not None:
            x = contexts().T
            np.testing.assert_allclose(trees.decide(trees.logits(x)), exactly(made, x), rtol=1e-6)


def test_bounded_rules_stay_bounded_however_far_contexts_go():
    for rule in RULES:
        made = built(rule, hr.Free(2))
        far = np.abs(exactly(made, 1e9 * contexts().T)).max()
        assert made.is_bounded() == (far < 1e3)


def test_trees_are_the_forest():
    made = built(RULES[1], hr.Nonnegative(2))
    trees, x = made.trees(FEATURES), contexts().T
    np.testing.assert_allclose(trees.decide(trees.logits(x)), exactly(made, x), rtol=1e-12)
    assert trees.weights.shape == (2, 7, FEATURES)
    doubled = trees.in_units(np.array([2.0, 3.0]))
    np.testing.assert_allclose(doubled.leaves, trees.leaves * [2.0, 3.0])
    hard, x = made.hardened().trees(FEATURES), 1e-3 * x
    np.testing.assert_allclose(hard.decide(hard.logits(x)), exactly(made.hardened(), x), rtol=1e-12)
    with pytest.raises(ValueError, match="hard forest"):
        hard.gradients(x)


def test_a_networks_own_integrals_are_those_of_quadrature():
    made = built(hr.TwoLayer(8), hr.Nonnegative(2))
    starts, end, weights = contexts(5), contexts(1, seed=2)[0], np.full(5, 0.2)
    found = made.path_integrals(starts, end, weights, np.full(2, 1e-9))
    change = exactly(made, end[:, None])[:, 0] - exactly(made, starts.T) @ weights
    np.testing.assert_allclose(found.sum(axis=1), change, atol=1e-8)


class TestFromOutside:
    """A rule that has only what is required."""

    def test_it_decides_and_describes_itself(self):
        made = built(Tanh(), hr.Free(2))
        np.testing.assert_allclose(
            made.decide(contexts()), exactly(made, contexts().T).T, rtol=1e-4, atol=1e-5
        )  # float32
        assert made.words() == "A TanhRule with 8 parameters"
        assert made.check_storable() is None
        assert not made.is_bounded()

    def test_it_offers_nothing_else(self):
        made = built(Tanh(), hr.Free(2))
        x = contexts(2)
        assert made.trees(FEATURES) is None
        assert made.bounds(x[0], x[1]) is None
        assert made.path_integrals(x, x[0], np.ones(2), np.ones(2)) is None
        assert made.page_form() is None

    def test_what_is_missing_is_named(self):
        X, Y = contexts(40), np.random.default_rng(0).uniform(1, 2, 40)
        loss = hr.Newsvendor(1, 2)
        policy = hr.RobustPolicy(loss, hr.ERM(), Tanh(), solver=hr.SCSC(steps=20)).fit(X, Y)
        with pytest.raises(TypeError, match=r"have routes; a TanhRule .* \(write TanhRule.trees\)"):
            explain.routes(policy, X)
        with pytest.raises(TypeError, match=r"\(write TanhRule.bounds\)"):
            explain.certificate(policy, X[0], 0.1)
        found = explain.attribute(policy, X[0], X)
        assert found.completeness_error < 1e-6
        assert explain.words(policy, X).kind == "distilled"


def test_a_set_that_does_not_know_its_image_is_named():
    made = built(hr.Affine(), Ball(2))
    with pytest.raises(Missing, match=r"a Ball offers none \(write Ball.image\)"):
        made.bounds(np.zeros(FEATURES), np.ones(FEATURES))
    with pytest.raises(Missing, match=r"\(write Ball.page_blocks\)"):
        made.page_form()
