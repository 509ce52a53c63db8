"""How much a rule changes when its gates become hard (paper: SRF, τ → 0).

Decisions z of the rule and z' of the hard one are compared row by row, and what they cost, on the
rows that somebody names:

    apart = Σ_k |z'_k − z_k| / Σ_k |z_k|,      fidelity = share of rows with apart ≤ tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hedgerow.describe.numbers import percent


@dataclass(frozen=True)
class Hardening:
    """What a hard policy keeps of the soft one that it came from.

    Attributes
    ----------
    fidelity : float
        Share of the rows on which both decide the same, within the tolerance.
    tolerance : float
        Σ_k |hard − soft| as a share of Σ_k |soft|.
    mean_difference : float
        Mean over rows of that share.
    rows : int
        Rows that this was found on.
    """

    fidelity: float
    tolerance: float
    mean_difference: float
    rows: int

    @classmethod
    def between(
        cls,
        hard: Float[np.ndarray, "rows k"],
        soft: Float[np.ndarray, "rows k"],
        tolerance: float,
        mass: Float[np.ndarray, " rows"],
    ) -> Hardening:
        """Compare decisions, each row counting as much as its mass."""
        apart = difference(hard, soft)
        share = mass / mass.sum()
        fidelity, mean = float(share @ (apart <= tolerance)), float(share @ apart)
        return cls(min(fidelity, 1.0), float(tolerance), mean, len(apart))

    def __str__(self) -> str:
        """Say it in one sentence."""
        return (
            f"With hard gates it decides as the soft policy it came from, within "
            f"{percent(self.tolerance)}, on {percent(self.fidelity)} of {self.rows:,} rows; on "
            f"average it is {percent(self.mean_difference)} off."
        )


def difference(
    other: Float[np.ndarray, "rows k"], policy: Float[np.ndarray, "rows k"]
) -> Float[np.ndarray, " rows"]:
    """Σ_k |other − policy| of each row, as a share of Σ_k |policy| (of its mean, if less)."""
    size = np.abs(policy).sum(axis=1)
    floor = 1e-6 * size.mean() or 1.0
    return np.abs(other - policy).sum(axis=1) / np.maximum(size, floor)
