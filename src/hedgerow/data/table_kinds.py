"""Kinds of table files, told apart by their suffix: CSV, Excel and Parquet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hedgerow.describe.text import shown


def by_suffix(path: Path, text: Any, parquet: Any, workbook: Any) -> Any:
    """Return what is given for the kind of this path, or say that there is no such kind."""
    name = path.name.lower()
    if name.removesuffix(".gz").endswith((".csv", ".tsv", ".txt")):
        return text
    if name.endswith((".parquet", ".pq")):
        return parquet
    if name.endswith(".xlsx"):
        return workbook
    if name.endswith((".xls", ".xlsm", ".xlsb", ".ods")):
        raise ValueError(f"{shown(path)} is of a kind that is not read; save it as .xlsx or .csv.")
    raise ValueError(
        f"{shown(path)} must end in .csv, .xlsx or .parquet, so that its format is known."
    )


def is_csv(path: str | os.PathLike[str]) -> bool:
    """Whether a table at this path is CSV, packed or not."""
    return by_suffix(Path(path), True, False, False)


def runs_formulas(path: str | os.PathLike[str]) -> bool:
    """Whether whoever opens a table at this path may take text for formulas: CSV and Excel."""
    return by_suffix(Path(path), True, False, True)


def require_openpyxl() -> None:
    """Raise one sentence if what reads and writes Excel files is not installed."""
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise ImportError(
            "Excel files need openpyxl, which is not installed: pip install 'hedgerow[excel]'; or "
            "save the table as CSV."
        ) from None
