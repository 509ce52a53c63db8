"""Squared error, as a loss: what a mean is learned by.

    Ψ(z, y) = Σ_j  H( (z_j − y_j)/u_j ),      H(e) = e²/2 up to δ, then δ·(|e| − δ/2)

in the outcomes' own spreads u, so that each outcome counts alike, whatever it is measured in.
Huber's H (1964) is a square for all that is usual; a demand with three zeros too many pulls no
harder than one δ spreads away.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.data.spreads import Spreads
from hedgerow.decisions import DecisionSet, Free
from hedgerow.losses import Loss
from hedgerow.losses.base import namespace

FARTHEST_SQUARED = 3.0
"""δ, in spreads of the outcome."""


class SquaredError(Loss):
    """Squares in working units; asked of nothing but training."""

    def __call__(self, z: Any, y: Any) -> Any:
        """Squares of what is usual, summed over outcomes."""
        xp = namespace(z, y)
        size = xp.abs(xp.asarray(z) - xp.asarray(y))
        near = xp.minimum(size, FARTHEST_SQUARED)
        return xp.sum(near * (size - near / 2), axis=-1)

    def decisions_for(self, n_outcomes: int) -> DecisionSet:
        """One number per outcome, any."""
        return Free(n_outcomes)

    def best_constant(self, outcomes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The mean of what looks like no typo."""
        return Spreads.measure(outcomes, weights / weights.sum()).centre

    def decision_unit(self, outcome_unit: np.ndarray, constant: np.ndarray) -> np.ndarray:
        """That of the outcomes."""
        return outcome_unit

    def natural_unit(self, constant: np.ndarray, outcomes: np.ndarray, mass: np.ndarray) -> float:
        """It has none."""
        return 1.0

    def in_units(
        self, outcome_unit: np.ndarray, decision_unit: np.ndarray, loss_unit: float
    ) -> Loss:
        """The same in every unit."""
        return self
