"""Results as a session shows them: a heading and facts, as text and as HTML, computing nothing.

A result says its facts by ``_facts``, in words; a notebook asks for ``_repr_html_``. A result that
is a table shows the first rows of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from hedgerow.describe.text import shown

Facts = list[tuple[str, str]]
MOST_ROWS = 10
"""Rows of a table that are shown."""


class Display:
    """A result that says what it is; subclasses say their facts, and nothing is computed for it."""

    def _heading(self) -> str:
        return type(self).__name__

    def _facts(self) -> Facts:
        return []

    def _rows(self) -> tuple[Sequence[str], list[Sequence[str]]] | None:
        """Headings and rows of a table, as texts; None: there is none."""
        return None

    def __repr__(self) -> str:
        """Say what is known, a line each."""
        facts, table = self._facts(), self._rows()
        wide = max((len(name) for name, _ in facts), default=0)
        lines = [self._heading(), *(f"  {name:<{wide}}  {value}" for name, value in facts)]
        if table is not None:
            headings, rows = table
            every = [headings, *rows[:MOST_ROWS]]
            widths = [max(len(row[i]) for row in every) for i in range(len(headings))]
            lines += [
                "  " + "  ".join(f"{text:>{w}}" for text, w in zip(row, widths, strict=True))
                for row in every
            ]
            if len(rows) > MOST_ROWS:
                lines.append(f"  … and {len(rows) - MOST_ROWS:,} more")
        return "\n".join(map(shown, lines))

    def _repr_html_(self) -> str:
        """Say the same for a notebook."""
        facts, table = self._facts(), self._rows()
        parts = [f"<p><strong>{_html(self._heading())}</strong></p>"]
        if facts:
            lines = (f"<tr><th>{_html(n)}</th><td>{_html(value)}</td></tr>" for n, value in facts)
            parts.append(f"<table>{''.join(lines)}</table>")
        if table is not None:
            headings, rows = table
            head = "".join(f"<th>{_html(name)}</th>" for name in headings)
            lines = (
                "<tr>" + "".join(f"<td>{_html(text)}</td>" for text in row) + "</tr>"
                for row in rows[:MOST_ROWS]
            )
            parts.append(f"<table><tr>{head}</tr>{''.join(lines)}</table>")
            if len(rows) > MOST_ROWS:
                parts.append(f"<p>… and {len(rows) - MOST_ROWS:,} more</p>")
        return "".join(parts)


def _html(text: Any) -> str:
    return escape(shown(text))
