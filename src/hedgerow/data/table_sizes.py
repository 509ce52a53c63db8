"""How much memory a table will take, before it is read: a megabyte of gzip may hold gigabytes.

    CSV       length of the text + 8 bytes a field, counted while it is unpacked piece by piece
    Excel     4 times the unpacked size, as the file's own list says
    Parquet   max(unpacked size, 8 bytes a value) of each column, as its own footer says; texts that
              repeat are stored once, so those are added up where they could exceed the limit

At most MOST_GB of it is read, unless the environment variable ``HEDGEROW_TABLE_GB`` says otherwise.
Reading itself takes about twice as much for a moment, whatever the size of the file.
"""

from __future__ import annotations

import gzip
import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hedgerow.data.table_text import Letters
from hedgerow.describe.numbers import number
from hedgerow.describe.text import quoted, shown

MOST_GB = 2.0
"""Gigabytes that a table may take in memory."""
VARIABLE = "HEDGEROW_TABLE_GB"
GB = 1e9
PIECE = 1 << 20
FIELD = 8
OF_SHEETS = 4
"""Bytes in memory for one of a sheet's text, whose cells become objects."""
SIGNS = (b",", b";", b"\t", b"|")
FEW_ROWS = 1024
"""Rows of long texts that are looked at in one go."""


def measured_text(path: Path, encoding: str | None = None) -> str:
    """Return the encoding of a CSV file, or say that it is too large, packed badly, or no text."""
    most, size, letters = most_bytes(), 0, Letters(path, encoding)
    for piece in _pieces(path):
        letters.read(piece)
        fields = max(piece.count(sign) for sign in SIGNS)
        size += len(piece) + FIELD * (fields + piece.count(b"\n") + piece.count(b"\r"))
        check_size(path, size, most)
    return letters.found()


def check_workbook(path: Path) -> None:
    """Raise one sentence if an Excel file would unpack to too much; its own list says how much."""
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(entry.file_size for entry in packed.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise ValueError(
            f"{shown(path)} cannot be read as Excel: it is no .xlsx file; save it again, as .xlsx."
        ) from None
    check_size(path, OF_SHEETS * size, most_bytes())


def parquet_size(file: Any) -> float:
    """Bytes that a Parquet file (``pyarrow.parquet.ParquetFile``) will take, or some too many."""
    most, footer = most_bytes(), file.metadata
    chunks = [
        footer.row_group(i).column(j)
        for i in range(footer.num_row_groups)
        for j in range(footer.num_columns)
    ]
    size = sum(max(each.total_uncompressed_size, FIELD * each.num_values) for each in chunks)
    texts = [each for each in chunks if each.physical_type.endswith("BYTE_ARRAY")]
    if size <= most < sum(each.total_uncompressed_size * each.num_values for each in texts):
        size = 0
        for piece in file.iter_batches(batch_size=FEW_ROWS):
            size += piece.nbytes
            if size > most:
                break
    return size


def check_size(path: Path, size: float, most: float) -> None:
    """Raise one sentence if a table of ``size`` bytes is more than may be read."""
    if size > most:
        allowed = f"{number(most / GB)} GB"
        raise ValueError(
            f"{shown(path)} would take more than {allowed} of memory; leave out rows or columns, "
            f"or allow more with the environment variable {VARIABLE}, such as {VARIABLE}=8."
        )


def most_bytes() -> float:
    """What a table may take in memory."""
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        return MOST_GB * GB
    try:
        most = float(given)
    except ValueError:
        most = 0.0
    if not most > 0:
        raise ValueError(
            f"The environment variable {VARIABLE} must be a positive number of gigabytes, such as "
            f"8; got {quoted(given)}."
        )
    return most * GB


def _pieces(path: Path) -> Iterator[bytes]:
    """The file's text, unpacked, a megabyte at a time."""
    if not path.name.lower().endswith(".gz"):
        with path.open("rb") as file:
            yield from iter(lambda: file.read(PIECE), b"")
        return
    try:
        with gzip.open(path) as file:
            yield from iter(lambda: file.read(PIECE), b"")
    except EOFError:
        raise ValueError(
            f"{shown(path)} is cut off: its compressed text has no end; copy or download it again."
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f"{shown(path)} cannot be unpacked ({error}); copy or download it again."
        ) from None
