"""A soft forest that predicts the mean of outcomes given their context, stopped at the right time.

    m = argmin_f Σ_k w_k ‖y_k − f(x_k)‖²    over forests, stopped after the number of steps that
                                            predicts best what folds hold out

All folds and the whole history take their steps together, in one compiled program
(``solvers.side_by_side``). What the folds predict of rows they have not seen comes along: residuals
are taken from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from hedgerow import ladder
from hedgerow.ambiguity import ERM, Problem
from hedgerow.data import EmpiricalNominal, TrainingTable, Units
from hedgerow.data.spreads import Spreads
from hedgerow.forecasts.cross_fitted import CrossFitted
from hedgerow.forecasts.cross_fitting import Crossed, Split
from hedgerow.forecasts.squares import SquaredError
from hedgerow.rules import Rule, SoftForest, Start
from hedgerow.rules.base import build_rule, decide_rows
from hedgerow.rules.slopes import outcome_slopes
from hedgerow.solvers import NestedSGD, StochasticSolver, TrainingProblem
from hedgerow.solvers.side_by_side import SideBySide

LOOK = 50
"""Steps between two looks at what the folds hold out."""
BATCH = 128


class ForestRegressor(CrossFitted):
    """A soft forest on squared error; a scikit-learn regressor.

    Parameters
    ----------
    rule : Rule or None
        What predicts; None: ``SoftForest()``.
    solver : StochasticSolver or None
        How to train: ``steps`` is the most there can be. None: ``NestedSGD(batch=128)``.
    folds : int or splitter
        What the number of steps is chosen by, in ``fit``.
    random_state : int
        Seed of the first gates, leaves and batches.

    Attributes
    ----------
    steps_ : int
        Steps after which held-out rows were predicted best.
    error_ : float
        Mean error of held-out rows then, in squared spreads of the outcomes.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(200, 2, random_state=0)
    >>> forest = hr.ForestRegressor(random_state=0).fit(data.data, data.target)
    >>> forest.predict(data.data[:3]).shape
    (3,)
    """

    rule: Rule | None = None
    solver: StochasticSolver | None = None
    folds: Any = 5
    random_state: int = 0

    def cross_fit(
        self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, splits: Sequence[Split]
    ) -> Crossed:
        """Train on every fold and on all rows, and stop when the folds predict best."""
        kept = [*(kept for kept, _ in splits), np.arange(len(X))]
        held = [held for _, held in splits]
        parts = [_posed(X[rows], Y[rows], weights[rows]) for rows in kept]
        solver = self.solver or NestedSGD(batch=BATCH)
        key = jax.random.key(self.random_state, impl="rbg")
        rule = SoftForest() if self.rule is None else self.rule
        several = SideBySide.of(_trainings(rule, parts, solver, key), solver)
        looked = zip(parts, [*held, held[0]], strict=True)  # the last one is not asked
        contexts = _padded([part.units.contexts(X[rows]) for part, rows in looked])
        self._units, self.error_ = parts[-1].units, np.inf
        usual = Spreads.measure(Y, weights).within(Y)
        best = None
        for done in range(0, int(solver.steps), LOOK):
            length = min(LOOK, int(solver.steps) - done)
            several = several.advanced(length, solver, key)
            found = np.asarray(several.decisions(contexts), np.float64)
            held_out = _held_out(found, parts, held, Y.shape)
            off = (held_out - Y) / self._units.y_unit
            error = _mean_square(np.where(usual, off, 0.0), weights)  # typos choose no steps
            if best is None or error < self.error_:
                best, self._rule = held_out, several.rule(-1)
                self.steps_, self.error_ = done + length, error
        assert best is not None  # a solver takes at least one step
        return Crossed(best, self.means(X))

    def means(self, X: Float[np.ndarray, "rows d"]) -> Float[np.ndarray, "rows y"]:
        """What the forest of all rows predicts."""
        return decide_rows(self._rule, self._units.contexts(X, np.float64)) * self._units.y_unit


def _posed(X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> Problem:
    """Pose the problem of some rows."""
    loss, nominal = SquaredError(), EmpiricalNominal().build(X, Y, weights)
    return Problem.of(nominal, Units.measure(nominal, loss), loss, ERM())


def _trainings(
    rule: Rule, parts: Sequence[Problem], solver: StochasticSolver, key: jax.Array
) -> list[TrainingProblem]:
    """What every part's forest is trained on, all of one shape, from where it begins.

    All look at the features that vary on all rows, the last part; where a fold has one value of a
    feature only, that is a zero.
    """
    tables = TrainingTable.alike(
        [
            TrainingTable.build(part.nominal, part.units, solver.outcomes_per_context)
            for part in parts
        ]
    )
    starts = []
    for problem in parts:
        units = problem.units
        slopes = outcome_slopes(problem.nominal, units) if rule.begins_along_slopes else None
        starts.append(Start.of(units, problem.loss.decisions_for(len(units.y_unit)), slopes))
    begin = [build_rule(rule, key, replace(s, varying=starts[-1].varying)) for s in starts]
    several = zip(parts, begin, tables, strict=True)
    return [solver.training(problem, first, table=table) for problem, first, table in several]


def _held_out(
    decisions: np.ndarray, parts: Sequence[Problem], held: Sequence[np.ndarray], shape: Any
) -> np.ndarray:
    """What folds predict, in the user's units, each where it belongs."""
    held_out = np.full(shape, np.nan)
    for values, part, rows in zip(decisions, parts, held, strict=False):
        held_out[rows] = values[: len(rows)] * part.units.y_unit
    return held_out


def _mean_square(errors: Float[np.ndarray, "rows y"], weights: np.ndarray) -> float:
    """Squared error, over rows that were held out."""
    seen = np.isfinite(errors).all(axis=1)
    losses = np.asarray(SquaredError()(errors[seen], np.zeros(errors.shape[1])))
    return float(np.average(losses, weights=weights[seen]))


def _padded(contexts: Sequence[np.ndarray]) -> jax.Array:
    """Contexts of several sets of rows, as one array."""
    most = ladder.room(max(map(len, contexts)))
    return jax.device_put(np.stack([np.pad(x, ((0, most - len(x)), (0, 0))) for x in contexts]))
