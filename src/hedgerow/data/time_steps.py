"""Periods: the times of a table as whole numbers, and how far neighbouring ones are apart.

    "D", "h", "W", "15min"      so many microseconds
    "M", "3M"                   so many months; times are firsts of months
    1, 12                       so much, where times are whole numbers

A tick is the unit in which times are counted exactly: a microsecond, a month, or one. Times of day
are those on the clock of the place: what a time zone would add is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow import _checks
from hedgerow._frames import require_pandas
from hedgerow.data.look_alikes import ISO_DATE
from hedgerow.describe.numbers import listed
from hedgerow.describe.text import quoted

if TYPE_CHECKING:
    import pandas as pd

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MOST_WINDOWS, LONGEST = 100, 1_000_000
"""How many lags (means, …) there may be, and how many periods one may reach back."""
_MINUTE = 60_000_000
_DAY = 1440 * _MINUTE
_TICKS = {"min": _MINUTE, "h": 60 * _MINUTE, "D": _DAY, "W": 7 * _DAY}
_STEP = re.compile(r"([1-9]\d{0,3})?(min|h|D|W|M)", re.ASCII)
_LARGEST = 2**53
"""Of whole numbers that stand for times, so that differences of them stay exact."""


@dataclass(frozen=True)
class TimeStep:
    """How far one period is from the next: so many ticks of a kind ("us", "M" or "number")."""

    width: int
    kind: str

    @classmethod
    def of(cls, step: Any) -> TimeStep:
        """Return what a setting such as "D", "15min" or 1 means."""
        if isinstance(step, int | np.integer) and not isinstance(step, bool):
            if not 1 <= step <= _LARGEST:
                raise ValueError(f"step must be at least 1, got {step}.")
            return cls(int(step), "number")
        found = _STEP.fullmatch(step) if isinstance(step, str) else None
        if found is None:
            raise ValueError(
                f"step must be one of 'min', 'h', 'D', 'W' and 'M', with a number before it if it "
                f"is several ('15min'), or a whole number where times are; got {step!r}."
            )
        many, unit = int(found[1] or 1), found[2]
        return cls(many, "M") if unit == "M" else cls(many * _TICKS[unit], "us")

    @property
    def week(self) -> int | None:
        """Periods from a weekday to the same one a week later, if there are several."""
        whole = self.kind == "us" and (7 * _DAY) % self.width == 0 and self.width < 7 * _DAY
        return 7 * _DAY // self.width if whole else None

    @property
    def calendar(self) -> tuple[str, ...]:
        """What calendars know about such times, and differs between them."""
        if self.kind == "number":
            return ()
        if self.kind == "M":
            return ("month",)
        hours = ("hour",) if self.width < _DAY else ()
        days = ("weekday",) if self.width < 7 * _DAY else ()
        return (*days, *hours, "month", "day_of_year")

    def ticks(self, column: pd.Series) -> np.ndarray:
        """Return a column of times in ticks, or say which row holds none."""
        if self.kind == "number":
            return _whole_numbers(column)
        instants = _instants(column)
        if self.kind == "us":
            return instants.astype(np.int64)
        months = instants.astype("datetime64[M]")
        off = months.astype(instants.dtype) != instants
        if off.any():
            row = int(np.argmax(off))
            raise ValueError(
                f"Column {column.name!r} must hold firsts of months, because step counts months, "
                f"but row {row + 1} holds {quoted(column.iloc[row])}."
            )
        return months.astype(np.int64)

    def times(self, ticks: np.ndarray) -> np.ndarray:
        """Return ticks as what they stand for: datetime64, or whole numbers."""
        if self.kind == "number":
            return ticks
        return ticks.astype(f"datetime64[{self.kind}]").astype("datetime64[us]")

    def shown(self, tick: Any) -> str:
        """A time as a sentence names it."""
        if self.kind == "number":
            return str(int(tick))
        text = str(self.times(np.asarray([tick]))[0])
        return text.removesuffix(".000000").removesuffix(":00").removesuffix("T00:00")

    def calendar_part(self, part: str, ticks: np.ndarray) -> dict[str, Any]:
        """Return what a calendar says about times, by the end of the column's name."""
        times = self.times(ticks)
        days = times.astype("datetime64[D]")
        if part == "weekday":
            codes = (days.astype(np.int64) + 3) % 7  # day 0 of datetime64 is a Thursday
            categorical = require_pandas().Categorical
            return {part: categorical.from_codes(codes, categories=list(WEEKDAYS))}
        if part == "hour":
            return {part: (times - days).astype(np.int64) / (60 * _MINUTE)}
        if part == "month":
            return {part: (days.astype("datetime64[M]").astype(np.int64) % 12 + 1).astype(float)}
        year = days.astype("datetime64[Y]")
        begun = (days - year.astype("datetime64[D]")).astype(np.int64)
        if part == "day_of_year":
            return {part: begun + 1.0}
        length = ((year + 1).astype("datetime64[D]") - year.astype("datetime64[D]")).astype(int)
        angle = 2 * np.pi * begun / length
        return {"season_sin": np.sin(angle), "season_cos": np.cos(angle)}


CALENDAR_ENDINGS = {
    **{part: (part,) for part in ("weekday", "hour", "month", "day_of_year")},
    "season": ("season_sin", "season_cos"),
}
"""Parts of a calendar, and how the names of their columns end."""


def _whole_numbers(column: pd.Series) -> np.ndarray:
    pandas = require_pandas()
    if pandas.api.types.is_datetime64_any_dtype(column.dtype):
        raise ValueError(
            f"Column {column.name!r} holds dates, but step is a whole number; write the step of "
            "dates as 'D', 'h', 'W' or 'M'."
        )
    numbers = np.asarray(pandas.to_numeric(column, errors="coerce"), dtype=np.float64)
    wrong = ~(np.abs(numbers) < _LARGEST) | (numbers != np.round(numbers))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"Column {column.name!r} must hold whole numbers, because step is one, but row "
            f"{row + 1} holds {quoted(column.iloc[row])}; for dates, say step='D'."
        )
    return numbers.astype(np.int64)


def _instants(column: pd.Series) -> np.ndarray:
    """Times as datetime64[us], by the clock of the place."""
    pandas = require_pandas()
    types = pandas.api.types
    if types.is_numeric_dtype(column.dtype):
        raise ValueError(
            f"Column {column.name!r} must hold dates like 2015-11-07, but it holds numbers; where "
            "times are whole numbers, say step=1."
        )
    if types.is_datetime64_any_dtype(column.dtype):
        if getattr(column.dtype, "tz", None) is not None:
            column = column.dt.tz_localize(None)
        instants = column.to_numpy().astype("datetime64[us]")
    else:
        codes, distinct = pandas.factorize(column.astype(object).astype(str))
        nothing = np.datetime64("NaT")  # for code −1, which is a missing value
        instants = np.array([*map(_instant, distinct), nothing], dtype="datetime64[us]")[codes]
    unreadable = np.isnat(instants)
    if unreadable.any():
        row = int(np.argmax(unreadable))
        raise ValueError(
            f"Column {column.name!r} must hold dates like 2015-11-07, but row {row + 1} holds "
            f"{quoted(column.iloc[row])}."
        )
    return instants


def _instant(text: str) -> np.datetime64:
    found = ISO_DATE.fullmatch(text.strip())
    if found is None:
        return np.datetime64("NaT")
    clock = found[0][: found.start(5)] if found[5] else found[0]
    try:
        return np.datetime64(clock.replace(" ", "T").replace(",", "."), "us")
    except ValueError:  # there is no such day
        return np.datetime64("NaT")


# --------------------------------------------------------------------------- settings in periods


def checked_names(name: str, value: Any) -> tuple[str, ...]:
    """Return a setting that is a text or several as a tuple of texts."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, Iterable) or isinstance(names, Mapping):
        raise TypeError(f"{name} must be a text or a list of texts, got {value!r}.")
    names = tuple(names)
    for text in names:
        if not isinstance(text, str) or not text.strip():
            raise TypeError(f"{name} must be a text or a list of texts, got {text!r} in it.")
    if len(set(names)) < len(names):
        raise ValueError(f"{name} must name each only once, got {listed(names)}.")
    return names


def checked_periods(name: str, value: Any) -> int:
    """Return a number of periods as an int, from 1 to a million."""
    periods = _checks.count(name, value)
    if periods > LONGEST:
        raise ValueError(f"{name} must be at most {LONGEST:,}, got {periods}.")
    return periods


def checked_windows(name: str, value: Any) -> tuple[int, ...]:
    """Return one or several numbers of periods as a tuple, each only once."""
    several = isinstance(value, Iterable) and not isinstance(value, str | Mapping)
    sizes = tuple(checked_periods(name, size) for size in (value if several else (value,)))
    if len(set(sizes)) < len(sizes) or len(sizes) > MOST_WINDOWS:
        raise ValueError(
            f"{name} must be at most {MOST_WINDOWS} different numbers of periods, got "
            f"{listed(sizes)}."
        )
    return sizes
