"""Working units: everything is trained on numbers of order one, and reported in the user's units.

    x_w = (x − mean)/std,   y_w = y/u_y,   z_w = z/u_z,   Ψ_w = Ψ/L,

with u_y the outcomes' standard deviations, u_z the loss's natural decision unit, and L its natural
unit, mostly the mean loss of the best constant decision. All of it is computed in float64 before
anything is cast, so a change of units in the data gives the same working numbers and hence the same
policy. A constant feature carries no information; it gets factor 0 and is ignored, at prediction
too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.data.nominal import NominalDistribution

if TYPE_CHECKING:
    from hedgerow.losses import Loss


@dataclass(frozen=True)
class Units:
    """Centres and units of one training set, in the user's units."""

    x_centre: np.ndarray
    x_factor: np.ndarray
    y_unit: np.ndarray
    z_unit: np.ndarray
    loss_unit: float
    constant: np.ndarray
    constant_loss: float

    @classmethod
    def measure(cls, nominal: NominalDistribution, loss: Loss) -> Units:
        """Read units off the nominal distribution; ``loss`` fixes those of decisions and costs."""
        mass = np.bincount(
            nominal.entry_outcome, nominal.joint_mass(), minlength=len(nominal.outcomes)
        )
        x_centre, x_spread = _moments(nominal.contexts, nominal.context_mass)
        y_centre, y_spread = _moments(nominal.outcomes, mass)
        y_unit = np.where(y_spread > 0, y_spread, np.abs(y_centre))
        y_unit = np.where(y_unit > 0, y_unit, 1.0)
        constant = loss.best_constant(nominal.outcomes, mass)
        z_unit = loss.decision_unit(y_unit, constant)
        constant_loss = float(mass @ loss(constant[None, :], nominal.outcomes))
        loss_unit = loss.natural_unit(constant, nominal.outcomes, mass)
        if not loss_unit > 0:  # outcomes never vary: measure the cost of being one unit off
            off = float(mass @ loss((constant + z_unit)[None, :], nominal.outcomes))
            loss_unit = abs(off) or 1.0
        return cls(
            x_centre=x_centre,
            x_factor=np.where(x_spread > 0, 1 / np.where(x_spread > 0, x_spread, 1.0), 0.0),
            y_unit=y_unit,
            z_unit=z_unit,
            loss_unit=loss_unit,
            constant=constant,
            constant_loss=constant_loss,
        )

    @property
    def x_spread(self) -> np.ndarray:
        """Standard deviations of the features; 0 for constant ones."""
        return np.where(self.x_factor > 0, 1 / np.where(self.x_factor > 0, self.x_factor, 1.0), 0.0)

    def contexts(self, X: np.ndarray, dtype: type[np.floating] = np.float32) -> np.ndarray:
        """Standardise contexts (rows, features)."""
        return ((X - self.x_centre) * self.x_factor).astype(dtype)

    def outcomes(self, Y: np.ndarray, dtype: type[np.floating] = np.float32) -> np.ndarray:
        """Outcomes in working units."""
        return (Y / self.y_unit).astype(dtype)


def _moments(values: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation per column; exactly 0 for a constant column."""
    mean = mass @ values
    spread = np.sqrt(mass @ (values - mean) ** 2)
    constant = values.max(axis=0) == values.min(axis=0)
    return mean, np.where(constant, 0.0, spread)
