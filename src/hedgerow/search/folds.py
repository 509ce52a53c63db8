"""Training families of candidates on all folds, and what they cost on what the folds hold out.

Candidates of a family differ in penalty and epsilon only, which are traced: one compiled program
trains them all on a fold, and all folds, padded to one shape, share it. Threads take families and
folds from one look at the held-out losses to the next, after 25, 50, 100, 200, … steps. The losses
themselves are taken by the main thread alone: a second stage keeps the bases it has walked.

What a nominal learns from rows it learns from those that a fold trains on, once for all families.

Families race (Maron & Moore 1994): after two folds, those whose best candidate costs clearly more
than the best of all, row by row, are spared the other folds. The empirical risk races against
itself, so that what hedging is worth can always be said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import NamedTuple

import jax
import numpy as np

from hedgerow import fitting, ladder, programs
from hedgerow.ambiguity import (
    ERM,
    Ambiguity,
    InadmissiblePenaltyError,
    InfeasibleRadiusError,
    Problem,
)
from hedgerow.data import NominalDistribution, TrainingTable, Units
from hedgerow.kernels import Sobol
from hedgerow.losses import Loss, by_row, parameters
from hedgerow.rules import FittedRule
from hedgerow.search.candidates import Family
from hedgerow.search.history import History, Split
from hedgerow.solvers import TrainingProblem
from hedgerow.solvers.grid import Grid
from hedgerow.solvers.loop import STRETCH
from hedgerow.solvers.stochastic import StochasticSolver

RACED = 2
"""Folds after which families that are clearly behind are left out."""
BEHIND = 3.0
"""Standard errors of the mean difference, row by row, that make it clear."""
EARLY = (25, 50)
"""Where outcomes say little of contexts, the best rule is one that has hardly begun to learn."""


class Trial(NamedTuple):
    """One candidate, after several numbers of steps.

    ``losses``: held-out mean losses (folds, numbers of steps); ``rows``: the losses that they
    average (numbers of steps, held-out rows, fold after fold); ``penalties``: those that were
    learned under a radius (numbers of steps), NaN without one.
    """

    family: Family
    model: Ambiguity
    steps: list[int]
    losses: np.ndarray
    rows: np.ndarray
    penalties: np.ndarray


class Fold(NamedTuple):
    """What is trained on, and what it is judged by.

    ``counted``: what rows count in comparisons of single rows, 1 on average; None: all the same.
    ``parameters``: those that the loss reads from the contexts held out; None: it reads none.
    """

    problem: Problem
    rule: FittedRule
    contexts: np.ndarray
    outcomes: np.ndarray
    weights: np.ndarray
    keys: fitting.Keys
    counted: np.ndarray | None = None
    parameters: np.ndarray | None = None

    @property
    def units(self) -> Units:
        """Units of the part trained on."""
        return self.problem.units

    def admits(self, model: Ambiguity) -> bool:
        """Whether the model's value is finite here, and its radius leaves room."""
        try:
            problem = self.problem.against(model)
            with jax.enable_x64(True):
                setting = problem.setting(Sobol(1), None)
                model.budget(problem.units, problem.loss, problem.nominal, setting)
        except (InadmissiblePenaltyError, InfeasibleRadiusError):
            return False
        return True

    def trainings(
        self, models: list[Ambiguity], solver: StochasticSolver, table: TrainingTable
    ) -> list[TrainingProblem]:
        """What is trained: one problem per model, all on one table."""
        return [
            fitting.training_of(
                self.problem.against(model), self.rule, solver, self.keys.value, table
            )
            for model in models
        ]

    def penalty_units(self, models: list[Ambiguity]) -> np.ndarray:
        """What a penalty of 1, as models are given them, is in working units, (models,)."""
        units, loss, nominal = self.units, self.problem.loss, self.problem.nominal
        return np.array(
            [
                model.resolve(units, loss, nominal)
                .replace(radius=None, penalty=1.0)
                .in_units(units)
                .penalty
                for model in models
            ],
            np.float64,
        )

    def judge(self, loss: Loss, decisions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean losses (models,) and losses (models, rows) of decisions in working units.

        Rows beyond those held out are padding. Losses are infinite where decisions are not finite.
        """
        decisions = decisions[:, : len(self.contexts)] * self.units.z_unit
        usable = np.asarray(np.isfinite(decisions).all(axis=(1, 2)))
        decisions = np.where(usable[:, None, None], decisions, self.units.constant)
        if self.parameters is None:
            costs = np.asarray(loss(decisions, self.outcomes), np.float64)
        else:
            own = by_row(loss, self.parameters)
            costs = np.stack([own(each, self.outcomes) for each in decisions])
        means = np.average(costs, axis=1, weights=self.weights)
        return np.where(usable, means, np.inf), np.where(usable[:, None], costs, np.inf)


def checkpoints(solver: StochasticSolver) -> list[int]:
    """Steps after which held-out losses are looked at."""
    steps = int(solver.steps)
    return [step for step in (*EARLY, *range(STRETCH, steps, STRETCH)) if step < steps] + [steps]


class FamilyRun:
    """A family's models on every fold: where they stand, and what they cost so far."""

    def __init__(self, family: Family, folds: list[Fold], models: list[Ambiguity]) -> None:
        self.family, self.folds, self.models = family, folds, models
        self.grids = grids_of(folds, models, family.solver)
        self.held_out = _held_out_contexts(folds)
        self.ends = checkpoints(family.solver)
        self.losses = np.full((len(folds), len(models), len(self.ends)), np.nan)
        self.penalties = np.full(self.losses.shape, np.nan)
        shape = len(models), len(self.ends)
        self.rows = [np.full((*shape, len(fold.outcomes)), np.nan, np.float32) for fold in folds]

    def advance(self, place: int, column: int) -> np.ndarray:
        """Train on a fold up to a checkpoint, and decide where it holds out."""
        length = self.ends[column] - ([0, *self.ends][column])
        key = self.folds[0].keys.training
        self.grids[place] = self.grids[place].advanced(length, self.family.solver, key)
        return np.asarray(self.grids[place].decisions(self.held_out[place]), np.float64)

    def judge(self, place: int, column: int, loss: Loss, decisions: np.ndarray) -> None:
        """Put down what decisions at a checkpoint cost."""
        judged = self.folds[place].judge(loss, decisions)
        self.losses[place, :, column], self.rows[place][:, column] = judged
        if self.models[0].radius is not None:
            unit = self.folds[place].penalty_units(self.models)
            self.penalties[place, :, column] = self.grids[place].penalties() / unit

    @property
    def least(self) -> float:
        """Least mean loss at checkpoints that all folds have passed; inf before there is one."""
        means = self.losses.mean(axis=0)
        return float(np.nanmin(means)) if np.any(np.isfinite(means)) else np.inf

    @property
    def hedges(self) -> bool:
        """Whether its models have a price or a radius, or trust the data."""
        return self.models[0].penalty is not None or self.models[0].radius is not None

    def front(self, folds: int) -> np.ndarray:
        """Losses on the rows that the first folds hold out, of the candidate that is best there.

        As they count: where some rows are censored, others stand for them.
        """
        means = self.losses[:folds].mean(axis=0)
        model, column = np.unravel_index(np.argmin(means), means.shape)
        each = [rows[model, column] for rows in self.rows[:folds]]
        counted = [fold.counted for fold in self.folds[:folds]]
        return np.concatenate(
            [
                rows if share is None else np.where(share > 0, rows, 0.0) * share
                for rows, share in zip(each, counted, strict=True)
            ]
        )

    def trials(self) -> list[Trial]:
        """What there is to choose from."""
        rows = np.concatenate(self.rows, axis=2)
        return [
            Trial(
                self.family,
                model,
                self.ends,
                self.losses[:, m],
                rows[m],
                self.penalties[:, m].mean(axis=0),
            )
            for m, model in enumerate(self.models)
        ]


def try_families(
    families: Sequence[Family],
    loss: Loss,
    history: History,
    splits: list[Split],
    seed: int,
    watch: Callable[[int, int, float], None] | None = None,
    race: bool = True,
) -> list[Trial]:
    """Train the models of each family that every fold admits.

    ``watch`` is called with (stretches done, in all, least mean loss so far).
    """
    loss = loss.with_thresholds() or loss
    nominals = _nominals(families, loss, history, splits)
    runs = []
    for family in families:
        folds = [
            fold_of(family, loss, history, test, nominal, seed)
            for (_, test), nominal in zip(splits, nominals[id(family.nominal)], strict=True)
        ]
        models = [model for model in family.models if all(fold.admits(model) for fold in folds)]
        if models:
            runs.append(FamilyRun(family, folds, models))
    first = min(RACED, len(splits)) if race else len(splits)
    for done, total in _raced(runs, loss, first):
        if watch is not None:
            watch(done, total, min(run.least for run in runs))
    return [trial for run in runs for trial in run.trials()]


def _nominals(
    families: Sequence[Family], loss: Loss, history: History, splits: list[Split]
) -> dict[int, list[NominalDistribution]]:
    """What every nominal makes of the rows that each fold trains on, by the nominal's identity.

    The first fold compiles what the others find, so they wait for it.
    """
    found = {}
    with ThreadPoolExecutor(programs.threads()) as pool:
        for family in families:
            if id(family.nominal) in found:
                continue
            parts = fitting.Parts.of(loss, ERM(), family.rule, family.nominal, family.solver)

            def built(train: np.ndarray, parts: fitting.Parts = parts) -> NominalDistribution:
                rows = history.at(train)
                return fitting.nominal_of(
                    parts, rows.contexts, rows.outcomes, rows.weights, rows.censored
                )

            first, *others = (train for train, _ in splits)
            found[id(family.nominal)] = [built(first), *pool.map(built, others)]
    return found


def _raced(runs: list[FamilyRun], loss: Loss, first: int) -> Iterator[tuple[int, int]]:
    """Take runs through the first folds, and those that are not clearly behind through the rest.

    Yields how many stretches are done, and how many there are in all as far as is known.
    """
    done = 0
    total = sum(len(run.ends) * len(run.folds) for run in runs)
    for _ in _trained(runs, range(first), loss):
        done += 1
        yield done, total
    rest = range(first, len(runs[0].folds)) if runs else range(0)
    if not rest:
        return
    left = [run for hedges in (True, False) for run in _not_behind(runs, hedges, first)]
    total = done + sum(len(run.ends) * len(rest) for run in left)
    for _ in _trained(left, rest, loss):
        done += 1
        yield done, total


def _not_behind(runs: list[FamilyRun], hedges: bool, folds: int) -> list[FamilyRun]:
    """Of runs that hedge, or do not: those that may yet be the best."""
    own = [run for run in runs if run.hedges == hedges]
    fronts = [run.front(folds) for run in own]
    if not own:
        return []
    best = min(fronts, key=lambda front: front.mean())
    gaps = [front.astype(np.float64) - best for front in fronts]
    return [
        run
        for run, gap in zip(own, gaps, strict=True)
        if not gap.mean() > BEHIND * gap.std() / np.sqrt(len(gap))
    ]


def _trained(runs: list[FamilyRun], places: range, loss: Loss) -> Iterator[None]:
    """Take runs to their ends on some folds, stretch by stretch; the least advanced go first.

    A family's first fold compiles what its other folds find, so they wait for its first stretch.
    """
    workers = programs.threads()
    ready = deque((run, places[0], 0) for run in runs)
    running = {}
    with ThreadPoolExecutor(workers) as pool:
        while ready or running:
            while ready and len(running) < workers:
                stretch = run, place, column = ready.popleft()
                running[pool.submit(run.advance, place, column)] = stretch
            for ended in wait(running, return_when=FIRST_COMPLETED).done:
                run, place, column = running.pop(ended)
                if place == places[0] and column == 0:
                    ready.extend((run, other, 0) for other in places[1:])
                if column + 1 < len(run.ends):
                    ready.append((run, place, column + 1))
                run.judge(place, column, loss, ended.result())
                yield


def grids_of(folds: list[Fold], models: list[Ambiguity], solver: StochasticSolver) -> list[Grid]:
    """The trainings of every fold, all of one shape."""
    tables = TrainingTable.alike(
        [
            TrainingTable.build(
                fold.problem.nominal,
                fold.units,
                solver.outcomes_per_context,
                parameters=fold.problem.parameters(),
            )
            for fold in folds
        ]
    )
    several = [
        fold.trainings(models, solver, table) for fold, table in zip(folds, tables, strict=True)
    ]
    slots = max(trainings[0].slots for trainings in several)
    return [Grid.of(trainings, solver, slots) for trainings in several]


def fold_of(
    family: Family,
    loss: Loss,
    history: History,
    test: np.ndarray,
    nominal: NominalDistribution,
    seed: int,
) -> Fold:
    """Pose the problem of what is trained on, with the rule that training begins with."""
    parts = fitting.Parts.of(loss, ERM(), family.rule, family.nominal, family.solver)
    problem = fitting.posed(parts, nominal)
    keys = fitting.keys_of(seed)
    rule = fitting.first_rule(parts, problem, keys.rule)
    problem.cover(rule, widen=0.9)
    contexts, weights = problem.units.contexts(history.contexts[test]), history.held_out(test)
    counted = None if history.counted is None else weights / weights.mean()
    read = parameters(loss, history.contexts[test])
    return Fold(problem, rule, contexts, history.outcomes[test], weights, keys, counted, read)


def _held_out_contexts(folds: list[Fold]) -> list[jax.Array]:
    """What every fold holds out, padded to one shape."""
    most = ladder.room(max(len(fold.contexts) for fold in folds))
    return [
        jax.device_put(np.pad(fold.contexts, ((0, most - len(fold.contexts)), (0, 0))))
        for fold in folds
    ]
