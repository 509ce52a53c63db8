"""Tables as the commands read them: how a file is written is asked for, remembered, or found out.

What was found out is said in one sentence, on standard error; a policy remembers it, and reads the
next file in the same way where that leaves it open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hedgerow.cli.panel_options import option
from hedgerow.cli.screen import say
from hedgerow.data.table_files import read_formatted
from hedgerow.data.table_format import TableFormat

if TYPE_CHECKING:
    import pandas as pd


class DateOrder(StrEnum):
    """Which number of a date is the day."""

    day_first = "day-first"
    month_first = "month-first"
    iso = "iso"


_FILES: dict[str, Any] = {"rich_help_panel": "How files are written", "show_default": False}
of_files = partial(option, **_FILES)
_NAMES = "separator|decimal|dates|encoding|sheet"
_OPTIONS = re.compile(rf"\b({_NAMES})=|^({_NAMES})(?= must)")


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How tables are written; None leaves it to the files, which mostly say it."""

    separator: Annotated[
        str | None, of_files("SIGN", "Between columns: ',' ';' '|' or tab; default: found out.")
    ] = None
    decimal: Annotated[
        str | None, of_files("SIGN", "In numbers: '.' or ','; default: found out.")
    ] = None
    dates: Annotated[
        DateOrder | None,
        of_files("NAME", "day-first, month-first or iso (2026-11-20); default: found out."),
    ] = None
    encoding: Annotated[
        str | None, of_files("NAME", "Of text, such as latin-1; default: found out.")
    ] = None
    sheet: Annotated[
        str | None, of_files("NAME", "Of Excel files, by name or number; default: the first.")
    ] = None

    @property
    def asked_format(self) -> TableFormat:
        """What was asked for."""
        order = None if self.dates is None else str(self.dates)
        return TableFormat.asked(self.separator, self.decimal, order, self.encoding, self.sheet)


def read(path: Path, request: ReadingOptions, policy: Any = None) -> pd.DataFrame:
    """Read a table, as a policy remembers tables to be written, and say what was found out."""
    return read_found(path, request, policy)[0]


def read_found(
    path: Path, request: ReadingOptions, policy: Any = None
) -> tuple[pd.DataFrame, TableFormat]:
    """Read a table likewise, and return how it is written as well."""
    before = remembered(policy)
    with in_options():
        table, found = read_formatted(path, request.asked_format, before)
    for told in (found.sentence(str(path)), found.unlike(before)):
        if told is not None:
            say(told, stderr=True)
    return table, found


def remembered(policy: Any) -> TableFormat:
    """How tables of a policy were written when it was fitted."""
    told = getattr(policy, "table_format_", None)
    return TableFormat() if told is None else TableFormat.from_json(told)


@contextmanager
def in_options() -> Iterator[None]:
    """Speak of options where the library speaks of parameters."""
    try:
        yield
    except ValueError as error:
        told = _OPTIONS.sub(lambda at: f"--{at[1]} " if at[1] else f"--{at[2]}", str(error))
        raise ValueError(told) from error
