"""``hedgerow explain`` with the policy of a panel: rows as its rule sees them, and their units."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from hedgerow.cli.asking_options import ExplainRequest
from hedgerow.cli.explained import Explained
from hedgerow.cli.panels.tables import (
    check_rows,
    chosen_series,
    history_of,
    joined,
    refuse_without_history,
    told_of,
    told_of_both,
)
from hedgerow.cli.reading import read
from hedgerow.describe.numbers import number
from hedgerow.panels import PanelPolicy
from hedgerow.panels.series import SeriesKeys

REMARK = (
    "Decisions, lags and means are in shares of a row's level here: 1.2 is a fifth above it. "
    "series_size is the logarithm of what a series usually is, series_spread how much it varies, "
    "series_zeros how often it is 0."
)


def of_panel(panel: PanelPolicy, table: pd.DataFrame, request: ExplainRequest) -> Explained:
    """Rows of a table as the rule of a panel sees them."""
    made = _with_features(panel, table, request, request.data)
    key = _key(panel, made, request)
    rows = None if key is None else _rows_of(panel, made, key)
    if key is not None and rows is not None:
        if not len(rows):
            raise ValueError(f"{request.data} has no row of {panel.panel_.keys.words(key)}.")
        made = made.iloc[rows]
    others = made
    if request.background is not None:
        background = read(request.background, request, panel)
        others = _with_features(panel, background, request, request.background)
    more = {"chosen": rows, "rows_in_table": len(table)}
    if panel.rules_ is not None:
        assert key is not None
        with told_of(request.data):
            X = panel.panel_.plain(made)
        compared = X if others is made else panel.panel_.plain(_only(panel, others, key, request))
        named = [("series", panel.panel_.keys.words(key))]
        return Explained(
            panel.policy_for(key),
            X,
            compared,
            made,
            panel.panel_.encoder,
            facts=lambda place: named,
            **more,
        )
    return _pooled(panel, made, others, key, request, more)


def _pooled(
    panel: PanelPolicy,
    made: pd.DataFrame,
    others: pd.DataFrame,
    key: tuple[str, ...] | None,
    request: ExplainRequest,
    more: dict,
) -> Explained:
    """Rows of a rule that all series share."""
    assert panel.policy_ is not None
    with told_of(request.data):
        rows = panel.panel_.rows(made)
        compared = rows.contexts if others is made else panel.panel_.rows(others).contexts
    keys, scale, units = panel.panel_.keys, rows.scale, rows.scale
    factors = None
    if panel.factors_ is not None:
        factors = np.where(rows.places >= 0, panel.factors_[rows.places], 1.0)
        units = units * factors
    own = SeriesKeys.of(made, panel.by)
    places = own.places(made)

    def facts(place: int | None) -> list[tuple[str, str]]:
        if place is None:
            return [] if key is None else [("series", keys.words(key))]
        new = "" if rows.places[place] >= 0 else ", which is new"
        told = [("series", keys.words(own.values[places[place]]) + new)]
        told.append(("level", f"{number(scale[place])}; the rule decides in shares of it"))
        if factors is not None:
            told.append(("factor", f"{number(factors[place])}, of this series"))
        return told

    return Explained(
        panel.policy_,
        rows.contexts,
        compared,
        made.assign(**{name: rows.contexts[name] for name in panel.panel_.codes}),
        panel.panel_.encoder,
        units=units,
        facts=facts,
        usual=", at this row's level",
        remark=REMARK,
        **more,
    )


def _with_features(
    panel: PanelPolicy, table: pd.DataFrame, request: ExplainRequest, path: Path
) -> pd.DataFrame:
    """The table with features; what it holds of outcomes is history, too."""
    check_rows(panel, table, path)
    history, features = history_of(panel, request), panel.features
    refuse_without_history(panel, table, history, path)
    paths = request.history or path, path
    if history is not None and features is not None and features.outcome in table.columns:
        with told_of_both(features, history, table, paths):
            return panel.features_for(table, joined(features, history, table))
    with told_of(*paths):
        return panel.features_for(table, history)


def _key(panel: PanelPolicy, made: pd.DataFrame, request: ExplainRequest) -> tuple[str, ...] | None:
    """The series that rows are restricted to: the one named, or that of the row's own rule."""
    if request.series is not None:
        return chosen_series(panel, request.series)
    if panel.rules_ is None:
        return None
    if request.row is None:
        shape = ",".join(f"{name}=…" for name in panel.by)
        raise ValueError(
            f"Each series has a rule of its own: name one with --series {shape}, or a row with "
            "--row."
        )
    own = SeriesKeys.of(made.iloc[[request.row - 1]], panel.by).values[0]
    return panel.panel_.keys.values[panel.panel_.keys.place(own)]


def _rows_of(panel: PanelPolicy, made: pd.DataFrame, key: tuple[str, ...]) -> np.ndarray:
    """Places of the rows of one series."""
    keys = panel.panel_.keys
    return np.flatnonzero(keys.places(made) == keys.values.index(key))


def _only(
    panel: PanelPolicy, table: pd.DataFrame, key: tuple[str, ...], request: ExplainRequest
) -> pd.DataFrame:
    rows = _rows_of(panel, table, key)
    if not len(rows):
        raise ValueError(f"{request.background} has no row of {panel.panel_.keys.words(key)}.")
    return table.iloc[rows]
