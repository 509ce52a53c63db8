"""Table files: CSV and Parquet in and out, whole or not at all, or one sentence why not.

A file is measured before it is read (``table_sizes``), so that a small one cannot fill the memory.
Pandas is needed here and where tables are encoded, and is imported when first used.
"""

from __future__ import annotations

import csv
import gzip
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hedgerow._files import check_target, whole_file
from hedgerow.data.table_sizes import check_csv, check_size, most_bytes, parquet_size
from hedgerow.describe.text import quoted, shown

if TYPE_CHECKING:
    import pandas as pd

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
"""What spreadsheet programs take for the beginning of a formula."""
MOST_COLUMNS = 100_000
MOST_LETTERS = 200
"""Letters that a column's name may have: it is printed, and is part of its features' names."""


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a CSV or Parquet file, by its suffix, or say in one sentence what is wrong with it.

    Parameters
    ----------
    path : path
        Ends in .csv or .csv.gz (UTF-8, commas, names in the first line), .parquet or .pq.
    """
    path = check_readable(path)
    table = _by_suffix(path, _read_csv, _read_parquet)(path)
    if len(table.columns) == 0:
        raise ValueError(f"{shown(path)} is empty.")
    names = [str(name) for name in table.columns]
    _check_names(path, names)
    table.columns = names
    if len(table) == 0:
        raise ValueError(f"{shown(path)} has column names but no rows.")
    return table


def check_readable(path: str | os.PathLike[str]) -> Path:
    """Return the path if there is a file with a known suffix; worth asking before long work."""
    path = Path(path)
    _by_suffix(path, None, None)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {shown(path)}.")
    if path.is_dir():
        raise IsADirectoryError(f"{shown(path)} is a folder, not a table.")
    if not path.is_file():
        raise OSError(f"{shown(path)} is no regular file; save the table as one.")
    return path


def write_table(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table as CSV or Parquet, by its suffix, whole or not at all."""
    path = Path(path)
    write = _by_suffix(path, table.to_csv, table.to_parquet)
    with whole_file(path) as temporary:
        write(temporary, index=False)


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
    _by_suffix(check_target(path, overwrite=overwrite), None, None)


def is_csv(path: str | os.PathLike[str]) -> bool:
    """Whether a table at this path is CSV, packed or not."""
    return _by_suffix(Path(path), True, False)


def require_pandas() -> ModuleType:
    """Return pandas, or say how to get it."""
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "Tables need pandas, which is not installed: pip install 'hedgerow[cli]'."
        ) from None
    return pandas


def _read_csv(path: Path) -> pd.DataFrame:
    pandas = require_pandas()
    check_csv(path)
    with _csv_sentences(path):
        names = _first_line(path)
    if not names:
        raise ValueError(f"{shown(path)} is empty.")
    _check_names(path, names)
    with _csv_sentences(path), warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        warnings.simplefilter("ignore", pandas.errors.DtypeWarning)
        table = pandas.read_csv(path, **_CSV)
        # pandas reads in pieces, and may take a column for numbers in one and for text in another
        mixed = dict.fromkeys(_mixed(table), str)
        if mixed:
            table = pandas.read_csv(path, **_CSV, dtype=mixed)
    if len(table.columns) != len(names):
        raise ValueError(f"{shown(path)} has a first line that can be read in several ways.")
    table.columns = names
    return table


@contextmanager
def _csv_sentences(path: Path) -> Iterator[None]:
    errors = require_pandas().errors
    with _sentences_of(path, "CSV"):
        try:
            yield
        except errors.ParserWarning:
            trouble = "has rows with more fields than its first line has names."
        except UnicodeDecodeError:
            trouble = "is not UTF-8 text; save it as CSV in UTF-8."
        else:
            return
    raise ValueError(f"{shown(path)} {trouble}")


_CSV: dict[str, Any] = {"encoding": "utf-8-sig", "skipinitialspace": True, "index_col": False}


def _first_line(path: Path) -> list[str]:
    """Names as they are written: pandas renames repeated ones and takes "NA" for none."""
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, skipinitialspace=True)
        return next((row for row in rows if row not in ([], [""])), [])


def _check_names(path: Path, names: list[str]) -> None:
    """Every column has a name of its own, and one that can be printed."""
    if len(names) == 1:
        for sign, called in ((";", "semicolons"), ("\t", "tabs")):
            if sign in names[0]:
                raise ValueError(
                    f"{shown(path)} separates its columns by {called}; save it with commas."
                )
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


def _read_parquet(path: Path) -> pd.DataFrame:
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
        return pandas.read_parquet(path)


@contextmanager
def _sentences_of(path: Path, kind: str) -> Iterator[None]:
    """Say in one sentence what a reader complains of, whatever types its errors have."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(f"{shown(path)} cannot be read as {kind}: {shown(reason)}.") from None


def _by_suffix(path: Path, text: Any, parquet: Any) -> Any:
    name = path.name.lower()
    if name.endswith((".csv", ".csv.gz")):
        return text
    if name.endswith((".parquet", ".pq")):
        return parquet
    raise ValueError(f"{shown(path)} must end in .csv or .parquet, so that its format is known.")
