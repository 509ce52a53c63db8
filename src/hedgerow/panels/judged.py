"""Rows by which a panel is judged, and what they cost by blocks of time.

A row is a series in a period. What makes a week dear for one series makes it dear for all, so
periods are what comes one after another: a block is ``horizon`` of them, with the rows of all
series in it, and its cost is the mean over its rows.

    given      rows that the panel has not seen
    rolling    panels learned on what was before, measured on what came next
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hedgerow._frames import require_pandas
from hedgerow._warnings import HedgerowWarning
from hedgerow.certify.held_out import Asked, HeldOut, blocks_of, split, warn_of_seen
from hedgerow.panels.reading import outcomes_of
from hedgerow.panels.series import SeriesKeys
from hedgerow.panels.typos import mended

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.panels.panel_policy import PanelPolicy


@dataclass(frozen=True)
class JudgedRows:
    """Rows with features, outcomes, and the period of each, counted from 0; None: not known."""

    table: pd.DataFrame
    outcomes: Float[np.ndarray, " rows"]
    periods: Int[np.ndarray, " rows"] | None

    @property
    def length(self) -> int:
        """How many periods there are."""
        return 0 if self.periods is None else int(self.periods.max(initial=-1)) + 1

    def where(self, rows: np.ndarray) -> JudgedRows:
        """The same on some of the rows."""
        periods = None
        if self.periods is not None:
            periods = np.unique(self.periods[rows], return_inverse=True)[1]
        table: Any = self.table[rows]
        return JudgedRows(table, self.outcomes[rows], periods)

    def by_period(self, values: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " periods"]:
        """Return the mean over the rows of each period."""
        assert self.periods is not None
        rows = np.bincount(self.periods, minlength=self.length)
        return np.bincount(self.periods, values, minlength=self.length) / rows


def judged_rows(panel: PanelPolicy, table: Any, y: Any = None) -> JudgedRows:
    """Return rows to judge a panel by; features that a table lacks are made of its own outcomes.

    Outcomes that look like typos are named, and counted as they are.
    """
    if not isinstance(table, require_pandas().DataFrame):
        raise TypeError(
            "A panel is judged by a pandas DataFrame, the long table as it was trained on; got "
            f"a {type(table).__name__}."
        )
    features = panel.features
    if features is not None and not set(features.feature_names) <= set(table.columns):
        table = features.training(table)
    name = panel.outcome_name_ if y is None else y
    if name is None:
        raise ValueError("Hand over the outcomes, or the name of their column, as Y.")
    if features is not None and not len(table):
        raise ValueError(
            f"No row has enough history: features look {features.reach} periods back, so give the "
            "rows before as well, or rows with features."
        )
    outcomes = outcomes_of(table, name)
    periods, columns = None, tuple(panel.by)
    if features is not None:
        ticks = features.time_step.ticks(table[features.time])
        periods = np.unique(ticks, return_inverse=True)[1]
        columns = (*columns, features.time)
    called = name if isinstance(name, str) else "the outcome"
    mended(table, outcomes, called, columns, tuple(panel.by), "warn")
    return JudgedRows(table, outcomes, periods)


def judged_pair(
    panel: PanelPolicy, past: tuple[Any, Any], new: tuple[Any, Any]
) -> tuple[JudgedRows, JudgedRows]:
    """Return rows to compare with, and new rows; features of these may look back into the past.

    A row that is in both is a new one.
    """
    check_is_fitted(panel, "panel_")
    features = panel.features
    if features is None:
        raise ValueError(
            "A panel is watched period by period, and this one does not know which column is "
            "time: fit it with features=TimeFeatures(…)."
        )
    frame, made = require_pandas(), set(features.feature_names)
    bare = [isinstance(table, frame.DataFrame) and not made <= {*table} for table, _ in (past, new)]
    if not all(bare):
        return judged_rows(panel, *past), judged_rows(panel, *new)
    (before, before_y), (table, y) = past, new
    if y is not None or before_y is not None:
        raise ValueError(
            f"Rows without features are read whole: leave Y out, whose column is "
            f"{features.outcome!r}."
        )
    both = frame.concat([before, table], ignore_index=True)
    keys = SeriesKeys.of(both, panel.by)

    def stands(rows: Any) -> Any:
        """Series and time of rows."""
        ticks = features.time_step.ticks(rows[features.time])
        return frame.MultiIndex.from_arrays([keys.places(rows), ticks])

    again = stands(before).isin(stands(table))
    rows = judged_rows(panel, frame.concat([before[~again], table], ignore_index=True))
    is_new = stands(rows.table).isin(stands(table))
    return rows.where(~is_new), rows.where(is_new)


def held_out_blocks(panel: PanelPolicy, table: pd.DataFrame, y: Any, asked: Asked) -> HeldOut:
    """Return what blocks of time cost that the panel had not seen, beyond what was expected."""
    if asked.held_out == "folds":
        raise ValueError(
            "A panel's features look back in time, so folds cannot be cut out of its history: ask "
            "for held_out='rolling', or hand over rows that it has not seen (held_out='given')."
        )
    rows = judged_rows(panel, table, y)
    rolling = asked.held_out == "rolling"
    labels = _labels(rows, asked)
    names, places = blocks_of(labels)
    if rows.periods is None or asked.blocks is not None:  # as far as labels can be put in order
        order = np.argsort([_begins(rows, place) for place in places], kind="stable")
        names, places = names[order], [places[at] for at in order]
    nominal, costs = trained_cost(panel), np.full(len(labels), np.nan)
    expected = costs.copy()
    if rolling:
        measured = _rolled(panel, table, y, rows, places, asked.folds)
    else:
        if panel.policy_ is not None:
            warn_of_seen(panel.policy_, np.asarray(panel.panel_.rows(rows.table).contexts))
        measured = iter([(panel, np.concatenate(places))])
    for judged, members in measured:
        costs[members] = judged.losses(rows.table.iloc[members], rows.outcomes[members])
        expected[members] = nominal if judged is panel else trained_cost(judged)
    excess = costs - expected
    kept = [at for at, place in enumerate(places) if np.isfinite(excess[place]).all()]
    length = _lengths(rows, [places[at] for at in kept])
    return HeldOut(
        nominal=nominal,
        rows=_one_by_one(rows, excess),
        excess=np.array([excess[places[at]].mean() for at in kept]),
        costs=np.array([costs[places[at]].mean() for at in kept]),
        sizes=length,
        labels=names[kept],
        unit="row" if rows.periods is None else "period",
    )


def trained_cost(panel: PanelPolicy) -> float:
    """Return what a row cost on average in training: what it is expected to cost."""
    return float(np.average(panel.series_loss_, weights=panel.panel_.facts.rows))


def _labels(rows: JudgedRows, asked: Asked) -> np.ndarray:
    """The block of each row; −1 for periods at the beginning that fill none."""
    if asked.blocks is not None:
        return asked.labels(len(rows.table))
    if rows.periods is None:
        raise ValueError(
            "A horizon counts periods, and this panel does not know which column is time: label "
            "its rows with blocks=, by their month, say, or fit it with features=TimeFeatures(…)."
        )
    return asked.labels(rows.length, "period")[rows.periods]


def _begins(rows: JudgedRows, place: np.ndarray) -> int:
    """When a labelled block begins, where time is known; else it stays where it appeared."""
    return 0 if rows.periods is None else int(rows.periods[place].min())


def _lengths(rows: JudgedRows, places: list[np.ndarray]) -> np.ndarray:
    """How many periods blocks have, or rows where time is not known."""
    if rows.periods is None:
        return np.array([len(place) for place in places], dtype=int)
    return np.array([len(np.unique(rows.periods[place])) for place in places], dtype=int)


def _one_by_one(rows: JudgedRows, excess: np.ndarray) -> np.ndarray:
    """Excess of period after period: the days of a series are not apart from those of others."""
    if rows.periods is None:
        return excess[np.isfinite(excess)]
    found = rows.by_period(excess)
    return found[np.isfinite(found)]


def _rolled(
    panel: PanelPolicy,
    table: Any,
    y: Any,
    rows: JudgedRows,
    places: list[np.ndarray],
    folds: int,
) -> Iterator[tuple[PanelPolicy, np.ndarray]]:
    """Panels learned on what was before, and the rows that came next."""
    for _, met in split(len(places), "rolling", folds):
        members = np.concatenate([places[block] for block in met])
        other = cast(Any, clone(panel))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HedgerowWarning)  # said of the panel itself
            other.fit(*_before(panel, table, y, rows, places, int(met[0])))
        yield other, members


def _before(
    panel: PanelPolicy,
    table: Any,
    y: Any,
    rows: JudgedRows,
    places: list[np.ndarray],
    first: int,
) -> tuple[pd.DataFrame, Any]:
    """The rows of a table that a panel can learn from before a block begins, and their outcomes."""
    features = panel.features
    if features is None:
        known = np.sort(np.concatenate(places[:first]))
        return table.iloc[known], y if isinstance(y, str) else rows.outcomes[known]
    if set(features.outcome_features) & set(table.columns):
        raise ValueError(
            "held_out='rolling' trains again, on the long table as the panel was trained on: hand "
            "over that, without features."
        )
    tested: Any = rows.table
    begins = features.time_step.ticks(tested[features.time])[places[first]].min()
    return table[features.time_step.ticks(table[features.time]) < begins], None
