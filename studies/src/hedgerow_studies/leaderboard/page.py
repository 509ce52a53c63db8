"""What is written and drawn about the standings: one page, one table of all cells, one figure.

FOLDER/leaderboard.md      ranks, then each course with paired differences, reasons, methods
FOLDER/leaderboard.csv     a line per course, round and method
FOLDER/leaderboard.png     relative costs of all methods, course by course
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hedgerow._files import whole_file
from hedgerow._version import NUMERICS
from hedgerow.data.table_writing import write_table
from hedgerow.plots import save_figure
from hedgerow.plots.style import COLOURS, GREY, INK, style
from hedgerow_studies.leaderboard.contest import Entry, Plan, courses
from hedgerow_studies.leaderboard.standings import (
    CourseStanding,
    Overall,
    course_standing,
    overall,
)
from hedgerow_studies.paper.pages.study_page import markdown_table, number
from hedgerow_studies.rivals import catalogue
from hedgerow_studies.versions import libraries

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORST_DRAWN = 1.3
"""What costs more, relative to the best constant decision, is drawn at the edge."""


def standings_of(plan: Plan, entries: Sequence[Entry]) -> list[CourseStanding]:
    """Return the standings of all courses with a complete round."""
    found = []
    for name in plan.courses:
        own = [entry for entry in entries if entry.course == name]
        standing = course_standing(name, own, courses(plan.folder)[name].shared_unit)
        if standing is not None:
            found.append(standing)
    return found


def write_page(plan: Plan, entries: Sequence[Entry], out: Path) -> Path:
    """Write page, table and figure; return the page's path."""
    standings = standings_of(plan, entries)
    if not standings:
        raise ValueError(
            "There is no round yet that all methods have finished; run `hedgerow leaderboard run`."
        )
    ranked = overall(standings, plan.competing())
    write_table(as_table(entries), out / "leaderboard.csv")
    save_figure(draw(standings, ranked), out / "leaderboard.png")
    path = out / "leaderboard.md"
    with whole_file(path) as temporary:
        temporary.write_text(page(plan, standings, ranked), encoding="utf-8")
    return path


def page(plan: Plan, standings: list[CourseStanding], ranked: list[Overall]) -> str:
    """The page as Markdown."""
    releases = ", ".join(f"{name} {release}" for name, release in libraries().items())
    parts = [
        "# Leaderboard\n",
        f"Scale {plan.scale}; numerics {NUMERICS}; {releases}.\n",
        "![relative costs](leaderboard.png)\n",
        "## All courses\n",
        overall_table(ranked, len(standings)),
        "Rank: averaged over a course's rounds, then over courses; a course that a method cannot "
        "do counts as last in the first column and not at all in the second. Cost: relative, "
        "averaged over the courses done. Seconds: median over courses of the processor's, "
        "choosing and learning.\n",
        *(_course_part(plan, standing) for standing in standings),
        "## What was not done\n",
        _reasons(plan, standings),
        "## Methods\n",
        _described(plan),
    ]
    return "\n".join(parts)


def overall_table(ranked: Sequence[Overall], count: int) -> str:
    """Everybody over all courses."""
    headings = ["method", "mean rank", "where done", "courses", "cost", "seconds"]
    rows = [
        [
            one.method,
            number(one.mean_rank, 1),
            number(one.rank_where_done, 1),
            f"{one.courses} of {count}",
            number(one.relative, 3),
            number(one.seconds, 1),
        ]
        for one in ranked
    ]
    return markdown_table(headings, rows)


def _course_part(plan: Plan, standing: CourseStanding) -> str:
    course = courses(plan.folder)[standing.course]
    rows = [
        [
            method,
            number(standing.relative[method], 3),
            _with_interval(*standing.differences[method]),
            number(standing.rank[method], 1),
            number(standing.seconds[method], 1),
        ]
        for method in standing.methods
    ]
    said = f"{course.what}. {standing.rounds} of {standing.asked} rounds."
    headings = ["method", "cost", f"to {standing.best}", "rank", "seconds"]
    return (
        f"## {standing.course}\n\n{said[0].upper()}{said[1:]} Cost: {course.relative_to}.\n\n"
        f"{markdown_table(headings, rows)}"
    )


def _with_interval(mean: float, half: float) -> str:
    if math.isnan(mean):
        return number(mean)
    return number(mean, 3, sign=True) + ("" if math.isnan(half) else f" ± {number(half, 3)}")


def _reasons(plan: Plan, standings: Sequence[CourseStanding]) -> str:
    lines, seen = [], {standing.course for standing in standings}
    said = plan.reasons()
    for course, why in said.pop("", {}).items():
        lines.append(f"- **{course}**: {why}.")
        seen.add(course)
    for course in plan.courses:
        if course not in seen:
            lines.append(f"- **{course}**: no round yet that all methods have finished.")
    for method, reasons in said.items():
        each = "; ".join(f"{course}: {why}" for course, why in reasons.items())
        lines.append(f"- {method}: {each}.")
    for standing in standings:
        for method, (count, sentence) in standing.failures.items():
            rounds = f"{count} of {standing.rounds} rounds"
            lines.append(f"- {method}, {standing.course}: failed in {rounds}: {sentence}")
    return "\n".join(lines or ["Everything was done."]) + "\n"


def _described(plan: Plan) -> str:
    known = catalogue(plan.files)
    problems = {name: courses(plan.folder)[name].problem() for name in plan.courses}
    rows = []
    for name in plan.competing():
        method = known[name]
        grids = {len(method.grid(p)) for p in problems.values() if not method.cannot(p, 1)}
        rows.append([name, method.what, " or ".join(map(str, sorted(grids))) or "–"])
    return markdown_table(["method", "what", "settings"], rows)


def as_table(entries: Sequence[Entry]) -> pd.DataFrame:
    """A line per cell that there is."""
    rows: list[dict[str, Any]] = []
    for entry in entries:
        if entry.result is None:
            continue
        result = entry.result
        costs = result.get("costs")
        rows.append(
            {
                "course": entry.course,
                "round": entry.round,
                "method": entry.method,
                "cost": math.nan if costs is None else float(np.mean(costs)),
                "floor": result.get("floor", math.nan),
                "seconds": result.get("seconds", math.nan),
                "deciding": result.get("deciding", math.nan),
                "chosen": result.get("chosen", ""),
                "failed": result.get("failed", ""),
            }
        )
    return pd.DataFrame(rows)


def draw(standings: Sequence[CourseStanding], ranked: Sequence[Overall]) -> Figure:
    """Relative costs, one panel per course, methods from the best mean rank downwards."""
    from matplotlib.figure import Figure

    with style():
        size = (2.6 + 1.5 * len(standings), 0.6 + 0.23 * len(ranked))
        figure = Figure(figsize=size, layout="constrained")
        axes = np.atleast_1d(figure.subplots(1, len(standings), sharey=True))
        places = np.arange(len(ranked))[::-1]
        for ax, standing in zip(axes, standings, strict=True):
            for place, one in zip(places, ranked, strict=True):
                cost = standing.relative.get(one.method, math.nan)
                half = standing.differences.get(one.method, (math.nan, math.nan))[1]
                own = one.method.startswith("hedgerow")
                colour = COLOURS[0] if own else INK
                if math.isnan(cost):
                    continue
                drawn = min(cost, WORST_DRAWN)
                ax.plot(drawn, place, "D" if own else "o", color=colour, markersize=4)
                if not math.isnan(half) and cost < WORST_DRAWN:
                    ax.plot([cost - half, cost + half], [place, place], color=colour, linewidth=1)
            ax.axvline(1.0, color=GREY, linewidth=0.6)
            ax.set_title(standing.course, fontsize=9)
            ax.tick_params(labelsize=8)
            ax.grid(axis="y", linewidth=0.3)
        axes[0].set_yticks(places, [one.method for one in ranked])
        axes[0].set_ylim(-0.7, len(ranked) - 0.3)
    return figure
