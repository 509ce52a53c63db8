"""Working units: everything is trained on numbers of order one, and reported in the user's units.

    x_w = (x − centre)/spread,   y_w = y/u_y,   z_w = z/u_z,   Ψ_w = Ψ/L,

with centres and spreads that bad rows cannot move (``spreads``), u_y the outcomes' spreads, u_z the
loss's natural decision unit, and L its natural unit, mostly the mean loss of the best constant
decision, on rows whose outcomes look like no typos. All of it is computed in float64 before
anything is cast, so a change of units in the data gives the same working numbers and hence the same
policy.

A feature that never or hardly varies carries no information; it gets factor 0 and is ignored, at
prediction too. An outcome that never varies has its own size as its unit, and a spread of 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.data.nominal import NominalDistribution
from hedgerow.data.spreads import Spreads
from hedgerow.programs import refuse_in_forked_process

if TYPE_CHECKING:
    from hedgerow.losses import Loss

LEAST_CONTEXT, LEAST_OUTCOME = 1e-12, 1e-6
"""Deviations below these shares of a column's size are none: rounding, or lost in float32."""
FARTHEST = 1e6
"""Working units at which training, in float32, takes values to end; a gate is open or closed, and
the loss of a demand has its last slope, long before."""
FARTHEST_DECIDED = 1e30
"""Working units at which decisions are made as if nothing were farther away."""


@dataclass(frozen=True)
class Units:
    """Centres and units of one training set, in the user's units."""

    x_centre: np.ndarray
    x_factor: np.ndarray
    y_unit: np.ndarray
    y_spread: np.ndarray
    z_unit: np.ndarray
    loss_unit: float
    constant: np.ndarray
    constant_loss: float

    @classmethod
    def measure(cls, nominal: NominalDistribution, loss: Loss) -> Units:
        """Read units off the nominal distribution; ``loss`` fixes those of decisions and costs.

        A loss whose parameters are read from contexts is that of the nominal's contexts.
        """
        refuse_in_forked_process()  # a loss may ask JAX
        outcomes = nominal.outcomes
        mass = np.bincount(nominal.entry_outcome, nominal.joint_mass(), minlength=len(outcomes))
        x = Spreads.measure(nominal.contexts, nominal.context_mass)
        y = Spreads.measure(outcomes, mass)
        x_factor = np.where(x.varies(LEAST_CONTEXT), 1 / np.maximum(x.deviation, 1e-300), 0.0)
        y_spread = np.where(y.varies(LEAST_OUTCOME), y.deviation, 0.0)
        y_unit = np.where(y_spread > 0, y_spread, np.abs(y.centre))
        y_unit = np.where(y_unit > 0, y_unit, 1.0)
        if loss.varies():  # an outcome costs what it does in its context
            outcomes, mass = outcomes[nominal.entry_outcome], nominal.joint_mass()
            loss = loss.rows(nominal.entry_context)
        constant = loss.best_constant(outcomes, mass)
        constant_loss = float(mass @ loss(constant[None, :], outcomes))
        typical = np.asarray(y.within(outcomes).all(axis=1))
        if typical.all() or typical.mean() < 0.5:  # of many outcomes each may have odd rows
            usual, seen, share = constant, outcomes, mass
        else:
            seen, share = outcomes[typical], mass[typical] / mass[typical].sum()
            loss = loss.rows(typical)
            usual = loss.best_constant(seen, share)
        z_unit = loss.decision_unit(y_unit, usual)
        loss_unit = loss.natural_unit(usual, seen, share)
        if not loss_unit > 0 or not np.any(y_spread > 0):
            # outcomes never vary, or hardly: what is left may be rounding, so the cost of being
            # one unit off is the measure
            off = abs(float(share @ loss((usual + z_unit)[None, :], seen)))
            loss_unit = loss_unit if loss_unit > LEAST_OUTCOME * off else off or 1.0
        return cls(
            x_centre=x.centre,
            x_factor=x_factor,
            y_unit=y_unit,
            y_spread=y_spread,
            z_unit=z_unit,
            loss_unit=loss_unit,
            constant=constant,
            constant_loss=constant_loss,
        )

    @property
    def x_spread(self) -> np.ndarray:
        """Spreads of the features; 0 for constant ones."""
        return np.where(self.x_factor > 0, 1 / np.where(self.x_factor > 0, self.x_factor, 1.0), 0.0)

    def contexts(self, X: np.ndarray, dtype: type[np.floating] = np.float32) -> np.ndarray:
        """Standardise contexts (rows, features)."""
        moved = X - self.x_centre
        moved *= self.x_factor
        return _cast(moved, dtype)

    def outcomes(self, Y: np.ndarray, dtype: type[np.floating] = np.float32) -> np.ndarray:
        """Outcomes in working units."""
        return _cast(Y / self.y_unit, dtype)


def _cast(values: np.ndarray, dtype: type[np.floating]) -> np.ndarray:
    """As far as numbers reach: float32, which is trained in, with room to square."""
    end = FARTHEST if dtype == np.float32 else FARTHEST_DECIDED
    if values.size and -end <= values.min() and values.max() <= end:
        return values.astype(dtype)
    return np.clip(values, -end, end).astype(dtype)
