"""``hedgerow decide`` with the policy of a panel."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hedgerow.cli.options import DecideRequest
from hedgerow.cli.panels.tables import check_rows, history_of, new_series, told_of
from hedgerow.cli.screen import say
from hedgerow.describe.numbers import listed
from hedgerow.panels import PanelPolicy


def decide(
    panel: PanelPolicy, table: pd.DataFrame, request: DecideRequest
) -> dict[str, np.ndarray]:
    """Return the columns to write beside the rows that were asked for."""
    history = history_of(panel, request.history, request.new)
    check_rows(panel, table, request.new)
    refuse_without_history(panel, table, history is not None, str(request.new))
    with told_of(request.history or request.new, request.new):
        decisions = panel.predict(table, history)
    remark = new_series(panel, table)
    if remark is not None:
        say(remark, "yellow", stderr=True)
    return {"decision": decisions}


def refuse_without_history(
    panel: PanelPolicy, table: pd.DataFrame, given: bool, where: str
) -> None:
    """Features of time are made of recent outcomes, unless the table brings them."""
    if panel.features is None or given:
        return
    missing = [name for name in panel.features.feature_names if name not in table.columns]
    if missing:
        raise ValueError(
            f"{where} lacks {listed(missing, most=3)}: give recent outcomes with --history, from "
            "which they are made."
        )
