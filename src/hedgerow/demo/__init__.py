"""The demonstration: a bakery chain orders for tomorrow, and finds out what that would have cost.

Real sales of 25 stores × 3 products, 1,215 days. A piece left over costs 1 €, one missing 3 €.

    2016-01-02 … 2017-10-31   learn: one rule for all 75 series
    2017-11-01 … 2018-04-30   promise: 25 weeks that the rule has not seen say what a week may cost
    2018-05-01 … 2019-04-30   test: looked at only to report

What is shown was settled before any of its results on the test year were seen, by these rules:

- The data: of the two sets of daily sales that ship with hedgerow, the one with more days and more
  series to test on. All series; nothing is left out.
- The rule: what ``PanelPolicy`` does by default, with ``SEEDS`` beginnings instead of several, so
  that it takes seconds.
- The rivals: the two things planners do without a model (``hedgerow.baselines``).
- The months in which the world changed: those whose sales differ most from the same month of the
  year before, by their ratio. Not those in which any way to decide did well or badly.
- The order that is explained: the largest one of tomorrow.

Differences carry their standard error, weeks being counted as independent, so that the output
claims no more than the days can show.
"""

from __future__ import annotations

import os
import sys
import time
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow._progress import Report, objective_words, stages
from hedgerow.data import TimeFeatures
from hedgerow.data.table_writing import write_table
from hedgerow.datasets import load_bakery
from hedgerow.demo.findings import Facts, facts_of, promise_of
from hedgerow.demo.telling import tell
from hedgerow.describe.text import shown
from hedgerow.estimator import RobustPolicy
from hedgerow.losses import Newsvendor
from hedgerow.panels import PanelPolicy
from hedgerow.report import write_panel_report
from hedgerow.report.panel.subject import PanelSubject
from hedgerow.solvers import NestedSGD

if TYPE_CHECKING:
    from rich.console import Console

LEFT_OVER, MISSING = 1.0, 3.0
PROMISE_FROM, TEST_FROM = "2017-11-01", "2018-05-01"
SEEDS = 1
BY = ("store", "product")
KNOWN = (
    *("is_schoolholiday", "is_holiday", "is_holiday_next2days"),
    *("rain", "temperature", "promotion_currentweek", "promotion_lastweek"),
)


@dataclass(frozen=True)
class Demonstration:
    """What ``run`` found and wrote."""

    facts: Facts
    panel: PanelPolicy
    files: list[Path]


def run(
    folder: str | os.PathLike[str] = "hedgerow-demo",
    *,
    seed: int = 0,
    steps: int | None = None,
    console: Console | None = None,
    open_page: bool = True,
    stores: int | None = None,
) -> Demonstration:
    """Learn, promise, test, print, and write a page into ``folder``.

    Parameters
    ----------
    folder : path
        Made if need be. Gets policy.hedgerow, orders.csv and report.html.
    seed : int
        The same seed gives the same result.
    steps : int, optional
        Training steps; None: the library's default.
    console : rich.console.Console, optional
        Where to print; None: standard output.
    open_page : bool
        Open the page in a browser, where there are a terminal and a display.
    stores : int, optional
        Only the first so many stores, for a quick look; None: all.
    """
    from rich.console import Console
    from rich.text import Text

    started = time.perf_counter()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    console = console or Console(highlight=False)
    sales = _sales(stores)
    before = sales[sales["date"] < TEST_FROM]
    year = sales[sales["date"] >= TEST_FROM]
    console.print(
        f"A bakery chain orders for tomorrow: {sales['store'].nunique()} stores, "
        f"{sales['product'].nunique()} products, {sales['date'].nunique():,} days of real sales. "
        "A piece left over costs 1 €, one missing 3 €.\n"
    )
    panel = PanelPolicy(_policy(seed, steps), BY, features=_features(), seeds=SEEDS)
    files = [folder / name for name in ("policy.hedgerow", "orders.csv", "report.html")]
    with stages(console, keep=True) as stage:
        with stage("learning one rule for all stores") as report:
            panel.policy.set_params(verbose=_told(report))
            panel.fit(before[before["date"] < PROMISE_FROM])
            panel.policy.set_params(verbose=False)
        with stage("asking unseen weeks what to promise"):
            promise = promise_of(panel, before, PROMISE_FROM)
        with stage("a year of orders, day by day"):
            subject = PanelSubject.read(
                panel, year, before, time=None, outcome=None, lead=1, unit="pieces", loss_unit="€"
            )
            facts = facts_of(subject, promise, before)
        with stage("writing the page"):
            _save(panel, year, before, subject, files)
    console.print()
    tell(console, facts)
    took, names = time.perf_counter() - started, ", ".join(file.name for file in files)
    console.print(
        Text.assemble("\nWritten to ", (shown(folder), "bold"), f" in {took:.0f} s: {names}.")
    )
    if open_page and _can_open():
        webbrowser.open(files[2].resolve().as_uri())
    else:
        page = f"The page: {shown(files[2])} (open it in a browser)."
        console.print(Text(page), soft_wrap=True)
    return Demonstration(facts, panel, files)


def _sales(stores: int | None) -> Any:
    """The bakery's sales."""
    sales: Any = load_bakery()
    some = sales["store"].unique()[:stores]
    return sales[sales["store"].isin(some)].reset_index(drop=True)


def _policy(seed: int, steps: int | None) -> RobustPolicy:
    solver = None if steps is None else NestedSGD(steps=steps)
    return RobustPolicy(Newsvendor(LEFT_OVER, MISSING), solver=solver, random_state=seed)


def _features() -> TimeFeatures:
    """What is known the evening before: calendar, forecasts, promotions, and past sales."""
    return TimeFeatures(
        *("date", "demand"),
        by=BY,
        known=KNOWN,
        lags=(1, 7, 14),
        same_weekday=(4,),
        rolling=(7,),
        level=28,
    )


def _told(report: Report) -> Callable[[int, int, float], None]:
    """What training calls, as what a stage of the work is told."""
    return lambda done, total, objective: report(done, total, objective_words(objective))


def _save(
    panel: PanelPolicy, year: Any, before: Any, subject: PanelSubject, files: list[Path]
) -> None:
    """Write the policy, a year of orders and the page."""
    panel.save(files[0])
    orders = subject.table[[*BY, "date"]].assign(
        order=subject.orders.round(1), demand=subject.outcomes, cost=subject.own_losses.round(2)
    )
    write_table(orders, files[1])
    write_panel_report(
        panel,
        year,
        files[2],
        history=before,
        title="What to bake tomorrow",
        unit="pieces",
        loss_unit="€",
    )


def _can_open() -> bool:
    """Whether there is somebody to look: a terminal, and a display to open a window on."""
    display = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    return display and sys.stdout.isatty()
