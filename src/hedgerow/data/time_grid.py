"""Grids: the series of a long table one after the other, each with a place for every period.

    series      0 0 0 0 0 1 1 1 …       offset      0 1 2 3 4 0 1 2 …
    outcome     5 3 0 4 6 2 2 1 …       there       1 1 0 1 1 1 1 1 …      row  7 2 – 0 9 3 4 1 …

A long table has a row per series and period, in any order. On a grid a lag is a shift and a moving
mean is a sum over a window, and neither knows of dates. A period without a row has no outcome
(``there`` is false), unless gaps are filled. What is no series (two rows for one period, a period
too few, a time between two periods) costs one sentence; rows are counted from 1, the header not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow._frames import require_pandas
from hedgerow.data.time_steps import TimeStep
from hedgerow.describe.numbers import counted, listed
from hedgerow.describe.text import quoted, shown

if TYPE_CHECKING:
    import pandas as pd

REFUSE, FILL, MISSING = "refuse", "fill", "missing"
GAPS = (REFUSE, FILL, MISSING)
_SPARSE, _SMALL = 20, 1_000_000
"""A grid may have so many places for each row, or so many at least."""


@dataclass(frozen=True)
class SeriesNames:
    """The keys of all series, sorted, one row for each; and how a sentence calls one."""

    keys: pd.DataFrame

    def label(self, series: Any) -> str:
        """A series as a sentence names it: "store=4 product=101"."""
        row = self.keys.iloc[int(series)]
        return " ".join(f"{name}={shown(row[name])}" for name in self.keys.columns) or "the table"

    def labels(self, series: np.ndarray) -> str:
        """The first few of several series."""
        first = listed([self.label(code) for code in series[:6]])
        return first + (f" and {len(series) - 6:,} more" if len(series) > 6 else "")


@dataclass(frozen=True)
class LongTable:
    """What matters of a long table: series, tick and outcome of each row, NaN if not known."""

    series: np.ndarray
    ticks: np.ndarray
    outcomes: np.ndarray


@dataclass(frozen=True)
class TimeGrid:
    """Every period of every series, one after the other; see the top of this file.

    ``row`` is the row of the table that a period came from, −1 if none; ``place`` the periods that
    were asked for, if any were.
    """

    series: np.ndarray
    offset: np.ndarray
    ticks: np.ndarray
    outcome: np.ndarray
    there: np.ndarray
    row: np.ndarray
    place: np.ndarray


# --------------------------------------------------------------------------- reading tables


def checked_table(table: Any, columns: Sequence[str], what: str) -> pd.DataFrame:
    """Return the table with texts for names, if it has these columns and rows."""
    pandas = require_pandas()
    if not isinstance(table, pandas.DataFrame):
        raise TypeError(f"{what} must be a pandas DataFrame; got {type(table).__name__}.")
    table = table.rename(columns=str)
    repeated = table.columns[table.columns.duplicated()]
    if len(repeated):
        raise ValueError(f"{what} has more than one column called {repeated[0]!r}.")
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise ValueError(
            f"{what} lacks the column{'s' if len(missing) > 1 else ''} {listed(missing)}; it has "
            f"{listed(table.columns)}."
        )
    if len(table) == 0:
        raise ValueError(f"{what} has no rows.")
    return table


def series_of(
    by: Sequence[str], tables: Sequence[pd.DataFrame]
) -> tuple[list[np.ndarray], SeriesNames]:
    """Return which series each row of each table belongs to, and the names of the series."""
    pandas = require_pandas()
    lengths = [len(table) for table in tables]
    codes = np.zeros(sum(lengths), dtype=np.int64)
    columns = {}
    for name in by:
        column = _joined([table[name] for table in tables])
        if column.isna().any():
            row = int(np.argmax(column.isna()))
            row = row - lengths[0] if row >= lengths[0] else row
            raise ValueError(
                f"Column {name!r} names series, but it is empty in row {row + 1}; fill it in or "
                "drop that row."
            )
        try:
            of_column, distinct = pandas.factorize(column, sort=True)
        except TypeError:  # values that cannot be compared: 7 and "x"
            of_column, distinct = pandas.factorize(column.map(_text), sort=True)
        _, codes = np.unique(codes * len(distinct) + of_column, return_inverse=True)
        columns[name] = column
    _, first = np.unique(codes, return_index=True)
    keys = pandas.DataFrame(
        {name: column.iloc[first].reset_index(drop=True) for name, column in columns.items()},
        index=range(len(first)),
    )
    return np.split(codes, np.cumsum(lengths)[:-1]), SeriesNames(keys)


def _joined(columns: list[Any]) -> Any:
    """One column of several; as text if they are of different types, 7 and "7" being one value."""
    pandas = require_pandas()
    categorical = pandas.CategoricalDtype
    columns = [
        column.astype(object) if isinstance(column.dtype, categorical) else column
        for column in columns
    ]
    if len({column.dtype for column in columns}) > 1:
        columns = [column.map(_text, na_action="ignore") for column in columns]
    return pandas.concat(columns, ignore_index=True)


def _text(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value).strip()


def outcomes_of(
    table: pd.DataFrame, name: str, series: np.ndarray, names: SeriesNames, gaps: str
) -> np.ndarray:
    """Return the outcomes as float64; those that are missing are NaN if they may be."""
    pandas = require_pandas()
    column = table[name]
    missing = column.isna().to_numpy()
    if pandas.api.types.is_datetime64_any_dtype(column.dtype):
        raise ValueError(f"Column {name!r} must hold numbers, but it holds dates.")
    outcomes = np.asarray(pandas.to_numeric(column, errors="coerce"), dtype=np.float64)
    wrong = ~np.isfinite(outcomes) & ~missing
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"Column {name!r} must hold finite numbers, but row {row + 1} ("
            f"{names.label(series[row])}) holds {quoted(column.iloc[row])}."
        )
    if missing.any() and gaps != MISSING:
        row = int(np.argmax(missing))
        of_series, others = series == series[row], len(np.unique(series[missing])) - 1
        raise ValueError(
            f"Column {name!r} has {counted(int(missing[of_series].sum()), 'missing value')} in "
            f"{names.label(series[row])}, first in row {row + 1}"
            + (f", and more in {others} other series" if others else "")
            + "; fill them in or drop those rows, or say gaps='missing' to go on without them."
        )
    return outcomes


# --------------------------------------------------------------------------- laying the grid


def grid_of(
    history: LongTable,
    names: SeriesNames,
    step: TimeStep,
    gaps: str,
    wanted: LongTable | None = None,
    lead: int = 1,
) -> TimeGrid:
    """Give every period of every series its place, the wanted periods included."""
    count = len(names.keys)
    if wanted is None:
        nothing = np.zeros(0, dtype=np.int64)
        wanted = LongTable(nothing, nothing, nothing)
    order = np.lexsort((history.ticks, history.series))
    series, ticks = history.series[order], history.ticks[order]
    _refuse_repeated(series, ticks, order, names, step)

    origin = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(origin, wanted.series, wanted.ticks)
    first = np.flatnonzero(np.diff(series, prepend=-1))
    origin[series[first]] = ticks[first]
    period = _periods(series, ticks, origin, order, names, step)
    of_wanted = _periods(
        wanted.series, wanted.ticks, origin, np.arange(len(wanted.ticks)), names, step
    )
    if gaps == REFUSE:
        _refuse_gaps(series, period, origin, names, step)
    last = np.full(count, -1)
    last[series] = period  # sorted, so that the last one stays
    limit = last if gaps == REFUSE else np.where(last < 0, -1, (ticks.max() - origin) // step.width)
    if gaps != MISSING:
        _refuse_beyond(wanted, of_wanted - lead, last, limit, origin, names, step)

    begin, end = np.zeros(count, dtype=np.int64), last.copy()
    np.minimum.at(begin, wanted.series, of_wanted)
    np.maximum.at(end, wanted.series, of_wanted)
    lengths = end - begin + 1
    _refuse_sparse(lengths, len(ticks) + len(of_wanted), begin, end, origin, names, step)
    start = np.cumsum(lengths) - lengths - begin
    of_place = np.repeat(np.arange(count), lengths)
    place = np.arange(int(lengths.sum())) - start[of_place]

    row = np.full(len(place), -1)
    row[start[series] + period] = order
    outcome = np.zeros(len(place))
    there = np.zeros(len(place), dtype=bool)
    if gaps == FILL:
        filled = np.where(len(wanted.ticks), limit, last)
        there = (place >= 0) & (place <= filled[of_place])
    values = history.outcomes[order]
    seen = ~np.isnan(values)
    there[start[series] + period] = seen
    outcome[start[series] + period] = np.where(seen, values, 0.0)
    return TimeGrid(
        series=of_place,
        offset=place - begin[of_place],
        ticks=origin[of_place] + place * step.width,
        outcome=outcome,
        there=there,
        row=row,
        place=start[wanted.series] + of_wanted,
    )


def _periods(
    series: np.ndarray,
    ticks: np.ndarray,
    origin: np.ndarray,
    rows: np.ndarray,
    names: SeriesNames,
    step: TimeStep,
) -> np.ndarray:
    """Periods since the first of the series; every time must be a whole number of steps away."""
    since = ticks - origin[series]
    off = since % step.width != 0
    if off.any():
        i = int(np.argmax(off))
        raise ValueError(
            f"Row {rows[i] + 1} ({names.label(series[i])}) is dated {step.shown(ticks[i])}, which "
            f"is no whole number of steps from the first row of its series, "
            f"{step.shown(origin[series[i]])}; correct it, or set step to what lies between rows."
        )
    return since // step.width


def _refuse_repeated(
    series: np.ndarray, ticks: np.ndarray, order: np.ndarray, names: SeriesNames, step: TimeStep
) -> None:
    again = (np.diff(series) == 0) & (np.diff(ticks) == 0)
    if again.any():
        i = int(np.argmax(again))
        raise ValueError(
            f"{names.label(series[i])} has more than one row for {step.shown(ticks[i])}, for "
            f"example rows {order[i] + 1} and {order[i + 1] + 1}"
            + (f" ({again.sum():,} rows are one too many)" if again.sum() > 1 else "")
            + "; keep one of them, add them up, or name in by what tells them apart."
        )


def _refuse_gaps(
    series: np.ndarray, period: np.ndarray, origin: np.ndarray, names: SeriesNames, step: TimeStep
) -> None:
    gap = (np.diff(series) == 0) & (np.diff(period) > 1)
    if gap.any():
        i = int(np.argmax(gap))
        code, found, others = series[i], int(gap.sum()), len(np.unique(series[:-1][gap])) - 1
        ends = [
            step.shown(origin[code] + at * step.width)
            for at in sorted({period[i] + 1, period[i + 1] - 1})
        ]
        more = f" (and {found - 1:,} more gaps" if found > 2 else " (and another gap"
        more += f", {others + 1} series have some)" if others else ")"
        raise ValueError(
            f"{names.label(code)} has no row for {' to '.join(ends)}{more if found > 1 else ''}; "
            "add the rows, or say gaps='fill' if nothing happened then, gaps='missing' if nobody "
            "knows."
        )


def _refuse_beyond(
    wanted: LongTable,
    needed: np.ndarray,
    last: np.ndarray,
    limit: np.ndarray,
    origin: np.ndarray,
    names: SeriesNames,
    step: TimeStep,
) -> None:
    """A wanted row whose decision falls after the end of what is known."""
    late = (needed > limit[wanted.series]) & (last[wanted.series] >= 0)
    if late.any():
        i = int(np.argmax(late))
        code = wanted.series[i]
        ends = step.shown(origin[code] + limit[code] * step.width)
        due = step.shown(origin[code] + needed[i] * step.width)
        raise ValueError(
            f"Row {i + 1} of the wanted rows ({names.label(code)}, "
            f"{step.shown(wanted.ticks[i])}) is decided when outcomes up to {due} are known, but "
            f"the history ends with {ends}; give more recent history, or set lead to how far ahead "
            "is decided."
        )


def _refuse_sparse(
    lengths: np.ndarray,
    rows: int,
    begin: np.ndarray,
    end: np.ndarray,
    origin: np.ndarray,
    names: SeriesNames,
    step: TimeStep,
) -> None:
    """A date of the year 1016 among others of 2016 would ask for a grid of a thousand years."""
    if lengths.astype(float).sum() > max(_SPARSE * rows, _SMALL):
        code = int(np.argmax(lengths))
        ends = [step.shown(origin[code] + at[code] * step.width) for at in (begin, end)]
        raise ValueError(
            f"{names.label(code)} reaches from {ends[0]} to {ends[1]}, {lengths[code]:,} periods, "
            f"while the tables have {counted(rows, 'row')} for all series; correct its dates, or "
            "set step to what lies between rows."
        )
