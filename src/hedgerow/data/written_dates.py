"""Dates as programs write them for people: which number is the day, and which days they are.

    2026-11-20              year-month-day: says it itself
    2026/11/20, 2026.11.20  the same
    20.11.2026, 11/20/2026  one number is above 12, so it is the day
    03.04.2026              either; never guessed

A program writes all dates of a file alike, so one day above 12 decides for all of them. Years have
four digits here: of 07.11.15 three numbers could be the day.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow._frames import require_pandas
from hedgerow.data.look_alikes import is_iso_date
from hedgerow.data.table_format import DATES, DAY_FIRST, ISO, MONTH_FIRST, YEAR_FIRST
from hedgerow.describe.text import quoted

if TYPE_CHECKING:
    import pandas as pd

MOST = 0.5
_TIME = r"(?:[T ,]+(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s*([AaPp])\.?[Mm]\.?)?)?"
YEAR_LAST = re.compile(rf"(\d{{1,2}})([./-])(\d{{1,2}})\2([12]\d{{3}}){_TIME}", re.ASCII)
YEAR_AHEAD = re.compile(rf"([12]\d{{3}})([./])(\d{{1,2}})\2(\d{{1,2}}){_TIME}", re.ASCII)
_AT_ONCE = 50
"""Values that are looked at before all of them are."""


@dataclass(frozen=True)
class WrittenDates:
    """The different texts of one column that mostly look like dates, with a row of each."""

    name: str
    texts: list[str]
    rows: list[int]
    found: list[Mapping[str, datetime.datetime] | None]
    """By order, the instants that each text may be; None: it is no date at all."""

    @classmethod
    def of(cls, column: Any) -> WrittenDates | None:
        """Look at a column of texts; None if most of them are no dates that people write."""
        present = column.dropna()
        if not len(present) or not _promising(present):
            return None
        different = present.drop_duplicates()
        texts = [str(value).strip() for value in different]
        found = [_orders(text) for text in texts]
        looks = [e is not None or is_iso_date(t) for e, t in zip(found, texts, strict=True)]
        if np.mean(looks) <= MOST or not any(each is not None for each in found):
            return None
        where = np.flatnonzero(np.asarray(column.index.isin(different.index)))
        return cls(str(column.name), texts, [int(row) + 1 for row in where], found)

    @property
    def dated(self) -> list[tuple[str, int, Mapping[str, datetime.datetime]]]:
        """Texts that look like dates, with their rows and the days that they may be."""
        rows = zip(self.texts, self.rows, self.found, strict=True)
        return [(text, row, found) for text, row, found in rows if found is not None]

    def check(self) -> None:
        """Refuse days that do not exist, and dates that are written in several ways."""
        for text, row, found in self.dated:
            if not found:
                raise ValueError(
                    f"Column {self.name!r} holds dates, but {quoted(text)} in row {row:,} is no "
                    "day that exists; correct it or leave that row out."
                )
        iso = [place for place, text in enumerate(self.texts) if is_iso_date(text)]
        signs = {re.sub(r"\d+", "", text.split(" ")[0].split("T")[0]) for text, *_ in self.dated}
        if iso or len(signs) > 1:
            text, row, _ = self.dated[0]
            other = iso[0] if iso else None
            second = (
                (self.texts[other], self.rows[other])
                if other is not None
                else next(
                    (t, r)
                    for t, r, _ in self.dated
                    if re.sub(r"\d", "", t) != re.sub(r"\d", "", text)
                )
            )
            raise ValueError(
                f"Column {self.name!r} writes dates in several ways: {quoted(text)} in row {row:,} "
                f"and {quoted(second[0])} in row {second[1]:,}; write them alike, best as "
                "2015-11-07."
            )

    def only(self, order: str) -> tuple[str, int] | None:
        """The first date that has to be in this order, with its row."""
        return next(((text, row) for text, row, found in self.dated if set(found) == {order}), None)

    @property
    def doubtful(self) -> tuple[str, int] | None:
        """The first date that is two different days."""
        return next(
            (
                (text, row)
                for text, row, found in self.dated
                if len(found) == 2 and len(set(found.values())) == 2
            ),
            None,
        )


def order_of(columns: list[WrittenDates], asked: str | None, remembered: str | None) -> str | None:
    """Return the order of a file's dates, None if it has none, or say what is not clear."""
    if not columns:
        return None
    for column in columns:
        column.check()
    decided = {}
    for order in (DAY_FIRST, MONTH_FIRST, YEAR_FIRST):
        one = next((each for each in columns if each.only(order) is not None), None)
        if one is not None:
            decided[order] = (one, *(one.only(order) or ("", 0)))
    if asked == ISO:
        column = columns[0]
        text, row, _ = column.dated[0]
        raise ValueError(
            f"Column {column.name!r} holds {quoted(text)} in row {row:,}, which is no date like "
            "2015-11-07, as dates='iso' says; leave that out, or say dates='day-first' or "
            "dates='month-first'."
        )
    if len(decided) > 1 or (asked is not None and set(decided) - {asked}):
        shown = list(decided.values())
        if len(decided) > 1:
            (one, text, row), (other, second, at) = shown[:2]
            raise ValueError(
                f"Dates are in several orders: column {one.name!r} holds {quoted(text)} in row "
                f"{row:,}, and column {other.name!r} holds {quoted(second)} in row {at:,}; write "
                "them alike, best as 2015-11-07."
            )
        one, text, row = shown[0]
        raise ValueError(
            f"Column {one.name!r} holds {quoted(text)} in row {row:,}, which is no date as "
            f"{DATES[str(asked)]}; leave dates={asked!r} out, or correct it."
        )
    if decided:
        return next(iter(decided))
    if asked is not None:
        return asked
    doubtful = next((each for each in columns if each.doubtful is not None), None)
    if remembered in (DAY_FIRST, MONTH_FIRST):
        return remembered
    if doubtful is None:
        return DAY_FIRST  # as good as the other: every day has the number of its month
    text, row = doubtful.doubtful or ("", 0)
    days = (_orders(text) or {}).values()
    told = " or ".join(f"{day:%Y-%m-%d}" for day in days)
    raise ValueError(
        f"Column {doubtful.name!r} holds {quoted(text)} in row {row:,}, which is {told}, and no "
        "other date of the file tells; say which with dates='day-first' or dates='month-first'."
    )


def dates_in(column: Any, written: WrittenDates, order: str | None) -> Any:
    """Return a column of dates; one with other things among them stays as it is."""
    if any(found is None for found in written.found):
        return column
    known = {}
    for text, found in zip(written.texts, written.found, strict=True):
        assert found is not None
        known[text] = found.get(str(order)) or next(iter(found.values()))
    stamps = column.map(lambda text: known[str(text).strip()], na_action="ignore")
    return require_pandas().to_datetime(stamps).astype("datetime64[us]")


def _promising(present: pd.Series) -> bool:
    """Whether some of the first and last values look like dates; most columns do not."""
    some = [*present.iloc[:_AT_ONCE], *present.iloc[-_AT_ONCE:]]
    return any(_orders(str(value).strip()) is not None for value in some)


def _orders(text: str) -> Mapping[str, datetime.datetime] | None:
    """The instants that a text may be, by the order of its numbers; None if it is no such date."""
    found = YEAR_LAST.fullmatch(text)
    if found is not None:
        one, _, two, year = (int(part) if part.isdigit() else 0 for part in found.groups()[:4])
        tries = {DAY_FIRST: (year, two, one), MONTH_FIRST: (year, one, two)}
    else:
        found = YEAR_AHEAD.fullmatch(text)
        if found is None:
            return None
        tries = {YEAR_FIRST: (int(found[1]), int(found[3]), int(found[4]))}
    clock = _clock(*found.groups()[4:])
    if clock is None:
        return {}
    days = {}
    for order, (year, month, day) in tries.items():
        try:
            days[order] = datetime.datetime(year, month, day, *clock)
        except ValueError:
            continue
    return days


def _clock(
    hour: str | None, minute: str, second: str | None, half: str | None
) -> tuple[int, int, int] | None:
    """Hours, minutes and seconds of a time of day; None if no clock shows it."""
    if hour is None:
        return (0, 0, 0)
    hours = int(hour)
    if half is not None:
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + (12 if half in "Pp" else 0)
    return (hours, int(minute), int(second or 0))
