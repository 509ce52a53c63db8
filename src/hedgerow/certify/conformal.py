"""Bounds on the next block from blocks that were seen: by rank, by bootstrap, by a lemma.

With B blocks seen and the next one exchangeable with them, its mean excess E is one of B + 1 that
may come in any order, so

    P( E ≤ E_(k) ) ≥ level    for  k = ⌈(B + 1)·level⌉,    if k ≤ B        (split conformal)

and, given the blocks, except for a share 1 − confidence of all histories,

    P( E ≤ E_(k) | blocks ) ≥ level    for the least k with  P( Bin(B, level) < k ) ≥ confidence.

The first is conformal risk control as well, whose loss is here 0 or 1 (Vovk, Gammerman & Shafer
2005; Angelopoulos, Bates, Fisch, Lei & Schuster 2024); the second is learn-then-test with exact
binomial tails (Angelopoulos, Bates, Candès, Jordan & Lei 2025), or a tolerance limit (Wilks 1941).

``bootstrap`` and ``concentration`` treat rows instead of blocks and hold for large samples only.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from scipy.stats import binom

DRAWS = 4000
SLACK = 1.0
"""κ of the lemma: any κ > 0 will do for deviations that are small enough."""
ROUNDING = 1e-9


def rank(blocks: int, level: float, confidence: float | None = None) -> int:
    """Return which of so many ordered blocks bounds the next one; ``blocks`` + 1: none does."""
    if confidence is None:
        return max(1, min(math.ceil((blocks + 1) * level - ROUNDING), blocks + 1))
    ranks = np.arange(1, blocks + 1)
    enough = np.flatnonzero(binom.cdf(ranks - 1, blocks, level) >= confidence)
    return int(ranks[enough[0]]) if len(enough) else blocks + 1


def needed(level: float, confidence: float | None = None) -> int:
    """Return how many blocks a level needs at least: the largest of them then bounds the next."""
    if confidence is None:
        return math.ceil(level / (1 - level) - ROUNDING)
    return math.ceil(math.log(1 - confidence) / math.log(level) - ROUNDING)


def bootstrap(
    excess: Float[np.ndarray, " rows"], level: float, horizon: int, seed: int, draws: int = DRAWS
) -> float:
    """Return the quantile of the next rows' mean excess, by resampling runs of rows.

    Mean of ``horizon`` rows less mean of as many as were seen, both redrawn, around the mean that
    was seen: what the future scatters by, and how uncertain the past's own mean is. Runs of n^(1/3)
    rows keep most of what neighbouring rows have in common (Künsch 1989).
    """
    rows = len(excess)
    run = max(1, round(rows ** (1 / 3)))
    rng = np.random.default_rng(seed)
    around = np.concatenate([excess, excess[: run - 1]])  # circular: every row counts alike

    def means(length: int) -> np.ndarray:
        starts = rng.integers(rows, size=(draws, math.ceil(length / run)))
        places = (starts[..., None] + np.arange(run)).reshape(draws, -1)[:, :length]
        return around[places].mean(axis=1)

    return float(excess.mean() + np.quantile(means(horizon) - means(rows), level))


def concentration(excess: Float[np.ndarray, " rows"], level: float, horizon: int) -> float:
    """Return a bound on the next rows' mean excess by the paper's inequality for means.

    P( |mean of m − mean| ≥ δ ) ≤ 2·exp( −m·δ²/((2 + κ)·σ²) )    (paper: lem-concentration)

    for the rows seen and for the next ones, each failing with half of 1 − level. It holds for δ
    small enough, which nobody can check; it is here for comparison.
    """
    factor = (2 + SLACK) * float(excess.var(ddof=1)) * math.log(4 / (1 - level))
    return float(excess.mean() + math.sqrt(factor / len(excess)) + math.sqrt(factor / horizon))
