"""Stochastically corrected compositional gradients (Chen, Sun & Yin 2021; paper: algo-SCSC-ML).

Before mixing, what is remembered is brought up to date by its drift since it was remembered:

    u ← log( (1−β)·e^{u + drift} + β·e^now ).

The published correction is (1−β)(y + t(θ_k) − t(θ_{k−1})) + β t(θ_k). Here it is taken in the log
domain, a ratio instead of a difference, where it cannot make the tracked expectation negative.

``trackers="per-context"`` keeps one u for each logarithm in F, which is what the gradient of F
needs. A context is visited once in many steps, so its drift since the *last visit* counts; it is
measured at the nominal point, whose value then and now is known exactly. Without it (``SCGD``)
trackers go stale, and contexts that have improved since are held down by their own past.

``trackers="shared"`` keeps a single u, as Algorithm 1 is printed: with one outcome per context its
y₁ and y₂ follow one recursion, and what it minimises is T·log E_x̂ E_ξ exp(Ψ/T), not F. Its drift
is that of this step's nodes since the last step, as published. It is here so that the printed
algorithm can be run and compared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array

from hedgerow import _checks
from hedgerow.ambiguity import LogReduction
from hedgerow.kernels import Anchored
from hedgerow.solvers.nested import nested_step
from hedgerow.solvers.stochastic import StochasticSolver
from hedgerow.solvers.trackers import Trackers, followed, no_trackers, updated
from hedgerow.solvers.training import At, Objective, Parameters, Step, masses


class Memory(NamedTuple):
    """Trackers and, where drift is measured from step to step, the last step's parameters."""

    trackers: Trackers
    previous: Parameters | None


class SCSC(StochasticSolver):
    """Corrected tracking. Parameters as for every solver, and ``trackers``.

    Parameters
    ----------
    trackers : {"per-context", "shared"}
        One tracker per logarithm of the objective, or the printed algorithm's single one.
    """

    def __init__(
        self,
        trackers: str = "per-context",
        steps: int = 500,
        batch: int = 64,
        nodes: Any = 4,
        outcome_nodes: Any = None,
        outcomes_per_context: int = 32,
        learning_rate: float = 0.01,
        decay: str = "cosine",
        averaging: float = 0.0,
        optimizer: Any = None,
        tracking: float = 0.2,
        tolerance: float = 0.0,
        stop_after: int | None = None,
    ) -> None:
        self.trackers = trackers
        super().__init__(
            steps=steps,
            batch=batch,
            nodes=nodes,
            outcome_nodes=outcome_nodes,
            outcomes_per_context=outcomes_per_context,
            learning_rate=learning_rate,
            decay=decay,
            averaging=averaging,
            optimizer=optimizer,
            tracking=tracking,
            tolerance=tolerance,
            stop_after=stop_after,
        )

    def check(self) -> None:
        """The kind of trackers is one of two."""
        super().check()
        _checks.one_of("trackers", self.trackers, ("per-context", "shared"))

    def init(self, objective: Objective, parameters: Parameters, slots: int) -> Any:
        """One tracker per logarithm, or one in all."""
        reduction = self._followed(objective, parameters)
        if reduction is None:
            return ()
        previous = parameters if reduction.spans_contexts() else None
        return Memory(no_trackers(reduction, slots), previous)

    def step(self, objective: Objective, at: At) -> Step:
        """Mix this step's log-averages into the corrected ones."""
        batch, key = self.draw(objective, at.key)
        setting, memory = objective.setting, at.memory
        if not isinstance(memory, Memory):
            return nested_step(objective, at, batch, key)
        if memory.previous is None:  # the value at the nominal point comes along as a last node
            anchored = Anchored(setting.context_nodes)
            setting = eqx.tree_at(lambda s: s.context_nodes, setting, anchored)

        def surrogate(parameters: Parameters) -> tuple[Array, tuple[Array, Array]]:
            reduction: Any = self._followed(objective, parameters)
            tilt = objective.tilt(parameters, batch, key, setting)
            mass, reserved = masses(tilt, batch), objective.reserved(parameters)
            now = reduction.levels(tilt.log_moments(), mass)
            if memory.previous is None:  # remembered relative to the value at the nominal point
                drift = origin = tilt.exponents[:, :, -1]
            else:
                before = objective.tilt(memory.previous, batch, key, setting)
                drift = now - reduction.levels(before.log_moments(), masses(before, batch))
                origin = 0.0
            slots, share = reduction.slots(tilt), self.tracking_at(at.step)
            levels, trackers = updated(memory.trackers, slots, now, share, drift, origin)
            function, value = followed(reduction, tilt, mass, levels)
            return function + reserved, (value + reserved, trackers)

        gradient, (value, trackers) = jax.grad(surrogate, has_aux=True)(at.parameters)
        previous = None if memory.previous is None else at.parameters
        return Step(gradient, value, Memory(trackers, previous))

    def _followed(self, objective: Objective, parameters: Parameters) -> LogReduction | None:
        """The logarithms to follow: the objective's own, or one in the place of all."""
        logs = objective.reduction(parameters).logs()
        return logs if logs is None or self.trackers == "per-context" else logs.pooled()
