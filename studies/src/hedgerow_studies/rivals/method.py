"""What a method is: a name, a grid of settings, and how it learns with one of them.

    fit(problem, X, Y, seed)  →  decide

A method states at most a dozen settings (``grid``) and learns with one (``learn``). Which one is
chosen here, for everybody alike: on the problem's five folds, by the mean loss of what a fold holds
out. Where every decision is a program of its own (``programs``), forty rows of a fold judge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.model_selection import KFold, TimeSeriesSplit

from hedgerow.losses import Loss, Newsvendor, PortfolioLoss, RecourseLoss
from hedgerow.losses.recourse import bounds_of, simplices_of

FOLDS = 5
HELD_OUT = 40
"""Rows of a fold that judge where each decision is a program of its own."""
MOST_SETTINGS = 14

Setting = dict[str, Any]
Decide = Callable[[np.ndarray], np.ndarray]
"""Contexts (rows, features) to decisions (rows, decisions)."""
Folds = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Problem:
    """What a method is told besides the history.

    Attributes
    ----------
    loss : Loss
        What decisions cost.
    in_time : bool
        Rows come in the order of time: folds hold out what comes later.
    """

    loss: Loss
    in_time: bool = False

    @property
    def kind(self) -> str:
        """Newsvendor, two-stage or portfolio; else the name of the loss."""
        if isinstance(self.loss, Newsvendor):
            return "newsvendor"
        if isinstance(self.loss, RecourseLoss):
            return "two-stage"
        return "portfolio" if isinstance(self.loss, PortfolioLoss) else type(self.loss).__name__

    def folds(self, rows: int, seed: int) -> Folds:
        """Five splits of so many rows, the same for everybody."""
        splitter = (
            TimeSeriesSplit(FOLDS)
            if self.in_time
            else KFold(FOLDS, shuffle=True, random_state=seed)
        )
        return list(splitter.split(np.empty(rows)))

    def feasible(self, decisions: np.ndarray, outcomes: int) -> np.ndarray:
        """Move decisions (rows, decisions) to where they may lie: bounds, then simplices."""
        decision_set = self.loss.decisions_for(outcomes)
        low, high = bounds_of(decision_set)
        if self.kind == "newsvendor":  # nobody orders less than nothing
            low = np.maximum(low, 0.0)
        moved = np.clip(decisions.reshape(len(decisions), -1), low, high)
        for part in simplices_of(decision_set):
            moved[:, part] = on_simplex(moved[:, part])
        return moved

    def mean_cost(self, decisions: np.ndarray, Y: np.ndarray) -> float:
        """What decisions, moved to where they may lie, cost on average.

        A portfolio's level is a device of its loss, so it is the one that is best in hindsight.
        """
        moved = self.feasible(decisions, Y.shape[1])
        if isinstance(self.loss, PortfolioLoss):
            return self.loss.realised(np.sum(moved[:, 1:] * Y, axis=1))
        return float(np.mean(self.loss(moved, Y)))


class Fitted(NamedTuple):
    """A rule that was learned, and the settings that were chosen, in words."""

    decide: Decide
    chosen: str = ""


class Method(ABC):
    """Base of methods (abstract).

    ``what`` is said of it in one line, ``kinds`` are the problems that it can do, ``needs`` names
    packages beyond those that are always there, and ``most_rows`` is the longest history that it
    can learn from in reasonable time.
    """

    name: ClassVar[str]
    what: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]] = ("newsvendor", "two-stage", "portfolio")
    why_not: ClassVar[str] = "it is not defined for this loss"
    needs: ClassVar[tuple[str, ...]] = ()
    most_rows: ClassVar[int | None] = None

    def cannot(self, problem: Problem, rows: int) -> str:
        """Why it cannot do a problem of so many rows; nothing if it can."""
        if problem.kind not in self.kinds:
            return self.why_not
        for package in self.needs:
            if find_spec(package) is None:
                return f"needs {package}, which is not installed"
        if self.most_rows is not None and rows > self.most_rows:
            return f"more than {self.most_rows:,} rows take too long"
        return ""

    def programs(self, problem: Problem) -> bool:
        """Whether each decision is a program of its own."""
        return False

    def grid(self, problem: Problem) -> Sequence[Setting]:
        """Settings to choose from."""
        return [{}]

    @abstractmethod
    def learn(
        self, problem: Problem, X: np.ndarray, Y: np.ndarray, setting: Setting, seed: int
    ) -> Decide:
        """Learn a rule from contexts (rows, features) and outcomes (rows, outcomes)."""

    def learn_each(
        self,
        problem: Problem,
        X: np.ndarray,
        Y: np.ndarray,
        settings: Sequence[Setting],
        seed: int,
    ) -> list[Decide]:
        """Learn one rule per setting; whoever can share work between them says how."""
        return [self.learn(problem, X, Y, setting, seed) for setting in settings]

    def fit(self, problem: Problem, X: np.ndarray, Y: np.ndarray, seed: int) -> Fitted:
        """Choose a setting on the folds, and learn with it from all rows."""
        settings = list(self.grid(problem))
        chosen = settings[0]
        if len(settings) > 1:
            chosen = settings[int(np.argmin(self._losses(problem, X, Y, settings, seed)))]
        return Fitted(self.learn(problem, X, Y, chosen, seed), words(chosen))

    def _losses(
        self,
        problem: Problem,
        X: np.ndarray,
        Y: np.ndarray,
        settings: Sequence[Setting],
        seed: int,
    ) -> np.ndarray:
        losses = np.zeros(len(settings))
        for kept, held in problem.folds(len(X), seed):
            if self.programs(problem) and len(held) > HELD_OUT:
                held = held[np.linspace(0, len(held) - 1, HELD_OUT).astype(int)]
            rules = self.learn_each(problem, X[kept], Y[kept], settings, seed)
            for place, decide in enumerate(rules):
                losses[place] += len(held) * problem.mean_cost(decide(X[held]), Y[held])
        return np.where(np.isfinite(losses), losses, np.inf)


def words(setting: Setting) -> str:
    """A setting as a reader would say it."""
    return ", ".join(f"{name} {value}" for name, value in setting.items())


def on_simplex(weights: np.ndarray) -> np.ndarray:
    """Move rows to the nearest points without negative weight and of sum 1 (Duchi et al. 2008)."""
    ordered = -np.sort(-weights, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, weights.shape[1] + 1)
    last = np.sum(ordered > excess, axis=1) - 1
    return np.maximum(weights - np.take_along_axis(excess, last[:, None], axis=1), 0.0)
