"""Tables in: CSV, Excel and Parquet files, or one sentence why not.

A file is measured before it is read (``table_sizes``), so that a small one cannot fill the memory.
How it writes columns, numbers and dates is found out, or asked for (``table_format``).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow._frames import require_pandas
from hedgerow.data.interpreting import interpreted, needs_text
from hedgerow.data.table_format import PLAIN, TableFormat
from hedgerow.data.table_kinds import by_suffix, require_openpyxl
from hedgerow.data.table_sizes import (
    check_size,
    check_workbook,
    measured_text,
    most_bytes,
    parquet_size,
)
from hedgerow.data.table_text import first_lines
from hedgerow.describe.numbers import listed
from hedgerow.describe.text import quoted, shown

if TYPE_CHECKING:
    import pandas as pd

MOST_COLUMNS = 100_000
MOST_LETTERS = 200
"""Letters that a column's name may have: it is printed, and is part of its features' names."""


def read_table(
    path: str | os.PathLike[str],
    *,
    separator: str | None = None,
    decimal: str | None = None,
    dates: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
) -> pd.DataFrame:
    r"""Read a CSV, Excel or Parquet file, by its suffix, or say in one sentence what is wrong.

    What is not asked for is found out where all of the file leaves no doubt, and then said in
    ``table.attrs["read_as"]``; where it does, one sentence says what to ask for.

    Parameters
    ----------
    path : path
        Ends in .csv, .tsv or .txt (or such a name and .gz), .xlsx, .parquet or .pq; names of
        columns are in the first line.
    separator : {",", ";", "tab", "|"}, optional
        What stands between columns of text.
    decimal : {".", ","}, optional
        The decimal mark of numbers.
    dates : {"day-first", "month-first", "iso"}, optional
        How dates are written that are not like 2015-11-07.
    encoding : str, optional
        Of text, such as "latin-1".
    sheet : str or int, optional
        Of an Excel file, by name or by number from 1 on; the first by default.

    Examples
    --------
    >>> from pathlib import Path
    >>> import hedgerow as hr
    >>> _ = Path("sales.csv").write_text("day;sold\n24.12.2025;10,5\n27.12.2025;8\n")
    >>> table = hr.data.read_table("sales.csv")
    >>> table.attrs["read_as"]
    "Read with ';' between columns, ',' as decimal mark, and dates as day.month.year."
    """
    asked = TableFormat.asked(separator, decimal, dates, encoding, sheet)
    table, found = read_formatted(path, asked)
    told = found.sentence()
    if told is not None:
        table.attrs["read_as"] = told
    return table


def read_formatted(
    path: str | os.PathLike[str],
    asked: TableFormat = PLAIN,
    remembered: TableFormat = PLAIN,
) -> tuple[pd.DataFrame, TableFormat]:
    """Read a file, and return how it writes its table as well.

    What is asked for has to hold; what is remembered decides what the file leaves open.
    """
    path = check_readable(path)
    read = by_suffix(path, _read_csv, _read_parquet, _read_excel)
    table, found = read(path, asked, remembered)
    if len(table.columns) == 0:
        raise ValueError(f"{shown(path)} is empty.")
    names = [str(name) for name in table.columns]
    _check_names(path, names)
    table.columns = names
    if len(table) == 0:
        raise ValueError(f"{shown(path)} has column names but no rows.")
    return table, found


def check_readable(path: str | os.PathLike[str]) -> Path:
    """Return the path if there is a file with a known suffix; worth asking before long work."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{shown(path)} is a folder, not a table.")
    by_suffix(path, None, None, None)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {shown(path)}.")
    if not path.is_file():
        raise OSError(f"{shown(path)} is no regular file; save the table as one.")
    return path


def _read_csv(
    path: Path, asked: TableFormat, remembered: TableFormat
) -> tuple[pd.DataFrame, TableFormat]:
    _refuse_sheet(path, asked)
    encoding = measured_text(path, asked.encoding)
    with _csv_sentences(path):
        separator, names, skipped = first_lines(path, encoding, asked.separator)
    if not names:
        raise ValueError(f"{shown(path)} is empty.")
    nameless = not names[-1].strip() and len(names) > 1
    _check_names(path, names[:-1] if nameless else names)
    read = partial(_csv_table, path, encoding, separator, skipped)
    plain = separator == "," and asked.decimal in (None, ".")
    table = read() if plain else read(dtype=str)
    if len(table.columns) != len(names):
        raise ValueError(f"{shown(path)} has a first line that can be read in several ways.")
    table.columns = names
    if nameless and len(table) and table.iloc[:, -1].isna().all():
        table = table.iloc[:, :-1]  # every line ends with a separator
    _check_names(path, list(table.columns))
    if plain and needs_text(table, asked):
        text = read(dtype=str).iloc[:, : len(table.columns)]
        text.columns = table.columns
        plain, table = False, text
    with told_of(path):
        table, found = interpreted(table, asked, remembered, separator=separator, typed=plain)
    return table, replace(found, separator=separator, encoding=encoding)


def _csv_table(
    path: Path, encoding: str, separator: str, skipped: int, **more: Any
) -> pd.DataFrame:
    """Read text by pandas, which takes columns for numbers if it is not told otherwise."""
    pandas = require_pandas()
    settings: dict[str, Any] = {
        "encoding": "utf-8-sig" if encoding == "utf-8" else encoding,
        "sep": separator,
        "skipinitialspace": True,
        "index_col": False,
        "skiprows": skipped,
        **more,
    }
    with _csv_sentences(path), warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        warnings.simplefilter("ignore", pandas.errors.DtypeWarning)
        table = pandas.read_csv(path, **settings)
        # pandas reads in pieces, and may take a column for numbers in one and for text in another
        mixed = {} if more else dict.fromkeys(_mixed(table), str)
        return pandas.read_csv(path, **settings, dtype=mixed) if mixed else table


@contextmanager
def told_of(path: Path) -> Iterator[None]:
    """Name the file in what is wrong with its columns."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{shown(path)}: {error}") from None


@contextmanager
def _csv_sentences(path: Path) -> Iterator[None]:
    errors = require_pandas().errors
    with _sentences_of(path, "CSV"):
        try:
            yield
        except errors.ParserWarning:
            trouble = "has rows with more fields than its first line has names."
        except UnicodeDecodeError:
            trouble = "is not text as was said; save it as CSV in UTF-8."
        else:
            return
    raise ValueError(f"{shown(path)} {trouble}")


def _check_names(path: Path, names: list[str]) -> None:
    """Every column has a name of its own, and one that can be printed."""
    if len(names) > MOST_COLUMNS:
        raise ValueError(
            f"{shown(path)} has {len(names):,} columns; at most {MOST_COLUMNS:,} can be read."
        )
    seen: set[str] = set()
    for i, name in enumerate(names):
        if not name.strip():
            raise ValueError(f"{shown(path)} has no name for column {i + 1} in its first line.")
        if len(name) > MOST_LETTERS:
            raise ValueError(
                f"{shown(path)} has a column called {quoted(name)}; give it a name of at most "
                f"{MOST_LETTERS}."
            )
        if name in seen:
            raise ValueError(
                f"{shown(path)} has more than one column called {quoted(name)}; rename one."
            )
        seen.add(name)


def _mixed(table: pd.DataFrame) -> list[Any]:
    """Columns of numbers and texts."""
    infer = require_pandas().api.types.infer_dtype
    return [
        name
        for name, column in table.items()
        if column.dtype == object and infer(column).startswith("mixed")
    ]


def _read_parquet(
    path: Path, asked: TableFormat, remembered: TableFormat
) -> tuple[pd.DataFrame, TableFormat]:
    _refuse_sheet(path, asked)
    pandas = require_pandas()
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ImportError(
            "Parquet files need pyarrow, which is not installed: pip install 'hedgerow[cli]'."
        ) from None
    with _sentences_of(path, "Parquet"), ParquetFile(path) as file:
        size = parquet_size(file)
    check_size(path, size, most_bytes())
    with _sentences_of(path, "Parquet"):
        table = pandas.read_parquet(path)
    table.columns = [str(name) for name in table.columns]
    _check_names(path, list(table.columns))
    with told_of(path):
        return interpreted(table, asked, remembered)


def _read_excel(
    path: Path, asked: TableFormat, remembered: TableFormat
) -> tuple[pd.DataFrame, TableFormat]:
    """Read one sheet: names in its first line that holds anything, cells with what was computed."""
    require_openpyxl()
    check_workbook(path)
    pandas = require_pandas()
    with _sentences_of(path, "Excel"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of openpyxl, about styles
        with pandas.ExcelFile(path, engine="openpyxl") as book:
            sheets = [str(name) for name in book.sheet_names]
            sheet = sheets[0] if asked.sheet is None else _sheet(sheets, asked.sheet)
            cells = None if sheet is None else book.parse(sheet, header=None, dtype=object)
    if cells is None:
        raise ValueError(
            f"{shown(path)} has no sheet {quoted(asked.sheet)}; it has {listed(sheets)}, by number "
            f"1 to {len(sheets)}."
        )
    cells = cells.dropna(how="all").dropna(axis="columns", how="all")
    if not len(cells):
        raise ValueError(f"{shown(path)} is empty: sheet {quoted(sheet)} has no cells.")
    names = [
        "" if missing else str(name)
        for name, missing in zip(cells.iloc[0], cells.iloc[0].isna(), strict=True)
    ]
    _check_names(path, names)
    table = cells.iloc[1:].reset_index(drop=True)
    table.columns = names
    with told_of(path):
        table, found = interpreted(table.infer_objects(), asked, remembered)
    named = sheet if len(sheets) > 1 and asked.sheet is None else None
    return table, replace(found, sheet=named)


def _sheet(sheets: list[str], asked: str | int) -> str | None:
    """The sheet that was asked for, by name or by number."""
    if asked in sheets:
        return str(asked)
    number = int(asked) if str(asked).isascii() and str(asked).isdigit() else 0
    return sheets[number - 1] if 1 <= number <= len(sheets) else None


def _refuse_sheet(path: Path, asked: TableFormat) -> None:
    if asked.sheet is not None:
        raise ValueError(f"{shown(path)} has no sheets: leave sheet={asked.sheet!r} out.")


@contextmanager
def _sentences_of(path: Path, kind: str) -> Iterator[None]:
    """Say in one sentence what a reader complains of, whatever types its errors have."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(f"{shown(path)} cannot be read as {kind}: {shown(reason)}.") from None
