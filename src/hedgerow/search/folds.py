"""Training a family of candidates on all folds, and what it costs on what the folds hold out.

Candidates of a family differ in penalty and epsilon only, which are traced: folds of one shape are
trained in one compiled program, with a look at the held-out losses every 100 steps.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.utils import _safe_indexing

from hedgerow import _checks
from hedgerow.ambiguity import ERM, Ambiguity
from hedgerow.estimator import RobustPolicy
from hedgerow.losses import Loss
from hedgerow.nominal import Nominal
from hedgerow.problem import Problem
from hedgerow.rules import FittedRule, Rule
from hedgerow.solvers import Task
from hedgerow.solvers.grid import decide_grid, descend_grid, shape_of
from hedgerow.solvers.loop import STRETCH
from hedgerow.solvers.stochastic import StochasticSolver
from hedgerow.units import Units


class Family(NamedTuple):
    """Candidates that differ in penalty and epsilon only."""

    rule: Rule
    nominal: Nominal
    models: list[Ambiguity]
    solver: StochasticSolver

    def policy(
        self, loss: Loss, model: Ambiguity, steps: int | None = None, seed: int = 0
    ) -> RobustPolicy:
        """Return a policy with one of the models, for so many steps of the solver's schedule."""
        stop = None if steps is None or steps >= self.solver.steps else steps
        solver = self.solver.replace(stop_after=stop)
        return RobustPolicy(loss, model, self.rule, self.nominal, solver, random_state=seed)


class Trial(NamedTuple):
    """One candidate: held-out losses (folds, numbers of steps)."""

    family: Family
    model: Ambiguity
    steps: list[int]
    losses: np.ndarray


class Fold(NamedTuple):
    """What is trained on, and what it is judged by."""

    problem: Problem
    contexts: np.ndarray
    outcomes: np.ndarray
    weights: np.ndarray
    key: jax.Array

    @property
    def units(self) -> Units:
        """Units of the part trained on."""
        return self.problem.units

    def admits(self, model: Ambiguity) -> bool:
        """Whether the model's value is finite here."""
        try:
            replace(self.problem, ambiguity=model).resolved()
        except ValueError:
            return False
        return True

    def tasks(self, models: list[Ambiguity], solver: StochasticSolver) -> list[Task]:
        """What is trained: one task per model, all on one table."""
        problems = [replace(self.problem, ambiguity=model) for model in models]
        first = problems[0].task(solver)
        return [first, *(problem.task(solver, table=first.table) for problem in problems[1:])]


def checkpoints(solver: StochasticSolver) -> list[int]:
    """Steps after which held-out losses are looked at."""
    steps = int(solver.steps)
    return [min(done + STRETCH, steps) for done in range(0, steps, STRETCH)]


def try_family(
    family: Family,
    loss: Loss,
    data: tuple[Any, Any, np.ndarray],
    splits: list[tuple[np.ndarray, np.ndarray]],
    seed: int,
    watch: Callable[[int, float], None] | None = None,
) -> list[Trial]:
    """Train the models of a family that every fold admits, folds of one shape together.

    ``watch`` is called with (folds that went on by one checkpoint, least mean loss so far).
    """
    folds = [_fold(family, loss, data, train, test, seed) for train, test in splits]
    models = [model for model in family.models if all(fold.admits(model) for fold in folds)]
    if not models:
        return []
    alike: dict[Any, list[tuple[int, list[Task]]]] = {}
    for place, fold in enumerate(folds):
        tasks = fold.tasks(models, family.solver)
        alike.setdefault(shape_of(tasks), []).append((place, tasks))
    ends = checkpoints(family.solver)
    losses = np.full((len(folds), len(models), len(ends)), np.inf)
    for group in alike.values():
        places = [place for place, _ in group]
        judge = _Judge([folds[place] for place in places], loss)

        def look(done: int, rules: FittedRule, places=places, judge=judge) -> None:
            losses[places, :, ends.index(done)] = judge(rules)
            if watch is not None:
                watch(len(places), float(losses[places].mean(axis=0).min()))

        descend_grid([tasks for _, tasks in group], family.solver, folds[0].key, look)
    return [Trial(family, model, ends, losses[:, m]) for m, model in enumerate(models)]


def _fold(
    family: Family, loss: Loss, data: Any, train: np.ndarray, test: np.ndarray, seed: int
) -> Fold:
    X, y, weights = data
    policy = family.policy(loss, ERM(), seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parts; the whole gets its say when it is fitted
        _, problem, (key, _) = policy._begin(
            _safe_indexing(X, train), _safe_indexing(y, train), weights[train]
        )
    problem.cover(widen=0.9)
    contexts = policy._contexts(_safe_indexing(X, test), reset=False)
    outcomes = _checks.outcomes(_safe_indexing(y, test))
    return Fold(problem, problem.units.contexts(contexts), outcomes, weights[test], key)


class _Judge:
    """Mean losses of many rules on the rows that their folds hold out."""

    def __init__(self, folds: list[Fold], loss: Loss) -> None:
        self.folds, self.loss = folds, loss
        most = max(len(fold.contexts) for fold in folds)
        padded = [np.pad(f.contexts, ((0, most - len(f.contexts)), (0, 0))) for f in folds]
        self.contexts = jnp.asarray(np.stack(padded))

    def __call__(self, rules: FittedRule) -> np.ndarray:
        """Return (folds, models); infinite where decisions are not finite."""
        decided = np.asarray(decide_grid(rules, self.contexts), np.float64)
        return np.stack([self._losses(*pair) for pair in zip(self.folds, decided, strict=True)])

    def _losses(self, fold: Fold, decided: np.ndarray) -> np.ndarray:
        decisions = decided[:, : len(fold.contexts)] * fold.units.z_unit
        usable = np.asarray(np.isfinite(decisions).all(axis=(1, 2)))
        decisions = np.where(usable[:, None, None], decisions, fold.units.constant)
        costs = np.asarray(self.loss(decisions, fold.outcomes), np.float64)
        return np.where(usable, np.average(costs, axis=1, weights=fold.weights), np.inf)
