"""Columns of text become numbers, truths and dates, where all of a table says which.

    found = asked, or what some value decides, or what is remembered; else one sentence

Text that is read from a file is all there is; a typed table (Parquet, Excel) has numbers already,
and its text stays text unless it was formatted for people: 7 as text is a name, "10,5" is not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow._frames import require_pandas
from hedgerow.data.table_format import ISO, PLAIN, TableFormat
from hedgerow.data.written_dates import WrittenDates, dates_in, order_of
from hedgerow.data.written_numbers import (
    WrittenNumbers,
    decimal_of,
    logical_in,
    numbers_in,
    thousands_of,
)

if TYPE_CHECKING:
    import pandas as pd


def needs_text(table: pd.DataFrame, asked: TableFormat) -> bool:
    """Whether a table whose numbers pandas found has others that were formatted for people."""
    if asked.decimal not in (None, "."):
        return True
    written = (WrittenNumbers.of(table[name]) for name in _texts(table))
    return any(one is not None and one.formatted for one in written)


def interpreted(
    table: pd.DataFrame,
    asked: TableFormat = PLAIN,
    remembered: TableFormat = PLAIN,
    *,
    separator: str | None = None,
    typed: bool = True,
) -> tuple[pd.DataFrame, TableFormat]:
    """Return a table with its text read, and how that was written.

    Parameters
    ----------
    separator : of a text file, whose commas would be between columns
    typed : whether the table has numbers already, so that text is mostly meant as text
    """
    texts = _texts(table)
    changed: dict[str, Any] = {}
    if not typed:
        changed = {name: logical_in(table[name]) for name in texts}
        changed = {name: column for name, column in changed.items() if column is not None}
        texts = [name for name in texts if name not in changed]
    numbers = {name: WrittenNumbers.of(table[name]) for name in texts}
    numbers = {name: n for name, n in numbers.items() if n is not None}
    if typed:
        numbers = {name: n for name, n in numbers.items() if n.formatted}
    columns = list(numbers.values())
    mark = decimal_of(columns, asked.decimal, remembered.decimal, separator == ",")
    sure = asked.decimal is not None
    for name, written in numbers.items():
        changed[name] = numbers_in(table[name], written, mark, asked=sure)
    dates = {name: WrittenDates.of(table[name]) for name in texts if name not in numbers}
    dates = {name: d for name, d in dates.items() if d is not None}
    order = order_of(list(dates.values()), asked.dates, remembered.dates)
    for name, written in dates.items():
        changed[name] = dates_in(table[name], written, order)
    shows = mark if any(written.marked for written in columns) else None
    found = replace(PLAIN, decimal=shows, thousands=thousands_of(columns, mark), dates=order)
    if order is None and asked.dates == ISO:
        found = replace(found, dates=ISO)
    return (table.assign(**changed) if changed else table), found


def _texts(table: pd.DataFrame) -> list[str]:
    """Columns that hold text and nothing else, but for gaps."""
    return [name for name in table.columns if _is_text(table[name])]


def _is_text(column: Any) -> bool:
    types = require_pandas().api.types
    if isinstance(column.dtype, require_pandas().CategoricalDtype) or np.all(column.isna()):
        return False
    if column.dtype == object:
        return types.infer_dtype(column, skipna=True) == "string"
    return types.is_string_dtype(column.dtype)
