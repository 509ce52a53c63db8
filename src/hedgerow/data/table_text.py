"""Text files with columns: which bytes are which letters, and what stands between columns.

    bytes       a mark at the beginning says UTF-8, 16 or 32; zeros in every other byte say UTF-16;
                what is valid UTF-8 is UTF-8; else Windows-1252, of which Latin-1 is a part
    columns     the sign among , ; tab | that gives the first line several names, and every line as
                many fields

The first line may say itself what stands between columns ("sep=;", as spreadsheet programs write).
"""

from __future__ import annotations

import codecs
import csv
import gzip
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TextIO

from hedgerow.data.table_format import SEPARATORS
from hedgerow.describe.text import shown

MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
LOOKED_AT = 200
"""Lines by which the separator is found."""
_OF_UTF8 = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_UNUSED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
"""Bytes that Windows-1252 has no letters for."""
_SAID = re.compile(r'"?sep=(.)"?', re.IGNORECASE)


class Letters:
    """Finds out, piece by piece, how a file's bytes are to be read."""

    def __init__(self, path: Path, asked: str | None) -> None:
        self.path, self.asked = path, asked
        self.encoding: str | None = asked
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._valid, self._mixed, self._first = True, False, True

    def read(self, piece: bytes) -> None:
        """Look at the next piece."""
        if self._first:
            self._first = False
            if self.asked is None:
                self.encoding = _marked(piece) or _of_zeros(piece)
        if self.encoding not in (None, "utf-8"):
            return
        if b"\0" in piece:
            raise ValueError(
                f"{shown(self.path)} holds zero bytes, so it is neither UTF-8 nor UTF-16 text; "
                "save it as CSV in UTF-8."
            )
        if self._valid:
            try:
                self._utf8.decode(piece)
            except UnicodeDecodeError:
                self._valid = False
        self._mixed = self._mixed or _OF_UTF8.search(piece) is not None
        if not self._valid and (self.encoding == "utf-8" or self._mixed or _UNUSED.search(piece)):
            self._refuse()

    def found(self) -> str:
        """Return what was found out in the end."""
        if self.encoding is None and self._valid:
            try:
                self._utf8.decode(b"", final=True)
            except UnicodeDecodeError:
                self._valid = False
                if self._mixed:
                    self._refuse()
        return self.encoding or ("utf-8" if self._valid else "cp1252")

    def _refuse(self) -> None:
        raise ValueError(
            f"{shown(self.path)} is not UTF-8 text, and no other that is known; save it as CSV in "
            "UTF-8, or say which with encoding='…'."
        )


def _marked(piece: bytes) -> str | None:
    return next((name for mark, name in MARKS if piece.startswith(mark)), None)


def _of_zeros(piece: bytes) -> str | None:
    """UTF-16 without a mark: in most letters one of the two bytes is zero, always the same one."""
    head = piece[:4096]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if len(head) >= 4 and max(even, odd) > max(len(head) // 5, 10 * min(even, odd)):
        return "utf-16-be" if even > odd else "utf-16-le"
    return None


def opened(path: Path, encoding: str) -> TextIO:
    """Open a file of text, packed or not."""
    decoded = "utf-8-sig" if encoding == "utf-8" else encoding
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding=decoded, newline="")  # pyright: ignore[reportReturnType]
    return path.open("rt", encoding=decoded, newline="")


def first_lines(path: Path, encoding: str, separator: str | None) -> tuple[str, list[str], int]:
    """Return the separator, the names in the first line, and how many lines come before it.

    Names are those that are written: pandas renames repeated ones and takes "NA" for none.
    """
    with opened(path, encoding) as file:
        said = _SAID.fullmatch(file.readline(20).strip())
    skipped = 0 if said is None else 1
    if separator is None and said is not None and said[1] in SEPARATORS:
        separator = said[1]
    separator = separator or _separator(path, encoding)
    names = next(_rows(path, encoding, separator, skipped), [])
    return separator, names, skipped


def _rows(path: Path, encoding: str, separator: str, skipped: int = 0) -> Iterator[list[str]]:
    with opened(path, encoding) as file:
        for _ in range(skipped):
            file.readline()
        rows = csv.reader(file, delimiter=separator, skipinitialspace=True)
        yield from (row for row in rows if row not in ([], [""]))


def _separator(path: Path, encoding: str) -> str:
    """The sign that gives the first line names and all lines as many fields."""
    counts: dict[str, list[int]] = {}
    for sign in SEPARATORS:
        fields: list[int] = []
        try:
            for row in islice(_rows(path, encoding, sign), LOOKED_AT):
                fields.append(len(row))
        except csv.Error:
            continue
        if fields and fields[0] > 1:
            counts[sign] = fields
    even = [sign for sign, fields in counts.items() if len(set(fields)) == 1]
    if len(even) > 1 and len(counts[even[0]]) > 1:
        one, other = (SEPARATORS[sign] for sign in even[:2])
        raise ValueError(
            f"{shown(path)} can be read with {one} or with {other} between columns; say which with "
            f"separator={even[0]!r} or separator={even[1]!r}."
        )
    if even:
        return even[0]
    return "," if "," in counts or not counts else max(counts, key=lambda sign: counts[sign][0])
