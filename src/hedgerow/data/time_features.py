"""Features of time series tables: what was known when a decision was made, and nothing later.

A row dated d is the first period that one decision covers. The decision is made when outcomes up to d − lead are known:

    outcome(d)        = y_d + y_{d+1} + … + y_{d+review−1}
    lag L             = outcome(d − L),                                     L ≥ lead + review − 1
    rolling w         = review · mean of y over the w periods that end with d − lead
    same weekday k    = mean of outcome(d − j weeks) over the latest k that ended by d − lead
    level w           = the same as rolling w, over what there is, but at least the floor

All are in the units of the outcome, so that outcome/level is about one in every series: what a rule
for many series can learn. Which periods are read depends on d alone, so rows to learn from and rows
to decide for are treated alike, and changing anything after d − lead changes no feature.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hedgerow import _checks
from hedgerow._warnings import ShortSeriesWarning
from hedgerow.data import time_grid
from hedgerow.data.table_files import require_pandas
from hedgerow.data.time_grid import LongTable, SeriesNames, TimeGrid
from hedgerow.data.time_steps import (
    CALENDAR_ENDINGS,
    TimeStep,
    checked_names,
    checked_periods,
    checked_windows,
)
from hedgerow.data.time_windows import Past, outcomes_ahead, reach_of_weeks
from hedgerow.describe.numbers import counted, listed

if TYPE_CHECKING:
    import pandas as pd

DROP, REFUSE, MISSING = "drop", "refuse", "missing"


@dataclass(frozen=True)
class TimeFeatures:
    """Turn a long table of time series into features that never look ahead.

    A long table has one row per series and period: columns that name the series, one with the time,
    one with the outcome, and others. A row dated d stands for the decision whose first period is d.

    Parameters
    ----------
    time : str
        The column with times: dates (or text like 2015-11-07 or 2015-11-07T08:30), or whole numbers
        if ``step`` is one.
    outcome : str
        The column with outcomes, one per period.
    by : str or tuple of str
        The columns that name a series. None: the table is one series.
    known : str or tuple of str
        Columns that are known when the decision is made, such as holidays, promotions or the
        weather forecast; they become features as they are. Others are left out.
    lags : int or tuple of int
        Outcomes so many periods before; at least ``lead + review - 1``, or they are not known yet.
    rolling : int or tuple of int
        Means of the latest so many periods that are known.
    same_weekday : int or tuple of int
        Means over the latest so many weeks, on the weekday (and at the hour) of the row.
    level : int or None
        Periods of which the recent level is the mean: a column that is greater than zero in every
        row, to divide by. A series with less history has the mean of what there is.
    floor : float
        The least that the level may be, in units of the outcome.
    lead : int
        The decision for d is made when outcomes up to d − lead are known. 1: the evening before.
    review : int
        Periods that one decision covers; the outcome is summed over them.
    calendar : bool or tuple of str
        Which parts of the date are features: of "weekday" (Mon … Sun, as a category), "hour",
        "month" (1 to 12), "day_of_year" and "season" (sine and cosine of the day of the year).
        True: weekday, hour, month and day of the year, so far as they vary with this step.
    step : str or int
        From one period to the next: "min", "h", "D", "W" or "M" (months), or several, "15min"; a
        whole number where times are whole numbers.
    gaps : {"refuse", "fill", "missing"}
        What becomes of periods without a row between the first and the last of a series. "refuse":
        an error names them. "fill": their outcome is zero, and they are rows like any other.
        "missing": their outcome is unknown, as are outcomes that are NaN. Means are then over what
        is there, and rows whose outcome or lags are not known are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from hedgerow import TimeFeatures
    >>> sales = pd.DataFrame({"day": [1, 2, 3, 4, 5], "sold": [4, 6, 5, 7, 9]})
    >>> features = TimeFeatures("day", "sold", lags=2, rolling=2, step=1)
    >>> features.training(sales)
       day  sold_lag_2  sold_rolling_2  sold
    0    3         4.0             5.0   5.0
    1    4         6.0             5.5   7.0
    2    5         5.0             6.0   9.0
    >>> features.upcoming(sales, pd.DataFrame({"day": [6]}))
       day  sold_lag_2  sold_rolling_2
    0    6         7.0             8.0
    """

    time: str
    outcome: str
    by: str | tuple[str, ...] = ()
    known: str | tuple[str, ...] = ()
    lags: int | tuple[int, ...] = ()
    rolling: int | tuple[int, ...] = ()
    same_weekday: int | tuple[int, ...] = ()
    level: int | None = None
    floor: float = 1.0
    lead: int = 1
    review: int = 1
    calendar: bool | str | tuple[str, ...] = True
    step: str | int = "D"
    gaps: str = "refuse"

    def __post_init__(self) -> None:
        settle = object.__setattr__
        for name in ("by", "known"):
            settle(self, name, checked_names(name, getattr(self, name)))
        for name in ("lead", "review"):
            settle(self, name, checked_periods(name, getattr(self, name)))
        for name in ("lags", "rolling", "same_weekday"):
            settle(self, name, checked_windows(name, getattr(self, name)))
        if self.level is not None:
            settle(self, "level", checked_periods("level", self.level))
        settle(self, "floor", _checks.positive("floor", self.floor))
        if not isinstance(self.calendar, bool):
            settle(self, "calendar", checked_names("calendar", self.calendar))
        if not isinstance(self.step, str):
            settle(self, "step", _checks.count("step", self.step))
        _checks.one_of("gaps", self.gaps, time_grid.GAPS)
        self._check_calendar()
        self._check_lags()
        self._check_names()

    # ----------------------------------------------------------------------- names

    @property
    def feature_names(self) -> list[str]:
        """Names of all features: what is known, the calendar, then those of the outcome."""
        return [*self.known, *self._calendar_names, *self.outcome_features]

    @property
    def outcome_features(self) -> list[str]:
        """Names of those that are made of outcomes, and have their units."""
        return [
            f"{self.outcome}_{name}_{size}"
            for name, sizes in (
                ("lag", self.lags),
                ("rolling", self.rolling),
                ("same_weekday", self.same_weekday),
            )
            for size in sizes
        ]

    @property
    def level_name(self) -> str | None:
        """Name of the column with the recent level, if there is one."""
        return None if self.level is None else f"{self.outcome}_level"

    @property
    def reach(self) -> int:
        """How many periods before d the earliest outcome lies that a row dated d can need."""
        return max(
            *self.lags,
            *(self.lead + size - 1 for size in (*self.rolling, self.level or 1)),
            *(
                reach_of_weeks(size, self.lead, self.review, self._step.week)
                for size in self.same_weekday
            ),
            self.lead,
        )

    # ----------------------------------------------------------------------- tables

    def training(
        self, table: pd.DataFrame, keep: str | Iterable[str] = (), short: str = DROP
    ) -> pd.DataFrame:
        """Return rows to learn from: features beside the outcome that then came.

        Rows come sorted by series and time, with a fresh index. Those without enough history, and
        those whose outcome was not complete when the table ends, are left out (``overview`` counts
        them); a ``ShortSeriesWarning`` names series of which nothing remains.

        Parameters
        ----------
        table : pandas.DataFrame
            The long table, in any order.
        keep : str or list of str
            Columns to carry along that are no features, such as costs or present orders.
        short : {"drop", "missing"}
            Leave out rows without enough history, or leave NaN what they lack.

        Returns
        -------
        pandas.DataFrame
            The columns of ``by``, the time, ``feature_names``, the level if there is one, those to
            keep, and the outcome.
        """
        _checks.one_of("short", short, (DROP, MISSING))
        kept = self._kept(keep)
        table, names, grid = self._laid(table, (*self.known, *kept))
        columns = self._outcome_columns(grid)
        target = outcomes_ahead(grid, self.review)
        possible = self._is_row(grid) & ~np.isnan(target)
        chosen = possible & _ready(columns, len(possible)) if short == DROP else possible
        self._tell_short(chosen, grid, names)
        place = np.flatnonzero(chosen)
        row, carried = grid.row[place], (*self.known, *kept)
        if carried and np.any(row < 0):
            i = int(place[np.argmax(row < 0)])
            raise ValueError(
                f"gaps='fill' makes a row of {names.label(grid.series[i])} for "
                f"{self._step.shown(grid.ticks[i])}, which has no {listed(carried)}; add such rows "
                "to the table, with outcome 0."
            )
        made = self._assembled(
            names.keys.iloc[grid.series[place]], grid.ticks[place], columns, place
        )
        for name in carried:
            made[name] = table[name].array.take(row)
        made[self.outcome] = target[place]
        order = [*self.by, self.time, *self.feature_names, *self._level_names, *kept, self.outcome]
        return require_pandas().DataFrame({name: made[name] for name in order})

    def upcoming(
        self,
        history: pd.DataFrame,
        wanted: pd.DataFrame,
        keep: str | Iterable[str] = (),
        short: str = REFUSE,
    ) -> pd.DataFrame:
        """Return the features of rows to decide for, from recent history.

        The same numbers, to the last digit, that ``training`` gives for these rows later.

        Parameters
        ----------
        history : pandas.DataFrame
            A long table with outcomes at least from ``reach`` periods before the wanted rows to
            ``lead`` before them. Later outcomes change nothing.
        wanted : pandas.DataFrame
            The rows to decide for: the columns of ``by``, the time and ``known``.
        keep : str or list of str
            Further columns of ``wanted`` to carry along.
        short : {"refuse", "missing"}
            Rows without enough history, or of series without any: an error names them, or what they
            lack is NaN.

        Returns
        -------
        pandas.DataFrame
            One row per row of ``wanted``, in its order and with its index: the columns of
            ``training`` without the outcome.
        """
        _checks.one_of("short", short, (REFUSE, MISSING))
        kept = self._kept(keep)
        wanted = time_grid.checked_table(
            wanted, (*self.by, self.time, *self.known, *kept), "The table of wanted rows"
        )
        _, names, grid = self._laid(history, (), wanted)
        columns = self._outcome_columns(grid)
        if short == REFUSE:
            self._refuse_short(_ready(columns, len(grid.row))[grid.place], grid, names)
        made = self._assembled(wanted[list(self.by)], grid.ticks[grid.place], columns, grid.place)
        for name in (*self.known, *kept):
            made[name] = wanted[name].array
        order = [*self.by, self.time, *self.feature_names, *self._level_names, *kept]
        return require_pandas().DataFrame({name: made[name] for name in order}, index=wanted.index)

    def overview(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return one row per series: what the table has of it, and what training can use.

        Columns: those of ``by``; ``first`` and ``last`` time; ``rows`` and ``absent``, periods with
        and without a row; of the rows (and filled periods), how many are ``usable``, how many were
        ``waiting`` for enough history, and how many ``unfinished``, their outcome being incomplete.
        """
        _, names, grid = self._laid(table, ())
        count = len(names.keys)
        ready = _ready(self._outcome_columns(grid), len(grid.row))
        finished, is_row = ~np.isnan(outcomes_ahead(grid, self.review)), self._is_row(grid)
        start = np.flatnonzero(np.diff(grid.series, prepend=-1))
        end = np.append(start[1:], len(grid.series)) - 1
        facts = {
            "first": self._step.times(grid.ticks[start]),
            "last": self._step.times(grid.ticks[end]),
        } | {
            name: np.bincount(grid.series[flags], minlength=count)
            for name, flags in (
                ("rows", grid.row >= 0),
                ("absent", grid.row < 0),
                ("usable", is_row & finished & ready),
                ("waiting", is_row & finished & ~ready),
                ("unfinished", is_row & ~finished),
            )
        }
        return names.keys.assign(**facts)

    # ----------------------------------------------------------------------- storing

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain values that JSON can hold."""
        return {
            name: [*value] if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, plain: Any) -> Self:
        """Rebuild the settings from what ``to_json`` returned."""
        known = {field.name for field in fields(cls)}
        try:
            if type(plain) is not dict or set(plain) != known:
                raise ValueError(f"it must have the entries {listed(sorted(known), most=20)}")
            for name, value in plain.items():
                for item in value if type(value) is list else [value]:
                    if type(item) not in (str, int, float, bool, type(None)):
                        raise ValueError(f"{name} holds a {type(item).__name__}")
            return cls(**{k: tuple(v) if type(v) is list else v for k, v in plain.items()})
        except (TypeError, ValueError) as error:
            reason = str(error).rstrip(".")
            raise ValueError(
                f"The stored description of time features is damaged ({reason})."
            ) from None

    # ----------------------------------------------------------------------- steps on the way

    @property
    def _step(self) -> TimeStep:
        return TimeStep.of(self.step)

    @property
    def _calendar_parts(self) -> tuple[str, ...]:
        if isinstance(self.calendar, bool):
            return self._step.calendar if self.calendar else ()
        return tuple(self.calendar)

    @property
    def _calendar_names(self) -> list[str]:
        return [
            f"{self.time}_{ending}"
            for part in self._calendar_parts
            for ending in CALENDAR_ENDINGS[part]
        ]

    @property
    def _level_names(self) -> list[str]:
        return [] if self.level_name is None else [self.level_name]

    def _laid(
        self, table: Any, further: Sequence[str], wanted: pd.DataFrame | None = None
    ) -> tuple[pd.DataFrame, SeriesNames, TimeGrid]:
        """The table, its series, and the grid of their periods."""
        columns = (*self.by, self.time, self.outcome, *further)
        table = time_grid.checked_table(table, columns, "The table")
        tables = [table] if wanted is None else [table, wanted]
        codes, names = time_grid.series_of(self.by, tables)
        ticks = [self._step.ticks(each[self.time]) for each in tables]
        outcomes = time_grid.outcomes_of(table, self.outcome, codes[0], names, self.gaps)
        history = LongTable(codes[0], ticks[0], outcomes)
        asked = None if wanted is None else LongTable(codes[1], ticks[1])
        grid = time_grid.grid_of(history, names, self._step, self.gaps, asked, self.lead)
        return table, names, grid

    def _outcome_columns(self, grid: TimeGrid) -> dict[str, np.ndarray]:
        """Features that are made of outcomes, and the level; NaN where history is too short."""
        past = Past(grid, self.lead, self.review, self._step.week, self.gaps == time_grid.MISSING)
        columns = [
            *(past.lag(size) for size in self.lags),
            *(past.rolling(size) for size in self.rolling),
            *(past.same_weekday(size) for size in self.same_weekday),
        ]
        made = dict(zip(self.outcome_features, columns, strict=True))
        if self.level is not None:
            level = np.maximum(past.rolling(self.level, least=1), self.floor)
            made |= dict.fromkeys(self._level_names, level)
        return made

    def _is_row(self, grid: TimeGrid) -> np.ndarray:
        """Places that are rows: of the table, or of its filled gaps."""
        return (grid.row >= 0) | (self.gaps == time_grid.FILL)

    def _assembled(
        self,
        keys: pd.DataFrame,
        ticks: np.ndarray,
        columns: dict[str, np.ndarray],
        place: np.ndarray,
    ) -> dict[str, Any]:
        """Everything at these places that does not come from columns of a table."""
        made: dict[str, Any] = {name: keys[name].array for name in self.by}
        made[self.time] = self._step.times(ticks)
        for part in self._calendar_parts:
            for ending, values in self._step.calendar_part(part, ticks).items():
                made[f"{self.time}_{ending}"] = values
        return made | {name: values[place] for name, values in columns.items()}

    def _kept(self, keep: Any) -> tuple[str, ...]:
        kept = checked_names("keep", keep)
        there = {*self.by, self.time, self.outcome, *self.feature_names, *self._level_names}
        for name in kept:
            if name in there:
                raise ValueError(
                    f"keep must name columns that are not in the table of features anyway; got "
                    f"{name!r}."
                )
        return kept

    def _tell_short(self, chosen: np.ndarray, grid: TimeGrid, names: SeriesNames) -> None:
        """Warn of series of which nothing remains to learn from; refuse if nothing remains."""
        usable = np.bincount(grid.series[chosen], minlength=len(names.keys))
        empty = np.flatnonzero(usable == 0)
        need = (
            f"a row needs outcomes from {counted(self.reach, 'period')} before it to "
            f"{counted(self.review, 'period')} from its date on"
        )
        if len(empty) == len(usable):
            raise ValueError(
                f"There is no row to learn from: {need}; give more history, or shorter lags and "
                "windows."
            )
        if len(empty):
            warnings.warn(
                f"{len(empty):,} of {len(usable):,} series have no row to learn from "
                f"({names.labels(empty)}): {need}.",
                ShortSeriesWarning,
                stacklevel=3,
            )

    def _refuse_short(self, ready: np.ndarray, grid: TimeGrid, names: SeriesNames) -> None:
        """Name the wanted series whose history does not suffice."""
        lacking = np.unique(grid.series[grid.place[~ready]])
        if len(lacking):
            raise ValueError(
                f"History is too short, or has gaps, for {len(lacking):,} of the wanted series "
                f"({names.labels(lacking)}): a row needs outcomes from "
                f"{counted(self.reach, 'period')} before it on; give more history, or say "
                "short='missing' to leave empty what is lacking."
            )

    def _check_calendar(self) -> None:
        step = self._step
        possible = (*step.calendar, "season") if step.kind != "number" else ()
        for part in self._calendar_parts:
            if part not in possible:
                raise ValueError(
                    f"calendar must be true, false or some of {listed(possible) or 'nothing'} with "
                    f"step={self.step!r}; got {part!r}."
                )
        if self.same_weekday and step.week is None:
            raise ValueError(
                f"same_weekday needs a step of which a week has several, such as 'D' or 'h'; with "
                f"step={self.step!r}, use lags and rolling."
            )

    def _check_lags(self) -> None:
        least = self.lead + self.review - 1
        for lag in self.lags:
            if lag < least:
                many = "" if self.review == 1 else f" and an outcome takes {self.review}"
                raise ValueError(
                    f"A lag of {lag} is not known yet when the decision is made: the lead is "
                    f"{counted(self.lead, 'period')}{many}, so lags must be at least {least}."
                )

    def _check_names(self) -> None:
        for name in ("time", "outcome"):
            checked_names(name, getattr(self, name))
        used = [*self.by, self.time, self.outcome, *self.feature_names, *self._level_names]
        for name in used:
            if used.count(name) > 1:
                raise ValueError(
                    f"Two columns would be called {name!r}: each column has one part to play, and "
                    "none may be called like a feature that is made; rename one."
                )


def _ready(columns: dict[str, np.ndarray], places: int) -> np.ndarray:
    """Where nothing is lacking."""
    ready = np.full(places, True)
    for values in columns.values():
        ready &= ~np.isnan(values)
    return ready
