r"""Text is text: what comes from a table or a file is shown as it is written, and does nothing.

A name may hold anything: an escape sequence that clears a terminal, a line break, a mark that turns
the rest of a line from right to left. These are shown as their escapes, "\x1b", "\n", "\u202e"; all
other letters stay as they are. Whatever a terminal, a page or a figure shows that the package did
not write goes through here. Markup ("[bold]", "$x_1$", "<b>") is the business of whoever draws,
and switched off there.
"""

from __future__ import annotations

import unicodedata
from typing import Any

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Kinds of characters that act instead of being seen: controls, formats, halves, separators."""
JOINERS = "\u200c\u200d"
"""Formats that only choose a letter's form, in Persian, in Indian scripts and in emoji."""
MOST_QUOTED = 60
"""Letters of a value that a sentence quotes."""


def shown(text: Any, keep: str = "") -> str:
    """A text with every character that would act rather than be seen written as its escape.

    Those in ``keep`` stay as they are, such as the line breaks of a text of several lines.
    """
    text = str(text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _escaped(letter) if _acts(letter) and letter not in keep else letter for letter in text
    )


def quoted(value: Any) -> str:
    """A value in quotes as a sentence names it: hidden characters visible, cut if it is long."""
    text = str(value)
    if len(text) <= MOST_QUOTED:
        return repr(text)
    return f"{text[:MOST_QUOTED]!r}… ({len(text):,} characters)"


def _acts(letter: str) -> bool:
    return unicodedata.category(letter) in HIDDEN and letter not in JOINERS


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
