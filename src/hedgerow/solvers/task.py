"""What a solver is given, and what it hands back."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hedgerow.ambiguity import Allowance, Ambiguity, PenalisedAmbiguity, Setting, Tilt
from hedgerow.data.training_table import TrainingTable
from hedgerow.rules import FittedRule

Progress = Callable[[int, int, float, FittedRule], None]
"""Called now and then with (steps done, steps in all, objective in working units, rule so far)."""


class Task(NamedTuple):
    """Minimise the model's objective over the rule's parameters and, with a radius, the penalty.

    ``allowance`` is what a radius leaves; the model's penalty is then where the search starts.
    ``slots`` is how many separate logarithms the model has on the nominal distribution.
    """

    rule: FittedRule
    table: TrainingTable
    setting: Setting
    ambiguity: Ambiguity
    slots: int
    allowance: Allowance | None = None


class Training(NamedTuple):
    """Outcome of a run.

    ``status`` is "converged", "step limit", "stopped early" (no progress, or interrupted) or
    "diverged" (the last finite parameters are kept).
    """

    rule: FittedRule
    history: np.ndarray
    status: str


class Learned(NamedTuple):
    """What is learned: the rule's parameters and, under a radius, log(penalty − floor)."""

    rule: FittedRule
    log_penalty: Float[Array, ""] | None


class Priced(eqx.Module):
    """The model at a penalty that may be learned, and what is added to its value for the radius."""

    ambiguity: Ambiguity
    allowance: Allowance | None

    def at(self, parameters: Learned) -> Ambiguity:
        """Return the model at the penalty that goes with some parameters."""
        if self.allowance is None or parameters.log_penalty is None:
            return self.ambiguity
        return self.ambiguity.replace(
            penalty=self.allowance.floor + jnp.exp(parameters.log_penalty)
        )

    def objective(self, parameters: Learned, level: Array) -> Array:
        """T·level, the level being Σ mass·log-moment, and λ·ρ̄ under a radius."""
        model = self.at(parameters)
        value = jnp.asarray(model.temperature) * level
        if self.allowance is not None and isinstance(model, PenalisedAmbiguity):
            value = value + model.penalty * self.allowance.excess
        return value


def begin(task: Task) -> tuple[Learned, FittedRule]:
    """Return what is to be learned, as it stands, and the rest of the rule."""
    parameters, fixed = task.rule.split()
    log_penalty = None
    if task.allowance is not None and isinstance(task.ambiguity, PenalisedAmbiguity):
        start = task.ambiguity.penalty - task.allowance.floor
        log_penalty = jnp.log(jnp.asarray(start, jnp.float32))
    return Learned(parameters, log_penalty), fixed


def shares(tilt: Tilt) -> Float[Array, "b g"]:
    """Share of each group in a batch; they sum to 1."""
    return tilt.group_mass / len(tilt.group_mass)


def moments(tilt: Tilt, pooled: bool) -> Array:
    """Log-averages per group, or one over the whole batch."""
    each = tilt.log_moments()
    if not pooled:
        return each
    return jax.nn.logsumexp(each + jnp.log(shares(tilt)))


def is_finite(parameters: Learned) -> bool:
    """Whether all parameters are finite."""
    return all(np.all(np.isfinite(leaf)) for leaf in jax.tree_util.tree_leaves(parameters))
