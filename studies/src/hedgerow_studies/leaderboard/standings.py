"""Standings: from costs by cell to ranks, relative costs, paired differences and coverage.

A round counts once every method that can do the course has been tried in it. Costs are put in the
course's unit (``courses``). A method's **rank** is averaged over the rounds of a course, ties
shared, a failure last; its **mean rank** over courses, each counted once, and a course that it
cannot do counts as last: a method for everything is worth something. Beside it stands the mean over
the courses that it does.

**Differences** to the course's best method are paired: over rounds where there are at least five,
else over the blocks (weeks) of its rounds; ± is 1.96 standard errors. The best was picked with the
test in view, which flatters it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from hedgerow_studies.leaderboard.contest import Entry
from hedgerow_studies.rivals.constant import CONSTANT

LEAST_ROUNDS, LEAST_BLOCKS = 5, 8


@dataclass(frozen=True)
class CourseStanding:
    """One course's outcome.

    Attributes
    ----------
    methods : tuple of str
        Those that can do it, the best first.
    rounds, asked : int
        Rounds that count, of so many.
    relative, rank, seconds : dict of float, by method
        Mean relative cost, mean rank, median processor seconds; NaN for what failed everywhere.
    differences : dict of (mean, half width), by method
        To the best method; the half width is NaN where there is too little to tell.
    failures : dict of (count, sentence), by method
    """

    course: str
    methods: tuple[str, ...]
    rounds: int
    asked: int
    relative: dict[str, float]
    rank: dict[str, float]
    seconds: dict[str, float]
    differences: dict[str, tuple[float, float]]
    failures: dict[str, tuple[int, str]]

    @property
    def best(self) -> str:
        """The method of least mean relative cost."""
        return self.methods[0]


@dataclass(frozen=True)
class Overall:
    """One method over all courses."""

    method: str
    mean_rank: float
    rank_where_done: float
    courses: int
    relative: float
    seconds: float


def course_standing(
    course: str, entries: Sequence[Entry], shared_unit: bool
) -> CourseStanding | None:
    """Return how a course stands; None while no round is complete."""
    by_round: dict[str, dict[str, Any]] = {}
    for entry in entries:
        by_round.setdefault(entry.round, {})[entry.method] = entry.result
    complete = [found for found in by_round.values() if None not in found.values()]
    complete = [found for found in complete if "costs" in found[CONSTANT]]
    if not complete:
        return None
    methods = list(dict.fromkeys(entry.method for entry in entries))
    blocks = [
        {m: np.array(r["costs"]) - r["floor"] for m, r in found.items() if "costs" in r}
        for found in complete
    ]
    units = np.array([costs[CONSTANT].mean() for costs in blocks])
    units = np.full(len(units), units.mean()) if shared_unit else units
    relative = {
        m: [c[m] / unit if m in c else None for c, unit in zip(blocks, units, strict=True)]
        for m in methods
    }
    means = {
        m: _mean([np.mean(v) for v in found if v is not None]) for m, found in relative.items()
    }
    ordered = sorted(methods, key=lambda m: math.inf if math.isnan(means[m]) else means[m])
    ranks = np.array([_ranks([found[m] for m in methods]) for found in zip_rounds(relative)])
    best = relative[ordered[0]]
    return CourseStanding(
        course=course,
        methods=tuple(ordered),
        rounds=len(complete),
        asked=len(by_round),
        relative=means,
        rank=dict(zip(methods, ranks.mean(axis=0), strict=True)),
        seconds={
            m: _median([f[m]["seconds"] for f in complete if "seconds" in f[m]]) for m in methods
        },
        differences={m: _difference(relative[m], best) for m in methods},
        failures=_failures(complete, methods),
    )


def zip_rounds(relative: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Lists by method to dicts by round."""
    count = len(next(iter(relative.values())))
    return [{m: found[i] for m, found in relative.items()} for i in range(count)]


def overall(standings: Sequence[CourseStanding], methods: Sequence[str]) -> list[Overall]:
    """Return all methods over all courses, the least mean rank first."""
    found = []
    for method in methods:
        done = [one for one in standings if not math.isnan(one.relative.get(method, math.nan))]
        ranks = [one.rank[method] for one in done]
        last = [float(len(methods))] * (len(standings) - len(done))
        found.append(
            Overall(
                method,
                _mean([*ranks, *last]),
                _mean(ranks),
                len(done),
                _mean([one.relative[method] for one in done]),
                _median([one.seconds[method] for one in done]),
            )
        )
    return sorted(found, key=lambda one: one.mean_rank)


def _ranks(found: list[Any]) -> np.ndarray:
    """Ranks from 1 in a round; what failed is last."""
    return rankdata([math.inf if costs is None else float(np.mean(costs)) for costs in found])


def _difference(own: list[Any], best: list[Any]) -> tuple[float, float]:
    pairs = [(a, b) for a, b in zip(own, best, strict=True) if a is not None and b is not None]
    if not pairs:
        return math.nan, math.nan
    gaps = np.array([np.mean(a) - np.mean(b) for a, b in pairs])
    mean = float(gaps.mean())
    if len(gaps) < LEAST_ROUNDS:  # blocks of the same time belong together, round after round
        least = min(len(a) for a, _ in pairs)
        gaps = np.mean([(a - b)[:least] for a, b in pairs], axis=0)
        if len(gaps) < LEAST_BLOCKS:
            return mean, math.nan
    return mean, float(1.96 * gaps.std(ddof=1) / math.sqrt(len(gaps)))


def _failures(
    complete: Sequence[dict[str, Any]], methods: Sequence[str]
) -> dict[str, tuple[int, str]]:
    said = {m: [f[m]["failed"] for f in complete if "failed" in f[m]] for m in methods}
    return {m: (len(sentences), sentences[0]) for m, sentences in said.items() if sentences}


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if len(values) else math.nan
