"""What a solver is given, what it minimises, and what it hands back.

The objective is the reduction of log-moments (``ambiguity.reductions``) as a function of the rule's
parameters and, under a hard radius, of the penalty, which is learned along with the rule through
its logarithm above the smallest admissible one:

    F(θ, λ) = reduction_λ( log-moments(θ, λ) ) + λ·ρ̄.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow._warnings import HedgerowWarning
from hedgerow.ambiguity import Ambiguity, Budget, LogReduction, Reduction, Setting, Tilt
from hedgerow.data import Batch, TrainingTable
from hedgerow.rules import FittedRule

Progress = Callable[[int, int, float, FittedRule], None]
"""Called now and then with (steps done, steps in all, objective in working units, rule so far)."""


class Parameters(NamedTuple):
    """What is learned: the rule's parameters and, under a radius, log(penalty − floor)."""

    rule: FittedRule
    log_penalty: Float[Array, ""] | None


class Objective(eqx.Module):
    """The model's objective on a table, as a function of parameters."""

    fixed: FittedRule
    table: TrainingTable
    setting: Setting
    model: Ambiguity
    budget: Budget | None

    def at(self, parameters: Parameters) -> Ambiguity:
        """Return the model at the penalty that goes with some parameters."""
        if self.budget is None or parameters.log_penalty is None:
            return self.model
        return self.model.at_penalty(self.budget.floor + jnp.exp(parameters.log_penalty))

    def reduction(self, parameters: Parameters) -> Reduction:
        """Return how log-moments become the value."""
        return self.at(parameters).reduction()

    def logs(self, parameters: Parameters) -> LogReduction | None:
        """Return the reduction as logarithms that can be followed; None if it is none such."""
        return self.reduction(parameters).logs()

    def reserved(self, parameters: Parameters) -> Float[Array, ""] | float:
        """λ·ρ̄ under a radius."""
        return 0.0 if self.budget is None else self.at(parameters).penalty * self.budget.excess

    def rule(self, parameters: Parameters) -> FittedRule:
        """Return the rule with these parameters."""
        return eqx.combine(parameters.rule, self.fixed)

    def tilt(
        self,
        parameters: Parameters,
        batch: Batch,
        key: PRNGKeyArray,
        setting: Setting | None = None,
    ) -> Tilt:
        """Return the exponents of a batch, with nodes from ``key``."""
        model = self.at(parameters)
        setting = (self.setting if setting is None else setting).at(batch)
        return model.tilt(model.perturb(self.rule(parameters), setting, batch, key), setting, batch)

    def value(self, parameters: Parameters, tilt: Tilt, batch: Batch) -> Float[Array, ""]:
        """Return the objective as one batch has it."""
        found = self.reduction(parameters).value(tilt.log_moments(), masses(tilt, batch))
        return found + self.reserved(parameters)


class TrainingProblem(NamedTuple):
    """An objective and where its minimisation begins, in working units and float32.

    ``slots`` is room for the separate logarithms that the model has on the nominal distribution.
    """

    objective: Objective
    start: Parameters
    slots: int

    def rule(self, parameters: Parameters) -> FittedRule:
        """Return the rule with these parameters."""
        return self.objective.rule(parameters)


class At(NamedTuple):
    """Where a step stands: parameters, what is remembered, its number, and its randomness."""

    parameters: Parameters
    memory: Any
    step: Array
    key: PRNGKeyArray


class Step(NamedTuple):
    """What a step found: gradient, objective, and what is remembered for the next one."""

    gradient: Parameters
    value: Float[Array, ""]
    memory: Any


class Solution(NamedTuple):
    """Outcome of a run.

    ``status`` says how it ended: "converged" (the objective stood still at the end of the run),
    "step limit" (it had not yet), "stopped early" (no progress, as ``tolerance`` has it),
    "interrupted", or "diverged" (the last finite parameters are kept). ``remarks`` are what a user
    should know of the run.
    """

    rule: FittedRule
    history: np.ndarray
    status: str
    remarks: tuple[HedgerowWarning, ...] = ()


class Interrupted(KeyboardInterrupt):
    """An interrupt during training, with what had been learned by then."""

    def __init__(self, solution: Solution) -> None:
        super().__init__()
        self.solution = solution


def masses(tilt: Tilt, batch: Batch) -> Float[Array, "b g"]:
    """Share of each group in a batch."""
    return batch.mass[:, None] * tilt.group_mass


def is_finite(parameters: Parameters) -> bool:
    """Whether all parameters are finite."""
    return all(np.all(np.isfinite(leaf)) for leaf in jax.tree_util.tree_leaves(parameters))
