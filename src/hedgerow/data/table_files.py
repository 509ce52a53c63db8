"""Table files: CSV and Parquet in and out, whole or not at all, or one sentence why not.

Pandas is needed here and where tables are encoded, and is imported when first used.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow._files import check_target, whole_file

if TYPE_CHECKING:
    import pandas as pd


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a CSV or Parquet file, by its suffix, or say in one sentence what is wrong with it.

    Parameters
    ----------
    path : path
        Ends in .csv or .csv.gz (UTF-8, commas, names in the first line), .parquet or .pq.
    """
    path = Path(path)
    reader = _by_suffix(path, _read_csv, _read_parquet)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a table.")
    table = reader(path)
    if len(table.columns) == 0:
        raise ValueError(f"{path} is empty.")
    names = [str(name) for name in table.columns]
    repeated = [name for i, name in enumerate(names) if name in names[:i]]
    if repeated:
        raise ValueError(f"{path} has more than one column called {repeated[0]!r}; rename one.")
    table.columns = names
    if len(table) == 0:
        raise ValueError(f"{path} has column names but no rows.")
    return table


def write_table(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table as CSV or Parquet, by its suffix, whole or not at all."""
    path = Path(path)
    write = _by_suffix(path, table.to_csv, table.to_parquet)
    with whole_file(path) as temporary:
        write(temporary, index=False)


def check_table_target(path: str | os.PathLike[str]) -> None:
    """Raise what ``write_table`` would raise for this path; worth asking before long work."""
    _by_suffix(check_target(path), None, None)


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
    settings: dict[str, Any] = {"encoding": "utf-8-sig", "skipinitialspace": True}
    try:
        # pandas renames repeated names as it reads, so the first line is read on its own too
        names = pandas.read_csv(path, header=None, nrows=1, dtype=str, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            table = pandas.read_csv(path, index_col=False, **settings)
    except pandas.errors.EmptyDataError:
        raise ValueError(f"{path} is empty.") from None
    except pandas.errors.ParserWarning:
        raise ValueError(
            f"{path} has rows with more fields than its first line has names."
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text; save it as CSV in UTF-8.") from None
    except (ValueError, OSError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} cannot be read as CSV: {reason}.") from None
    names = names.iloc[0]
    if len(names) == 1 and ";" in str(names.iloc[0]):
        raise ValueError(f"{path} separates its columns by semicolons; save it with commas.")
    if names.isna().any():
        at = int(np.argmax(names.isna())) + 1
        raise ValueError(f"{path} has no name for column {at} in its first line.")
    if len(names) == len(table.columns):
        table.columns = list(names)
    return table


def _read_parquet(path: Path) -> pd.DataFrame:
    pandas = require_pandas()
    try:
        return pandas.read_parquet(path)
    except ImportError:
        raise ImportError(
            "Parquet files need pyarrow, which is not installed: pip install 'hedgerow[cli]'."
        ) from None
    except Exception as error:  # pyarrow has exception types of its own
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(f"{path} cannot be read as Parquet: {reason}.") from None


def _by_suffix(path: Path, csv: Any, parquet: Any) -> Any:
    name = path.name.lower()
    if name.endswith((".csv", ".csv.gz")):
        return csv
    if name.endswith((".parquet", ".pq")):
        return parquet
    raise ValueError(f"{path} must end in .csv or .parquet, so that its format is known.")
