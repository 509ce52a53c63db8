"""Stochastic compositional gradient descent (Wang, Fang & Liu 2017), in the log domain.

u ← log( (1−β)·e^u + β·e^now ),     one u per logarithm of the problem.
"""

from __future__ import annotations

from typing import Any

import jax
from jaxtyping import Array

from hedgerow.solvers.nested import nested_step
from hedgerow.solvers.stochastic import StochasticSolver
from hedgerow.solvers.trackers import followed, no_trackers, updated
from hedgerow.solvers.training import At, Objective, Parameters, Step, masses


class SCGD(StochasticSolver):
    """Remember a moving average of each expectation."""

    def init(self, objective: Objective, parameters: Parameters, slots: int) -> Any:
        """One tracker per logarithm, if there are any."""
        reduction = objective.reduction(parameters).logs()
        return () if reduction is None else no_trackers(reduction, slots)

    def step(self, objective: Objective, at: At) -> Step:
        """Mix this step's log-averages into the remembered ones."""
        batch, key = self.draw(objective, at.key)
        if objective.reduction(at.parameters).logs() is None:
            return nested_step(objective, at, batch, key)

        def surrogate(parameters: Parameters) -> tuple[Array, tuple[Array, Array]]:
            reduction: Any = objective.reduction(parameters).logs()
            tilt = objective.tilt(parameters, batch, key)
            mass, reserved = masses(tilt, batch), objective.reserved(parameters)
            now = reduction.levels(tilt.log_moments(), mass)
            slots, share = reduction.slots(tilt), self.tracking_at(at.step)
            levels, trackers = updated(at.memory, slots, now, share)
            function, value = followed(reduction, tilt, mass, levels)
            return function + reserved, (value + reserved, trackers)

        gradient, (value, trackers) = jax.grad(surrogate, has_aux=True)(at.parameters)
        return Step(gradient, value, trackers)
