"""A small page of a watch: what was seen, in a sentence, and which columns have moved.

It loads nothing.
"""

from __future__ import annotations

import os
from datetime import date as calendar
from pathlib import Path

from hedgerow._files import whole_file
from hedgerow._version import __version__
from hedgerow.describe.numbers import number, percent
from hedgerow.monitoring import Watch
from hedgerow.report.html import assembled, each_as, page_asset, paragraphs
from hedgerow.report.html import tiles as tiled


def write_watch_page(
    found: Watch, path: str | os.PathLike[str], source: str, date: str | None = None
) -> Path:
    """Write a watch as one self-contained HTML page; ``date`` is today's by default."""
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
        "kind": "watch",
        "title": f"Watch: {found.status}",
        "lead": str(found),
        "date": date or calendar.today().isoformat(),
        "version": __version__,
        "source": source,
        "limits": "",
    }
    alarm = "none" if found.alarm is None else f"{found.unit} {found.alarm:,}"
    tiles = [
        (f"New {found.unit}s", f"{found.rows:,}", "since the policy began"),
        ("Average cost", number(found.mean_cost), f"not to exceed {number(found.bound)}"),
        ("First alarm", alarm, f"chance of any false one, ever: {percent(found.level)}"),
    ]
    fragments = {
        "status": found.status,
        "tiles": tiled(tiles),
        "facts": "",
        "nav": "",
        "distance": paragraphs(list(filter(None, [found.distance_words(), found.left_words()]))),
        "rows": rows,
    }
    scripts = [page_asset("numbers.js"), page_asset("frame.js"), "setUpFrame();"]
    text = assembled("watch.html", ("page.css",), scripts, texts, fragments, {})
    path = Path(path)
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path
