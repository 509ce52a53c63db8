"""Every method in every round, one cell each, kept as they are finished.

A cell that fails keeps the sentence it failed with, and is not tried again until versions change;
who cannot do a problem at all has no cells, but a reason. Seconds are those of the processor, for
choosing and learning together, in one thread.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hedgerow_studies.cells import Cell, Cells
from hedgerow_studies.leaderboard.bikes_course import BikesCourse
from hedgerow_studies.leaderboard.courses import Course
from hedgerow_studies.leaderboard.drawn_courses import InventoryCourse, NewsvendorCourse
from hedgerow_studies.leaderboard.portfolio_course import PortfolioCourse
from hedgerow_studies.leaderboard.series_courses import (
    BakeryCourse,
    PooledBakeryCourse,
    RestaurantCourse,
)
from hedgerow_studies.rivals import Method, catalogue
from hedgerow_studies.rivals.constant import CONSTANT
from hedgerow_studies.running import Engine, Progress, compute
from hedgerow_studies.versions import versions

SOLVERS = ("cvxpy", "clarabel", "lightgbm", "quantile-forest")


def courses(folder: str) -> dict[str, Course]:
    """All courses by name; some look for their data in a folder."""
    listed: list[Course] = [
        NewsvendorCourse(),
        InventoryCourse(),
        RestaurantCourse(),
        BakeryCourse(folder),
        PooledBakeryCourse(folder),
        BikesCourse(folder),
        PortfolioCourse(),
    ]
    return {course.name: course for course in listed}


@dataclass(frozen=True)
class Contest:
    """The cells of one course; can be sent to other processes.

    ``files`` are Python files with methods of one's own.
    """

    course: str
    folder: str
    files: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Unique in a run."""
        return self.course

    def depends(self) -> dict[str, Any]:
        """Versions, solvers and data."""
        own = courses(self.folder)[self.course].data()
        return {**versions("leaderboard"), "solvers": _solvers(), "course": self.course, **own}

    def run(self, cell: Cell) -> dict[str, Any]:
        """Let one method learn and decide in one round."""
        made = courses(self.folder)[self.course].round(cell["round"])
        method = catalogue(self.files)[cell["method"]]
        rows, outcomes = made.Y.shape
        began = time.process_time()
        learned = began
        try:
            fitted = method.fit(made.problem, made.X, made.Y, 0)
            learned = time.process_time()
            costs = made.judge(lambda X: made.problem.feasible(fitted.decide(X), outcomes))
            if not np.all(np.isfinite(costs)):
                raise FloatingPointError("its decisions cost more than can be counted")
        except Exception as error:
            sentence = " ".join(str(error).split())[:200]
            return {"failed": f"{type(error).__name__}: {sentence}", "rows": rows}
        return {
            "costs": [round(float(cost), 8) for cost in costs],
            "floor": made.floor,
            "rows": rows,
            "seconds": round(learned - began, 3),
            "deciding": round(time.process_time() - learned, 3),
            "chosen": fitted.chosen,
        }

    def label(self, cell: Cell) -> str:
        """What was just done."""
        return f"{self.course} {' '.join(map(str, cell['round'].values()))}: {cell['method']}"


class Entry(NamedTuple):
    """A method in a round: its result, or None where there is none (yet)."""

    course: str
    round: str
    method: str
    result: dict[str, Any] | None


@dataclass(frozen=True)
class Plan:
    """What is asked for: courses, methods, scale and where things are."""

    courses: tuple[str, ...]
    methods: tuple[str, ...]
    scale: str
    folder: str
    files: tuple[str, ...] = ()

    def cells(self) -> list[tuple[Contest, Cell]]:
        """Everything to be computed, the rounds of all courses in turn."""
        listed = []
        known = catalogue(self.files)
        for name in self.courses:
            course = courses(self.folder)[name]
            if course.missing():
                continue
            contest, problem = Contest(name, self.folder, self.files), course.problem()
            for place, cell in enumerate(course.rounds(self.scale)):
                for method in self.competing():
                    if not known[method].cannot(problem, course.rows(cell)):
                        listed.append((place, contest, self._cell(cell, method)))
        return [(contest, cell) for _, contest, cell in sorted(listed, key=lambda one: one[0])]

    def run(
        self, out: Path, engine: Engine | None = None, progress: Progress | None = None
    ) -> None:
        """Compute what is missing."""
        compute(self.cells(), out, engine, progress)

    def entries(self, out: Path) -> list[Entry]:
        """Return what there is of everything asked for."""
        stores: dict[str, Cells] = {}
        found = []
        for contest, cell in self.cells():
            if contest.name not in stores:
                stores[contest.name] = Cells(out, contest.depends())
            kept = stores[contest.name].get(cell)
            name = " × ".join(str(value) for value in cell["round"].values())
            result = None if kept is None else kept["value"]
            found.append(Entry(contest.course, name, cell["method"], result))
        return found

    def reasons(self) -> dict[str, dict[str, str]]:
        """Method → course → why it cannot do it; courses without data are under ''."""
        known, said = catalogue(self.files), {}
        for name in self.courses:
            course = courses(self.folder)[name]
            if course.missing():
                said.setdefault("", {})[name] = course.missing()
                continue
            first = course.rounds(self.scale)[0]
            for method in self.methods:
                why = known[method].cannot(course.problem(), course.rows(first))
                if why:
                    said.setdefault(method, {})[name] = why
        return said

    def competing(self) -> list[str]:
        """Methods in the catalogue's order, the constant decision among them: it is the unit."""
        return [name for name in catalogue(self.files) if name in (*self.methods, CONSTANT)]

    def _cell(self, cell: Cell, method: str) -> Cell:
        """A method out of a file depends on what the file says."""
        own = [file for file in self.files if method in _names(file)]
        text = hashlib.sha256(Path(own[0]).read_bytes()).hexdigest()[:16] if own else None
        return {"round": cell, "method": method} | ({"file": text} if text else {})


def _names(file: str) -> list[str]:
    methods: dict[str, Method] = catalogue((file,))
    return [name for name in methods if name not in catalogue()]


def _solvers() -> dict[str, str]:
    found = {}
    for name in SOLVERS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # its methods say so themselves
            found[name] = "none"
    return found
