"""Orders that can be placed: ``hedgerow decide --lot 12 --on-hand stock``.

Limits are numbers or columns of the table. Wherever one of them is given, orders are placed, in
whole units if no lot was named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from hedgerow.cli.asking_options import DecideRequest
from hedgerow.cli.options import is_number
from hedgerow.cli.screen import say
from hedgerow.data.columns import numeric_column
from hedgerow.describe.numbers import number, percent
from hedgerow.lots import Lots, PlacedOrders

Place = Callable[..., PlacedOrders]
"""What places orders in lots, given stock and mode."""


def ordered(request: DecideRequest, table: pd.DataFrame, place: Place) -> dict[str, np.ndarray]:
    """Return the column of orders, if they were asked for, and say what rounding costs."""
    if not request.wants_orders:
        return {}
    lots = _lots(request, table)
    on_hand = None if request.on_hand is None else numeric_column(table, request.on_hand)
    mode = "perishable" if request.perishable else "carry-over"
    placed = place(lots, on_hand=on_hand, mode=mode)
    rounding, expected = placed.mean_rounding_cost, float(np.mean(placed.expected_cost))
    share = f" ({percent(rounding / expected)} of it)" if expected > 0 else ""
    say(
        f"Orders cost {number(expected)} a row in expectation, {number(rounding, 3)} of which "
        f"because only these can be placed{share}.",
        stderr=True,
    )
    return {"order": placed.orders}


def _lots(request: DecideRequest, table: pd.DataFrame) -> Lots:
    """Which orders can be placed; says which row makes no sense, the first being 1."""
    size = _limit(table, "lot", request.lot or "1", lambda values: values > 0, "above 0")
    least = _limit(
        table, "least-order", request.least_order or "0", lambda values: values >= 0, "at least 0"
    )
    most = _limit(table, "most-order", request.most_order, lambda values: values >= 0, "at least 0")
    if most is not None:
        crossed = np.broadcast_to(least > most, len(table))
        if np.any(crossed):
            row = int(np.argmax(crossed))
            low, high = (np.broadcast_to(each, len(table))[row] for each in (least, most))
            raise ValueError(
                f"--least-order is {number(low)} and --most-order is {number(high)} in row "
                f"{row + 1}: nothing could be ordered."
            )
    return Lots(size, least, most)


def _limit(
    table: pd.DataFrame,
    name: str,
    given: str | None,
    fits: Callable[[np.ndarray], Any],
    words: str,
) -> Any:
    """A number, or one for each row; None if there is none."""
    if given is None:
        return None
    values = np.asarray(float(given)) if is_number(given) else numeric_column(table, given)
    wrong = ~(np.atleast_1d(fits(values)) & np.isfinite(np.atleast_1d(values)))
    if np.any(wrong):
        row = int(np.argmax(wrong))
        where = "" if is_number(given) else f" in row {row + 1} of column {given!r}"
        raise ValueError(
            f"--{name} must be {words}; got {number(float(np.atleast_1d(values)[row]))}{where}."
        )
    return values[()]
