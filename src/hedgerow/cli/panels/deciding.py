"""``hedgerow decide`` with the policy of a panel."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hedgerow.cli.asking_options import DecideRequest
from hedgerow.cli.panels.tables import (
    check_costs,
    check_rows,
    history_of,
    new_series,
    quiet_series,
    refuse_without_history,
    told_of,
)
from hedgerow.cli.screen import say

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.panels import PanelPolicy


def decide(
    panel: PanelPolicy, table: pd.DataFrame, request: DecideRequest
) -> tuple[dict[str, Any], list[tuple[str, ...]] | None]:
    """Return the columns to write beside the rows that were asked for, and what is outside."""
    history = history_of(panel, request)
    check_rows(panel, table, request.new)
    check_costs(panel, table, request.new)
    refuse_without_history(panel, table, history, request.new)
    if history is not None:
        with told_of(request.new):
            panel.refuse_twice(table)
    with told_of(request.history or request.new, request.new):
        made = panel.features_for(table, history)
        columns: dict[str, Any] = {"decision": panel.predict(made)}
        outside = None if panel.ranges_ is None else panel.outside(made)
    for remark in (new_series(panel, table), quiet_series(panel, table)):
        if remark is not None:
            say(remark, "yellow", stderr=True)
    if request.wants_orders:
        from hedgerow.cli.orders import ordered

        columns |= ordered(request, table, partial(panel.place, made))
    return columns, outside
