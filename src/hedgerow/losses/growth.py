"""How fast a loss outgrows the cost of moving outcomes, by probing (paper: condit-1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from hedgerow.kernels import AbstractKernel


def probed_penalty(
    loss: Callable[[Any, Any], Any],
    cost: AbstractKernel,
    constant: np.ndarray,
    outcomes: np.ndarray,
) -> float:
    """Penalty above which Ψ less the cost of moving outcomes is bounded; inf if none is.

    Ratios of growth are taken along rays from the median outcome, far beyond the outcomes seen.
    """
    middle, scale = np.median(outcomes, axis=0), np.asarray(cost.scale)
    directions = _open_directions(cost)
    if not len(directions):
        return 0.0
    radii = np.array([1e3, 1e6]) * max(1.0, np.max(np.abs(outcomes - middle) / scale))
    moved = middle + radii[:, None, None] * directions * scale
    with jax.enable_x64(True):
        growth = np.asarray(loss(constant, moved)) - np.asarray(loss(constant, middle))
    steps = np.asarray(cost.ray_cost(directions * scale))
    near, far = growth / (radii[:, None] ** cost.order * steps)
    if not np.all(np.isfinite([near, far])):
        return np.inf
    rising = (far > 0) & (far > 1.5 * np.maximum(near, 0))
    if np.any(rising):
        return np.inf
    return float(np.max(np.where(far < near / 10, 0.0, np.maximum(far, 0.0))))


def _open_directions(cost: AbstractKernel) -> np.ndarray:
    """Coordinate directions and diagonals along which the outcome support is unbounded."""
    falling, rising = (np.asarray(scale) > 0 for scale in cost.open_scales)
    dimension = len(falling)
    axes = np.eye(dimension)
    ones = np.ones((1, dimension))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (2 * dimension, dimension))
    directions = np.concatenate([axes, -axes, ones, -ones, signs])
    blocked = ((directions > 0) & ~rising) | ((directions < 0) & ~falling)
    return directions[~blocked.any(axis=1)]
