"""Many trainings in one program: a grid of models on several data sets of one shape.

The stochastic loop's stretch of steps is mapped over data sets (outer axis) and models (inner
axis). Models of one data set share its table, the rule they start from, the key and hence the
contexts they draw, so a penalty is compared with another on the same luck. Everything that differs
is traced, so the whole grid compiles once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow.rules import FittedRule
from hedgerow.solvers.loop import STRETCH, State, begin_state, stretch
from hedgerow.solvers.stochastic import StochasticSolver
from hedgerow.solvers.task import Priced, Task, begin

Watch = Callable[[int, FittedRule], None]
"""Called after every stretch with (steps done, rules so far); rules have axes (sets, models)."""


EACH = State(*cast(Any, (0, 0, 0, 0, 0, None)))
"""Axes of a state: every training has its own, but all are at the same step, and so draw alike."""


class Grid(NamedTuple):
    """Tasks of one shape, stacked; leading axes (sets,) or (sets, models)."""

    state: State
    fixed: FittedRule
    table: Any
    setting: Any
    priced: Priced

    @classmethod
    def of(cls, tasks: Sequence[Sequence[Task]], solver: StochasticSolver) -> Grid:
        """Stack tasks[set][model]; the tasks of a set share their table and first rule."""
        rows = []
        for models in tasks:
            parameters, fixed = begin(models[0])
            pooled = models[0].ambiguity.pooled or solver.shares_tracker
            trackers = 1 if pooled or not solver.remembers else models[0].slots
            state = begin_state(parameters, solver, trackers)
            states = _at_one_step([state] * len(models))
            setting = _stacked([task.setting for task in models])
            priced = _stacked([Priced(task.ambiguity, None) for task in models])
            rows.append(cls(states, fixed, models[0].table, setting, priced))
        return _stacked(rows)._replace(state=_at_one_step([row.state for row in rows]))

    @property
    def rules(self) -> FittedRule:
        """The rules as they stand, (sets, models)."""
        models = self.state.trackers.shape[1]
        fixed = jax.tree_util.tree_map(
            lambda leaf: jnp.broadcast_to(leaf[:, None], (len(leaf), models, *leaf.shape[1:])),
            self.fixed,
        )
        return eqx.combine(self.state.average.rule, fixed)


def shape_of(tasks: Sequence[Task]) -> tuple[Any, ...]:
    """What sets of tasks must have in common to be stacked."""
    leaves, structure = jax.tree_util.tree_flatten((tasks[0].table, tasks[0].rule))
    return structure, tuple(leaf.shape for leaf in leaves), tasks[0].slots


def descend_grid(
    tasks: Sequence[Sequence[Task]],
    solver: StochasticSolver,
    key: PRNGKeyArray,
    watch: Watch | None = None,
) -> FittedRule:
    """Train tasks[set][model] together and return the rules, stacked (sets, models).

    A training that diverges goes on with numbers that are not finite; it is for whoever watches
    to notice.
    """
    grid = Grid.of(tasks, solver)
    steps = int(solver.steps)
    for done in range(0, steps, STRETCH):
        length = min(STRETCH, steps - done)
        grid = grid._replace(state=_stretch_all(grid, length, solver, key))
        if watch is not None:
            watch(done + length, grid.rules)
    return grid.rules


@jax.jit
def _stretch_all(grid: Grid, length: Array, solver: StochasticSolver, key: PRNGKeyArray) -> State:
    def one_set(state: State, fixed: Any, table: Any, setting: Any, priced: Priced) -> State:
        def one(state: State, setting: Any, priced: Priced) -> State:
            return stretch(state, length, fixed, table, setting, priced, solver, key)[0]

        return jax.vmap(one, (EACH, 0, 0), EACH)(state, setting, priced)

    return jax.vmap(one_set, (EACH, 0, 0, 0, 0), EACH)(*grid)


@jax.jit
def decide_grid(
    rules: FittedRule, contexts: Float[Array, "sets rows d"]
) -> Float[Array, "sets models rows k"]:
    """Decisions of every model of every set for the set's rows, in working units."""
    decide = jax.vmap(jax.vmap(lambda rule, x: rule(x.T).T, (0, None)))
    return decide(rules, contexts)


def one_of_grid(rules: FittedRule, place: int, model: int) -> FittedRule:
    """Take one rule out of the stack."""
    return jax.tree_util.tree_map(lambda leaf: jnp.asarray(np.asarray(leaf)[place, model]), rules)


def _at_one_step(states: Sequence[State]) -> State:
    return _stacked(states)._replace(step=states[0].step)


def _stacked(trees: Sequence[Any]) -> Any:
    return jax.tree_util.tree_map(lambda *leaves: jnp.stack(leaves), *trees)
