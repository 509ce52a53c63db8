"""Features of time series tables: what was known when a decision was made, and nothing later.

A row dated d is the first period that one decision covers, and the decision is made when outcomes
up to d − lead are known:

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

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from hedgerow import _checks
from hedgerow.data import time_tables
from hedgerow.data.time_grid import GAPS
from hedgerow.data.time_steps import (
    CALENDAR_ENDINGS,
    TimeStep,
    checked_names,
    checked_periods,
    checked_windows,
)
from hedgerow.data.time_windows import reach_of_weeks
from hedgerow.describe.numbers import counted, listed

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TimeFeatures:
    """Turn a long table of time series into features that never look ahead.

    A long table has one row per series and period: columns that name the series, one with the time,
    one with the outcome, and others. A row dated d stands for the decision whose first period is d.
    Where several numbers or names may be given, a single one need not be in a tuple.

    Parameters
    ----------
    time : str
        The column with times: dates (or text like 2015-11-07 or 2015-11-07T08:30), or whole numbers
        if ``step`` is one.
    outcome : str
        The column with outcomes, one per period.
    by : tuple of str
        The columns that name a series; none: the table is one series.
    known : tuple of str
        Columns that are known when the decision is made, such as holidays, promotions or the
        weather forecast; they become features as they are. Others are left out.
    lags : tuple of int
        Outcomes so many periods before; at least ``lead + review - 1``, or they are not known yet.
    rolling : tuple of int
        Means of the latest so many periods that are known.
    same_weekday : tuple of int
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
    >>> features = TimeFeatures("day", "sold", lags=(2,), rolling=(2,), step=1)
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
    by: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    lags: tuple[int, ...] = ()
    rolling: tuple[int, ...] = ()
    same_weekday: tuple[int, ...] = ()
    level: int | None = None
    floor: float = 1.0
    lead: int = 1
    review: int = 1
    calendar: bool | tuple[str, ...] = True
    step: str | int = "D"
    gaps: str = "refuse"

    def __post_init__(self) -> None:
        settle = object.__setattr__
        for name in ("time", "outcome"):
            _checks.instance(name, getattr(self, name), str, "the name of a column")
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
        _checks.one_of("gaps", self.gaps, GAPS)
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
    def column_names(self) -> list[str]:
        """Names of all columns that are made: series, time, features, and the level."""
        level = [] if self.level_name is None else [self.level_name]
        return [*self.by, self.time, *self.feature_names, *level]

    @property
    def reach(self) -> int:
        """How many periods before d the earliest outcome lies that a row dated d can need."""
        return max(
            *self.lags,
            *(self.lead + size - 1 for size in (*self.rolling, self.level or 1)),
            *(
                reach_of_weeks(size, self.lead, self.review, self.time_step.week)
                for size in self.same_weekday
            ),
            self.lead,
        )

    # ----------------------------------------------------------------------- tables

    def training(
        self, table: pd.DataFrame, keep: str | Iterable[str] = (), short: str = "drop"
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
        return time_tables.training(self, table, keep, short)

    def upcoming(
        self,
        history: pd.DataFrame,
        wanted: pd.DataFrame,
        keep: str | Iterable[str] = (),
        short: str = "refuse",
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
        return time_tables.upcoming(self, history, wanted, keep, short)

    def overview(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return one row per series: what the table has of it, and what training can use.

        Columns: those of ``by``; ``first`` and ``last`` time; ``rows`` and ``absent``, periods with
        and without a row; of the rows (and filled periods), how many are ``usable``, how many were
        ``waiting`` for enough history, and how many ``unfinished``, their outcome being incomplete.
        """
        return time_tables.overview(self, table)

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
            settings = cls(**plain)
            if settings.to_json() != plain:
                raise ValueError("its entries are not written as they are stored")
            return settings
        except (TypeError, ValueError) as error:
            reason = str(error).rstrip(".")
            raise ValueError(
                f"The stored description of time features is damaged ({reason})."
            ) from None

    # ----------------------------------------------------------------------- checks

    @property
    def time_step(self) -> TimeStep:
        """How far periods are apart."""
        return TimeStep.of(self.step)

    @property
    def calendar_parts(self) -> tuple[str, ...]:
        """Parts of the date that are features."""
        if isinstance(self.calendar, bool):
            return self.time_step.calendar if self.calendar else ()
        return tuple(self.calendar)

    @property
    def _calendar_names(self) -> list[str]:
        return [
            f"{self.time}_{ending}"
            for part in self.calendar_parts
            for ending in CALENDAR_ENDINGS[part]
        ]

    def _check_calendar(self) -> None:
        step = self.time_step
        possible = (*step.calendar, "season") if step.kind != "number" else ()
        for part in self.calendar_parts:
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
        used = [*self.column_names, self.outcome]
        for name in used:
            if used.count(name) > 1:
                raise ValueError(
                    f"Two columns would be called {name!r}: each column has one part to play, and "
                    "none may be called like a feature that is made; rename one."
                )
