"""Forests approach a continuous rule as they grow: built by hand, within a bound, and learned."""

import numpy as np
import pytest
from benchmarks.approximation import (
    built_bound,
    built_errors,
    built_forest,
    learned_errors,
    square,
    target,
)

from hedgerow.rules.forest_arrays import ForestArrays

DEPTHS, POINTS = (2, 4, 6, 8), square(61)


def test_built_forests_are_within_the_bound_and_approach_the_rule():
    """Two gates more on a route halve the cells, and the bound L·(a cell's radius) with them."""
    for trees in (1, 4):
        worst, mean = np.transpose([built_errors(trees, depth, POINTS) for depth in DEPTHS])
        bounds = np.array([built_bound(depth) for depth in DEPTHS])
        np.testing.assert_allclose(bounds[1:], bounds[:-1] / 2)
        assert np.all(worst <= bounds)
        # by nearly a half each time, once cells are small beside what g does
        assert np.all(worst[1:] < 0.7 * worst[:-1])
        assert worst[3] < 0.55 * worst[2]
        assert np.all(mean[1:] < 0.62 * mean[:-1])


def test_more_trees_approach_it_in_the_mean_square():
    """Shifted trees err in different places; at the kinks' worst point they do not help."""
    for depth in DEPTHS[1:]:
        means = [built_errors(trees, depth, POINTS)[1] for trees in (1, 4, 8)]
        assert means[1] < 0.65 * means[0]
        assert means[2] < means[1]


def test_soft_gates_crisp_enough_are_as_near():
    hard = built_forest(4, 6)
    soft = ForestArrays(hard.weights * 1e6, hard.biases * 1e6, hard.leaves)
    points = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    gap = np.abs(soft.decide(soft.logits(points.T))[0] - target(points))
    assert gap.max() <= built_bound(6)


@pytest.mark.slow
def test_learned_forests_approach_it_too():
    """As trained by anybody: no bound, but less and less error with trees and with depth."""
    found = {size: learned_errors(*size, steps=1500) for size in [(1, 1), (1, 4), (16, 1), (16, 4)]}
    worst = {size: errors[0] for size, errors in found.items()}
    mean = {size: errors[1] for size, errors in found.items()}
    assert mean[1, 4] < 0.7 * mean[1, 1]
    assert mean[16, 4] < 0.5 * mean[1, 1]
    assert mean[16, 4] < mean[1, 4]
    assert mean[16, 4] < mean[16, 1]
    assert worst[16, 4] < 0.5 * worst[1, 1]
