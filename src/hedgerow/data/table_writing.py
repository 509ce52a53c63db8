"""Tables out: CSV, Excel and Parquet, whole or not at all, and nothing that runs as a formula."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow._files import check_target, whole_file
from hedgerow._frames import require_pandas
from hedgerow.data.table_format import DAY_FIRST, MONTH_FIRST, PLAIN, YEAR_FIRST, TableFormat
from hedgerow.data.table_kinds import by_suffix, require_openpyxl

if TYPE_CHECKING:
    import pandas as pd

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
"""What spreadsheet programs take for the beginning of a formula."""
DATE_FORMATS = {DAY_FIRST: "%d.%m.%Y", MONTH_FIRST: "%m/%d/%Y", YEAR_FIRST: "%Y/%m/%d"}


def write_table(
    table: pd.DataFrame, path: str | os.PathLike[str], form: TableFormat = PLAIN
) -> None:
    """Write a table as CSV, Excel or Parquet, by its suffix, whole or not at all.

    Parameters
    ----------
    table : pandas.DataFrame
        What is written, without its index.
    path : path
        File to write; one that is there is replaced.
    form : TableFormat
        How CSV is written: separator, decimal mark and order of dates; by default as programs
        expect it.

    Examples
    --------
    >>> import pandas as pd
    >>> import hedgerow as hr
    >>> hr.data.write_table(pd.DataFrame({"order": [12, 7]}), "orders.csv")
    >>> list(hr.data.read_table("orders.csv")["order"])
    [12, 7]
    """
    path = Path(path)
    text, workbook = partial(_to_csv, table, form), partial(_to_excel, table)
    write = by_suffix(path, text, partial(table.to_parquet, index=False), workbook)
    with whole_file(path) as temporary:
        write(temporary)


def csv_text(table: pd.DataFrame, form: TableFormat = PLAIN) -> str:
    """Return a table as CSV in a format."""
    return _to_csv(table, form, None)


def _to_csv(table: pd.DataFrame, form: TableFormat, target: Any) -> Any:
    days = DATE_FORMATS.get(form.dates or "")
    if days is not None:
        table = table.copy(deep=False)
        for name, column in table.items():
            if require_pandas().api.types.is_datetime64_any_dtype(column):
                whole = (column.dropna().dt.normalize() == column.dropna()).all()
                table[name] = column.dt.strftime(days if whole else f"{days} %H:%M")
    return table.to_csv(target, index=False, sep=form.separator or ",", decimal=form.decimal or ".")


def _to_excel(table: pd.DataFrame, target: Any) -> None:
    require_openpyxl()
    with Path(target).open("wb") as file:
        table.to_excel(file, index=False, engine="openpyxl")


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose texts no spreadsheet program takes for formulas.

    A text, or a column's name, that begins with one of = + - @, a tab or a carriage return gets an
    apostrophe before it, unless it is a number; numbers and dates stay as they are.
    """
    types = require_pandas().api.types
    changed = table.copy(deep=False)
    for name, column in table.items():
        if not (types.is_numeric_dtype(column.dtype) or types.is_datetime64_any_dtype(column)):
            changed[name] = column.astype(object).map(_as_text, na_action="ignore")
    return changed.rename(columns=_as_text)


def _as_text(value: Any) -> Any:
    if not isinstance(value, str) or len(value) < 2 or not value.startswith(FORMULA_SIGNS):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def check_table_target(path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Raise what ``write_table`` would raise for this path; worth asking before long work."""
    by_suffix(check_target(path, overwrite=overwrite), None, None, None)
