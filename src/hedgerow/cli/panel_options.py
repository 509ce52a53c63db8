"""What can be asked of panels: many series in one table, with ``--by``.

Options that make features of time go with ``--time``. Where one of them is not given, it has a
default in weeks (``default_windows``), which fits daily and hourly tables alike; "none" leaves it
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer


class Strategy(StrEnum):
    """How many rules there are."""

    pooled = "pooled"
    refined = "refined"
    separate = "separate"


class Gaps(StrEnum):
    """What becomes of periods without a row."""

    refuse = "refuse"
    fill = "fill"
    missing = "missing"


class BadSeries(StrEnum):
    """What becomes of series that cannot be read."""

    refuse = "refuse"
    leave_out = "leave-out"

    @property
    def spoken(self) -> str:
        """As the library calls it."""
        return self.value.replace("-", " ")


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """An option: what stands for its value, and what it is about."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


_PANELS: dict[str, Any] = {"rich_help_panel": "Panels", "show_default": False}
_OF_TIME: dict[str, Any] = {"rich_help_panel": "Panels over time", "show_default": False}
in_panels, of_time = partial(option, **_PANELS), partial(option, **_OF_TIME)

Jobs = Annotated[
    int | None, in_panels("NUMBER", "Processes for separate rules, or for files.", min=1)
]
EngineName = Annotated[
    str | None, in_panels("NAME", "local (default), or dask: workers of a cluster.")
]
Scheduler = Annotated[
    str | None, in_panels("ADDRESS", "Of the Dask cluster; default: one is started here.")
]
History = Annotated[
    Path | None,
    option("FILE", "Of a panel over time: table of recent outcomes, which features are made of."),
]
NONE = "none"
OF_TIME = (
    *("lags", "rolling", "same_weekday", "level", "known", "calendar"),
    *("lead", "review", "step", "gaps"),
)
OF_MANY = ("jobs", "resume", "engine", "scheduler")
OF_PANELS = ("time", "strategy", "seeds", "group_costs", "bad_series", *OF_MANY, *OF_TIME)
WINDOWS = ("lags", "rolling", "same_weekday", "level")


@dataclass(frozen=True, kw_only=True)
class PanelOptions:
    """What ``hedgerow fit`` is asked for of a panel; None leaves a choice to the library."""

    by: Annotated[
        list[str] | None,
        in_panels("COLUMNS", "Columns that name a series: store,item. One policy for all series."),
    ] = None
    strategy: Annotated[
        Strategy | None,
        in_panels(
            "NAME",
            "pooled: one rule, in units of each series; refined: a factor for each series, too; "
            "separate: a rule for each.",
        ),
    ] = None
    seeds: Annotated[
        int | None, in_panels("NUMBER", "Forests from so many beginnings are averaged.", min=1)
    ] = None
    jobs: Jobs = None
    engine: EngineName = None
    scheduler: Scheduler = None
    resume: Annotated[
        Path | None,
        in_panels(
            "FOLDER",
            "Keep there what is learned on the way: separate rules, or rows of a folder; what is "
            "there already is not done again.",
        ),
    ] = None
    group_costs: Annotated[
        Path | None,
        in_panels("FILE", "Table of costs by group, with the columns of --holding and --stockout."),
    ] = None
    bad_series: Annotated[
        BadSeries | None,
        in_panels("NAME", "Series that cannot be read: refuse (default) the table, or leave-out."),
    ] = None
    time: Annotated[
        str | None,
        of_time(
            "COLUMN",
            "Dates. Features are then made of what was known in time. Without --by: what --search "
            "time goes by.",
        ),
    ] = None
    known: Annotated[
        list[str] | None,
        of_time("COLUMNS", "Columns known ahead: promo,is_holiday. No others are used."),
    ] = None
    lags: Annotated[
        str | None,
        of_time("NUMBERS", "Outcomes so many periods before; default: the latest, 1, 2, 3 weeks."),
    ] = None
    rolling: Annotated[
        str | None, of_time("NUMBERS", "Means of so many periods; default: 1 and 4 weeks.")
    ] = None
    same_weekday: Annotated[
        str | None, of_time("NUMBERS", "Means of so many equal weekdays; default: 4 and 8.")
    ] = None
    level: Annotated[
        str | None,
        of_time(
            "NUMBER",
            "Periods whose mean is a row's level; default: 4 weeks. With --radius calibrated: the "
            "probability of the promise; default: 0.9.",
        ),
    ] = None
    calendar: Annotated[
        str | None, of_time("NAMES", "weekday,hour,month,day_of_year,season, or none.")
    ] = None
    lead: Annotated[
        int | None, of_time("NUMBER", "Periods decided ahead; default: 1, the evening before.")
    ] = None
    review: Annotated[
        int | None, of_time("NUMBER", "Periods that one decision covers; default: 1.")
    ] = None
    step: Annotated[
        str | None, of_time("STEP", "From row to row: D (default), h, 15min, W, M or a number.")
    ] = None
    gaps: Annotated[
        Gaps | None,
        of_time("NAME", "Periods without a row: refuse (default), fill with 0, or missing."),
    ] = None


def panel_mistakes(request: Any, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Options that do not go together, and why; of a request to fit with costs in columns."""
    given = [name for name in OF_PANELS if getattr(request, name) is not None]
    folder = request.data.is_dir()
    if not request.by:
        beside = {"level": "--radius calibrated", "time": "--search time"}
        for name in given:
            fits = {"level": request.radius == "calibrated", "time": request.searches == "time"}
            if not fits.get(name, False):
                other = f" or {beside[name]}" if name in beside else ""
                yield dashed(name), f"goes with --by{other}."
        return
    for name in given:
        if name in OF_TIME and request.time is None:
            yield dashed(name), "goes with --time."
        if name in OF_MANY and request.strategy != Strategy.separate and not folder:
            yield dashed(name), "goes with --strategy separate, or with a folder of Parquet files."
    if folder and request.strategy not in (None, Strategy.pooled):
        yield "strategy", "is pooled for a folder of Parquet files."
    if folder and request.bad_series is not None:
        yield "bad-series", "is for one table, not for a folder of them."
    if folder and request.time is None and request.features is not None:
        yield "features", "is for one table; columns of a folder's files are all features."
    if folder and request.censored is not None:
        yield "censored", "is for one table, not for a folder of them."
    if request.seeds is not None and request.strategy == Strategy.separate:
        yield "seeds", "does not apply to --strategy separate."
    if request.group_costs is not None and not columns:
        yield "group-costs", "goes with --holding COLUMN or --stockout COLUMN."
    if len(request.outcomes) > 1:
        yield "outcome", f"is one column with --by; got {len(request.outcomes)}."
    if request.problem != "newsvendor":
        yield "problem", "is newsvendor with --by."
    if request.searches != "none":
        yield "search", "is not offered with --by; a panel has defaults of its own."
    if request.time is not None:
        if request.features is not None:
            yield "features", "does not go with --time: name columns known ahead with --known."
        if request.censored is not None:
            yield "censored", "does not go with --time, which makes rows of its own."
    for name in WINDOWS:
        text = getattr(request, name)
        if text is not None and not _is_windows(text, several=name != "level"):
            asked = "whole numbers such as 7,14" if name != "level" else "a whole number"
            yield dashed(name), f"must be {asked}, or none; got {text!r}."


def dashed(name: str) -> str:
    """A field's name as an option."""
    return name.replace("_", "-")


def windows_in(text: str) -> tuple[int, ...]:
    """Numbers separated by commas; "none" of them."""
    return () if text.strip() == NONE else tuple(int(part) for part in text.split(","))


def default_windows(week: int | None, least: int, months: bool) -> dict[str, tuple[int, ...]]:
    """Return lags, means and level of a step, so many periods of which are a week.

    Lags are not shorter than ``least``, or they would not be known yet. With weekdays: the latest
    outcome and those of three weeks, means of one week and of four, and of four and eight such
    weekdays: the best of a few on a bakery's validation months. Without: the latest outcomes and
    the mean of 8 periods, of months those of a year.
    """
    if week is not None:
        first = -(-least // week)
        lags = dict.fromkeys((least, *(week * (first + more) for more in range(3))))
        means = {"rolling": (week, 4 * week), "same_weekday": (4, 8), "level": (4 * week,)}
        return {"lags": tuple(lags), **means}
    size = 12 if months else 8
    lags = (least, 12 * -(-least // 12)) if months else (least, least + 1, least + 3)
    shared = {"rolling": (size,), "same_weekday": (), "level": (size,)}
    return {"lags": tuple(dict.fromkeys(lags)), **shared}


def _is_windows(text: str, several: bool) -> bool:
    parts = [part.strip() for part in text.split(",")]
    whole = all(part.isascii() and part.isdigit() for part in parts)
    return text.strip() == NONE or (whole and (several or len(parts) == 1))
