"""From facts to one HTML file: texts are escaped, numbers embedded, styles and script inlined.

Characters that would act rather than be seen, such as marks that turn the rest of a line from right
to left, are shown as such wherever they come from (``describe.text``).

The page may run its own script and nothing else: its content security policy names the script by
hash and forbids every request, so neither a column's name nor a careless edit can load anything.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from html import escape as html_escape
from string import Template
from typing import Any

import numpy as np

from hedgerow.describe.numbers import number, percent
from hedgerow.describe.page_form import PageForm, asset
from hedgerow.describe.text import shown
from hedgerow.explain import Importance
from hedgerow.report.compared_costs import Cost

BEFORE_RULE = ("numbers.js", "mathematics.js")
AFTER_RULE = (
    "rule.js",
    "attribution.js",
    "dates.js",
    "charts.js",
    "state.js",
    "tree.js",
    "controls.js",
    "answer.js",
    "frame.js",
    "start.js",
)
SECTIONS = (
    ("costs", "What it costs"),
    ("worst", "How bad it can get"),
    ("importance", "What it looks at"),
    ("words", "Rules in words"),
    ("trees", "Trees"),
    ("whatif", "What if?"),
)
BAR = (
    '    <li><span class="name">{}</span><svg class="track" preserveAspectRatio="none" '
    'viewBox="0 0 100 1" aria-hidden="true"><rect width="{}" height="1"/></svg>'
    '<span class="figure">{}</span></li>'
)
FIRST = 12
"""Bars shown before "show all"."""


def escape(text: str) -> str:
    """A text as HTML that shows it."""
    return html_escape(shown(text, keep="\n"))


def page(
    texts: dict[str, str],
    fragments: dict[str, str],
    data: dict[str, Any],
    form: PageForm | None,
) -> str:
    """Put the page together from plain texts, finished fragments of HTML, data, and a rule."""
    parts = [*map(page_asset, BEFORE_RULE), _rule(form), *map(page_asset, AFTER_RULE)]
    fragments = {"nav": navigation(SECTIONS)} | fragments
    return assembled("page.html", ("page.css",), parts, texts, fragments, data)


def assembled(
    template: str,
    styles: Iterable[str],
    scripts: Iterable[str],
    texts: dict[str, str],
    fragments: dict[str, str],
    data: dict[str, Any],
) -> str:
    """Put a page's sections into the frame that all pages share.

    Assets go in by name, scripts as they are, texts escaped, data embedded. The frame asks for the
    texts ``kind``, ``title``, ``lead``, ``date``, ``version`` and ``limits``, and for the fragments
    ``tiles``, ``facts`` and ``nav``; the template for whatever it names.
    """
    script = '\n(() => {\n"use strict";\n' + "\n".join(scripts) + "\n})();\n"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    filled = {name: escape(text) for name, text in texts.items()} | fragments
    return Template(page_asset("frame.html")).substitute(
        filled,
        main=Template(page_asset(template)).substitute(filled),
        policy=policy,
        style="\n".join(map(page_asset, styles)),
        script=script,
        data=embedded(data),
    )


def navigation(sections: Iterable[tuple[str, str]]) -> str:
    """Links to the sections."""
    links = each_as('    <li><a href="#{}">{}</a></li>', sections)
    return f'  <nav aria-label="Sections"><ol>\n{links}\n  </ol></nav>'


def _rule(form: PageForm | None) -> str:
    """The rule's own script, which sees its parameters and what the page has defined before it."""
    if form is None:
        return "const RULE = null;"
    if re.search(r"</script|<!--", form.script, re.IGNORECASE):
        raise ValueError("A page form's script must not contain </script or <!--.")
    return f"const RULE = ((parameters) => {{\n{form.script}\n}})(allUnpacked(DATA.rule));"


def embedded(data: Any) -> str:
    """JSON that no browser can take for markup, whatever the texts in it say."""
    text = json.dumps(_finite(data), allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def tiles(entries: list[tuple[str, str, str]]) -> str:
    """The few numbers to remember, side by side."""
    figure = '<span class="figure">{}</span><span class="quiet">{}</span>'
    found = each_as(f"    <div><dt>{{}}</dt><dd>{figure}</dd></div>", entries)
    return f'  <dl class="tiles">\n{found}\n  </dl>'


def facts(pairs: Iterable[tuple[str, str]], summary: str) -> str:
    """What else is known, behind a line at the head of the page."""
    found = each_as("    <div><dt>{}</dt><dd>{}</dd></div>", pairs)
    opened = f'  <details class="more"><summary>{escape(summary)}</summary>'
    return f'{opened}<dl class="facts">\n{found}\n  </dl></details>'


def scenarios(sentences: list[str]) -> str:
    """What the worst world looks like: where it starts from, then one line each."""
    if not sentences:
        return ""
    origin, *changes = sentences
    lines = each_as("<li>{}</li>", [(change,) for change in changes])
    listed = f'  <ul class="scenarios">{lines}</ul>' if changes else ""
    return f"  <h3>The worst world nearby</h3>\n  <p>{escape(origin)}</p>\n{listed}"


def paragraphs(sentences: list[str]) -> str:
    """One paragraph each."""
    return each_as("  <p>{}</p>", [(sentence,) for sentence in sentences])


def settings(pairs: list[tuple[str, str]]) -> str:
    """What the model's settings mean, for those who ask."""
    if not pairs:
        return ""
    listed = each_as("<dt>{}</dt><dd>{}</dd>", pairs, "")
    summary = "<summary>What the settings of the model mean</summary>"
    return f'  <details>{summary}<dl class="terms">{listed}</dl></details>'


def cost_rows(costs: list[Cost]) -> str:
    """Lines of the table of costs, the policy's own first."""
    lines = []
    for cost in costs:
        name = escape(cost.name)
        if cost.remark:
            name += f' <span class="quiet">{escape(cost.remark)}</span>'
        gap = "–"
        if cost.kind != "policy":
            mean, low, high = cost.against(costs[0])
            ends = f"{number(low, 3, signed=True)} to {number(high, 3, signed=True)}"
            gap = f'{number(mean, 3, signed=True)} <span class="quiet">{ends}</span>'
        cells = [
            f'{number(cost.mean)} <span class="quiet">± {number(cost.error, 2)}</span>',
            gap,
            *(number(value) for value in cost.spread.values()),
        ]
        marked = ' class="own"' if cost.kind == "policy" else ""
        figures = "".join(f"<td>{cell}</td>" for cell in cells)
        lines.append(f'      <tr{marked}><th scope="row">{name}</th>{figures}</tr>')
    return "\n".join(lines)


def dot(name: str, kind: str, mean: float, ends: tuple[float, float] | None = None) -> Any:
    """A point of a chart, and the ends of the line through it."""
    return {"name": name, "kind": kind, "mean": mean} | ({"ends": ends} if ends else {})


def importance_bars(importance: Importance) -> str:
    """Bars for the most important columns, the others behind a button that needs no script."""
    names, shares = importance.names, importance.values
    largest = float(shares.max()) or 1.0
    bars = [
        (names[j], f"{100 * shares[j] / largest:.2f}", percent(float(shares[j])))
        for j in importance.ranked()
    ]
    first, rest = each_as(BAR, bars[:FIRST]), each_as(BAR, bars[FIRST:])
    html = f'  <ol class="bars">\n{first}\n  </ol>'
    if rest:
        html += (
            f"\n  <details><summary>Show all {len(bars)}</summary>"
            f'<ol class="bars" start="{FIRST + 1}">\n{rest}\n  </ol></details>'
        )
    return html


def indented(text: str) -> str:
    """Lines of if and otherwise, indented so that long ones wrap within their level."""
    levels = [
        (f"{0.4 * (len(line) - len(line.lstrip())):g}", line.strip()) for line in text.splitlines()
    ]
    return each_as('<div style="margin-left: {}em">{}</div>', levels)


def what_if(trouble: str) -> str:
    """Room for inputs and decisions, or why this page cannot compute any."""
    return paragraphs([trouble]) if trouble else page_asset("whatif.html")


def tree_browser(drawn: bool, rule: str) -> str:
    """Room for the trees, or why there are none."""
    if drawn:
        return page_asset("trees.html")
    return f"  <p>This policy has no trees to draw. Its rule: {escape(rule)}.</p>"


def each_as(pattern: str, entries: Iterable[tuple[str, ...]], between: str = "\n") -> str:
    """A piece of HTML for each entry, its texts escaped and put where the pattern has {}."""
    return between.join(pattern.format(*map(escape, entry)) for entry in entries)


def page_asset(name: str) -> str:
    """A file of the page."""
    return asset("hedgerow.report", f"page/{name}")


def _finite(value: Any) -> Any:
    """Plain values as they are shown, with null in the place of what is not a finite number."""
    if isinstance(value, dict):
        return {str(name): _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, str):
        return shown(value, keep="\n")
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value
