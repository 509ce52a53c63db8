"""Sample average approximation: nodes laid out once, then deterministic minimisation.

All contexts at once, Sobol nodes around each, shifted at random, L-BFGS in float64. The nodes stay,
so the minimum found is that of the sampled objective (``sample_average.py``), low by about its
log-averages' variance/(2·nodes).
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray
from scipy.optimize import OptimizeResult, minimize

from hedgerow import _checks
from hedgerow.kernels import Nodes, Sobol
from hedgerow.solvers.base import Solver
from hedgerow.solvers.sample_average import SampleAverage
from hedgerow.solvers.training import Progress, Solution, TrainingProblem

MEMORY = 20
"""Pairs of steps and gradient changes that L-BFGS remembers."""


class SAA(Solver):
    """Fixed nodes and L-BFGS on all contexts: for up to some ten thousand rows.

    Parameters
    ----------
    steps : int
        Iterations at most.
    nodes : int or Nodes
        Nodes around each context: a number of Sobol points, or a node rule.
    outcome_nodes : int, Nodes or None
        Nodes around each outcome; None: closed form where the loss has one, else 16 Sobol points.
    outcomes_per_context : int
        Contexts with more outcomes than this are represented by a systematic sample of them.
    tolerance : float
        Stop once an iteration lowers the objective by less than this share of it.
    """

    def __init__(
        self,
        steps: int = 500,
        nodes: Any = 16,
        outcome_nodes: Any = None,
        outcomes_per_context: int = 256,
        tolerance: float = 1e-7,
    ) -> None:
        self.steps = steps
        self.nodes = nodes
        self.outcome_nodes = outcome_nodes
        self.outcomes_per_context = outcomes_per_context
        self.tolerance = tolerance
        self.check()

    def check(self) -> None:
        """The tolerance is not negative."""
        super().check()
        _checks.nonnegative("tolerance", self.tolerance)

    def node_rule(self, count: int) -> Nodes:
        """Sobol points."""
        return Sobol(count)

    def run(
        self, training: TrainingProblem, key: PRNGKeyArray, progress: Progress | None = None
    ) -> Solution:
        """Minimise by L-BFGS; interrupted, it keeps what it has."""
        average = SampleAverage(training, key)
        steps, best, status = int(self.steps), average.start, "stopped early"
        history = [average(best)[0]]

        def after(intermediate_result: OptimizeResult) -> None:
            nonlocal best
            best = np.array(intermediate_result.x)
            history.append(float(intermediate_result.fun))
            if progress is not None:
                progress(len(history) - 1, steps, history[-1], average.rule(best))

        with contextlib.suppress(KeyboardInterrupt):
            found = minimize(
                average,
                best,
                jac=True,
                method="L-BFGS-B",
                callback=after,
                options={
                    "maxiter": steps,
                    "maxfun": 20 * steps,
                    "maxcor": MEMORY,
                    "ftol": float(self.tolerance),
                    "gtol": 0.0,
                },
            )
            if not np.isfinite(found.fun):
                status = "diverged"
            elif found.success:
                status = "converged"
            elif len(history) > steps:
                status = "step limit"
        return Solution(average.rule(best), np.array(history), status)
