"""A small page of a watch: what was seen, in a sentence, and which columns have moved.

It needs no script and loads nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from hedgerow._files import whole_file
from hedgerow._version import __version__
from hedgerow.describe.numbers import counted, number, percent
from hedgerow.monitoring import Watch
from hedgerow.report.html import assembled, each_as, facts, paragraphs


def write_watch_page(found: Watch, path: str | os.PathLike[str], source: str) -> Path:
    """Write a watch as one self-contained HTML page."""
    order = sorted(range(len(found.columns)), key=lambda j: -found.column_evidence[j])
    rows = each_as(
        '      <tr><th scope="row">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>',
        [
            (
                found.columns[j],
                number(found.means_before[j]),
                number(found.means_now[j]),
                number(found.distances[j], 3),
                "moved" if found.columns[j] in found.moved else "",
            )
            for j in order
        ],
    )
    texts = {
        "title": f"Watch: {found.status}",
        "verdict": str(found),
        "version": __version__,
        "source": source,
    }
    fragments = {
        "status": found.status,
        "facts": facts(
            [
                ("New rows", counted(found.rows, "row")),
                ("Mean cost", f"{number(found.mean_cost)}, not to exceed {number(found.bound)}"),
                ("Chance of any false alarm, ever", percent(found.level)),
                ("First alarm", "none" if found.alarm is None else f"row {found.alarm:,}"),
            ]
        ),
        "distance": paragraphs([found.distance_words()]),
        "rows": rows,
    }
    text = assembled("watch.html", ("page.css",), (), texts, fragments, {})
    path = Path(path)
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path
