"""Soft forests that predict the mean of outcomes given their context, stopped at the right time.

    m_r = argmin_f Σ_k w_k ‖y_k − f(x_k)‖²    over the forests of rule r, stopped after the number
                                              of steps that predicts best what folds hold out
    m   = c + Σ_r a_r·(m_r − c),   a ≥ 0      stacked (Breiman 1996): least squares on predictions
                                              of what the folds hold out, around the constant c

A forest that looks at all features and one that looks at a learned score err differently, and which
one is right is for the data to say. Weights that add up to less than 1 shrink towards the constant,
which is right where there is little to be learned.

All folds and the whole history take their steps together, in one compiled program
(``solvers.side_by_side``). What the folds predict of rows they have not seen comes along: residuals
are taken from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.optimize import nnls
from sklearn.base import RegressorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from hedgerow import _checks
from hedgerow._components import Component
from hedgerow.ambiguity import ERM, Problem
from hedgerow.data import EmpiricalNominal, TrainingTable, Units
from hedgerow.data.spreads import Spreads
from hedgerow.forecasts.cross_fitting import Crossed, Split, splits_of
from hedgerow.forecasts.squares import SquaredError
from hedgerow.rules import FittedRule, Rule, ScoreForest, SoftForest, Start
from hedgerow.rules.base import build_rule
from hedgerow.rules.slopes import outcome_slopes
from hedgerow.solvers import NestedSGD, StochasticSolver, TrainingProblem
from hedgerow.solvers.side_by_side import SideBySide

LOOK = 50
"""Steps between two looks at what the folds hold out."""
BATCH = 128
RULES = (SoftForest(), ScoreForest(temperature=2.0), ScoreForest(temperature=4.0))
"""Soft gates, since a mean has fewer corners than one outcome per context suggests."""


class Member(NamedTuple):
    """One forest: trained on all rows, and what folds' forests predict of rows they hold out."""

    rule: FittedRule
    crossed: Crossed
    steps: int
    error: float


class ForestRegressor(RegressorMixin, Component):
    """Soft forests on squared error, stacked; a scikit-learn regressor.

    Parameters
    ----------
    rules : sequence of Rule or None
        What predicts; None: ``SoftForest()`` and two softer ``ScoreForest``.
    solver : StochasticSolver or None
        How to train: ``steps`` is the most there can be. None: ``NestedSGD(batch=128)``.
    folds : int or splitter
        What steps and weights are chosen by, in ``fit``.
    random_state : int
        Seed of the first gates, leaves and batches.

    Attributes
    ----------
    steps_ : list of int
        Steps of each rule after which held-out rows were predicted best.
    errors_ : list of float
        Mean held-out errors of the rules, in squared spreads of the outcomes.
    weights_ : (rules, outcomes) array
        What each rule counts.
    """

    rules: Sequence[Rule] | None = None
    solver: StochasticSolver | None = None
    folds: Any = 5
    random_state: int = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose steps and weights by folds, and train on all rows."""
        X = cast(np.ndarray, validate_data(self, X, dtype=np.float64, ensure_min_samples=2))
        _checks.given(self, y)
        y = _checks.numeric("y", y)
        Y = _checks.outcomes(y)
        check_consistent_length(X, Y)
        self._single_outcome = y.ndim == 1
        self.cross_fit(X, Y, _checks.weights(sample_weight, len(X)), splits_of(self.folds, X, Y))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the mean outcome given each row, (rows,) or (rows, outcomes) as y was."""
        check_is_fitted(self, "weights_")
        X = cast(np.ndarray, validate_data(self, X, reset=False, dtype=np.float64))
        contexts, unit = self._units.contexts(X, np.float64), self._units.y_unit
        found = self._stacked([member.rule.decide(contexts) * unit for member in self._members])
        return found[:, 0] if self._single_outcome else found

    def cross_fit(
        self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, splits: Sequence[Split]
    ) -> Crossed:
        """Train on every fold and on all rows, and return what the stacked forests predict."""
        everything = np.arange(len(X))
        kept = [*(kept for kept, _ in splits), everything]
        held = [*(held for _, held in splits), everything]
        parts = [_posed(X[rows], Y[rows], weights[rows]) for rows in kept]
        rules = RULES if self.rules is None else self.rules
        members = [self._member(rule, parts, X, Y, weights, held) for rule in rules]
        self._units, self._members = parts[-1].units, members
        self.steps_ = [member.steps for member in members]
        self.errors_ = [member.error for member in members]
        self._centre = self._units.constant
        self.weights_ = _stacking([m.crossed.held_out for m in members], Y, weights, self._centre)
        return Crossed(
            *(self._stacked(part) for part in zip(*(m.crossed for m in members), strict=True))
        )

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that y may have several columns."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _stacked(self, predictions: Sequence[np.ndarray]) -> np.ndarray:
        """Predictions of all rules, each with its weight."""
        parts = zip(self.weights_, predictions, strict=True)
        return self._centre + sum(weight * (found - self._centre) for weight, found in parts)

    def _member(
        self,
        rule: Rule,
        parts: Sequence[Problem],
        X: np.ndarray,
        Y: np.ndarray,
        weights: np.ndarray,
        held: Sequence[np.ndarray],
    ) -> Member:
        """Train one rule on all parts, and stop when the folds predict best."""
        solver = self.solver or NestedSGD(batch=BATCH)
        key = jax.random.key(self.random_state, impl="rbg")
        several = SideBySide.of(_trainings(rule, parts, solver, key), solver)
        looked = zip(parts, held, strict=True)
        contexts = _padded([part.units.contexts(X[rows]) for part, rows in looked])
        best, spread = None, parts[-1].units.y_unit
        usual = Spreads.measure(Y, weights).within(Y)
        for done in range(0, int(solver.steps), LOOK):
            length = min(LOOK, int(solver.steps) - done)
            several = several.advanced(length, solver, key)
            found = np.asarray(several.decisions(contexts), np.float64)
            crossed = _crossed(found, parts, held, Y.shape)
            off = np.where(usual, (crossed.held_out - Y) / spread, 0.0)  # typos choose no steps
            error = _mean_square(off, weights)
            if best is None or error < best.error:
                best = Member(several.rule(-1), crossed, done + length, error)
        return cast(Member, best)


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


def _stacking(
    predictions: Sequence[np.ndarray], Y: np.ndarray, weights: np.ndarray, centre: np.ndarray
) -> Float[np.ndarray, "rules y"]:
    """Non-negative weights of least squares on held-out rows, outcome by outcome, without typos."""
    usual = Spreads.measure(Y, weights).within(Y) & np.isfinite(predictions[0])
    found = np.empty((len(predictions), Y.shape[1]))
    for j, rows in enumerate(usual.T):
        root = np.sqrt(weights[rows])
        columns = [root * (predicted[rows, j] - centre[j]) for predicted in predictions]
        found[:, j] = nnls(np.column_stack(columns), root * (Y[rows, j] - centre[j]))[0]
    return found


def _crossed(
    decisions: np.ndarray, parts: Sequence[Problem], held: Sequence[np.ndarray], shape: Any
) -> Crossed:
    """Predictions in the user's units, each where it belongs."""
    held_out = np.full(shape, np.nan)
    for values, part, rows in zip(decisions[:-1], parts[:-1], held[:-1], strict=True):
        held_out[rows] = values[: len(rows)] * part.units.y_unit
    return Crossed(held_out, decisions[-1, : shape[0]] * parts[-1].units.y_unit)


def _mean_square(errors: Float[np.ndarray, "rows y"], weights: np.ndarray) -> float:
    """Squared error, over rows that were held out."""
    seen = np.isfinite(errors).all(axis=1)
    losses = np.asarray(SquaredError()(errors[seen], np.zeros(errors.shape[1])))
    return float(np.average(losses, weights=weights[seen]))


def _padded(contexts: Sequence[np.ndarray]) -> jax.Array:
    """Contexts of several sets of rows, as one array."""
    most = max(map(len, contexts))
    return jnp.asarray(np.stack([np.pad(x, ((0, most - len(x)), (0, 0))) for x in contexts]))
