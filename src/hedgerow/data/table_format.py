"""How a file writes a table: what stands between columns, in numbers, in dates, and in its bytes.

    store;date;sold;price            separator ;   decimal ,   thousands .   dates day-first
    1;20.11.2026;12;1.234,50

What a file leaves open is None. One format may be asked for, another one is found, and a third one
is remembered from the table that a policy was trained on: what is asked for has to hold, what is
remembered decides where a file can be read in two ways.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from hedgerow.describe.numbers import listed
from hedgerow.describe.text import quoted

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
ISO, DAY_FIRST, MONTH_FIRST, YEAR_FIRST = "iso", "day-first", "month-first", "year-first"
DATES = {
    DAY_FIRST: "day.month.year",
    MONTH_FIRST: "month/day/year",
    YEAR_FIRST: "year/month/day",
    ISO: "year-month-day",
}
ASKED_DATES = (DAY_FIRST, MONTH_FIRST, ISO)
MARKS = (".", ",")
NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "pipe": "|"}
"""Separators by name, since a tab is hard to type."""
ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "cp1252": "Windows-1252 (Latin-1)",
}


@dataclass(frozen=True)
class TableFormat:
    r"""How a file writes a table; None where it does not show, or is left to be found out.

    Attributes
    ----------
    separator : {",", ";", "\t", "|"} or None
    decimal : {".", ","} or None
    thousands : str or None
        What stands between groups of three digits.
    dates : {"day-first", "month-first", "year-first", "iso"} or None
    encoding : str or None
        Of the text, by Python's name.
    sheet : str, int or None
        Of an Excel file: its name, or its number from 1 on.
    """

    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    dates: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None

    @classmethod
    def asked(
        cls,
        separator: str | None = None,
        decimal: str | None = None,
        dates: str | None = None,
        encoding: str | None = None,
        sheet: str | int | None = None,
    ) -> Self:
        """Check what somebody asks for."""
        if separator is not None:
            separator = NAMED.get(separator, separator)
            if separator not in SEPARATORS:
                raise ValueError(
                    f"separator must be one of ',', ';', '|' and 'tab'; got {quoted(separator)}."
                )
        if decimal is not None and decimal not in MARKS:
            raise ValueError(f"decimal must be '.' or ','; got {quoted(decimal)}.")
        if dates is not None and dates not in ASKED_DATES:
            raise ValueError(f"dates must be one of {listed(ASKED_DATES)}; got {quoted(dates)}.")
        if encoding is not None:
            try:
                "".encode(encoding)
            except LookupError:
                raise ValueError(
                    f"encoding must be one that Python knows, such as 'utf-8' or 'latin-1'; got "
                    f"{quoted(encoding)}."
                ) from None
        return cls(separator, decimal, None, dates, encoding, sheet)

    @property
    def words(self) -> list[str]:
        """What is not as in plain CSV (UTF-8, commas, 10.5, 2026-11-20), in a few words each."""
        odd = self.separator not in (None, ",")
        words = []
        if odd:
            words.append(f"{_shown(self.separator)} between columns")
        if self.decimal == "," or (self.decimal is not None and odd):
            words.append(f"{_shown(self.decimal)} as decimal mark")
        if self.thousands is not None:
            words.append(f"{_shown(self.thousands)} between thousands")
        if self.dates not in (None, ISO):
            words.append(f"dates as {DATES[str(self.dates)]}")
        if self.encoding not in (None, "utf-8"):
            words.append(f"text in {ENCODINGS.get(str(self.encoding), self.encoding)}")
        if self.sheet is not None:
            words.append(f"sheet {quoted(self.sheet)}, the first of several")
        return words

    def sentence(self, name: str = "") -> str | None:
        """What was found out about a file; None if it is plain."""
        words = self.words
        if not words:
            return None
        told = words[0] if len(words) == 1 else f"{', '.join(words[:-1])}, and {words[-1]}"
        if len(words) == 2:
            told = " and ".join(words)
        return f"Read {name} with {told}." if name else f"Read with {told}."

    def unlike(self, before: TableFormat) -> str | None:
        """Say what numbers and dates of a table have otherwise than an earlier one; or None."""
        told = []
        for name, words in (("decimal", "decimal mark"), ("dates", "order of dates")):
            now, then = getattr(self, name), getattr(before, name)
            if now is not None and then is not None and now != then:
                spoken = DATES.get(then, _shown(then)), DATES.get(now, _shown(now))
                told.append(f"the {words} is {spoken[1]} here and was {spoken[0]} in training")
        return f"Note that {' and '.join(told)}." if told else None

    def to_json(self) -> dict[str, Any]:
        """Return what is known as plain values."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, plain: Any) -> Self:
        """Rebuild a format, or say that what a file holds is none."""
        kinds = {name: str for name in cls.__dataclass_fields__}
        try:
            known = {name: plain[name] for name in kinds if name in plain}
            for name, value in known.items():
                right = isinstance(value, str) or (name == "sheet" and isinstance(value, int))
                if not right or (isinstance(value, str) and len(value) > 100):
                    raise ValueError(name)
            if known.get("dates", ISO) not in DATES or known.get("decimal", ".") not in MARKS:
                raise ValueError("dates or decimal")
            if set(plain) - set(kinds):
                raise ValueError("unknown entries")
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise ValueError(f"The stored format of tables is damaged ({error}).") from None
        return cls(**known)


def _shown(sign: Any) -> str:
    return {"\t": "tabs", " ": "spaces"}.get(str(sign), f"'{sign}'")


PLAIN = TableFormat()
"""As programs expect a table, and whatever a file leaves open."""
