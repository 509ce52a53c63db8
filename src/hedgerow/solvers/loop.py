"""The one stochastic loop: compiled, any ambiguity model, any rule, any stochastic solver.

A step draws contexts and nodes, evaluates exponents e, lets the solver estimate u = log E exp(e),
and follows the gradient of Σ weight·e with weight = T·mass·exp(log_weights + e − u) held fixed.
Under a hard radius the penalty is learned along with the rule, through its logarithm above the
smallest admissible one, and the objective is λ·ρ̄ + T(λ)·Σ mass·u. Steps run in compiled stretches;
between stretches the host reports progress, watches for trouble and can be interrupted without
losing what was learned.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hedgerow.ambiguity import Setting, Tilt
from hedgerow.data.training_table import Batch, TrainingTable
from hedgerow.kernels.kernel import NEVER
from hedgerow.kernels.nodes import Anchored
from hedgerow.programs import program
from hedgerow.rules import FittedRule
from hedgerow.solvers import multilevel
from hedgerow.solvers.task import (
    Learned,
    Priced,
    Progress,
    Task,
    Training,
    begin,
    is_finite,
    moments,
    shares,
)

if TYPE_CHECKING:
    from hedgerow.solvers.stochastic import StochasticSolver

STRETCH = 100
PATIENCE = 5
SETTLED = 1e-3
ADAM = optax.scale_by_adam()


class State(NamedTuple):
    """What the loop carries from step to step."""

    parameters: Learned
    previous: Learned
    average: Learned
    optimizer: Any
    trackers: Float[Array, " slots"]
    step: Int[Array, ""]


def descend(
    task: Task, solver: StochasticSolver, key: PRNGKeyArray, progress: Progress | None = None
) -> Training:
    """Run a stochastic solver.

    It has "converged" if the objective moved by less than 0.1 % over the last fifth of the run.
    """
    parameters, fixed = begin(task)
    pooled = task.ambiguity.pooled or solver.shares_tracker
    state = begin_state(parameters, solver, 1 if pooled or not solver.remembers else task.slots)
    priced = Priced(task.ambiguity, task.allowance)
    steps = min(int(solver.steps), solver.stop_after or int(solver.steps))
    solver = solver.replace(stop_after=None)  # whatever it is, the program is the same
    history = np.empty(0)
    status = None
    try:
        for done in range(0, steps, STRETCH):
            length = min(STRETCH, steps - done)
            reached, objectives = _compiled_stretch(
                state, length, fixed, task.table, task.setting, priced, solver, key
            )
            objectives = np.asarray(objectives[:length], dtype=np.float64)
            if not np.all(np.isfinite(objectives)) or not is_finite(reached.parameters):
                status = "diverged"
                break
            state = reached
            history = np.concatenate([history, objectives])
            if progress is not None:
                rule = eqx.combine(state.average.rule, fixed)
                progress(done + length, steps, float(objectives.mean()), rule)
            if solver.tolerance > 0 and _stalled(history, float(solver.tolerance)):
                status = "stopped early"
                break
    except KeyboardInterrupt:
        status = "stopped early"
    if status is None:
        status = "converged" if _settled(history) else "step limit"
    return Training(eqx.combine(state.average.rule, fixed), history, status)


@program(static_argnames="trackers")
def begin_state(parameters: Learned, solver: StochasticSolver, trackers: int) -> State:
    """Return the state before the first step."""
    return State(
        parameters=parameters,
        previous=parameters,
        average=parameters,
        optimizer=(solver.optimizer or ADAM).init(cast(optax.Params, parameters)),
        trackers=jnp.full(trackers, NEVER, jnp.float32),
        step=jnp.zeros((), jnp.int32),
    )


def stretch(
    state: State,
    length: Array,
    fixed: FittedRule,
    table: TrainingTable,
    setting: Setting,
    priced: Priced,
    solver: StochasticSolver,
    key: PRNGKeyArray,
) -> tuple[State, Float[Array, " stretch"]]:
    """Run ``length`` steps, at most STRETCH; return the state and each step's objective."""
    optimizer = solver.optimizer or ADAM

    def step(i: Array, carry: tuple[State, Array]) -> tuple[State, Array]:
        state, objectives = carry
        draws = _Draws(fixed, table, setting, priced, solver, jax.random.fold_in(key, state.step))
        gradient, objective, trackers = draws.gradient(state)
        updates, memory = optimizer.update(
            cast(optax.Updates, gradient), state.optimizer, cast(optax.Params, state.parameters)
        )
        size = -solver.step_size(state.step)
        updates = jax.tree_util.tree_map(lambda update: size * update, updates)
        if solver.optimizer is None:
            updates = _paced(cast(Learned, updates))
        parameters = eqx.apply_updates(state.parameters, updates)
        # the mean of the last ``averaging`` share of the run; before that, what stands now
        place = state.step + 1 - (1 - solver.averaging) * solver.steps
        average = jax.tree_util.tree_map(
            lambda mean, now: jnp.where(place > 1, mean + (now - mean) / place, now),
            state.average,
            parameters,
        )
        reached = State(parameters, state.parameters, average, memory, trackers, state.step + 1)
        return reached, objectives.at[i].set(objective)

    objectives = jnp.zeros(STRETCH, jnp.float32)
    return jax.lax.fori_loop(0, length, step, (state, objectives))


_compiled_stretch = program(stretch)


class _Draws:
    """One step's random draws, and the gradient estimated from them."""

    def __init__(
        self,
        fixed: FittedRule,
        table: TrainingTable,
        setting: Setting,
        priced: Priced,
        solver: StochasticSolver,
        key: PRNGKeyArray,
    ) -> None:
        model = priced.ambiguity
        self.pooled = model.pooled or solver.shares_tracker
        self.tracked = model.compositional and solver.remembers
        self.correction = solver.correction(self.pooled) if self.tracked else None
        if self.correction == "visit":
            anchored = Anchored(setting.context_nodes)
            setting = eqx.tree_at(lambda s: s.context_nodes, setting, anchored)
        if solver.debiases and model.ascends:
            climbs = jnp.asarray(multilevel.FEWEST_CLIMBS, jnp.int32)
            setting = eqx.tree_at(lambda s: s.climbs, setting, climbs)
        self.fixed, self.table, self.setting = fixed, table, setting
        self.priced, self.solver = priced, solver
        self.key_batch, self.key_nodes = jax.random.split(key)
        self.batch = table.draw(self.key_batch, solver.batch)

    def gradient(self, state: State) -> tuple[Learned, Array, Array]:
        """Return gradient, objective and trackers."""
        surrogate = partial(self._surrogate, state)
        gradient, (objective, trackers) = jax.grad(surrogate, has_aux=True)(state.parameters)
        if self.solver.debiases and not self._exact:
            extra, value = self._missing(state.parameters)
            gradient = jax.tree_util.tree_map(jnp.add, gradient, extra)
            objective = objective + value
        return gradient, objective, trackers

    @property
    def _exact(self) -> bool:
        """Whether there is neither a logarithm nor a supremum to be wrong about."""
        return not (self.priced.ambiguity.compositional or self.priced.ambiguity.ascends)

    def _tilt(self, parameters: Learned, batch: Batch, key: PRNGKeyArray, setting: Setting) -> Tilt:
        rule = eqx.combine(parameters.rule, self.fixed)
        return self.priced.at(parameters).tilt(rule, setting, batch, key)

    def _tilt_now(self, parameters: Learned) -> Tilt:
        return self._tilt(parameters, self.batch, self.key_nodes, self.setting)

    def _surrogate(self, state: State, parameters: Learned) -> tuple[Array, tuple[Array, Array]]:
        """Return a function whose gradient is the estimate; the objective; the trackers."""
        tilt = self._tilt_now(parameters)
        now = moments(tilt, self.pooled)
        if self.tracked:
            slots = jnp.zeros((), jnp.int32) if self.pooled else tilt.slots
            drift = origin = 0.0
            if self.correction == "step":
                drift = now - moments(self._tilt_now(state.previous), self.pooled)
            elif self.correction == "visit":  # remembered relative to the value at the centre
                drift = origin = tilt.exponents[:, :, -1]
            kept = state.trackers[slots]
            mixed = self.solver.estimate(now, kept + drift, self.solver.memory(state.step))
            level = jax.lax.stop_gradient(jnp.where(kept > NEVER / 2, mixed, now))
            trackers = state.trackers.at[slots].set(level - origin)
        else:
            level, trackers = jax.lax.stop_gradient(now), state.trackers
        mass = shares(tilt)
        divisor = level if self.pooled else level[:, :, None]
        weights = mass[:, :, None] * jnp.exp(tilt.log_weights + tilt.exponents - divisor)
        value = level if self.pooled else jnp.sum(mass * level)
        objective = self.priced.objective(parameters, value)
        temperature = jax.lax.stop_gradient(jnp.asarray(self.priced.at(parameters).temperature))
        inner = jnp.sum(jax.lax.stop_gradient(weights) * tilt.exponents)
        # the objective's own derivative is that of T and λ·ρ̄; the rule acts through inner
        return objective + temperature * inner, (objective, trackers)

    def _missing(self, parameters: Learned) -> tuple[Learned, Array]:
        """What a random level adds to gradient and objective, over its probability."""
        key_level, key_blocks = jax.random.split(jax.random.fold_in(self.key_nodes, 1))
        level = multilevel.draw_level(key_level)
        if self.priced.ambiguity.ascends:

            def climbed(parameters: Learned, climbs: Array) -> Tilt:
                setting = eqx.tree_at(lambda s: s.climbs, self.setting, climbs)
                return self._tilt(parameters, self.batch, self.key_nodes, setting)

            extra, value = multilevel.more_climbs(climbed, self.priced, parameters, level)
        else:

            def block(parameters: Learned, number: Array) -> Tilt:
                key = jax.random.fold_in(key_blocks, number)
                # one logarithm around everything: its average is over contexts, too
                batch = self.table.draw(key, self.solver.batch) if self.pooled else self.batch
                return self._tilt(parameters, batch, key, self.setting)

            extra, value = multilevel.more_nodes(block, self.priced, parameters, level, self.pooled)
        weight = 1 / multilevel.probability(level)
        return jax.tree_util.tree_map(lambda leaf: weight * leaf, extra), weight * value


def _paced(updates: Learned) -> Learned:
    """Let every field of the rule move at its own pace."""
    paces = updates.rule.paces()
    if not paces:
        return updates
    fields = [getattr(updates.rule, name) * pace for name, pace in paces.items()]
    rule = eqx.tree_at(lambda rule: [getattr(rule, name) for name in paces], updates.rule, fields)
    return updates._replace(rule=rule)


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
