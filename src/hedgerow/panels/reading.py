"""From a planner's long table to rows with outcomes: features, costs of groups, and every check.

table ──► costs of its groups ──► features ──► rows with outcomes, and which column is what
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from hedgerow import _checks, _row_checks
from hedgerow._frames import require_pandas
from hedgerow.data import TimeFeatures
from hedgerow.data.columns import numeric_column
from hedgerow.describe.numbers import counted, listed
from hedgerow.losses import Loss, along, located, named_columns
from hedgerow.panels.group_costs import GroupCosts
from hedgerow.panels.scaled_rows import Layout
from hedgerow.panels.series import SeriesKeys
from hedgerow.panels.typos import mended, shown_time

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Reader:
    """What has to be known of a table to read it."""

    loss: Loss
    by: tuple[str, ...]
    features: TimeFeatures | None = None
    scaled: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    costs: GroupCosts | None = None

    @classmethod
    def of(
        cls,
        loss: Loss,
        by: Sequence[str],
        features: Any,
        scaled: Sequence[str],
        levels: Sequence[str],
        costs: Any,
    ) -> Reader:
        """Check what can be told without a table."""
        if isinstance(by, str):
            raise ValueError(f"by must be a tuple of group columns, such as ({by!r},); got {by!r}.")
        by = tuple(by)
        if loss.with_thresholds() is not None:
            raise ValueError(
                f"{type(loss).__name__} has a threshold in the costs' own units, and every series "
                "of a panel has units of its own: fit a RobustPolicy on the table, with features "
                "that tell series apart."
            )
        if not by or any(not isinstance(name, str) for name in by):
            raise ValueError(f"by must name one or more group columns; got {by!r}.")
        own = None if costs is None else GroupCosts.of(costs, by)
        _check_groups(loss, own, costs)
        if features is not None:
            _checks.instance("features", features, TimeFeatures, "a hedgerow.TimeFeatures")
            if tuple(features.by) != by:
                raise ValueError(
                    f"by is {listed(by)}, but features are made by {listed(features.by)}."
                )
            known = {*features.known, *(() if own is None else own.names)}
            for parameter, column in named_columns(loss):
                unknown = [name for name in column.columns if name not in known]
                if unknown:
                    raise ValueError(
                        f"{parameter} is read from column {unknown[0]!r}, which must be known when "
                        f"deciding: name it in TimeFeatures(known=({unknown[0]!r}, …)), or give a "
                        "table of costs by group."
                    )
        return cls(loss, by, features, tuple(scaled), tuple(levels), own)

    def read(
        self, table: Any, y: Any, outliers: str | None = None
    ) -> tuple[pd.DataFrame, np.ndarray, Layout]:
        """The table to learn from, its outcomes, and which column is what.

        ``outliers`` says what to do about outcomes that look like typos; None does not look.
        """
        table = self._priced(table)
        if self.features is None:
            if y is None:
                raise ValueError("fit needs y, the outcomes or the name of their column.")
            apart = (y,) if isinstance(y, str) else ()
            layout = Layout(self.by, self.scaled, self.levels, apart)
            refuse_missing(table, [*layout.features(table), *apart], self.by)
            outcomes = outcomes_of(table, y)
            if outliers is not None:
                called = y if isinstance(y, str) else "y"
                outcomes = mended(table, outcomes, called, self.by, self.by, outliers)
            return table, outcomes, layout
        if y is not None:
            raise ValueError(f"With features, outcomes are the column {self.features.outcome!r}.")
        if outliers is not None:
            table = self._mended(table, self.features, outliers)
        made = self.features.training(table)
        if not len(made):
            raise ValueError("No series has enough history to make features of a single row.")
        if self.costs is not None:
            made = self.costs.attached(made)
        outcomes = numeric_column(made, self.features.outcome)
        scaled = (*self.features.outcome_features, *self.scaled)
        levels = self.levels or _levels(self.features)
        apart = (self.features.time, self.features.outcome)
        layout = Layout(self.by, scaled, levels, apart)
        refuse_missing(made, layout.features(made), self.by, self.features.time)
        return made, outcomes, layout

    def _mended(self, table: Any, features: TimeFeatures, outliers: str) -> pd.DataFrame:
        """The table without typos in its outcomes; what is no number is told of later."""
        name, columns = features.outcome, (*self.by, features.time)
        if any(column not in table for column in (name, *columns)):
            return table
        values = require_pandas().to_numeric(table[name], errors="coerce").to_numpy(np.float64)
        found = mended(table, values, name, columns, self.by, outliers)
        return table if found is values else table.assign(**{name: found})

    def _priced(self, table: Any) -> pd.DataFrame:
        """The table with costs of its groups; says which row has costs that make no sense."""
        check_costs(self.loss, self.costs, table)
        return table if self.costs is None else self.costs.attached(table)


def _check_groups(loss: Loss, costs: GroupCosts | None, given: Any) -> None:
    """A table of costs that holds all of them is looked at by itself: its own rows are named."""
    named = {str(name) for _, each in named_columns(loss) for name in each.columns}
    if costs is None or not named or not named <= set(costs.names):
        return
    try:
        check_costs(loss, None, given)
    except ValueError as error:
        raise ValueError(f"In the table of costs by group, {error}") from None


def refuse_missing(
    table: pd.DataFrame, names: Sequence[str], by: Sequence[str], time: str | None = None
) -> None:
    """Say which series lacks a value of these columns, in which row or at what time."""
    for name in (name for name in names if name in table.columns):
        missing = table[name].isna().to_numpy()
        if missing.any():
            first = table.iloc[[int(np.argmax(missing))]]
            words = SeriesKeys.of(first, by)
            where = f"row {int(np.argmax(missing)) + 1:,}"
            if time is not None:  # rows were made anew, so that their numbers say nothing
                where = f"the row of {shown_time(first[time].iloc[0])}"
            raise ValueError(
                f"Column {name!r} has {counted(int(missing.sum()), 'missing value')}, the first in "
                f"{where} ({words.words(words.values[0])}); fill in or drop those rows, nothing is "
                "imputed."
            )


def check_costs(loss: Loss, costs: GroupCosts | None, table: pd.DataFrame) -> None:
    """Say which row has costs that make no sense, the first being 1; no other column is read."""
    named = dict.fromkeys(str(name) for _, each in named_columns(loss) for name in each.columns)
    if named:
        priced = table if costs is None else costs.attached(table)
        for name in named:
            lacking = np.flatnonzero(priced[name].isna() if name in priced.columns else [])
            if len(lacking):
                raise ValueError(
                    f"Column {name!r} has {counted(len(lacking), 'missing value')}, the first in "
                    f"row {lacking[0] + 1:,}; every row needs its costs."
                )
        read = np.column_stack([numeric_column(priced, name) for name in named])
        loss_of_rows(loss, read, list(named)).check_rows(first=1)


def loss_of_rows(loss: Loss, contexts: Float[np.ndarray, "rows d"], names: list[str]) -> Loss:
    """Return the loss of rows with these contexts, whose columns have these names."""
    return along(located(loss, names, contexts.shape[1]), contexts)


def outcomes_of(table: Any, y: Any) -> Float[np.ndarray, " rows"]:
    """Outcomes by the name of their column, or as they are, one for each row."""
    if isinstance(y, str):
        return numeric_column(table, y)
    found = _row_checks.outcomes(_checks.numeric("y", y))
    if found.shape != (len(table), 1):
        raise ValueError(
            f"y must hold one outcome for each of the {len(table):,} rows; got {found.shape}."
        )
    return found[:, 0]


def _levels(features: TimeFeatures) -> tuple[str, ...]:
    """The longest same-weekday mean, and the level: what there is of them."""
    weeks = features.same_weekday
    weekdays = [f"{features.outcome}_same_weekday_{max(weeks)}"] if weeks else []
    return (*weekdays, *([features.level_name] if features.level_name else []))
