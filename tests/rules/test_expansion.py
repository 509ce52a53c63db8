"""What rules say is certain around any context, tried at random."""

import jax
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.rules import expansion
from hedgerow.rules.base import Start
from hedgerow.rules.forest_arrays import ForestArrays

RNG = np.random.default_rng(0)
ROWS, FEATURES = 4000, 3


def trees(depth, decisions=2):
    gates = 2**depth - 1
    return ForestArrays(
        2 * RNG.normal(size=(4, gates, FEATURES)),
        RNG.normal(size=(4, gates)),
        RNG.normal(size=(4, 2**depth, decisions)),
    )


def moves():
    x, u = RNG.normal(size=(2, ROWS, FEATURES))
    return x, u * 10 ** RNG.uniform(-2, 0.5, (ROWS, 1))


def left_over(found, x, u):
    """How far a rule leaves its tangent, and what the expansion allows."""
    (here, slopes), (there, _) = found.at(x), found.at(x + u)
    allowed = np.einsum("rd,kde,re->rk", u, found.curvature, u) / 2
    allowed += found.steepness * np.linalg.norm(u, axis=1)[:, None]
    return np.abs(there - here - np.einsum("rkd,rd->rk", slopes, u)), allowed


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_forests_leave_their_tangents_by_no_more_than_their_curvature(depth):
    found = expansion.forest_expansion(trees(depth))
    x, u = moves()
    gone, allowed = left_over(found, x, u)
    assert np.all(gone <= allowed + 1e-12)
    if depth == 1:  # there the bound is sharp
        assert np.max(gone / np.maximum(allowed, 1e-9)) > 0.9
    slopes = found.at(x)[1]
    assert np.all(np.abs(slopes) <= found.steepest)
    far = found.at(30 * x)[0]
    assert np.all((far >= found.low) & (far <= found.high))


def test_tangents_are_the_derivative():
    found = expansion.forest_expansion(trees(3))
    x, step = moves()[0][:50], 1e-6
    slopes = found.at(x)[1]
    for feature in range(FEATURES):
        ahead, behind = x.copy(), x.copy()
        ahead[:, feature] += step
        behind[:, feature] -= step
        numeric = (found.at(ahead)[0] - found.at(behind)[0]) / (2 * step)
        assert np.allclose(numeric, slopes[:, :, feature], atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule", [hr.Affine(), hr.TwoLayer(width=5), hr.ScoreForest(), hr.Constant()]
)
@pytest.mark.parametrize("decision_set", [hr.Nonnegative(1), hr.Box([-1.0], [2.0]), hr.Free(1)])
def test_every_rule_keeps_to_its_expansion(rule, decision_set):
    start = Start(FEATURES, decision_set, np.array([0.7], np.float32))
    made = rule.build(jax.random.key(0), start)
    noise = np.random.default_rng(1)
    learned, fixed = made.split()
    learned = jax.tree_util.tree_map(
        lambda a: a + noise.normal(size=np.shape(a)).astype(np.float32), learned
    )
    made = jax.tree_util.tree_map(
        lambda a, b: b if a is None else a, learned, fixed, is_leaf=lambda leaf: leaf is None
    )
    found = made.expansion(FEATURES)
    x, u = moves()
    gone, allowed = left_over(found, x, u)
    assert np.all(gone <= allowed + 1e-9)
    numbers = found.at(x)[0]
    decisions = numbers if found.image is None else found.image(numbers, numbers)[0]
    assert np.allclose(decisions, made.decide(x), atol=1e-4)  # decided in float32
    assert np.all((numbers >= found.low) & (numbers <= found.high))
