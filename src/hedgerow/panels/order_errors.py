"""How outcomes scattered around decisions, series by series, for orders that can be placed.

    e = (y − z) / scale of the row,     at SCENARIOS levels for each series

A series with fewer than ENOUGH rows has what all series together have, and so has a new one, which
is the last entry. Errors are those of training, and a little smaller than those to come: they say
how steep costs are around a decision, not where the decision lies (``Lots.place``).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from hedgerow.lots import error_quantiles
from hedgerow.panels.described import SCENARIOS

ENOUGH = 50


def scatter_of(
    decisions: Float[np.ndarray, " rows"],
    outcomes: Float[np.ndarray, " rows"],
    scale: Float[np.ndarray, " rows"],
    places: Int[np.ndarray, " rows"],
    series: int,
) -> Float[np.ndarray, "series+1 scenarios"]:
    """Return the errors of every series in units of its scale, and last those of all."""
    used = scale > 0
    made, seen, owner = decisions[used] / scale[used], outcomes[used] / scale[used], places[used]
    if not used.any():  # nothing was ever sold, nor decided
        return np.zeros((series + 1, SCENARIOS))
    errors = np.tile(error_quantiles(made, seen, SCENARIOS), (series + 1, 1))
    order = np.argsort(owner, kind="stable")
    cuts = np.cumsum(np.bincount(owner, minlength=series))[:-1]
    for place, rows in enumerate(np.split(order, cuts)):
        if len(rows) >= ENOUGH:
            errors[place] = error_quantiles(made[rows], seen[rows], SCENARIOS)
    return errors
