"""The one stochastic loop: compiled, any ambiguity model, any rule, any stochastic solver.

A step asks the solver for a gradient, makes a direction of it, and goes there. Steps run in
compiled stretches; between stretches the host reports progress and watches for trouble. An
interrupt carries along what was learned (``training.Interrupted``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hedgerow.data import TrainingTable
from hedgerow.programs import program
from hedgerow.solvers.training import (
    At,
    Interrupted,
    Objective,
    Parameters,
    Progress,
    Solution,
    TrainingProblem,
    is_finite,
)

if TYPE_CHECKING:
    from hedgerow.solvers.stochastic import StochasticSolver

STRETCH = 100
PATIENCE = 5
SETTLED = 1e-3
ADAM = optax.scale_by_adam()


class State(NamedTuple):
    """What the loop carries from step to step; ``memory`` is the solver's."""

    parameters: Parameters
    average: Parameters
    optimizer: Any
    memory: Any
    step: Int[Array, ""]


def descend(
    training: TrainingProblem,
    solver: StochasticSolver,
    key: PRNGKeyArray,
    progress: Progress | None = None,
    tables: Iterator[TrainingTable] | None = None,
) -> Solution:
    """Run a stochastic solver.

    It has "converged" if the objective moved by less than 0.1 % over the last fifth of the run.
    ``tables`` hands out a table of the same shape for each stretch, where the rows are too many for
    one; what a solver remembers of rows ends with their table.
    """
    objective = training.objective
    state = begin(training.objective, training.start, solver, training.slots)
    steps = min(int(solver.steps), solver.stop_after or int(solver.steps))
    solver = solver.replace(stop_after=None)  # whatever it is, the program is the same
    history = np.empty(0)
    status = None
    try:
        for done in range(0, steps, STRETCH):
            length = min(STRETCH, steps - done)
            if tables is not None:
                objective = replace(objective, table=next(tables))
                fresh = begin(objective, state.parameters, solver, training.slots)
                state = state._replace(memory=fresh.memory)
            reached, values = _compiled_stretch(state, length, objective, solver, key)
            values = np.asarray(values, dtype=np.float64)[:length]
            if not np.all(np.isfinite(values)) or not is_finite(reached.parameters):
                status = "diverged"
                break
            state = reached
            history = np.concatenate([history, values])
            if progress is not None:
                rule = training.rule(state.average)
                progress(done + length, steps, float(values.mean()), rule)
            if solver.tolerance > 0 and _stalled(history, float(solver.tolerance)):
                status = "stopped early"
                break
    except KeyboardInterrupt:
        raise Interrupted(Solution(training.rule(state.average), history, "interrupted")) from None
    if status is None:
        status = "converged" if _settled(history) else "step limit"
    remarks = tuple(solver.remarks(state.memory, len(history)))
    return Solution(training.rule(state.average), history, status, remarks)


@program(brief=True, static_argnames="slots")
def begin(
    objective: Objective, parameters: Parameters, solver: StochasticSolver, slots: int
) -> State:
    """Return the state before the first step."""
    return State(
        parameters=parameters,
        average=parameters,
        optimizer=(solver.optimizer or ADAM).init(cast(optax.Params, parameters)),
        memory=solver.init(objective, parameters, slots),
        step=jnp.zeros((), jnp.int32),
    )


def stretch(
    state: State,
    length: Array,
    objective: Objective,
    solver: StochasticSolver,
    key: PRNGKeyArray,
) -> tuple[State, Float[Array, " stretch"]]:
    """Run ``length`` steps, at most STRETCH; return the state and each step's objective."""
    optimizer = solver.optimizer or ADAM

    def step(i: Array, carry: tuple[State, Array]) -> tuple[State, Array]:
        state, values = carry
        own = jax.random.fold_in(key, state.step)
        found = solver.step(objective, At(state.parameters, state.memory, state.step, own))
        updates, moments = optimizer.update(
            cast(optax.Updates, found.gradient),
            state.optimizer,
            cast(optax.Params, state.parameters),
        )
        size = -solver.step_size(state.step)
        updates = jax.tree_util.tree_map(lambda update: size * update, updates)
        if solver.optimizer is None:
            updates = _paced(cast(Parameters, updates))
        parameters = eqx.apply_updates(state.parameters, updates)
        # the mean of the last ``averaging`` share of the run; before that, what stands now
        place = state.step + 1 - (1 - solver.averaging) * solver.steps
        average = jax.tree_util.tree_map(
            lambda mean, now: jnp.where(place > 1, mean + (now - mean) / place, now),
            state.average,
            parameters,
        )
        reached = State(parameters, average, moments, found.memory, state.step + 1)
        return reached, values.at[i].set(found.value)

    values = jnp.zeros(STRETCH, jnp.float32)
    return jax.lax.fori_loop(0, length, step, (state, values))


_compiled_stretch = program(stretch)


def compile_stretch(training: TrainingProblem, solver: StochasticSolver, key: PRNGKeyArray) -> None:
    """Compile the loop for a problem's shapes, without a step."""
    solver = solver.replace(stop_after=None)
    state = begin(training.objective, training.start, solver, training.slots)
    _compiled_stretch(state, 0, training.objective, solver, key)


def _paced(updates: Parameters) -> Parameters:
    """Let every field of the rule move at its own pace."""
    return updates._replace(rule=updates.rule.at_paces())


def _stalled(history: np.ndarray, tolerance: float) -> bool:
    """Whether the last PATIENCE stretches brought less than ``tolerance`` relative improvement."""
    means = history[: len(history) // STRETCH * STRETCH].reshape(-1, STRETCH).mean(axis=1)
    if len(means) <= PATIENCE:
        return False
    before, recent = means[:-PATIENCE].min(), means[-PATIENCE:].min()
    return bool(before - recent < tolerance * abs(before))


def _settled(history: np.ndarray) -> bool:
    """Whether the objective's mean changed by less than SETTLED over the last fifth of the run."""
    tenth = len(history) // 10
    if tenth < 5:
        return False
    before, after = history[-2 * tenth : -tenth].mean(), history[-tenth:].mean()
    return bool(abs(before - after) <= SETTLED * abs(before))
