"""Upper bounds on sup_ξ { h(f(x̂ + ξ)) − λ‖ξ‖_p^p } for convex h: Wasserstein's models.

    p = 2:  h(f(x̂ + ξ)) ≤ h̃(f(x̂) + ∂f·ξ) + ℓ·(½ξᵀMξ + L‖ξ‖),   and at given u = ∂f·ξ

            sup { ½ℓξᵀMξ − λ‖ξ‖² } = −u²/q,   q = ∂fᵀ(λI − ½ℓM)⁻¹∂f,

so that a supremum over one number is left, on every chord of h̃ a parabola. Along the direction in
which M is largest, space is cut into slabs with a tangent in each (``smearing``).

    p = 1:  |f(x̂ + ξ) − f(x̂)| ≤ Σ_j G_j|ξ_j|: no move pays where ℓ·G_j ≤ λ for every j.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float

from hedgerow.certify.bounds.smearing import CELLS, Around

SLABS = 128
COARSER = 2
"""Every so many entries of the table are looked at."""


def climbed(around: Around, penalty: float, directions: int) -> Float[np.ndarray, " groups"]:
    """The bound for squared costs, with slabs along none or one direction; inf: nothing proved."""
    sizes, axes = np.linalg.eigh(around.curvature)
    sizes, axes = np.maximum(sizes[::-1], 0.0), axes[:, ::-1]
    sliced, rest = slice(0, directions), slice(directions, None)
    shift, sizes = _with_steepness(around, sizes, penalty)
    left = penalty - around.steepest * sizes[rest] / 2
    groups = len(around.home)
    if np.any(left <= 1e-6 * penalty):
        return np.full(groups, np.inf)
    middles, half = np.zeros(1), 0.0
    if directions:
        rises = np.ptp(around.gains.values, axis=1).max()
        ends = np.linspace(-1, 1, SLABS + 1) * math.sqrt(rises / penalty)
        middles, half = (ends[:-1] + ends[1:]) / 2, (ends[1] - ends[0]) / 2
    moves = middles[:, None] * (axes[:, sliced].sum(axis=1) * around.scale)
    z, slopes = around.tangents(around.homes[:, None, :] + moves)
    along = slopes @ axes
    q = (along[..., rest] ** 2 / left).sum(axis=-1)
    bent = around.steepest * sizes[sliced].sum() * half**2 / 2
    paid = penalty * np.maximum(np.abs(middles) - half, 0.0) ** 2
    found = np.full(groups, -np.inf)
    for side in (-1.0, 1.0) if directions else (0.0,):
        ends = z + side * half * along[..., sliced].sum(axis=-1)
        each = _over_chords(around, ends, q) + bent - paid
        found = np.maximum(found, each.max(axis=1))
    return found + around.steepest * shift


def stayed(around: Around, penalty: float) -> Float[np.ndarray, " groups"]:
    """The bound for plain distances: the gain at home, where no move pays."""
    slopes = around.steepest * around.lipschitz * around.expansion.steepest[0] * around.scale
    if np.any(slopes > penalty):
        return np.full(len(around.home), np.inf)
    return around.gains.at(around.decisions()[around.home][:, None])[:, 0]


def climbed_through_map(around: Around, penalty: float) -> Float[np.ndarray, " groups"]:
    """The bound for squared costs and numbers that a map makes decisions of.

    Between two moves of the number the gain is largest at one of them, and the cost least at the
    nearer; farther than the last, a gain rises by less than a move costs.
    """
    image: Any = around.expansion.image
    growth = around.steepest * around.lipschitz
    inflated = replace(around, steepest=growth)
    shift, sizes = _with_steepness(
        inflated, np.maximum(np.linalg.eigvalsh(around.curvature), 0.0), penalty
    )
    left = float(np.min(penalty - growth * sizes / 2))
    if left <= 1e-6 * penalty:
        return np.full(len(around.home), np.inf)
    z, slopes = around.tangents(around.homes)
    q = np.sum(slopes**2, axis=1)[:, None] / left
    moves = np.linspace(-1, 1, CELLS + 1) * np.maximum(growth * q, 1e-9)
    decisions = image(*(2 * [(z[:, None] + moves).reshape(-1, 1)]))[0].reshape(moves.shape)
    gained = around.gains.at(decisions[around.home])
    paid = np.minimum(moves[:, :-1] ** 2, moves[:, 1:] ** 2) / np.maximum(q, 1e-300)
    best = (np.maximum(gained[:, :-1], gained[:, 1:]) - paid[around.home]).max(axis=1)
    return best + growth * shift


def _with_steepness(around: Around, sizes: np.ndarray, penalty: float) -> tuple[float, np.ndarray]:
    """What L‖ξ‖ ≤ L(t/2 + ‖ξ‖²/2t) adds: at the t that takes half of the penalty."""
    if around.steepness == 0:
        return 0.0, sizes
    t = around.steepest * around.steepness / penalty
    return around.steepness * t / 2, sizes + around.steepness / t


def _over_chords(
    around: Around, z: Float[np.ndarray, "c s"], q: Float[np.ndarray, "c s"]
) -> Float[np.ndarray, "groups s"]:
    """Return sup_u { h̃(z + u) − u²/q } of every group: the best of all chords and both ends."""
    gains, home = around.gains.coarser(COARSER), around.home
    decisions = np.linspace(gains.low, gains.high, gains.values.shape[1])
    z, q = z[home], np.maximum(q[home], 1e-300)
    best = gains.at(z)
    steps = np.diff(gains.values, axis=1) / np.diff(decisions)
    outward = [
        (-np.inf, decisions[0], gains.values[:, 0], decisions[0], -gains.outward[0]),
        (decisions[-1], np.inf, gains.values[:, -1], decisions[-1], gains.outward[1]),
    ]
    chords = [
        (low, high, gains.values[:, i], low, steps[:, i])
        for i, (low, high) in enumerate(pairwise(decisions))
    ]
    for low, high, value, place, slope in [*chords, *outward]:
        peak = np.clip(z + slope[:, None] * q / 2, low, high)
        height = value[:, None] + slope[:, None] * (peak - place) - (peak - z) ** 2 / q
        best = np.maximum(best, height)
    return best
