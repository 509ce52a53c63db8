"""What a nominal says of one context: its outcomes there, and nothing else.

    P̂( · | x) = Σ_i p̂_i(x)·δ(ŷ_i(x))

The context is laid among the rows with a weight that changes nothing, the nominal is built as
always, and what it has made of that context is taken out: the predicted mean and residuals of
``ResidualNominal``, the outcomes of its neighbours, of its cell, or of rows equal to it. The
made-up outcome that the context came with is left out; a nominal that has no other says nothing of
new contexts, and is refused with that sentence.
"""

from __future__ import annotations

import numpy as np

from hedgerow.data.nominal import Nominal, NominalDistribution
from hedgerow.data.rows import standardised

WEIGHTLESS = 1e-9
"""Of the mean weight of a row."""
ODD = 0.6180339887498949
"""Where between two outcomes the made-up one lies: where none of the others does."""


def conditional(
    nominal: Nominal,
    X: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray,
    context: np.ndarray,
) -> NominalDistribution:
    """Return the nominal distribution of one context (features,), in compressed rows."""
    made_up = _made_up(Y)
    found = nominal.build(
        np.vstack([X, context]),
        np.vstack([Y, made_up]),
        np.append(weights, WEIGHTLESS * weights.mean()),
    )
    place = _place(found.contexts, context)
    entries = found.start[place] + np.arange(found.count[place])
    outcomes = found.outcomes[found.entry_outcome[entries]]
    real = ~np.all(outcomes == made_up, axis=1) | (np.ptp(Y, axis=0) == 0).all()
    if not real.any():
        raise ValueError(
            f"{type(nominal).__name__} knows no outcomes of a context that history does not hold: "
            "take nominal=ResidualNominal() (a predicted mean and residuals) or NeighbourNominal()."
        )
    mass = found.entry_mass[entries][real]
    kept = int(real.sum())
    return NominalDistribution(
        contexts=context[None, :],
        context_mass=np.ones(1),
        outcomes=outcomes[real],
        start=np.zeros(1, dtype=np.int64),
        count=np.full(1, kept),
        entry_outcome=np.arange(kept),
        entry_mass=mass / mass.sum(),
    )


def _place(contexts: np.ndarray, context: np.ndarray) -> int:
    """Which context of the distribution it has become: itself, or the nearest (a cell's centre)."""
    equal = np.flatnonzero(np.all(contexts == context, axis=1))
    if len(equal):
        return int(equal[0])
    places = standardised(np.vstack([contexts, context]))
    return int(np.argmin(np.sum((places[:-1] - places[-1]) ** 2, axis=1)))


def _made_up(Y: np.ndarray) -> np.ndarray:
    """An outcome among the others that none of them equals."""
    middle = np.sort(Y, axis=0)[(len(Y) - 1) // 2]
    above = np.min(np.where(middle < Y, Y, np.inf), axis=0)
    below = np.max(np.where(middle > Y, Y, -np.inf), axis=0)
    other = np.where(np.isfinite(above), above, np.where(np.isfinite(below), below, middle))
    return middle + ODD * (other - middle)
