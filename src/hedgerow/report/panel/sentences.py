"""Sentences of a panel's report, for whoever orders. Plain text; ``html`` escapes it."""

from __future__ import annotations

import numpy as np

from hedgerow.data.time_steps import WEEKDAYS
from hedgerow.describe.numbers import counted, listed, number, percent
from hedgerow.metrics import InventoryFigures
from hedgerow.report.panel.figures import MOST_SERIES, SeriesFigures
from hedgerow.report.panel.subject import NEW, PanelSubject
from hedgerow.report.panel.ways import Gap, Way

STRATEGIES = {
    "pooled": "One rule for all series, in units of each one’s level",
    "refined": "One rule for all series, in units of each one’s level, times a factor for each",
    "separate": "A rule of its own for each series",
}


TRAINED = {
    "learned": "Learned from {} of its own.",
    "short": "A short series: {} to learn from.",
    "zero": "A series of which nothing was demanded on the {} of training.",
    "constant": "A series that never varied on the {} of training.",
    "retired": "A series of which nothing was demanded lately when it was learned from {}.",
    NEW: "A new series, without any history in training.",
}


def about(subject: PanelSubject) -> str:
    """Which rows the page is about."""
    first, last = (subject.step.shown(end(subject.ticks)) for end in (np.min, np.max))
    series = f"{len(subject.keys):,} series by {listed(subject.keys.by, 4)}"
    return f"{series}, {first} to {last}, {counted(subject.rows, 'row')}"


def sources(subject: PanelSubject) -> str:
    """What it is decided from."""
    names = list(subject.panel.panel_.encoder.groups())
    return f"{counted(len(names), 'column')}: {listed(names, 10)}"


def ordered(subject: PanelSubject) -> str:
    """How long before, and for how long."""
    features = subject.panel.features
    if features is None:
        return (
            f"Each row on its own; baselines know what happened {counted(subject.lead, 'day')} ago"
        )
    noun = "day" if subject.row_noun == "day" else "period"
    ahead, lasts = counted(features.lead, noun), counted(features.review, noun)
    return f"{ahead} ahead, when all that happened before is known, for {lasts}"


def top(
    subject: PanelSubject,
    ways: list[Way],
    gaps: list[Gap],
    totals: InventoryFigures | None,
) -> list[str]:
    """What it costs, against the reference and the others, and how demand was served."""
    policy, *others = ways
    span = counted(len(np.unique(subject.ticks)), subject.date_noun)
    cost = (
        f"Over {span} the orders of {len(subject.keys):,} series cost "
        f"{number(policy.total)}{subject.money} in all"
    )
    if not others:
        return [f"{cost}.", *_served(subject, totals)]
    first, *rest = (_against(subject, way, gap) for way, gap in zip(others, gaps, strict=True))
    said = [f"{cost}, {first}."]
    if rest:
        said.append(f"They cost {'; and '.join(rest)}.")
    return said + _served(subject, totals)


def _against(subject: PanelSubject, way: Way, gap: Gap) -> str:
    """The policy against another way, in part of a sentence."""
    name = _named(way)
    where = ""
    if not way.known.all():
        where = f", on the {percent(float(way.known.mean()))} of rows that it can decide"
    if gap.weeks < 2:
        much = f"{number(abs(gap.difference), 3)}{subject.money}"
        word = "less" if gap.difference < 0 else "more"
        return f"{much} {word} than {name}{where} (one week: too little to say how sure that is)"
    low, high = sorted((abs(gap.low), abs(gap.high)))
    if not gap.sure:
        return (
            f"as much as {name} within chance (difference {number(gap.difference, 3, signed=True)}"
            f"{subject.money}, {percent(0.95)} interval {number(gap.low, 3, signed=True)} to "
            f"{number(gap.high, 3, signed=True)}, week by week){where}"
        )
    word = "less" if gap.difference < 0 else "more"
    return (
        f"{percent(abs(gap.relative))} ({number(abs(gap.difference), 3)}{subject.money}) {word} "
        f"than {name}{where} ({percent(0.95)} interval {number(low, 3)} to {number(high, 3)}, "
        "week by week)"
    )


def _named(way: Way) -> str:
    """A way in the middle of a sentence."""
    if way.kind == "other":
        return f"“{way.name}”"
    return f"the {way.name[0].lower()}{way.name[1:]}"


def _served(subject: PanelSubject, totals: InventoryFigures | None) -> list[str]:
    if totals is None:
        return [
            "Fill rate, service level, waste and stock-outs are left out: they are of orders with "
            "a cost for each unit left over and each missing (a newsvendor), which this loss is "
            "not."
        ]
    noun = subject.row_noun
    where = f"{counted(totals.rows, noun)} of all series"
    return [
        f"They served {percent(totals.fill_rate)} of demand (fill rate) and all of it on "
        f"{percent(totals.service_level)} of the {where} (service level): stock ran out on "
        f"{totals.stockouts:,}, and {number(totals.waste)}{subject.goods or ' units'} were left "
        f"over, {percent(totals.waste_share)} of what was ordered."
    ]


def tiles(
    subject: PanelSubject, ways: list[Way], gaps: list[Gap], totals: InventoryFigures | None
) -> list[tuple[str, str, str]]:
    """The few numbers to remember: name, figure, remark."""
    policy, money, noun = ways[0], subject.money, subject.row_noun
    each = f"{number(policy.total / subject.rows, 3)}{money} a {noun} and series"
    found = [("What does it cost?", f"{number(policy.total)}{money}", f"in total; {each}")]
    if gaps:
        found.append(_saving(subject, ways[1], gaps[0]))
    if totals is not None:
        found += [
            (
                "How much is served?",
                percent(totals.fill_rate),
                f"of demand; stock ran out on {totals.stockouts:,} of {totals.rows:,} {noun}s of "
                "all series",
            ),
            (
                "What is left over?",
                percent(totals.waste_share),
                f"of what was ordered, {number(totals.waste)}{subject.goods}",
            ),
        ]
    return found


def _saving(subject: PanelSubject, way: Way, gap: Gap) -> tuple[str, str, str]:
    """What it saves against the way that series are compared with."""
    money = subject.money
    if gap.weeks > 1 and not gap.sure:
        ends = f"{number(-gap.high, 3, signed=True)} to {number(-gap.low, 3, signed=True)}"
        remark = f"against {_named(way)}: {ends}{money}, which may be chance"
        return "What does it save?", "Not clear", remark
    question = "What does it save?" if gap.difference < 0 else "What more does it cost?"
    sure = "; one week is too little to be sure" if gap.weeks < 2 else ""
    remark = f"{number(abs(gap.difference), 3)}{money}, against {_named(way)}{sure}"
    return question, percent(abs(gap.relative)), remark


def limits(subject: PanelSubject, figures: SeriesFigures, shown: np.ndarray, ref: int) -> str:
    """What the table of series leaves out, if it does."""
    count = len(subject.keys)
    if len(shown) == count:
        return ""
    rest = np.setdiff1d(np.arange(count), shown)
    share = figures.cost[rest].sum() / max(float(figures.cost.sum()), 1e-300)
    against = ""
    if len(figures.other):
        own, paid = figures.own[ref][rest].sum(), figures.other[ref][rest].sum()
        if paid > 0:
            against = f", {percent(own / paid - 1, signed=True)} against the baseline"
    return (
        f"The table carries {len(shown):,} of the {count:,} series (at most {MOST_SERIES:,}): "
        f"those that cost most beyond the baseline, and the largest. The other {len(rest):,} make "
        f"{percent(float(share))} of the cost{against}; totals and pictures are of all series."
    )


def left_out(subject: PanelSubject, untold: list[str]) -> list[str]:
    """What the page could not say."""
    said = list(untold)
    if subject.incomplete:
        said.append(
            f"{counted(subject.incomplete, 'row')} of the table left out: what happened then is "
            "not known, or not complete."
        )
    return said


def of_series(
    subject: PanelSubject, figures: SeriesFigures, ways: list[Way], place: int
) -> list[str]:
    """One series: what it costs, against whom, and when stock ran out."""
    at = subject.trained_places[place]
    learned = 0 if at < 0 else int(subject.panel.panel_.facts.rows[at])
    history = TRAINED[subject.statuses[place]].format(counted(learned, "row"))
    share = figures.cost[place] / max(float(figures.cost.sum()), 1e-300)
    cost = (
        f"Its {counted(int(figures.rows[place]), subject.row_noun)} cost "
        f"{number(figures.cost[place])}{subject.money}, {percent(float(share))} of the total"
    )
    compared = [
        f"{percent(float(figures.relative[k, place]), signed=True)} against {way.name}"
        for k, way in enumerate(ways[1:])
        if np.isfinite(figures.relative[k, place])
    ]
    said = [f"{history} {cost}{': ' + ', '.join(compared) if compared else ''}."]
    return said + _ran_out(subject, place)


def _ran_out(subject: PanelSubject, place: int) -> list[str]:
    """When there was too little, and how much."""
    if subject.unit_costs is None:
        return []
    rows = np.flatnonzero(subject.places == place)
    missing = subject.outcomes[rows] - subject.orders[rows]
    out = rows[missing > 0]
    noun = subject.row_noun
    if not len(out):
        return [f"Stock never ran out on these {counted(len(rows), noun)}."]
    most = rows[int(np.argmax(missing))]
    said = f"Stock ran out on {len(out):,} of {counted(len(rows), noun)}"
    if subject.row_noun == "day":
        weekday = np.floor(subject.days + 3).astype(np.int64) % 7
        count = np.bincount(weekday[out], minlength=7)
        of = np.maximum(np.bincount(weekday[rows], minlength=7), 1)
        often = int(np.argmax(count / of))
        said += f", most often on {WEEKDAYS[often]} ({count[often]} of {of[often]})"
    return [
        f"{said}. The most was missing on {subject.shown_time(int(most))}: "
        f"{number(missing.max(), 3)}{subject.goods}."
    ]
