"""Columns of a long table: a number per row, a group per row, a day per row.

Costs, pack sizes and stock on hand are one number for all rows or one for each; an error names the
row. Groups are numbered 0, 1, … in the order of their sorted labels; dates become whole numbers of
days, so that a week is 7 and a lead time can be subtracted.
"""

from __future__ import annotations

import datetime
import reprlib
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped


class Groups(NamedTuple):
    """Labels of groups, and the group of every row as a place among them."""

    labels: Shaped[np.ndarray, "groups ..."]
    """(groups,), or (groups, columns) where several columns name a group."""
    codes: Int[np.ndarray, " rows"]


def column(name: str, value: Any) -> Float[np.ndarray, " rows"]:
    """Return one finite number per row; a table of one column is that column."""
    array = np.asarray(value)
    if array.ndim != 1 and not (array.ndim == 2 and array.shape[1] == 1):
        raise ValueError(
            f"{name} must hold one number per row, got shape {array.shape}; for several products "
            "give them one after the other, in rows of their own."
        )
    return per_row(name, array.reshape(-1), array.size)


def per_row(
    name: str, value: Any, rows: int, least: float | None = None
) -> Float[np.ndarray, " rows"]:
    """Return a number, or one per row, as finite numbers (rows,), none of them below ``least``."""
    array = np.asarray(value)
    try:
        array = array.astype(np.float64) if array.dtype.kind in "biufO" else None
    except (TypeError, ValueError):
        array = None
    if array is None:
        raise TypeError(f"{name} must hold numbers only, got {reprlib.repr(value)}.")
    if array.shape not in ((), (rows,)):
        raise ValueError(
            f"{name} must be one number, or one per row ({rows}), got shape {array.shape}."
        )
    refuse(name, array, ~np.isfinite(array), "a finite number is needed")
    if least is not None:
        refuse(name, array, array < least, f"it must be at least {least:g}")
    return np.broadcast_to(array, (rows,))


def refuse(name: str, values: np.ndarray, wrong: np.ndarray, because: str) -> None:
    """Raise a sentence about the first wrong value, with its row if there are rows."""
    if np.any(wrong):
        row = int(np.argmax(wrong))
        where = f" in row {row}" if values.ndim else ""
        raise ValueError(f"{name} is {values.reshape(-1)[row]:g}{where}; {because}.")


def grouped(groups: Any) -> Groups:
    """Number the groups of rows that are named by one column, or by several."""
    array = np.asarray(groups)
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] == 0):
        raise ValueError(
            f"groups must hold one label per row, or one per row and column, got shape "
            f"{array.shape}."
        )
    if array.ndim == 1:
        labels, codes = np.unique(_labels(array), return_inverse=True)
        return Groups(labels, codes)
    codes = np.zeros(len(array), dtype=np.int64)
    for each in array.T:
        places = np.unique(_labels(each), return_inverse=True)[1]
        codes = np.unique(codes * (places.max(initial=0) + 1) + places, return_inverse=True)[1]
    first = np.unique(codes, return_index=True)[1]
    return Groups(array[first], codes)


def days(name: str, dates: Any) -> Int[np.ndarray, " rows"]:
    """Return dates as whole numbers of days; whole numbers are taken as they are."""
    array = np.asarray(dates)
    if array.ndim != 1:
        raise ValueError(f"{name} must hold one date per row, got shape {array.shape}.")
    if array.dtype.kind in "iu":
        if len(array) and np.min(array) > 10_000_000:
            raise ValueError(
                f"{name} are numbers such as {array[0]}, far too large for days; dates that are "
                "written without dashes have to be turned into dates first."
            )
        return array.astype(np.int64)
    readable = array.dtype.kind in "MU" or all(
        isinstance(entry, datetime.date | np.datetime64 | str) for entry in array.tolist()
    )
    try:
        stamps = array.astype("datetime64[D]") if readable else None
    except ValueError:
        stamps = None
    if stamps is None:
        raise TypeError(
            f"{name} must be dates (datetime64, or text such as 2024-02-29) or whole numbers of "
            f"days, got {array.dtype} such as {array[0]!r}."
        )
    missing = np.isnat(stamps)
    if np.any(missing):
        raise ValueError(f"{name} has no date in row {int(np.argmax(missing))}.")
    return stamps.astype(np.int64)


def _labels(labels: np.ndarray) -> np.ndarray:
    """Objects as text, so that any of them can be sorted."""
    return labels.astype(str) if labels.dtype.kind == "O" else labels
