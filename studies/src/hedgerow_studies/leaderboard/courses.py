"""Courses and rounds: what methods compete on.

A **course** is one kind of problem: newsvendor draws, dishes of a restaurant. It has **rounds**,
each one history to learn from and a judge, who turns a rule into costs. A cost c counts as

    (c − floor) / (c of the best constant decision − floor),

floor what nobody can go below: the oracle's loss where the truth is known, hindsight for
portfolios, 0 elsewhere. So 1 is what ignoring the context costs, and 0 what knowing everything
would.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hedgerow_studies.cells import Cell
from hedgerow_studies.rivals.method import Decide, Problem

SCALES = ("tiny", "quick", "full")
"""For tests, for a first look, or all."""


@dataclass(frozen=True)
class Round:
    """One history, and what judges a rule that was learned from it.

    Attributes
    ----------
    problem : Problem
    X, Y : arrays (rows, features), (rows, outcomes)
    judge : callable
        A rule to its costs by block, such as a week: what can be taken for independent.
    floor : float
        What no rule can go below; 0 where that is not known.
    """

    problem: Problem
    X: np.ndarray
    Y: np.ndarray
    judge: Callable[[Decide], np.ndarray]
    floor: float = 0.0


class Course(ABC):
    """Base of courses (abstract).

    ``relative_to`` says what the unit of costs is; with ``shared_unit`` rounds share the mean of
    theirs, which is right where a round's own may come close to nothing.
    """

    name: ClassVar[str]
    what: ClassVar[str]
    relative_to: ClassVar[str] = "excess over the oracle; the best constant decision's is 1"
    shared_unit: ClassVar[bool] = False

    @abstractmethod
    def rounds(self, scale: str) -> list[Cell]:
        """Parameters of every round, plain JSON values."""

    @abstractmethod
    def problem(self) -> Problem:
        """The problem of all rounds, for telling who can do it."""

    @abstractmethod
    def rows(self, cell: Cell) -> int:
        """How many rows a round's history has, about."""

    @abstractmethod
    def round(self, cell: Cell) -> Round:
        """Make a round."""

    def missing(self) -> str:
        """What is missing to run it; nothing if all is there."""
        return ""

    def data(self) -> dict[str, Any]:
        """What rounds depend on besides their parameters: hashes of files."""
        return {}


def by_week(costs: np.ndarray, dates: np.ndarray) -> np.ndarray:
    """Mean costs of each week, weeks weighted as they come (a short one is joined to the last)."""
    weeks = (dates - dates.min()).astype("timedelta64[D]").astype(int) // 7
    last = weeks.max()
    if last and np.sum(weeks == last) < np.sum(weeks == 0) / 2:
        weeks[weeks == last] = last - 1
    return np.bincount(weeks, costs) / np.bincount(weeks)
