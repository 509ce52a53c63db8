"""Training a family of candidates on all folds, and what it costs on what the folds hold out.

Candidates of a family differ in penalty and epsilon only, which are traced: one compiled program
trains them all on a fold, and all folds, padded to one shape, share it. Folds run in threads, with
a look at the held-out losses after 25, 50, 100, 200, … steps.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from joblib import cpu_count
from sklearn.utils import _safe_indexing

from hedgerow import _checks
from hedgerow.ambiguity import ERM, Ambiguity
from hedgerow.estimator import RobustPolicy
from hedgerow.losses import Loss
from hedgerow.nominal import Nominal
from hedgerow.problem import Problem
from hedgerow.rules import Rule
from hedgerow.solvers import Task, TrainingTable
from hedgerow.solvers.grid import Grid
from hedgerow.solvers.loop import STRETCH
from hedgerow.solvers.stochastic import StochasticSolver
from hedgerow.units import Units

EARLY = (25, 50)
"""Where outcomes say little of contexts, the best rule is one that has hardly begun to learn."""

Judge = Callable[[Grid], tuple[np.ndarray, np.ndarray]]


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
    """One candidate, after several numbers of steps.

    ``losses``: held-out mean losses (folds, numbers of steps); ``rows``: the losses that they
    average (numbers of steps, held-out rows, fold after fold).
    """

    family: Family
    model: Ambiguity
    steps: list[int]
    losses: np.ndarray
    rows: np.ndarray


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

    def tasks(
        self, models: list[Ambiguity], solver: StochasticSolver, table: TrainingTable
    ) -> list[Task]:
        """What is trained: one task per model, all on one table."""
        return [
            replace(self.problem, ambiguity=model).task(solver, table=table) for model in models
        ]


def checkpoints(solver: StochasticSolver) -> list[int]:
    """Steps after which held-out losses are looked at."""
    steps = int(solver.steps)
    return [step for step in (*EARLY, *range(STRETCH, steps, STRETCH)) if step < steps] + [steps]


def try_family(
    family: Family,
    loss: Loss,
    data: tuple[Any, Any, np.ndarray],
    splits: list[tuple[np.ndarray, np.ndarray]],
    seed: int,
    watch: Callable[[int, float], None] | None = None,
) -> list[Trial]:
    """Train the models of a family that every fold admits: folds in threads, models together.

    ``watch`` is called with (folds that went on by one checkpoint, least mean loss so far).
    """
    folds = [_fold(family, loss, data, train, test, seed) for train, test in splits]
    models = [model for model in family.models if all(fold.admits(model) for fold in folds)]
    if not models:
        return []
    solver, key = family.solver, folds[0].key
    grids = _begin(folds, models, solver)
    judges = _judges(folds, loss)
    ends = checkpoints(solver)
    losses = np.empty((len(folds), len(models), len(ends)))
    rows = [np.empty((len(models), len(ends), len(fold.outcomes)), np.float32) for fold in folds]

    def go_on(place: int, length: int, column: int) -> None:
        grids[place] = grids[place].advanced(length, solver, key)
        losses[place, :, column], rows[place][:, column] = judges[place](grids[place])

    with ThreadPoolExecutor(min(len(folds), cpu_count())) as pool:
        for column, (done, end) in enumerate(zip([0, *ends], ends, strict=False)):
            places = range(len(folds))
            if column == 0:  # compiles; the others find the program
                go_on(0, end - done, column)
                places = places[1:]
            list(pool.map(partial(go_on, length=end - done, column=column), places))
            if watch is not None:
                watch(len(folds), float(losses[:, :, : column + 1].mean(axis=0).min()))
    held_out = np.concatenate(rows, axis=2)
    return [Trial(family, model, ends, losses[:, m], held_out[m]) for m, model in enumerate(models)]


def _begin(folds: list[Fold], models: list[Ambiguity], solver: StochasticSolver) -> list[Grid]:
    """The trainings of every fold, all of one shape."""
    tables = TrainingTable.alike(
        [
            TrainingTable.build(fold.problem.nominal, fold.units, solver.outcomes_per_context)
            for fold in folds
        ]
    )
    tasks = [fold.tasks(models, solver, table) for fold, table in zip(folds, tables, strict=True)]
    slots = max(several[0].slots for several in tasks)
    return [Grid.of(several, solver, slots) for several in tasks]


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


def _judges(folds: list[Fold], loss: Loss) -> list[Judge]:
    """One judge per fold; held-out contexts are padded to one shape."""
    most = max(len(fold.contexts) for fold in folds)
    return [partial(_judged, fold, loss, _lengthened(fold.contexts, most)) for fold in folds]


def _judged(
    fold: Fold, loss: Loss, contexts: np.ndarray, grid: Grid
) -> tuple[np.ndarray, np.ndarray]:
    """Mean losses (models,) and losses (models, rows); infinite where decisions are not finite."""
    decided = np.asarray(grid.decisions(jnp.asarray(contexts)), np.float64)
    decisions = decided[:, : len(fold.contexts)] * fold.units.z_unit
    usable = np.asarray(np.isfinite(decisions).all(axis=(1, 2)))
    decisions = np.where(usable[:, None, None], decisions, fold.units.constant)
    costs = np.asarray(loss(decisions, fold.outcomes), np.float64)
    costs = np.where(usable[:, None], costs, np.inf)
    return np.average(costs, axis=1, weights=fold.weights), costs


def _lengthened(contexts: np.ndarray, rows: int) -> np.ndarray:
    return np.pad(contexts, ((0, rows - len(contexts)), (0, 0)))
