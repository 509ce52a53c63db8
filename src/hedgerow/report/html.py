"""From facts to one HTML file: texts are escaped, numbers embedded, styles and script inlined.

The page may run its own script and nothing else: its content security policy names the script by
hash and forbids every request, so neither a column's name nor a careless edit can load anything.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape
from string import Template
from typing import Any

import numpy as np

from hedgerow.describe.numbers import number, percent
from hedgerow.describe.page_form import PageForm, asset
from hedgerow.explain import Importance
from hedgerow.report.costs import Cost, interval

BEFORE_RULE = ("numbers.js", "mathematics.js")
AFTER_RULE = (
    "rule.js",
    "attribution.js",
    "charts.js",
    "state.js",
    "tree.js",
    "controls.js",
    "answer.js",
    "start.js",
)
FIRST = 12
"""Bars shown before "show all"."""


def page(
    texts: dict[str, str],
    fragments: dict[str, str],
    data: dict[str, Any],
    form: PageForm | None,
) -> str:
    """Put the page together from plain texts, finished fragments of HTML, data, and a rule."""
    parts = [*map(_asset, BEFORE_RULE), _rule(form), *map(_asset, AFTER_RULE)]
    script = '\n(() => {\n"use strict";\n' + "\n".join(parts) + "\n})();\n"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    return Template(_asset("page.html")).substitute(
        {name: escape(text) for name, text in texts.items()},
        **fragments,
        policy=policy,
        style=_asset("page.css"),
        script=script,
        data=embedded(data),
    )


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
    return "\n".join(
        f'    <div><dt>{escape(name)}</dt><dd><span class="figure">{escape(figure)}</span>'
        f'<span class="quiet">{escape(remark)}</span></dd></div>'
        for name, figure, remark in entries
    )


def facts(pairs: list[tuple[str, str]]) -> str:
    """Entries of the list at the head of the page."""
    return "\n".join(
        f"    <div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in pairs
    )


def paragraphs(sentences: list[str]) -> str:
    """One paragraph each."""
    return "\n".join(f"  <p>{escape(sentence)}</p>" for sentence in sentences)


def settings(pairs: list[tuple[str, str]]) -> str:
    """What the model's settings mean, for those who ask."""
    if not pairs:
        return ""
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in pairs)
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
            ends = f"{number(low, 3)} to {number(high, 3)}"
            gap = f'{number(mean, 3)} <span class="quiet">{ends}</span>'
        cells = [
            f'{number(cost.mean)} <span class="quiet">± {number(cost.error, 2)}</span>',
            gap,
            *(number(value) for value in cost.spread.values()),
        ]
        marked = ' class="own"' if cost.kind == "policy" else ""
        figures = "".join(f"<td>{cell}</td>" for cell in cells)
        lines.append(f'      <tr{marked}><th scope="row">{name}</th>{figures}</tr>')
    return "\n".join(lines)


def cost_dots(costs: list[Cost]) -> list[dict[str, Any]]:
    """What the chart of costs shows."""
    return [dot(cost.name, cost.kind, cost.mean, interval(cost.losses)) for cost in costs]


def dot(name: str, kind: str, mean: float, ends: tuple[float, float] | None = None) -> Any:
    """A point of a chart, and the ends of the line through it."""
    return {"name": name, "kind": kind, "mean": mean} | ({"ends": ends} if ends else {})


def importance_bars(importance: Importance) -> str:
    """Bars for the most important columns, the others behind a button that needs no script."""
    names, shares, order = importance.names, importance.values, importance.ranked()
    largest = float(shares.max()) or 1.0

    def bar(j: int) -> str:
        width, figure = f"{100 * shares[j] / largest:.2f}", escape(percent(shares[j]))
        return (
            f'    <li><span class="name">{escape(names[j])}</span><svg class="track" '
            f'preserveAspectRatio="none" viewBox="0 0 100 1" aria-hidden="true"><rect '
            f'width="{width}" height="1"/></svg><span class="figure">{figure}</span>'
            "</li>"
        )

    first = "\n".join(bar(j) for j in order[:FIRST])
    html = f'  <ol class="bars">\n{first}\n  </ol>'
    if len(order) > FIRST:
        rest = "\n".join(bar(j) for j in order[FIRST:])
        html += (
            f"\n  <details><summary>Show all {len(order)}</summary>"
            f'<ol class="bars" start="{FIRST + 1}">\n{rest}\n  </ol></details>'
        )
    return html


def rules_in_words(rules: Any) -> str:
    """The policy as a few sentences, and how far they can be trusted."""
    source = "It is a small tree that was fitted to the rule’s decisions."
    alike, within, off = (
        escape(percent(share)) for share in (rules.fidelity, rules.tolerance, rules.mean_difference)
    )
    if rules.kind == "hardened":
        source = "It is the most faithful of the rule’s trees, its questions answered by yes or no."
    return (
        f"  <p>A summary of the rule that can be followed by hand. {source} It decides as the rule "
        f"does, to within {within}, on <strong>{alike}</strong> of the rows, and is {off} off on "
        "average. All other numbers in this report are those of the rule itself.</p>\n"
        f'  <div class="words">{_lines(rules.text)}</div>'
    )


def _lines(text: str) -> str:
    """Lines of if and otherwise, indented so that long ones wrap within their level."""
    lines = []
    for line in text.splitlines():
        level = (len(line) - len(line.lstrip())) / 4
        lines.append(f'<div style="margin-left: {1.6 * level:g}em">{escape(line.strip())}</div>')
    return "\n".join(lines)


def what_if(trouble: str) -> str:
    """Room for inputs and decisions, or why this page cannot compute any."""
    return paragraphs([trouble]) if trouble else _asset("whatif.html")


def tree_browser(drawn: bool, rule: str) -> str:
    """Room for the trees, or why there are none."""
    if drawn:
        return _asset("trees.html")
    return f"  <p>This policy has no trees to draw. Its rule: {escape(rule)}.</p>"


def _asset(name: str) -> str:
    return asset("hedgerow.report", f"page/{name}")


def _finite(value: Any) -> Any:
    """Plain values with null in the place of what is not a finite number."""
    if isinstance(value, dict):
        return {str(name): _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value
