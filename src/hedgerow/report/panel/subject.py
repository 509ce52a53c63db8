"""What a panel's report is about: test rows with their series, dates, outcomes, orders and costs.

    history, table → features that were known in time → orders of the policy
                   → outcomes of all rows, those of history included, for the baselines

Rows of the table whose outcome is not complete are left out, and counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from hedgerow._frames import require_pandas
from hedgerow.data.columns import numeric_column
from hedgerow.data.time_steps import TimeStep
from hedgerow.describe.numbers import listed
from hedgerow.losses import Loss
from hedgerow.panels.panel_policy import PanelPolicy
from hedgerow.panels.series import STATUSES, SeriesKeys

if TYPE_CHECKING:
    import pandas as pd

NEW = "new"
DAY = 86_400_000_000
"""Ticks of a day."""


@dataclass(frozen=True)
class Past:
    """Outcomes that baselines may look back at: series, times and outcomes of all rows."""

    places: Int[np.ndarray, " past"]
    ticks: Int[np.ndarray, " past"]
    outcomes: Float[np.ndarray, " past"]

    def among(self, places: Int[np.ndarray, " series"]) -> Past:
        """The same with other places for series, without those that have none (−1)."""
        moved = places[self.places]
        known = np.isfinite(self.outcomes) & (moved >= 0)
        return Past(moved[known], self.ticks[known], self.outcomes[known])


@dataclass(frozen=True)
class PanelSubject:
    """A panel's policy and the rows of the report."""

    panel: PanelPolicy
    table: pd.DataFrame
    """Rows with everything: their own columns, features, outcomes."""
    keys: SeriesKeys
    """The series of the table."""
    places: Int[np.ndarray, " rows"]
    step: TimeStep
    ticks: Int[np.ndarray, " rows"]
    outcomes: Float[np.ndarray, " rows"]
    outcome: str
    past: Past
    lead: int
    """Periods before its date by which an outcome has to be complete to be known."""
    incomplete: int
    """Rows that were left out, as their outcome is not known."""
    unit: str
    loss_unit: str

    @classmethod
    def read(
        cls,
        panel: Any,
        table: Any,
        history: Any,
        *,
        time: str | None,
        outcome: str | None,
        lead: int,
        unit: str,
        loss_unit: str,
    ) -> PanelSubject:
        """Make features, and find series, dates and outcomes of the rows."""
        if not isinstance(panel, PanelPolicy) or not hasattr(panel, "panel_"):
            raise TypeError(
                "A panel's report is about a fitted hedgerow.PanelPolicy; got "
                f"{type(panel).__name__}."
            )
        _refuse_no_rows(table)
        features, by = panel.features, tuple(panel.panel_.keys.by)
        name = _outcome_name(panel, outcome, table)
        if features is not None:
            time, step, lead = features.time, features.time_step, features.lead
            lead += features.review - 1
        else:
            time = time or _only_dates(table, by)
            step = _step_of(table, time)
        earlier = _earlier(table, history, (*by, time), step)
        made: Any = panel.features_for(table, earlier if features is not None else None)
        carried = [column for column in table.columns if column not in made.columns]
        made = made.assign(**{column: table[column].array for column in carried})
        keys = SeriesKeys.of(table if earlier is None else earlier, by)
        ticks = step.ticks(made[time])
        if earlier is None or features is None:
            source: Any = made if earlier is None else earlier
            past = Past(keys.places(source), step.ticks(source[time]), _outcomes(source, name))
        else:
            past = _complete(features, earlier, keys)
        found = _looked_up(past, keys.places(made), ticks)
        there = np.isfinite(found)
        if not there.any():
            raise ValueError("No row of the table has an outcome that is complete.")
        made = made[there].assign(**{name: found[there]}).reset_index(drop=True)
        shown = SeriesKeys.of(made, by)
        return cls(
            panel=panel,
            table=made,
            keys=shown,
            places=shown.places(made),
            step=step,
            ticks=ticks[there],
            outcomes=found[there],
            outcome=name,
            past=past.among(_places_among(shown, keys)),
            lead=lead,
            incomplete=int(np.sum(~there)),
            unit=unit,
            loss_unit=loss_unit,
        )

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.outcomes)

    @property
    def money(self) -> str:
        """What costs are counted in, to be written behind a number."""
        return f" {self.loss_unit}" if self.loss_unit else ""

    @property
    def goods(self) -> str:
        """What orders are counted in, to be written behind a number."""
        return f" {self.unit}" if self.unit else ""

    @property
    def dated(self) -> bool:
        """Whether times are dates, rather than whole numbers."""
        return self.step.kind != "number"

    @property
    def row_noun(self) -> str:
        """What a row of one series is called."""
        return "day" if self.step == TimeStep(DAY, "us") else "row"

    @property
    def date_noun(self) -> str:
        """What a time that several series share is called."""
        return "day" if self.row_noun == "day" else "date" if self.dated else "time"

    @cached_property
    def days(self) -> Float[np.ndarray, " rows"]:
        """Days since 1970, or the times themselves where they are whole numbers."""
        if not self.dated:
            return self.ticks.astype(np.float64)
        return self.step.times(self.ticks).astype(np.int64) / DAY

    @cached_property
    def orders(self) -> Float[np.ndarray, " rows"]:
        """What the policy decides."""
        return self.panel.predict(self.table)

    @cached_property
    def own_losses(self) -> Float[np.ndarray, " rows"]:
        """What the policy's orders cost."""
        return self.losses(self.orders)

    @cached_property
    def loss(self) -> Loss:
        """The loss of these rows."""
        return self.panel.loss_on(self.table)

    @cached_property
    def unit_costs(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Cost of each unit left over and of each missing, row by row; None: no newsvendor."""
        if self.loss.unit_costs() is None:
            return None
        return self.panel.unit_costs(self.table)

    def losses(self, orders: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
        """What orders would have cost; NaN where there is none."""
        given = np.isfinite(orders)
        cost = self.loss(np.where(given, orders, 0.0)[:, None], self.outcomes[:, None])
        return np.where(given, np.asarray(cost, np.float64), np.nan)

    @cached_property
    def trained_places(self) -> Int[np.ndarray, " series"]:
        """Where each series is among those of training; −1: a new one."""
        return _places_among(self.panel.panel_.keys, self.keys)

    @cached_property
    def statuses(self) -> list[str]:
        """What was made of each series in training."""
        status = self.panel.panel_.facts.status
        return [NEW if at < 0 else STATUSES[status[at]] for at in self.trained_places]

    def shown_time(self, row: int) -> str:
        """The time of a row, as people write it."""
        return self.step.shown(self.ticks[row])


def _places_among(known: SeriesKeys, asked: SeriesKeys) -> np.ndarray:
    """Where each of the asked series is among the known ones; −1: nowhere."""
    place = {key: i for i, key in enumerate(known.values)}
    return np.array([place.get(key, -1) for key in asked.values])


def _refuse_no_rows(table: Any) -> None:
    if not isinstance(table, require_pandas().DataFrame):
        raise TypeError(f"The rows of a report are a pandas DataFrame; got {type(table).__name__}.")
    if not len(table):
        raise ValueError("The table has no rows to report on.")


def _outcome_name(panel: PanelPolicy, outcome: str | None, table: pd.DataFrame) -> str:
    name = outcome or panel.outcome_name_
    if name is None:
        raise ValueError("Say which column holds what then happened, as outcome='…'.")
    if name not in table.columns:
        raise ValueError(
            f"The table has no column {name!r} with what then happened; it has "
            f"{listed(table.columns)}."
        )
    return name


def _only_dates(table: pd.DataFrame, by: tuple[str, ...]) -> str:
    """The one column that holds dates."""
    is_date = require_pandas().api.types.is_datetime64_any_dtype
    found = [str(name) for name in table.columns if is_date(table[name].dtype) and name not in by]
    if len(found) != 1:
        raise ValueError(
            f"The table has {len(found)} columns of dates, and a report shows costs over time: say "
            "which one dates the rows, as time='…'."
        )
    return found[0]


def _step_of(table: pd.DataFrame, time: str) -> TimeStep:
    if time not in table.columns:
        raise ValueError(f"There is no column {time!r}; the table has {listed(table.columns)}.")
    numbers = require_pandas().api.types.is_numeric_dtype(table[time].dtype)
    return TimeStep.of(1 if numbers else "D")


def _earlier(
    table: pd.DataFrame, history: Any, key: tuple[str, ...], step: TimeStep
) -> pd.DataFrame | None:
    """History and the table in one, the table's rows once; later outcomes change no feature."""
    if history is None:
        return None
    pandas = require_pandas()
    if not isinstance(history, pandas.DataFrame):
        raise TypeError(f"history is a pandas DataFrame; got {type(history).__name__}.")
    missing = [name for name in key if name not in history.columns]
    if missing:
        raise ValueError(f"history lacks {listed(missing)}; it has {listed(history.columns)}.")
    both = pandas.concat([history, table], ignore_index=True)
    *by, time = key
    places = SeriesKeys.of(both, by).places(both)
    ticks = step.ticks(both[time])
    again = np.full(len(both), False)
    again[: len(history)] = _among(places, ticks, len(history))
    return both[~again].reset_index(drop=True)


def _among(places: np.ndarray, ticks: np.ndarray, first: int) -> np.ndarray:
    """Which of the first rows have the series and time of a later one."""
    index = require_pandas().MultiIndex.from_arrays([places, ticks])
    return index[:first].isin(index[first:])


def _outcomes(table: pd.DataFrame, name: str) -> np.ndarray:
    if name not in table.columns:
        raise ValueError(f"history lacks {name!r}; it has {listed(table.columns)}.")
    return numeric_column(table, name)


def _complete(features: Any, table: pd.DataFrame, keys: SeriesKeys) -> Past:
    """Outcomes over the whole review period, of every row where they are complete."""
    nothing: Any = {"known": (), "lags": (), "rolling": (), "same_weekday": (), "level": None}
    rows = replace(features, calendar=False, **nothing).training(table, short="missing")
    ticks = features.time_step.ticks(rows[features.time])
    return Past(keys.places(rows), ticks, numeric_column(rows, features.outcome))


def _looked_up(past: Past, places: np.ndarray, ticks: np.ndarray) -> np.ndarray:
    """The outcome of each row; NaN if it is not complete."""
    pandas = require_pandas()
    known = pandas.DataFrame({"place": past.places, "tick": past.ticks, "y": past.outcomes})
    wanted = pandas.DataFrame({"place": places, "tick": ticks})
    twice = wanted.duplicated()
    if twice.any():
        raise ValueError(
            f"{int(twice.sum()):,} row(s) of the table have the series and time of another, first "
            f"row {int(np.argmax(twice.to_numpy())) + 1}; keep one of each, or add them up."
        )
    known = known.drop_duplicates(["place", "tick"])
    return wanted.merge(known, on=["place", "tick"], how="left")["y"].to_numpy(np.float64)
