"""From decisions to orders that can be placed, by the errors that decisions have had before.

    e = y − z(x)   under the nominal distribution, at SCENARIOS levels

``Lots.place`` puts these errors around each decision and chooses the order in lots with the least
expected cost. Which costs those are, the loss says (``Loss.unit_costs``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from hedgerow.data import NominalDistribution
from hedgerow.losses import Loss
from hedgerow.lots import Lots, PlacedOrders, error_quantiles

SCENARIOS = 99


def errors_of(
    loss: Loss, nominal: NominalDistribution, decisions: Float[np.ndarray, "contexts k"]
) -> Float[np.ndarray, " scenarios"] | None:
    """Return what outcomes exceed decisions at each context by; None of losses without lots."""
    if loss.unit_costs() is None or nominal.outcomes.shape[1] != 1:
        return None
    made = decisions[nominal.entry_context, 0]
    seen = nominal.outcomes[nominal.entry_outcome, 0]
    return error_quantiles(made, seen, SCENARIOS, weights=nominal.joint_mass())


def place(
    loss: Loss,
    decisions: Float[np.ndarray, "rows k"],
    errors: Float[np.ndarray, "*rows scenarios"] | None,
    lots: Lots,
    on_hand: Any = None,
    mode: str = "carry-over",
) -> PlacedOrders:
    """Turn decisions into orders; ``loss`` is that of these rows, errors those seen before."""
    costs = loss.unit_costs()
    if costs is None or errors is None or decisions.shape[1] != 1:
        raise ValueError(
            "Orders are placed in lots by what a unit left over and a unit missing cost, for one "
            f"product: {type(loss).__name__} of {decisions.shape[1]} decision(s) does not say. A "
            "loss of your own offers unit_costs()."
        )
    holding, stockout = (np.broadcast_to(np.ravel(cost), len(decisions)) for cost in costs)
    return lots.place(decisions, errors, holding, stockout, on_hand=on_hand, mode=mode)
