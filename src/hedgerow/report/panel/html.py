"""Pieces of a panel's page: the table of ways, and series in detail. All texts are escaped."""

from __future__ import annotations

from hedgerow.describe.numbers import number, percent
from hedgerow.metrics import InventoryFigures
from hedgerow.report.html import BAR, each_as, escape, paragraphs
from hedgerow.report.panel.reasons import Reason, Reasons
from hedgerow.report.panel.subject import PanelSubject
from hedgerow.report.panel.ways import Gap, Way

FIRST, MOST_PARTS, LEAST_PART = 8, 4, 0.02
"""Columns whose weight is shown; parts of what makes an order unusual that are named."""
SERVICE = ("Fill rate", "Service level", "Left over", "Stock-outs")


def says(sentences: list[str]) -> str:
    """Sentences to begin with."""
    return each_as('  <p class="say">{}</p>', [(sentence,) for sentence in sentences])


def way_head(subject: PanelSubject) -> str:
    """Heading of the table of ways."""
    names = [("Cost in total", ""), ("This policy is dearer by", "95 % interval, by week")]
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
            name += f' <span class="quiet">{escape(way.remark)}</span>'
        cells = [number(way.total), _gap(gaps[k - 1]) if k else "–"]
        if not way.known.all():
            some = f"on {percent(float(way.known.mean()))} of rows"
            cells[0] += f' <span class="quiet">{some}</span>'
        if figures is not None:
            cells += [
                percent(figures.fill_rate),
                percent(figures.service_level),
                f'{number(figures.waste)} <span class="quiet">{percent(figures.waste_share)}</span>',
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
    return f'{difference} <span class="quiet">{ends}</span>'


def detail(
    subject: PanelSubject, k: int, name: str, sentences: list[str], reasons: Reasons
) -> str:
    """One series: sentences, places for its charts, and why its orders are what they are."""
    return f"""  <details class="series" id="series-{k}" data-detail="{k}"{" open" if k < 2 else ""}>
  <summary><h3>{escape(name)}</h3></summary>
{paragraphs(sentences)}
  <div class="chart" id="orders-{k}"></div>
  <p class="caption readout" id="orders-{k}-said"></p>
  <div class="chart" id="sums-{k}"></div>
  <p class="caption readout" id="sums-{k}-said"></p>
{_why(subject, reasons)}
  </details>"""


def _why(subject: PanelSubject, reasons: Reasons) -> str:
    """What counts, and the dearest rows taken apart."""
    if not reasons.counts:
        return "  <p>Its orders depend on nothing: they are always the same.</p>"
    largest = reasons.counts[0][1]
    total = sum(value for _, value in reasons.counts)
    bars = [
        (name, f"{100 * value / largest:.2f}", f"{number(value, 2)}{subject.goods}")
        for name, value in reasons.counts[:FIRST]
    ]
    rest = 1 - sum(value for _, value in reasons.counts[:FIRST]) / total
    more = f" What is not shown makes {percent(rest)} together." if rest > 0.0005 else ""
    return f"""  <h4>What its orders depend on</h4>
  <p class="caption">How far an order moves when a column moves by what is usual in this series (its standard deviation).{more}</p>
  <ol class="bars">
{each_as(BAR, bars)}
  </ol>
{_dearest(subject, reasons.orders)}"""


def _dearest(subject: PanelSubject, orders: list[Reason]) -> str:
    if not orders:
        return ""
    lines = [
        (
            subject.shown_time(one.row),
            number(one.order, 3),
            number(float(subject.outcomes[one.row]), 3),
            number(float(subject.losses(subject.orders)[one.row]), 3),
            "; ".join(f"{name} {number(part, 2, signed=True)}" for name, part in _largest(one)),
        )
        for one in orders
    ]
    cells = "<td>{}</td><td>{}</td><td>{}</td>"
    rows = each_as(f'<tr><th scope="row">{{}}</th>{cells}<td class="why">{{}}</td></tr>', lines)
    usual = number(orders[0].usual, 3)
    head = each_as(
        '<th scope="col">{}</th>',
        [
            ("Dearest rows",),
            ("Ordered",),
            (subject.outcome,),
            (f"Cost{subject.money}",),
        ],
        "",
    )
    apart = escape(f"What set the order apart from the usual {usual}{subject.goods}")
    head += f'<th scope="col" class="why">{apart}</th>'
    return f"""  <div class="scroll" tabindex="0" role="region" aria-label="Dearest rows"><table class="dearest">
    <thead><tr>{head}</tr></thead>
    <tbody>{rows}</tbody>
  </table></div>"""


def _largest(one: Reason) -> list[tuple[str, float]]:
    """The parts worth naming, and what the others add up to."""
    least = LEAST_PART * sum(abs(part) for _, part in one.parts)
    named = [(name, part) for name, part in one.parts[:MOST_PARTS] if abs(part) > least]
    rest = sum(part for _, part in one.parts[len(named) :])
    return [*named, ("others", rest)] if rest else named
