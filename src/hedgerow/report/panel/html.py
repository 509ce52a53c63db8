"""Pieces of a panel's page: the table of ways, and series in detail. All texts are escaped."""

from __future__ import annotations

from string import Template

from hedgerow.describe.numbers import counted, number, percent
from hedgerow.metrics import InventoryFigures
from hedgerow.report.html import BAR, each_as, escape, page_asset, paragraphs
from hedgerow.report.panel.reasons import Reason, Reasons
from hedgerow.report.panel.subject import PanelSubject
from hedgerow.report.panel.ways import Gap, Way

FIRST, MOST_PARTS, LEAST_PART = 8, 4, 0.02
"""Columns whose weight is shown; parts of what makes an order unusual that are named."""
OPEN = 2
"""Series in detail that are open at first."""
SERVICE = ("Fill rate", "Service level", "Left over", "Stock-outs")


def says(sentences: list[str]) -> str:
    """Sentences to begin with, the first one larger."""
    first, *rest = sentences
    return "\n".join([each_as('  <p class="say">{}</p>', [(first,)]), paragraphs(rest)])


def way_head(subject: PanelSubject) -> str:
    """Heading of the table of ways."""
    names = [
        ("Cost in total", ""),
        ("This policy’s cost against it", "−: this policy costs less; 95 % interval, by week"),
    ]
    if subject.unit_costs is not None:
        names += [(name, "") for name in SERVICE]
    return each_as(
        '<th scope="col">{} <span class="quiet">{}</span></th>', [("Way to decide", ""), *names], ""
    )


def way_rows(
    subject: PanelSubject,
    ways: list[Way],
    gaps: list[Gap],
    inventories: list[InventoryFigures | None],
) -> str:
    """Lines of the table of ways, the policy's own first."""
    lines = []
    for k, (way, figures) in enumerate(zip(ways, inventories, strict=True)):
        name = escape(way.name)
        if way.remark:
            name += f" {_quiet(escape(way.remark))}"
        cells = [number(way.total), _gap(gaps[k - 1]) if k else "–"]
        if not way.known.all():
            cells[0] += f" {_quiet(f'on {percent(float(way.known.mean()))} of rows')}"
        if figures is not None:
            cells += [
                percent(figures.fill_rate),
                percent(figures.service_level),
                f"{number(figures.waste)} {_quiet(percent(figures.waste_share))}",
                f"{figures.stockouts:,}",
            ]
        marked = "" if k else ' class="own"'
        lines.append(
            f'      <tr{marked}><th scope="row">{name}</th>'
            f"{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        )
    return "\n".join(lines)


def _gap(gap: Gap) -> str:
    ends = ""
    if gap.weeks > 1:
        ends = f"{number(gap.low, 3, signed=True)} to {number(gap.high, 3, signed=True)}"
    difference = f"{number(gap.difference, 3, signed=True)} ({percent(gap.relative, signed=True)})"
    return f"{difference} {_quiet(ends)}"


def _quiet(text: str) -> str:
    return f'<span class="quiet">{text}</span>'


def detail(subject: PanelSubject, k: int, name: str, sentences: list[str], reasons: Reasons) -> str:
    """One series: sentences, places for its charts, and why its orders are what they are."""
    return Template(page_asset("panel_detail.html")).substitute(
        k=k,
        open=" open" if k < OPEN else "",
        name=escape(name),
        sentences=paragraphs(sentences),
        why=_why(subject, reasons),
    )


def _why(subject: PanelSubject, reasons: Reasons) -> str:
    """What counts, and the costliest rows taken apart."""
    if not reasons.counts:
        return "  <p>Its orders depend on nothing: they are always the same.</p>"
    largest = reasons.counts[0][1]
    bars = [
        (name, f"{100 * value / largest:.2f}", f"{number(value, 2)}{subject.goods}")
        for name, value in reasons.counts[:FIRST]
    ]
    rest = len(reasons.counts) - len(bars)
    more = f" {counted(rest, 'further column')} move it less than these." if rest else ""
    names = (f"Costliest {subject.row_noun}s", "Ordered", subject.outcome, f"Cost{subject.money}")
    usual = number(reasons.orders[0].usual, 3)
    cells = '<th scope="row">{}</th><td>{}</td><td>{}</td><td>{}</td><td class="why">{}</td>'
    return Template(page_asset("panel_why.html")).substitute(
        more=escape(more),
        bars=each_as(BAR, bars),
        head=each_as('<th scope="col">{}</th>', [(name,) for name in names], ""),
        apart=escape(f"What set the order apart from the usual {usual}{subject.goods}"),
        rows=each_as(f"<tr>{cells}</tr>", [_apart(subject, one) for one in reasons.orders]),
    )


def _apart(subject: PanelSubject, one: Reason) -> tuple[str, ...]:
    """One order, what then happened, what that cost, and what made the order what it was."""
    row = one.row
    figures = one.order, float(subject.outcomes[row]), float(subject.own_losses[row])
    parts = "; ".join(f"{name} {number(part, 2, signed=True)}" for name, part in _largest(one))
    return subject.shown_time(row), *(number(figure, 3) for figure in figures), parts


def _largest(one: Reason) -> list[tuple[str, float]]:
    """The parts worth naming, and what the others add up to."""
    least = LEAST_PART * sum(abs(part) for _, part in one.parts)
    named = [(name, part) for name, part in one.parts[:MOST_PARTS] if abs(part) > least]
    rest = sum(part for _, part in one.parts[len(named) :])
    return [*named, ("others", rest)] if rest else named
