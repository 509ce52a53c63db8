"""Many trainings in one program: a grid of models on one data set.

The stochastic loop's stretch of steps is mapped over models. They share the table, the rule they
start from, the key and hence the contexts they draw, so a penalty is compared with another on the
same luck. Everything that differs is traced, so the whole grid compiles once, and other data sets
of the same shape (``TrainingTable.alike``) compile nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow.programs import program
from hedgerow.rules import FittedRule
from hedgerow.solvers.loop import State, begin_state, stretch
from hedgerow.solvers.stochastic import StochasticSolver
from hedgerow.solvers.task import Priced, Task, begin

EACH = State(*cast(Any, (0, 0, 0, 0, 0, None)))
"""Axes of a state: every training has its own, but all are at the same step, and so draw alike."""


class Grid(NamedTuple):
    """Trainings on one table; state, setting and priced have a leading axis of models."""

    state: State
    fixed: FittedRule
    table: Any
    setting: Any
    priced: Priced

    @classmethod
    def of(cls, tasks: Sequence[Task], solver: StochasticSolver, slots: int | None = None) -> Grid:
        """Begin tasks that share a table and a first rule; ``slots``: at least so many trackers."""
        first = tasks[0]
        parameters, fixed = begin(first)
        pooled = first.ambiguity.pooled or solver.shares_tracker
        trackers = 1 if pooled or not solver.remembers else max(first.slots, slots or 0)
        state = begin_state(parameters, solver, trackers)
        return cls(
            state=_stacked([state] * len(tasks))._replace(step=state.step),
            fixed=fixed,
            table=first.table,
            setting=_stacked([task.setting for task in tasks]),
            priced=_stacked([Priced(task.ambiguity, None) for task in tasks]),
        )

    def advanced(self, length: int, solver: StochasticSolver, key: PRNGKeyArray) -> Grid:
        """Go on by up to STRETCH steps.

        A training that diverges goes on with numbers that are not finite; it is for whoever looks
        at the rules to notice.
        """
        return self._replace(state=_stretch_all(self, length, solver, key))

    def decisions(self, contexts: Float[Array, "rows d"]) -> Float[Array, "models rows k"]:
        """Decisions of every model, in working units."""
        return _decide(self.state.average.rule, self.fixed, contexts)


@program
def _stretch_all(grid: Grid, length: Array, solver: StochasticSolver, key: PRNGKeyArray) -> State:
    def one(state: State, setting: Any, priced: Priced) -> State:
        return stretch(state, length, grid.fixed, grid.table, setting, priced, solver, key)[0]

    return jax.vmap(one, (EACH, 0, 0), EACH)(grid.state, grid.setting, grid.priced)


@program
def _decide(parameters: FittedRule, fixed: FittedRule, contexts: Float[Array, "rows d"]) -> Array:
    return jax.vmap(lambda learned: eqx.combine(learned, fixed)(contexts.T).T)(parameters)


def _stacked(trees: Sequence[Any]) -> Any:
    """Leaves stacked by numpy, which compiles nothing."""
    return jax.tree_util.tree_map(lambda *leaves: jnp.asarray(np.stack(leaves)), *trees)
