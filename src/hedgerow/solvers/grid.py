"""Many trainings in one program: a grid of models on one data set.

The stochastic loop's stretch of steps is mapped over models. They share the table, the rule they
start from, the key and hence the contexts they draw, so a penalty is compared with another on the
same luck. Everything that differs is traced, so the whole grid compiles once, and other data sets
of the same shape (``TrainingTable.alike``) compile nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow.ambiguity import Ambiguity, Budget, Setting
from hedgerow.programs import program
from hedgerow.rules import FittedRule
from hedgerow.solvers.loop import State, begin, stretch
from hedgerow.solvers.stochastic import StochasticSolver
from hedgerow.solvers.training import Objective, TrainingProblem

EACH = State(*cast(Any, (0, 0, 0, 0, None)))
"""Axes of a state: every training has its own, but all are at the same step, and so draw alike."""


class Grid(NamedTuple):
    """Trainings on one table; all but the objective, which holds what is shared, have an axis more.

    ``budgets`` is None unless the models have radii.
    """

    state: State
    objective: Objective
    settings: Setting
    models: Ambiguity
    budgets: Budget | None

    @classmethod
    def of(
        cls, several: Sequence[TrainingProblem], solver: StochasticSolver, slots: int | None = None
    ) -> Grid:
        """Begin trainings that share a table and a first rule; ``slots``: at least so many."""
        first = several[0]
        slots = max(first.slots, slots or 0)
        states = [begin(one.objective, one.start, solver, slots) for one in several]
        return cls(
            state=stacked(states)._replace(step=states[0].step),
            objective=first.objective,
            settings=stacked([training.objective.setting for training in several]),
            models=stacked([training.objective.model for training in several]),
            budgets=stacked([training.objective.budget for training in several]),
        )

    def penalties(self) -> Float[np.ndarray, " models"]:
        """The penalties of the models in working units: as given, or as learned under radii."""
        penalties, log_penalty = self.models.penalty, self.state.average.log_penalty
        if self.budgets is not None and log_penalty is not None:
            penalties = self.budgets.floor + np.exp(np.asarray(log_penalty))
        return np.asarray(penalties, np.float64)

    def advanced(self, length: int, solver: StochasticSolver, key: PRNGKeyArray) -> Grid:
        """Go on by up to STRETCH steps.

        A training that diverges goes on with numbers that are not finite; it is for whoever looks
        at the rules to notice.
        """
        return self._replace(state=_stretch_all(self, length, solver, key))

    def decisions(self, contexts: Float[Array, "rows d"]) -> Float[Array, "models rows k"]:
        """Decisions of every model, in working units."""
        return _decide(self.state.average.rule, self.objective.fixed, contexts)


@program
def _stretch_all(grid: Grid, length: Array, solver: StochasticSolver, key: PRNGKeyArray) -> State:
    def one(state: State, setting: Setting, model: Ambiguity, budget: Budget | None) -> State:
        objective = replace(grid.objective, setting=setting, model=model, budget=budget)
        return stretch(state, length, objective, solver, key)[0]

    own = grid.settings, grid.models, grid.budgets
    return jax.vmap(one, (EACH, 0, 0, 0), EACH)(grid.state, *own)


@program
def _decide(parameters: FittedRule, fixed: FittedRule, contexts: Float[Array, "rows d"]) -> Array:
    return jax.vmap(lambda learned: eqx.combine(learned, fixed)(contexts.T).T)(parameters)


def stacked(trees: Sequence[Any]) -> Any:
    """Leaves stacked by numpy, which compiles nothing."""
    return jax.tree_util.tree_map(lambda *leaves: jax.device_put(np.stack(leaves)), *trees)
