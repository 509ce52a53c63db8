"""The two-layer network is the paper's formula plus an offset."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import Box, Free, Nonnegative, Simplex, TwoLayer
from hedgerow.rules import Start
from hedgerow.rules.two_layer import TwoLayerNetwork
from tests.oracles import double, gradient_by_differences, single

DECISIONS, WIDTH, FEATURES, ROWS = 2, 5, 3, 4

decide = double(lambda rule, x: rule(x))
decide_single = single(lambda rule, x: rule(x))


def network(seed, decision_set=None):
    rng = np.random.default_rng(seed)
    return TwoLayerNetwork(
        hidden=rng.normal(size=(DECISIONS, WIDTH, FEATURES)),
        bias=rng.normal(size=(DECISIONS, WIDTH)),
        output=rng.normal(size=(DECISIONS, WIDTH)),
        offset=rng.normal(size=DECISIONS),
        decision_set=decision_set or Free(DECISIONS),
    )


def contexts(seed, size=1.0, rows=ROWS):
    return size * np.random.default_rng(seed + 1000).normal(size=(FEATURES, rows))


@given(st.integers(0, 10_000))
def test_the_network_is_the_papers_formula(seed):
    """[f(x)]_k = (1/m) Σ_i a_i^k ReLU(w_i^k·x + b_i^k), plus c_k."""
    rule, x = network(seed), contexts(seed)
    expected = np.empty((DECISIONS, ROWS))
    for k in range(DECISIONS):
        for row in range(ROWS):
            units = [
                rule.output[k, i] * max(rule.hidden[k, i] @ x[:, row] + rule.bias[k, i], 0)
                for i in range(WIDTH)
            ]
            expected[k, row] = sum(units) / WIDTH + rule.offset[k]
    np.testing.assert_allclose(decide(rule, x), expected, atol=1e-12)


@given(st.integers(0, 10_000))
def test_the_map_onto_the_set_comes_last(seed):
    free, positive, x = network(seed), network(seed, Nonnegative(DECISIONS)), contexts(seed)
    np.testing.assert_allclose(decide(positive, x), np.logaddexp(decide(free, x), 0), atol=1e-12)
    mixed = decide(network(seed, Simplex(DECISIONS)), x)
    odds = np.exp(decide(free, x))
    np.testing.assert_allclose(mixed, odds / odds.sum(axis=0), atol=1e-12)


@pytest.mark.parametrize(
    "decision_set", [Box([0.1, -2.0], [0.3, 5.0]), Simplex(2), Nonnegative(2)], ids=repr
)
@pytest.mark.parametrize("size", [1.0, 1e4, 1e15])
def test_decisions_are_feasible_for_any_context(decision_set, size):
    decisions = decide_single(network(0, decision_set), contexts(0, size, rows=50))
    assert np.all(np.isfinite(decisions))
    assert np.all(decision_set.contains(decisions.T))


def test_derivatives_are_difference_quotients():
    rule, x = network(1, Nonnegative(DECISIONS)), contexts(1)
    weights = np.random.default_rng(2).normal(size=(DECISIONS, ROWS))
    names = ("hidden", "bias", "output", "offset")

    def total(arrays):
        changed = eqx.tree_at(lambda r: [getattr(r, n) for n in names], rule, arrays[:4])
        return jnp.sum(weights * changed(arrays[4]))

    arrays = [*(getattr(rule, name) for name in names), x]
    gradient, value = double(jax.grad(total))(arrays), double(total)
    for j in range(5):
        numerical = gradient_by_differences(
            lambda values, j=j: value([*arrays[:j], values, *arrays[j + 1 :]]), arrays[j]
        )
        np.testing.assert_allclose(gradient[j], numerical, atol=1e-7)


@pytest.mark.parametrize(
    ("decision_set", "start"),
    [(Free(2), [3.0, -1.0]), (Nonnegative(2), [3.0, 0.5]), (Simplex(2), [0.3, 0.7])],
)
def test_a_new_network_decides_its_start(decision_set, start):
    start = np.array(start)
    first = Start(FEATURES, decision_set, jnp.asarray(start, jnp.float32))
    built = TwoLayer(width=WIDTH).build(jax.random.key(0), first)
    decisions = decide_single(built, contexts(3))
    np.testing.assert_allclose(decisions, np.repeat(start[:, None], ROWS, axis=1), rtol=2e-6)


def test_a_new_network_can_learn():
    """Its output layer starts at 0, but has a gradient, since hidden units are active."""
    built = TwoLayer(width=64).build(jax.random.key(0), Start(FEATURES, Free(1), jnp.ones(1)))
    x = jnp.asarray(contexts(4), jnp.float32)
    gradient = jax.grad(lambda output: jnp.sum(eqx.tree_at(lambda r: r.output, built, output)(x)))(
        built.output
    )
    assert np.mean(np.asarray(gradient) != 0) > 0.5


def test_width_defaults_to_the_papers():
    built = TwoLayer().build(jax.random.key(0), Start(FEATURES, Free(2), jnp.ones(2)))
    assert built.hidden.shape == (2, 64 * FEATURES, FEATURES)
    parameters = sum(leaf.size for leaf in jax.tree.leaves(built.split()[0]))
    # m·d_z(d_x + 2) of the paper, and the offsets
    assert parameters == 64 * FEATURES * 2 * (FEATURES + 2) + 2


def test_everything_but_the_set_is_learned():
    rule = jax.tree.map(jnp.float32, network(5, Box([0.0, 0.0], [1.0, 2.0])))
    parameters, rest = rule.split()
    assert len(jax.tree.leaves(parameters)) == 4
    assert parameters.decision_set.low is None
    assert rest.hidden is rest.bias is rest.output is rest.offset is None
    x = contexts(5)
    whole = eqx.combine(parameters, rest)
    np.testing.assert_array_equal(decide_single(whole, x), decide_single(rule, x))


def test_bad_widths_are_refused():
    with pytest.raises(ValueError, match="width must be at least 1, got 0"):
        TwoLayer(width=0)
    with pytest.raises(TypeError, match=r"width must be a whole number, got 2\.5"):
        TwoLayer(width=2.5)
