"""The one training loop: compiled, any ambiguity model, any rule, any solver.

A step draws contexts and nodes, evaluates exponents e, lets the solver estimate u = log E exp(e),
and follows the gradient of Σ weight·e with weight = T·mass·exp(log_weights + e − u) held fixed.
Under a hard radius the penalty is learned along with the rule, through its logarithm above the
smallest admissible one, and the objective is λ·ρ̄ + T(λ)·Σ mass·u. Steps run in compiled stretches;
between stretches the host reports progress, watches for trouble and can be interrupted without
losing what was learned.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hedgerow.ambiguity import Allowance, Ambiguity, PenalisedAmbiguity, Setting, Tilt
from hedgerow.kernels import NEVER
from hedgerow.nodes import Anchored
from hedgerow.rules import FittedRule
from hedgerow.solvers.base import Solver
from hedgerow.solvers.table import TrainingTable

STRETCH = 100
PATIENCE = 5
SETTLED = 1e-3
ADAM = optax.scale_by_adam()

Progress = Callable[[int, int, float], None]
"""Called between stretches with (steps done, steps in all, objective in working units)."""


class Training(NamedTuple):
    """Outcome of a run.

    ``status`` is "converged" (the objective moved by less than 0.1 % over the last fifth of the
    run), "step limit", "stopped early" (no progress, or interrupted) or "diverged" (the last
    finite parameters are kept).
    """

    rule: FittedRule
    history: np.ndarray
    status: str


class Learned(NamedTuple):
    """What is learned: the rule's parameters and, under a radius, log(penalty − floor)."""

    rule: FittedRule
    log_penalty: Float[Array, ""] | None


class State(NamedTuple):
    """What the loop carries from step to step."""

    parameters: Learned
    previous: Learned
    optimizer: Any
    trackers: Float[Array, " slots"]
    step: Int[Array, ""]


def train(
    rule: FittedRule,
    table: TrainingTable,
    setting: Setting,
    ambiguity: Ambiguity,
    solver: Solver,
    slots: int,
    key: PRNGKeyArray,
    progress: Progress | None = None,
    allowance: Allowance | None = None,
) -> Training:
    """Minimise the model's objective over the rule's parameters and, with a radius, the penalty.

    ``allowance`` is what the radius leaves; the model's penalty is then where the search starts.
    """
    parameters, fixed = rule.split()
    log_penalty = None
    if allowance is not None and isinstance(ambiguity, PenalisedAmbiguity):
        log_penalty = jnp.log(jnp.asarray(ambiguity.penalty - allowance.floor, jnp.float32))
    pooled = ambiguity.pooled or solver.shares_tracker
    state = _begin(
        Learned(parameters, log_penalty), solver, 1 if pooled or not solver.remembers else slots
    )
    steps = int(solver.steps)
    history = np.empty(0)
    status = None
    try:
        for done in range(0, steps, STRETCH):
            length = min(STRETCH, steps - done)
            reached, objectives = _stretch(
                state, length, fixed, table, setting, ambiguity, allowance, solver, key
            )
            objectives = np.asarray(objectives[:length], dtype=np.float64)
            if not np.all(np.isfinite(objectives)) or not _finite(reached.parameters):
                status = "diverged"
                break
            state = reached
            history = np.concatenate([history, objectives])
            if progress is not None:
                progress(done + length, steps, float(objectives.mean()))
            if solver.tolerance > 0 and _stalled(history, float(solver.tolerance)):
                status = "stopped early"
                break
    except KeyboardInterrupt:
        status = "stopped early"
    if status is None:
        status = "converged" if _settled(history) else "step limit"
    return Training(eqx.combine(state.parameters.rule, fixed), history, status)


@partial(jax.jit, static_argnames="trackers")
def _begin(parameters: Learned, solver: Solver, trackers: int) -> State:
    """Return the state before the first step."""
    return State(
        parameters=parameters,
        previous=parameters,
        optimizer=(solver.optimizer or ADAM).init(cast(optax.Params, parameters)),
        trackers=jnp.full(trackers, NEVER, jnp.float32),
        step=jnp.zeros((), jnp.int32),
    )


@jax.jit
def _stretch(
    state: State,
    length: Array,
    fixed: FittedRule,
    table: TrainingTable,
    setting: Setting,
    ambiguity: Ambiguity,
    allowance: Allowance | None,
    solver: Solver,
    key: PRNGKeyArray,
) -> tuple[State, Float[Array, " stretch"]]:
    """Run ``length`` steps, at most STRETCH; return the state and each step's objective."""
    pooled = ambiguity.pooled or solver.shares_tracker
    tracked = ambiguity.compositional and solver.remembers
    correction = solver.correction(pooled) if tracked else None
    if correction == "visit":
        setting = eqx.tree_at(lambda s: s.context_nodes, setting, Anchored(setting.context_nodes))
    optimizer = solver.optimizer or ADAM

    def step(i: Array, carry: tuple[State, Array]) -> tuple[State, Array]:
        state, objectives = carry
        key_batch, key_nodes = jax.random.split(jax.random.fold_in(key, state.step))
        batch = table.draw(key_batch, solver.batch)

        def priced(parameters: Learned) -> Ambiguity:
            if allowance is None or parameters.log_penalty is None:
                return ambiguity
            return ambiguity.replace(penalty=allowance.floor + jnp.exp(parameters.log_penalty))

        def tilt_at(parameters: Learned) -> Tilt:
            rule = eqx.combine(parameters.rule, fixed)
            return priced(parameters).tilt(rule, setting, batch, key_nodes)

        def surrogate(parameters: Learned) -> tuple[Array, tuple[Array, Array]]:
            tilt = tilt_at(parameters)
            now = _moments(tilt, pooled)
            if tracked:
                slots = jnp.zeros((), jnp.int32) if pooled else tilt.slots
                drift = origin = 0.0
                if correction == "step":
                    drift = now - _moments(tilt_at(state.previous), pooled)
                elif correction == "visit":  # remembered relative to the value at the centre
                    drift = origin = tilt.exponents[:, :, -1]
                level = _remember(solver, now, state.trackers[slots], drift)
                trackers = state.trackers.at[slots].set(level - origin)
            else:
                level, trackers = jax.lax.stop_gradient(now), state.trackers
            mass = tilt.group_mass / len(tilt.group_mass)
            value = level if pooled else jnp.sum(mass * level)
            divisor = level if pooled else level[:, :, None]
            weights = mass[:, :, None] * jnp.exp(tilt.log_weights + tilt.exponents - divisor)
            model = priced(parameters)
            temperature = jnp.asarray(model.temperature)
            objective = temperature * value
            if allowance is not None and isinstance(model, PenalisedAmbiguity):
                objective = objective + model.penalty * allowance.excess
            inner = jnp.sum(jax.lax.stop_gradient(weights) * tilt.exponents)
            # the objective's own derivative is that of T and λ·ρ̄; the rule acts through inner
            loss = objective + jax.lax.stop_gradient(temperature) * inner
            return loss, (objective, trackers)

        gradient, (objective, trackers) = jax.grad(surrogate, has_aux=True)(state.parameters)
        updates, memory = optimizer.update(
            gradient, state.optimizer, cast(optax.Params, state.parameters)
        )
        size = -solver.step_size(state.step)
        updates = jax.tree_util.tree_map(lambda update: size * update, updates)
        parameters = eqx.apply_updates(state.parameters, updates)
        reached = State(parameters, state.parameters, memory, trackers, state.step + 1)
        return reached, objectives.at[i].set(objective)

    objectives = jnp.zeros(STRETCH, jnp.float32)
    return jax.lax.fori_loop(0, length, step, (state, objectives))


def _remember(solver: Solver, now: Array, kept: Array, drift: Array | float) -> Array:
    """The solver's estimate from now and what was kept, moved by its drift (if ever visited)."""
    level = jnp.where(kept > NEVER / 2, solver.estimate(now, kept + drift), now)
    return jax.lax.stop_gradient(level)


def _moments(tilt: Tilt, pooled: bool) -> Array:
    """Log-averages per group, or one over the whole batch."""
    moments = tilt.log_moments()
    if not pooled:
        return moments
    log_mass = jnp.log(tilt.group_mass / len(tilt.group_mass))
    return jax.nn.logsumexp(moments + log_mass)


def _finite(parameters: Learned) -> bool:
    return all(np.all(np.isfinite(leaf)) for leaf in jax.tree_util.tree_leaves(parameters))


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
