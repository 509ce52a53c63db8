"""Dates of a report's rows, and the columns that follow from them.

A table that says ``date = 2015-02-27`` mostly says ``weekday = FRI`` and ``weekend = 0`` as well.
A reader who changes the date means all of them, so columns that follow are found and moved along:

    offset   value = part of the date + constant        month 1 to 12, or counted from 0
    table    value = what the column holds on that part   weekday: FRI; weekend: 1 on 5 and 6
    wave     value = sin or cos of 2π·(day of the year − 1)/days of the year

A column follows if it does so on all but a hundredth of the rows: real tables have slips.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hedgerow._frames import require_pandas
from hedgerow.data.columns import dates_of

SLIPS = 0.01
OFTEN, FEWEST_MONTHS = 4, 3
"""Times each weekday has to be seen, and months, before a column is taken to follow from them."""
DAY = np.timedelta64(1, "D")


def dates_in(table: Any, name: str | None = None) -> tuple[str, np.ndarray] | None:
    """The column of dates with its name: the one asked for, or the first there is."""
    if table is None:
        return None
    if name is not None and name not in table.columns:
        raise ValueError(f"time={name!r} names a column that the table does not have.")
    for column in table.columns if name is None else (name,):
        series = table[column]
        if series.dtype == object or not hasattr(series.dtype, "kind") or series.dtype.kind in "MO":
            found = dates_of(series)
            if found is not None and not found.isna().any():
                return str(column), found.to_numpy().astype("datetime64[D]")
    if name is not None:
        raise ValueError(f"time={name!r} must hold dates like 2015-11-07.")
    index = table.index
    if isinstance(index, require_pandas().DatetimeIndex) and not index.hasnans:
        return str(index.name or "date"), index.to_numpy().astype("datetime64[D]")
    return None


def row_noun(dates: np.ndarray | None) -> str:
    """What a row is called: "day" or "week" where dates say so, else "row"."""
    if dates is None or len(dates) < 2 or len(np.unique(dates)) < len(dates):
        return "row"
    steps = np.diff(np.sort(dates)) / DAY
    usual = float(np.median(steps))
    return {1.0: "day", 7.0: "week"}.get(usual, "row")


def parts_of(dates: np.ndarray) -> dict[str, np.ndarray]:
    """Parts of dates, as the page's script has them."""
    months = dates.astype("datetime64[M]")
    years = dates.astype("datetime64[Y]")
    begun = (dates - years.astype("datetime64[D]")) / DAY
    length = ((years + 1).astype("datetime64[D]") - years.astype("datetime64[D]")) / DAY
    angle = 2 * np.pi * begun / length
    return {
        "weekday": (dates.astype(np.int64) + 3) % 7,  # 1970-01-01 was a Thursday
        "month": months.astype(np.int64) % 12 + 1,
        "day_of_year": begun.astype(np.int64) + 1,
        "day": (dates - months.astype("datetime64[D]")).astype(np.int64) + 1,
        "year": years.astype(np.int64) + 1970,
        "season_sin": np.sin(angle),
        "season_cos": np.cos(angle),
    }


def following(dates: np.ndarray, values: np.ndarray) -> dict[str, Any] | None:
    """How a column (numbers, or texts of a category) follows from the rows' dates; None: not."""
    parts = parts_of(dates)
    if values.dtype.kind == "f":
        for rule in (_wave, _offset):
            found = rule(parts, values)
            if found is not None:
                return found
    return _table(parts, values)


def _agree(same: np.ndarray) -> bool:
    return float(np.mean(same)) >= 1 - SLIPS


def _wave(parts: dict[str, np.ndarray], values: np.ndarray) -> dict[str, Any] | None:
    for part in ("season_sin", "season_cos"):
        if _agree(np.abs(parts[part] - values) < 1e-6) and np.ptp(values) > 0:
            return {"part": part, "offset": 0.0}
    return None


def _offset(parts: dict[str, np.ndarray], values: np.ndarray) -> dict[str, Any] | None:
    for part in ("day_of_year", "day", "month", "weekday", "year"):
        gaps = values - parts[part]
        offset = float(np.median(gaps))
        if len(np.unique(parts[part])) >= FEWEST_MONTHS and _agree(gaps == offset):
            return {"part": part, "offset": offset}
    return None


def _table(parts: dict[str, np.ndarray], values: np.ndarray) -> dict[str, Any] | None:
    """By weekday, or by month if each month has a value of its own."""
    judges: dict[str, Callable[[np.ndarray, dict[int, Any]], bool]] = {
        "weekday": lambda count, seen: len(count) == 7 and count.min() >= OFTEN,
        "month": lambda count, seen: (
            len(seen) >= FEWEST_MONTHS and len(set(seen.values())) == len(seen)
        ),
    }
    for part, enough in judges.items():
        kinds, place, count = np.unique(parts[part], return_inverse=True, return_counts=True)
        seen = {int(kind): _usual(values[place == i]) for i, kind in enumerate(kinds)}
        expected = np.array([seen[int(kind)] for kind in kinds])[place]
        if enough(count, seen) and len(set(seen.values())) > 1 and _agree(values == expected):
            return {"part": part, "table": {str(kind): value for kind, value in seen.items()}}
    return None


def _usual(values: np.ndarray) -> Any:
    """The most frequent value."""
    different, count = np.unique(values, return_counts=True)
    return different[int(count.argmax())].item()
