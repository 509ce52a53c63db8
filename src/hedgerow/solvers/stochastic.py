"""Stochastic solvers: minibatches of contexts, a few nodes around each, and step sizes.

A solver says what it remembers before the first step (``init``) and how a step estimates the
gradient and the objective from a few contexts and nodes (``step``). The loop does the rest:
directions, step sizes, averaging, progress, stopping.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, PRNGKeyArray

from hedgerow import _checks
from hedgerow._warnings import HedgerowWarning
from hedgerow.data import Batch
from hedgerow.kernels import MonteCarlo, Nodes
from hedgerow.solvers.base import Solver
from hedgerow.solvers.loop import compile_stretch, descend
from hedgerow.solvers.training import (
    At,
    Objective,
    Parameters,
    Progress,
    Solution,
    Step,
    TrainingProblem,
)

LEAST_TRACKING = 0.1
"""Of β: what is left of it at the end of a run whose step sizes fall to 0."""


class StochasticSolver(Solver):
    """Base of the stochastic solvers (abstract).

    Parameters
    ----------
    steps : int
        Optimiser steps.
    batch : int
        Contexts per step.
    nodes : int or Nodes
        Nodes around each context: a number of Monte Carlo draws, or a node rule.
    outcome_nodes : int, Nodes or None
        Nodes around each outcome; None: closed form where the loss has one, else 16 draws.
    outcomes_per_context : int
        Contexts with more outcomes than this bring a systematic sample of them to each step.
    learning_rate : float
        Largest step size, in working units.
    decay : {"cosine", "constant"}
        How the step size falls to 0 over the run, or that it does not.
    averaging : float in [0, 1]
        Share of the run, at its end, over which parameters are averaged; 0: keep the last ones.
    optimizer : optax.GradientTransformation
        How gradients become directions, such as ``optax.scale_by_adam()``; the loop multiplies them
        by the step sizes above. None: Adam. Reuse one object across fits, since a new one means a
        new compilation.
    tracking : float in (0, 1]
        β, the weight of this step's estimate in what is remembered; it falls with the step size, to
        a tenth at most.
    stop_after : int or None
        Stop after this many steps, with step sizes falling as if for all ``steps``; None: run all.
    tolerance : float
        Stop early once five stretches of steps in a row bring less than this relative improvement
        of the objective; 0: never.
    """

    traced = ("steps", "learning_rate", "averaging", "tracking", "tolerance")
    steps: int = 500
    batch: int = 64
    nodes: Any = 4
    outcome_nodes: Any = None
    outcomes_per_context: int = 32
    learning_rate: float = 0.01
    decay: str = "cosine"
    averaging: float = 0.0
    optimizer: optax.GradientTransformation | None = None
    tracking: float = 0.2
    tolerance: float = 0.0
    stop_after: int | None = None

    def check(self) -> None:
        """Counts are whole and positive, rates are rates."""
        super().check()
        _checks.count("batch", self.batch)
        _checks.positive("learning_rate", self.learning_rate)
        _checks.fraction("tracking", self.tracking)
        _checks.nonnegative("tolerance", self.tolerance)
        _checks.one_of("decay", self.decay, ("cosine", "constant"))
        if self.stop_after is not None:
            _checks.count("stop_after", self.stop_after)
        if self.averaging != 0:
            _checks.fraction("averaging", self.averaging)

    def node_rule(self, count: int) -> Nodes:
        """Independent draws."""
        return MonteCarlo(count)

    def step_size(self, step: Array) -> Array:
        """Step size at a given step."""
        return self.learning_rate * self._share(step)

    def tracking_at(self, step: Array) -> Array:
        """β at a given step: it falls with the step size, as in theory, though not to 0."""
        return self.tracking * jnp.maximum(self._share(step), LEAST_TRACKING)

    def _share(self, step: Array) -> Array:
        if self.decay == "constant":
            return jnp.ones((), jnp.float32)
        return 0.5 * (1 + jnp.cos(math.pi * step / self.steps))

    def init(self, objective: Objective, parameters: Parameters, slots: int) -> Any:
        """Return what is remembered before the first step; here nothing."""
        return ()

    @abstractmethod
    def step(self, objective: Objective, at: At) -> Step:
        """Estimate gradient and objective."""

    def remarks(self, memory: Any, steps: int) -> Iterator[HedgerowWarning]:
        """Yield what a user should know after so many steps, from what is remembered then."""
        return iter(())

    def draw(self, objective: Objective, key: PRNGKeyArray) -> tuple[Batch, PRNGKeyArray]:
        """Draw a step's contexts; the key returned is for its nodes."""
        key_batch, key_nodes = jax.random.split(key)
        return objective.table.draw(key_batch, self.batch), key_nodes

    def run(
        self, training: TrainingProblem, key: PRNGKeyArray, progress: Progress | None = None
    ) -> Solution:
        """Run the one stochastic loop."""
        return descend(training, self, key, progress)

    def compile(self, training: TrainingProblem, key: PRNGKeyArray) -> None:
        """Compile the stretch of steps, by running none of them."""
        compile_stretch(training, self, key)

    @classmethod
    def as_published(cls, steps: int, tracking: float | None = None, **changes: Any) -> Self:
        """Return the paper's step sizes: plain gradient steps of 1/√K, and β of the same order."""
        rate = 1 / math.sqrt(steps)
        settings: dict[str, Any] = {"decay": "constant", "optimizer": PLAIN, "learning_rate": rate}
        return cls(steps=steps, tracking=tracking or rate, **(settings | changes))


PLAIN = optax.identity()
"""Steps along the gradient itself; the step size is applied by the loop."""
