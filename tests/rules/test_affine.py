"""Affine and constant rules are what their names say, through the map onto the set."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import Affine, Box, Constant, Free, Nonnegative, Simplex
from hedgerow.rules import Start
from hedgerow.rules.affine import AffineRule, ConstantRule
from tests.oracles import double, single

FEATURES, ROWS = 3, 4
decide = double(lambda rule, x: rule(x))
decide_single = single(lambda rule, x: rule(x))


def contexts(seed=0, size=1.0):
    return size * np.random.default_rng(seed + 1000).normal(size=(FEATURES, ROWS))


def parameters_of(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2, FEATURES)), rng.normal(size=2)


@given(st.integers(0, 10_000))
def test_the_affine_rule_is_affine(seed):
    (matrix, offset), x = parameters_of(seed), contexts(seed)
    rule = AffineRule(matrix=matrix, offset=offset, decision_set=Free(2))
    expected = np.array([[matrix[k] @ x[:, r] + offset[k] for r in range(ROWS)] for k in range(2)])
    np.testing.assert_allclose(decide(rule, x), expected, atol=1e-12)
    rule = AffineRule(matrix=matrix, offset=offset, decision_set=Nonnegative(2))
    np.testing.assert_allclose(decide(rule, x), np.logaddexp(expected, 0), atol=1e-12)


def test_the_constant_rule_is_constant():
    rule = ConstantRule(offset=np.array([0.3, -2.0]), decision_set=Simplex(2))
    shares = np.exp([0.3, -2.0]) / np.exp([0.3, -2.0]).sum()
    decisions = decide(rule, contexts())
    np.testing.assert_allclose(decisions, np.repeat(shares[:, None], ROWS, axis=1), atol=1e-12)


@pytest.mark.parametrize("size", [1.0, 1e15])
@pytest.mark.parametrize(
    "decision_set", [Box([0.1, -2.0], [0.3, 5.0]), Simplex(2), Nonnegative(2)], ids=repr
)
def test_decisions_are_feasible_for_any_context(decision_set, size):
    matrix, offset = parameters_of(1)
    rule = AffineRule(matrix=matrix, offset=offset, decision_set=decision_set)
    decisions = decide_single(rule, contexts(1, size))
    assert np.all(np.isfinite(decisions))
    assert np.all(decision_set.contains(decisions.T))


@pytest.mark.parametrize("description", [Affine(), Constant()], ids=repr)
@pytest.mark.parametrize(
    ("decision_set", "start"),
    [(Free(2), [3.0, -1.0]), (Nonnegative(2), [3.0, 0.5]), (Simplex(2), [0.3, 0.7])],
)
def test_a_new_rule_decides_its_start(description, decision_set, start):
    start = np.array(start)
    first = Start(FEATURES, decision_set, jnp.asarray(start, jnp.float32))
    rule = description.build(jax.random.key(0), first)
    decisions = decide_single(rule, contexts())
    np.testing.assert_allclose(decisions, np.repeat(start[:, None], ROWS, axis=1), rtol=2e-6)


@pytest.mark.parametrize(
    ("description", "names"), [(Affine(), ["matrix", "offset"]), (Constant(), ["offset"])], ids=repr
)
def test_everything_but_the_set_is_learned(description, names):
    box = jax.tree.map(jnp.float32, Box([0.0, 0.0], [1.0, 2.0]))
    rule = description.build(jax.random.key(0), Start(FEATURES, box, jnp.array([0.5, 1.5])))
    parameters, rest = rule.split()
    assert all(getattr(parameters, name) is getattr(rule, name) for name in names)
    assert len(jax.tree.leaves(parameters)) == len(names)
    assert all(getattr(rest, name) is None for name in names)
    assert parameters.decision_set.low is None
    whole = eqx.combine(parameters, rest)
    np.testing.assert_array_equal(decide_single(whole, contexts()), decide_single(rule, contexts()))


def test_a_new_affine_rule_can_learn_every_coefficient():
    rule = Affine().build(jax.random.key(0), Start(FEATURES, Nonnegative(2), jnp.ones(2)))
    x = jnp.asarray(contexts(), jnp.float32)
    gradient = jax.grad(lambda m: jnp.sum(eqx.tree_at(lambda r: r.matrix, rule, m)(x) ** 2))
    assert np.all(gradient(rule.matrix) != 0)
