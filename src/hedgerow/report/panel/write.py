"""Write a report on a panel: gather what is known of all series, put it on one page, save that."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import date as calendar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow._files import whole_file
from hedgerow._version import __version__
from hedgerow.describe.numbers import counted, listed
from hedgerow.report import html
from hedgerow.report.live import packed
from hedgerow.report.panel import html as pieces
from hedgerow.report.panel import sentences
from hedgerow.report.panel.figures import SeriesFigures, periods_of, steps_of
from hedgerow.report.panel.reasons import reasons_of
from hedgerow.report.panel.subject import PanelSubject
from hedgerow.report.panel.ways import Way, gap, total_inventory, ways_of
from hedgerow.report.write import check_page_target

if TYPE_CHECKING:
    import pandas as pd

SECTIONS = (
    ("costs", "What it costs"),
    ("series", "Series by series"),
    ("details", "Series in detail"),
)
SCRIPTS = (
    "numbers.js",
    "dates.js",
    "charts.js",
    "frame.js",
    "lines.js",
    "panel_series.js",
    "panel_start.js",
)
MOST_POINTS = 1_500
"""Rows of one series that its charts carry, the last ones."""
COSTLIEST = 3
"""Rows of a series whose orders are taken apart."""


def write_panel_report(
    panel: Any,
    table: pd.DataFrame,
    out: str | os.PathLike[str],
    *,
    history: pd.DataFrame | None = None,
    series: Sequence[Any] = (),
    against: Mapping[str, str] | None = None,
    title: str | None = None,
    unit: str = "",
    loss_unit: str = "",
    time: str | None = None,
    outcome: str | None = None,
    lead: int = 1,
    date: str | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Path:
    """Write one self-contained HTML page about a panel, for the person who orders.

    The page says what the orders of all series cost beside what people order today and beside
    simple baselines, week by week; lists the series, the worst ones first; and shows some of them
    in detail. It loads nothing from anywhere.

    Parameters
    ----------
    panel : PanelPolicy
        A fitted panel.
    table : pandas.DataFrame
        The rows to report on: group columns, dates, columns that are known when deciding, and what
        then happened. Without ``history`` it holds the features, too.
    out : path
        File to write, ending in .html; written whole or not at all.
    history : pandas.DataFrame, optional
        Earlier rows, from which features and baselines are made. Rows of the table come after
        them, and are known to later ones as far as the lead time allows.
    series : sequence of keys, optional
        Series to show in detail, each named by its values in the group columns; by default those
        that cost most beyond the baseline, and the largest.
    against : dict of name → column, optional
        Columns of the table with what people order today. Series are compared with the first one;
        without any, with the quantile of the same weekday.
    title : str, optional
        Heading of the page.
    unit, loss_unit : str
        What orders and costs are counted in, such as "pieces" and "€".
    time, outcome : str, optional
        Columns with dates and outcomes, where the panel does not know them: it was fitted without
        ``features``, and the table has no, or several, columns of dates.
    lead : int
        Days before its date on which an order is made, for the baselines; with ``features``, theirs
        counts.
    date : str, optional
        Date on the page; today's by default.
    progress : callable, optional
        Called with (steps done, steps in all, what is being done).

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import hedgerow as hr
    >>> sales = hr.datasets.load_bakery()
    >>> before, after = (sales[sales["date"] < "2018-05-01"], sales[sales["date"] >= "2018-05-01"])
    >>> groups = ("store", "product")
    >>> features = hr.TimeFeatures("date", "demand", by=groups, lags=(7,), rolling=(28,), level=28)
    >>> panel = hr.PanelPolicy(hr.RobustPolicy(hr.Newsvendor(1, 3)), groups, features=features)
    >>> panel.fit(before)  # doctest: +SKIP
    >>> hr.report.write_panel_report(
    ...     panel, after, "bakery.html", history=before, unit="pieces"
    ... )  # doctest: +SKIP
    """
    path = check_page_target(out)
    say = progress or (lambda done, total, note: None)
    say(0, 4, "orders")
    subject = PanelSubject.read(
        panel,
        table,
        history,
        time=time,
        outcome=outcome,
        lead=lead,
        unit=unit,
        loss_unit=loss_unit,
    )
    asked = [subject.keys.place(key) for key in series]
    say(1, 4, "baselines")
    ways, untold = ways_of(subject, against)
    figures = SeriesFigures.of(subject, ways)
    say(2, 4, "series in detail")
    chosen = list(dict.fromkeys(asked)) or figures.notable(0)
    details = [_detail(subject, figures, ways, k, place) for k, place in enumerate(chosen)]
    say(3, 4, "page")
    text = _page(subject, ways, untold, figures, chosen, details, title, date)
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    say(4, 4, "done")
    return path


def _page(
    subject: PanelSubject,
    ways: list[Way],
    untold: list[str],
    figures: SeriesFigures,
    chosen: list[int],
    details: list[tuple[str, dict[str, Any]]],
    title: str | None,
    date: str | None,
) -> str:
    """Everything that was found, as one text."""
    gaps = [gap(subject, ways[0], way) for way in ways[1:]]
    inventories = [total_inventory(subject, way) for way in ways]
    shown, periods = figures.shown(0), periods_of(subject, ways)
    about, date = sentences.about(subject), date or calendar.today().isoformat()
    loss = subject.panel.policy.loss
    texts = {
        "kind": "panel report",
        "title": title or f"Orders of {subject.outcome} for {listed(subject.keys.by, 3)}",
        "lead": about,
        "per_unit": f" in {subject.loss_unit}" if subject.loss_unit else "",
        "carried": sentences.limits(subject, figures, shown, 0),
        "limits": "",
        "date": date,
        "version": __version__,
    }
    fragments = {
        "says": pieces.says(sentences.top(subject, ways, gaps, inventories[0])),
        "tiles": html.tiles(sentences.tiles(subject, ways, gaps, inventories[0])),
        "facts": html.facts(
            [
                ("Decides", f"{loss.description().decides or 'One number'}: {subject.outcome}"),
                ("From", sentences.sources(subject)),
                ("Ordered", sentences.ordered(subject)),
                ("Costs", loss.description(subject.loss_unit).costs),
                ("Rule", sentences.STRATEGIES[subject.panel.strategy]),
                ("Report", f"{date}, hedgerow {__version__}"),
            ],
            "About these orders",
        ),
        "nav": html.navigation(SECTIONS),
        "left_out": html.paragraphs(sentences.left_out(subject, untold)),
        "way_head": pieces.way_head(subject),
        "way_rows": pieces.way_rows(subject, ways, gaps, inventories),
        "details": "\n".join(text for text, _ in details),
    }
    data = {
        "unit": subject.unit,
        "loss_unit": subject.loss_unit,
        "dated": subject.dated,
        "row_noun": subject.row_noun,
        "date_noun": subject.date_noun,
        "outcome": subject.outcome,
        "ways": [{"name": way.name, "kind": way.kind} for way in ways],
        "periods": packed(periods._asdict()),
        "series": packed(_series(subject, figures, shown, chosen)),
        "steps": packed([_steps(figures, shown, k) for k in range(len(ways) - 1)]),
        "details": packed([numbers for _, numbers in details]),
    }
    scripts = map(html.page_asset, SCRIPTS)
    return html.assembled("panel.html", ("page.css", "panel.css"), scripts, texts, fragments, data)


def _series(
    subject: PanelSubject, figures: SeriesFigures, shown: np.ndarray, chosen: list[int]
) -> dict[str, Any]:
    """Columns of the table of series."""
    status = [subject.statuses[place] for place in shown]
    names = sorted(set(status))
    at = {place: k for k, place in enumerate(chosen)}
    return {
        "by": " · ".join(subject.keys.by),
        "names": [" · ".join(subject.keys.values[place]) for place in shown],
        "statuses": names,
        "status": [names.index(one) for one in status],
        "rows": figures.rows[shown].tolist(),
        "cost": _short(figures.cost[shown]),
        "total": float(figures.cost.sum()),
        "own": [_short(own[shown]) for own in figures.own],
        "other": [_short(other[shown]) for other in figures.other],
        "service": {name: _short(values[shown]) for name, values in figures.service.items()},
        "detail": {str(i): at[place] for i, place in enumerate(shown.tolist()) if place in at},
    }


def _steps(figures: SeriesFigures, shown: np.ndarray, other: int) -> dict[str, Any]:
    steps = steps_of(figures, other)
    at = {int(place): i for i, place in enumerate(shown)}
    relative = figures.relative[other]
    return {
        "ends": _short(steps.ends),
        "relative": _short(steps.relative),
        "series": [at.get(place, -1) for place in steps.series],
        "better": int(np.sum(relative < 0)),
        "worse": int(np.sum(relative > 0)),
        "count": int(np.sum(np.isfinite(relative))),
    }


def _detail(
    subject: PanelSubject, figures: SeriesFigures, ways: list[Way], k: int, place: int
) -> tuple[str, dict[str, Any]]:
    """One series as HTML, and the numbers of its charts."""
    rows = np.flatnonzero(subject.places == place)
    rows = rows[np.argsort(subject.ticks[rows], kind="stable")]
    own = ways[0].losses
    costliest = rows[np.argsort(-own[rows], kind="stable")][:COSTLIEST]
    name = subject.keys.words(subject.keys.values[place])
    said = sentences.of_series(subject, figures, ways, place)
    if len(rows) > MOST_POINTS:
        said.append(f"Charts show the last {MOST_POINTS:,} of {counted(len(rows), 'row')}.")
    text = pieces.detail(subject, k, name, said, reasons_of(subject, place, costliest))
    last = rows[-MOST_POINTS:]
    sums = [np.cumsum(np.where(way.known, way.losses, own)[rows])[-MOST_POINTS:] for way in ways]
    numbers = {
        "name": name,
        "x": subject.days[last],
        "demand": _short(subject.outcomes[last]),
        "orders": [_short(way.orders[last]) for way in ways],
        "sums": [_short(total) for total in sums],
    }
    return text, numbers


def _short(values: np.ndarray) -> np.ndarray:
    """Numbers that are only looked at: seven digits."""
    return np.asarray(values, np.float32)
