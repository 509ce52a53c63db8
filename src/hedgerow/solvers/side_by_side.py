"""Many trainings in one program: one model on several tables of one shape.

Where a ``grid`` maps the stochastic loop over models on one table, this maps it over whole
objectives: the folds of a cross-validation, padded to one shape (``TrainingTable.alike``), take
their steps together. Everything is traced, so other tables of that shape compile nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow.programs import program
from hedgerow.rules import FittedRule
from hedgerow.solvers.grid import EACH, stacked
from hedgerow.solvers.loop import State, begin, stretch
from hedgerow.solvers.stochastic import StochasticSolver
from hedgerow.solvers.training import Objective, TrainingProblem


class SideBySide(NamedTuple):
    """Trainings of one shape; state and objective have a leading axis."""

    state: State
    objective: Objective

    @classmethod
    def of(cls, trainings: Sequence[TrainingProblem], solver: StochasticSolver) -> SideBySide:
        """Begin trainings whose arrays have the same shapes."""
        slots = max(training.slots for training in trainings)
        states = [
            begin(training.objective, training.start, solver, slots) for training in trainings
        ]
        state = stacked(states)._replace(step=states[0].step)
        return cls(state, stacked([training.objective for training in trainings]))

    def advanced(self, length: int, solver: StochasticSolver, key: PRNGKeyArray) -> SideBySide:
        """Go on by up to STRETCH steps."""
        return self._replace(state=_stretch_each(self, length, solver, key))

    def decisions(
        self, contexts: Float[Array, "trainings rows d"]
    ) -> Float[Array, "trainings rows k"]:
        """Decisions of every training in contexts of its own, in working units."""
        return _decide_each(self.state.average.rule, self.objective.fixed, contexts)

    def rules(self) -> FittedRule:
        """Return the rules of all trainings: one, whose leaves have a leading axis."""
        return eqx.combine(self.state.average.rule, self.objective.fixed)

    def rule(self, place: int) -> FittedRule:
        """Return the rule of one training."""
        both = self.state.average.rule, self.objective.fixed
        own = jax.tree_util.tree_map(lambda leaf: jax.device_put(np.asarray(leaf)[place]), both)
        return eqx.combine(*own)


@program
def _stretch_each(
    several: SideBySide, length: Array, solver: StochasticSolver, key: PRNGKeyArray
) -> State:
    def one(state: State, objective: Objective) -> State:
        return stretch(state, length, objective, solver, key)[0]

    return jax.vmap(one, (EACH, 0), EACH)(several.state, several.objective)


@program
def _decide_each(parameters: FittedRule, fixed: FittedRule, contexts: Array) -> Array:
    def one(learned: FittedRule, rest: FittedRule, x: Array) -> Array:
        return eqx.combine(learned, rest)(x.T).T

    return jax.vmap(one)(parameters, fixed, contexts)
