"""Training families of candidates on all folds, and what they cost on what the folds hold out.

Candidates of a family differ in penalty and epsilon only, which are traced: one compiled program
trains them all on a fold, and all folds, padded to one shape, share it. Threads take families and
folds from one look at the held-out losses to the next, after 25, 50, 100, 200, … steps. The losses
themselves are taken by the main thread alone: a loss may learn from what it is asked
(``losses.RecourseLoss``).
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from joblib import cpu_count
from sklearn.utils import _safe_indexing

from hedgerow import _checks
from hedgerow.ambiguity import ERM, Ambiguity
from hedgerow.ambiguity.problem import Problem
from hedgerow.data.nominal import Nominal
from hedgerow.data.training_table import TrainingTable
from hedgerow.data.units import Units
from hedgerow.estimator import RobustPolicy
from hedgerow.losses import Loss
from hedgerow.rules import Rule
from hedgerow.solvers import Task
from hedgerow.solvers.grid import Grid
from hedgerow.solvers.loop import STRETCH
from hedgerow.solvers.stochastic import StochasticSolver

EARLY = (25, 50)
"""Where outcomes say little of contexts, the best rule is one that has hardly begun to learn."""


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

    def judge(self, loss: Loss, decisions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean losses (models,) and losses (models, rows) of decisions in working units.

        Rows beyond those held out are padding. Losses are infinite where decisions are not finite.
        """
        decisions = decisions[:, : len(self.contexts)] * self.units.z_unit
        usable = np.asarray(np.isfinite(decisions).all(axis=(1, 2)))
        decisions = np.where(usable[:, None, None], decisions, self.units.constant)
        costs = np.asarray(loss(decisions, self.outcomes), np.float64)
        costs = np.where(usable[:, None], costs, np.inf)
        return np.average(costs, axis=1, weights=self.weights), costs


def checkpoints(solver: StochasticSolver) -> list[int]:
    """Steps after which held-out losses are looked at."""
    steps = int(solver.steps)
    return [step for step in (*EARLY, *range(STRETCH, steps, STRETCH)) if step < steps] + [steps]


class Training:
    """A family's models on every fold: where they stand, and what they cost so far."""

    def __init__(self, family: Family, folds: list[Fold], models: list[Ambiguity]) -> None:
        self.family, self.folds, self.models = family, folds, models
        self.grids = _begin(folds, models, family.solver)
        self.held_out = _held_out_contexts(folds)
        self.ends = checkpoints(family.solver)
        self.losses = np.full((len(folds), len(models), len(self.ends)), np.inf)
        shape = len(models), len(self.ends)
        self.rows = [np.empty((*shape, len(fold.outcomes)), np.float32) for fold in folds]

    def advance(self, place: int, column: int) -> np.ndarray:
        """Train on a fold up to a checkpoint, and decide where it holds out."""
        length = self.ends[column] - ([0, *self.ends][column])
        key = self.folds[0].key
        self.grids[place] = self.grids[place].advanced(length, self.family.solver, key)
        return np.asarray(self.grids[place].decisions(self.held_out[place]), np.float64)

    def judge(self, place: int, column: int, loss: Loss, decisions: np.ndarray) -> None:
        """Put down what decisions at a checkpoint cost."""
        judged = self.folds[place].judge(loss, decisions)
        self.losses[place, :, column], self.rows[place][:, column] = judged

    @property
    def least(self) -> float:
        """Least mean loss at checkpoints that all folds have passed."""
        return float(self.losses.mean(axis=0).min())

    def trials(self) -> list[Trial]:
        """What there is to choose from."""
        rows = np.concatenate(self.rows, axis=2)
        return [
            Trial(self.family, model, self.ends, self.losses[:, m], rows[m])
            for m, model in enumerate(self.models)
        ]


def try_families(
    families: Sequence[Family],
    loss: Loss,
    data: tuple[Any, Any, np.ndarray],
    splits: list[tuple[np.ndarray, np.ndarray]],
    seed: int,
    watch: Callable[[int, int, float], None] | None = None,
) -> list[Trial]:
    """Train the models of each family that every fold admits.

    ``watch`` is called with (stretches done, in all, least mean loss so far).
    """
    prepared = []
    for family in families:
        folds = [_fold(family, loss, data, train, test, seed) for train, test in splits]
        models = [model for model in family.models if all(fold.admits(model) for fold in folds)]
        if models:
            prepared.append((family, folds, models))
    trainings = [Training(*parts) for parts in prepared]
    total = sum(len(training.ends) * len(splits) for training in trainings)
    for done, _ in enumerate(_race(trainings, loss), start=1):
        if watch is not None:
            watch(done, total, min(training.least for training in trainings))
    return [trial for training in trainings for trial in training.trials()]


def _race(trainings: list[Training], loss: Loss) -> Iterator[None]:
    """Take every training to its end, stretch by stretch; the least advanced ones go first.

    A family's first fold compiles what its other folds find, so they wait for its first stretch.
    """
    workers = cpu_count()
    ready = deque((training, 0, 0) for training in trainings)
    running = {}
    with ThreadPoolExecutor(workers) as pool:
        while ready or running:
            while ready and len(running) < workers:
                stretch = training, place, column = ready.popleft()
                running[pool.submit(training.advance, place, column)] = stretch
            for ended in wait(running, return_when=FIRST_COMPLETED).done:
                training, place, column = running.pop(ended)
                if place == column == 0:
                    ready.extend((training, other, 0) for other in range(1, len(training.folds)))
                if column + 1 < len(training.ends):
                    ready.append((training, place, column + 1))
                training.judge(place, column, loss, ended.result())
                yield


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


def _held_out_contexts(folds: list[Fold]) -> list[jax.Array]:
    """What every fold holds out, padded to one shape."""
    most = max(len(fold.contexts) for fold in folds)
    return [
        jnp.asarray(np.pad(fold.contexts, ((0, most - len(fold.contexts)), (0, 0))))
        for fold in folds
    ]
