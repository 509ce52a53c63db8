"""Measures to transport, and what a plan says about itself once it is written out in full."""

import numpy as np

from hedgerow.transport import DiscreteMeasure


def cloud(rng, contexts=3, points=7, d_x=1, d_y=1, grid=False):
    """Points with repeated contexts and unequal weights; on a grid if asked for."""
    x = rng.normal(size=(contexts, d_x))
    if grid:
        weights = rng.uniform(0.1, 1, (contexts, points))
        return DiscreteMeasure.grid(x, rng.normal(size=(points, d_y)), weights / weights.sum())
    weights = rng.uniform(0.1, 1, points)
    chosen = rng.integers(contexts, size=points)
    return DiscreteMeasure(x[chosen], rng.normal(size=(points, d_y)), weights / weights.sum())


def cost(source, target, order=2, x_scale=1.0, y_scale=1.0):
    """c_p between all points, straight from its definition."""
    apart_x = np.abs((source.x[:, None] - target.x[None]) / x_scale) ** order
    apart_y = np.abs((source.y[:, None] - target.y[None]) / y_scale) ** order
    return apart_x.sum(-1) + apart_y.sum(-1)


def same_context(measure):
    """(n, n), whether two points have the same context."""
    return np.all(measure.x[:, None] == measure.x[None], axis=-1)


def definition(plan, source, target, epsilon, **options):
    """Σ γ·c + ε·Σ γ·log(γ_ij / p_i)."""
    used = plan > 0
    p = np.broadcast_to(source.weights[:, None], plan.shape)[used]
    entropy = np.sum(plan[used] * np.log(plan[used] / p))
    return np.sum(plan * cost(source, target, **options)) + epsilon * entropy


def causality_error(plan, source, target):
    """The largest total variation between γ(x | x̂, ŷ) and γ(x | x̂), from the whole plan."""
    to_context = plan @ np.unique(same_context(target), axis=0).T.astype(float)
    given_point = to_context / plan.sum(axis=1, keepdims=True)
    together = same_context(source).astype(float) @ to_context
    given_context = together / together.sum(axis=1, keepdims=True)
    return np.abs(given_point - given_context)[plan.sum(axis=1) > 0].sum(axis=1).max() / 2


def check_feasible(plan, source, target, tolerance):
    """Both marginals, and no negative mass."""
    assert plan.min() >= 0
    np.testing.assert_allclose(plan.sum(axis=1), source.weights, atol=1e-12)
    assert np.abs(plan.sum(axis=0) - target.weights).sum() <= tolerance
