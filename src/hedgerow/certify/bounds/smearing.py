"""Upper bounds on log E exp h(f(x̂ + ξ)) under Gaussian or Laplace moves ξ, for convex h.

With f(x + u) within ½uᵀMu + L‖u‖ of its tangent (``rules.expansion``) and ℓ the largest slope of h,

    h(f(x̂ + ξ))  ≤  h̃(f(x̂) + ∂f·ξ) + ℓ·(½ξᵀMξ + L‖ξ‖).

- **Gaussian ξ ~ N(0, σ²I).** L‖ξ‖ ≤ L(t/2 + ‖ξ‖²/2t), and the square makes of the Gaussian another
  one: with M' = M + (L/t)I the expectation is det(I − ℓσ²M')^{-1/2}·E exp h̃(f(x̂) + u) with
  u ~ N(0, ∂fᵀ(I/σ² − ℓM')⁻¹∂f), an integral over one number whatever the number of features.
- **Slabs.** Along the directions in which M is largest, space is cut into slabs with a tangent in
  each: what is left of M is what the other directions have.
- **Chords.** E of a convex function over an interval is at most that of its chord, so a Gaussian
  may be replaced by atoms at the ends of panels (``atoms``): larger in convex order, and finite.
- **Laplace ξ of widths w_j.** |f(x̂ + ξ) − f(x̂)| ≤ Σ_j G_j|ξ_j| with the steepest slopes G, so
  log E exp ≤ h(f(x̂)) − Σ_j log(1 − ℓ·w_j·G_j).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr, logsumexp, ndtr

from hedgerow.certify.bounds.gains import Gains
from hedgerow.rules.expansion import Expansion

PANELS = 48
"""Panels that a Gaussian is replaced by."""
TAIL = 7.0
"""Standard deviations beyond its tilted bulk that they reach."""
COARSEST = 32
"""Slabs along one direction, at least."""
SMOOTH = 0.7
"""By how much a gain may change, to first order, from one end of a slab to the other."""
CELLS = 1024
"""Intervals of a single number."""
TINY = 1e-320


@dataclass(frozen=True)
class Around:
    """Some contexts, the rule around them, and what its decision brings each of their groups.

    ``homes`` are standardised; ``scale`` (d,) is that of the kernel, 0 where it is pinned. ``home``
    says which context each group of the table belongs to; ``steepest`` is ℓ.
    """

    expansion: Expansion
    homes: Float[np.ndarray, "c d"]
    scale: Float[np.ndarray, " d"]
    deviation: float
    home: np.ndarray
    gains: Gains
    steepest: float

    @property
    def curvature(self) -> Float[np.ndarray, "d d"]:
        """M in units of the scales."""
        return self.expansion.curvature[0] * self.scale[:, None] * self.scale

    @property
    def steepness(self) -> float:
        """L in units of the scales."""
        return float(self.expansion.steepness[0] * self.scale.max(initial=0.0))

    @property
    def lipschitz(self) -> float:
        """How much a decision moves with its number, at most."""
        steepest = self.expansion.image_steepest
        return 1.0 if steepest is None else float(steepest[0])

    def decisions(self) -> Float[np.ndarray, " c"]:
        """Those at home."""
        z, image = self.tangents(self.homes)[0][:, None], self.expansion.image
        return (z if image is None else image(z, z)[0])[:, 0]

    def tangents(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers, and slopes per unit of the scales, at contexts (…, d)."""
        values, slopes = self.expansion.at(at.reshape(-1, at.shape[-1]))
        shape = at.shape[:-1]
        return values[:, 0].reshape(shape), (slopes[:, 0] * self.scale).reshape(*shape, -1)


def atoms(log_growth: Float[np.ndarray, "..."]) -> tuple[np.ndarray, Float[np.ndarray, "... a"]]:
    """Places (a,) and log-weights that stand for a standard Gaussian beneath convex functions.

    ``log_growth`` says by how much the function's logarithm rises per deviation beyond the last
    atom, at most; what lies beyond counts with it.
    """
    most = float(np.max(log_growth, initial=0.0))
    places = np.linspace(-(TAIL + most), TAIL + most, PANELS + 1)
    weights = chord_weights(places)
    end = places[-1]
    beyond = log_growth**2 / 2 - log_growth * end + log_ndtr(log_growth - end)
    log_weights = np.broadcast_to(np.log(weights), (*log_growth.shape, len(places))).copy()
    for last in (0, -1):
        log_weights[..., last] = np.logaddexp(log_weights[..., last], beyond)
    return places, log_weights


def chord_weights(places: Float[np.ndarray, " a"]) -> Float[np.ndarray, " a"]:
    """Weights of the ends of panels, each panel's Gaussian mass shared so that its mean stays."""
    left, right = _shares(places)
    return np.append(left, 0.0) + np.append(0.0, right)


def _shares(places: Float[np.ndarray, " a"]) -> Float[np.ndarray, "2 panels"]:
    """What the left and the right end of each panel get."""
    left, right = places[:-1], places[1:]
    mass = _between(left, right)
    first = _density(left) - _density(right) - left * mass  # ∫ (u − left) φ(u) du
    share = np.clip(first / (right - left), 0.0, mass)
    return np.maximum([mass - share, share], TINY)


def smeared(around: Around, directions: int, most: int) -> Float[np.ndarray, " groups"]:
    """The Gaussian bound, with slabs along so many directions, at most so many along each.

    Infinite where it proves nothing.
    """
    sizes, axes = np.linalg.eigh(around.curvature)
    sizes, axes = np.maximum(sizes[::-1], 0.0), axes[:, ::-1]
    sliced, rest = slice(0, directions), slice(directions, None)
    shift, sizes = _with_steepness(around, sizes, rest)
    left = 1 - around.steepest * around.deviation**2 * sizes[rest]
    groups = len(around.gains.values)
    if np.any(left <= 1e-3):
        return np.full(groups, np.inf)
    constant = around.steepest * shift - np.log(left).sum() / 2
    points, weights, offsets = _slabs(around, axes[:, sliced], most)
    z, slopes = around.tangents(
        around.homes[:, None, :] + (points @ axes[:, sliced].T) * around.scale
    )
    along = slopes @ axes
    spread = np.sqrt((along[..., rest] ** 2 / left).sum(axis=-1)) * around.deviation
    ends = z[..., None] + along[..., sliced] @ offsets.T
    bent = around.steepest * (offsets**2 * sizes[sliced]).sum(axis=1) / 2
    inner = _over_atoms(around, ends, spread) + bent
    inside = log_sum(inner + weights, axis=(1, 2)) + constant
    if not directions:
        return inside
    reach = np.abs(points).max(axis=0) / around.deviation
    beyond = math.log(2) + float(log_sum(log_ndtr(-reach)))
    ceiling = around.gains.values[:, [0, -1]].max(axis=1)
    return np.logaddexp(inside, ceiling + beyond)


def _with_steepness(around: Around, sizes: np.ndarray, rest: slice) -> tuple[float, np.ndarray]:
    """What L‖ξ‖ adds: a constant and curvature, at the t that makes their sum least."""
    steepness, deviation = around.steepness, around.deviation
    if steepness == 0:
        return 0.0, sizes
    best = (math.inf, 0.0, sizes)
    for t in np.geomspace(1e-2, 1e3, 61) * deviation:
        more = sizes + steepness / t
        left = 1 - around.steepest * deviation**2 * more[rest]
        if np.all(left > 0):
            bound = around.steepest * steepness * t / 2 - np.log(left).sum() / 2
            best = min(best, (bound, steepness * t / 2, more), key=lambda each: each[0])
    return best[1:] if math.isfinite(best[0]) else (0.0, np.full_like(sizes, np.inf))


def _slabs(
    around: Around, axes: Float[np.ndarray, "d r"], most: int
) -> tuple[np.ndarray, Float[np.ndarray, "1 slabs corners"], Float[np.ndarray, "corners r"]]:
    """Middles of slabs (slabs, r), log-weights of their corners, and where these lie from there."""
    directions = axes.shape[1]
    if not directions:
        return np.zeros((1, 0)), np.zeros((1, 1, 1)), np.zeros((1, 0))
    rises = np.ptp(around.gains.values, axis=1).max()
    reach = math.sqrt(2 * (rises + 30.0))
    slope = np.abs(around.tangents(around.homes)[1] @ axes).max()
    wanted = 2 * reach * around.deviation * around.steepest * slope / SMOOTH
    count = int(np.clip(wanted, COARSEST, max(most, COARSEST)))
    places = np.linspace(-reach, reach, count + 1)
    shares = np.log(_shares(places))
    half = (places[1] - places[0]) / 2
    cells = np.array(list(itertools.product(range(count), repeat=directions)))
    corners = np.array(list(itertools.product((0, 1), repeat=directions)))
    weights = shares[corners[None, :, :], cells[:, None, :]].sum(axis=-1)
    middles = (places[cells] + half) * around.deviation
    return middles, weights[None], (2 * corners - 1) * half * around.deviation


def _over_atoms(
    around: Around, z: Float[np.ndarray, "c s e"], spread: Float[np.ndarray, "c s"]
) -> Float[np.ndarray, "groups s e"]:
    """Log E exp h̃(z + spread·u) for every group, u a standard Gaussian."""
    places, log_weights = atoms(around.steepest * spread)
    home = around.home
    at = z[home][..., None] + spread[home][:, :, None, None] * places
    return log_sum(around.gains.at(at) + log_weights[home][:, :, None, :], axis=-1)


def mapped(around: Around) -> Float[np.ndarray, " groups"]:
    """The Gaussian bound for numbers u that a map makes decisions of: h(map(u)) has no chords.

    It is largest at an end of every interval, since h is convex and the map increasing.
    """
    image: Any = around.expansion.image
    sizes = np.maximum(np.linalg.eigvalsh(around.curvature), 0.0)
    growth = around.steepest * around.lipschitz
    inflated = replace(around, steepest=growth)
    shift, sizes = _with_steepness(inflated, sizes, slice(None))
    left = 1 - growth * around.deviation**2 * sizes
    if np.any(left <= 1e-3):
        return np.full(len(around.home), np.inf)
    constant = growth * shift - np.log(left).sum() / 2
    z, slopes = around.tangents(around.homes)
    spread = np.linalg.norm(slopes, axis=1) * around.deviation / math.sqrt(left.min())
    reach = TAIL + growth * spread.max(initial=0.0)
    places = np.linspace(-reach, reach, CELLS + 1)
    decisions = image(*(2 * [(z[:, None] + spread[:, None] * places).reshape(-1, 1)]))[0]
    at = around.gains.at(decisions.reshape(len(z), -1)[around.home])
    worst = np.maximum(at[:, :-1], at[:, 1:])
    inside = log_sum(worst + np.log(np.maximum(_between(places[:-1], places[1:]), TINY)), axis=1)
    steep = growth * spread[around.home]
    beyond = steep**2 / 2 - steep * reach + log_ndtr(steep - reach)
    outside = np.logaddexp(at[:, 0], at[:, -1]) + beyond
    return np.logaddexp(inside, outside) + constant


def stretched(around: Around, width: float) -> Float[np.ndarray, " groups"]:
    """The Laplace bound, for kernels of this width in units of the scales."""
    steep = around.steepest * around.lipschitz * width
    steep = steep * around.expansion.steepest[0] * around.scale
    if np.any(steep >= 1):
        return np.full(len(around.home), np.inf)
    at_home = around.gains.at(around.decisions()[around.home][:, None])[:, 0]
    return at_home - np.log1p(-steep).sum()


def _density(u: np.ndarray) -> np.ndarray:
    return np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)


def _between(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Gaussian mass of intervals, without cancellation on either side."""
    return np.where(left > 0, ndtr(-left) - ndtr(-right), ndtr(right) - ndtr(left))


def log_sum(exponents: np.ndarray, axis: int | tuple[int, ...] | None = None) -> np.ndarray:
    """Log Σ exp along axes."""
    return np.asarray(logsumexp(exponents, axis=axis))
