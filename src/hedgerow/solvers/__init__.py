"""Solvers: ways to minimise averages of logarithms of expectations over a rule's parameters."""

import math
from typing import Any

from hedgerow.ambiguity import Ambiguity
from hedgerow.solvers.base import Solver
from hedgerow.solvers.multilevel import MLMC
from hedgerow.solvers.nested import NestedSGD
from hedgerow.solvers.sample_average import SAA
from hedgerow.solvers.scgd import SCGD
from hedgerow.solvers.scsc import SCSC
from hedgerow.solvers.stochastic import StochasticSolver
from hedgerow.solvers.training import (
    At,
    Interrupted,
    Objective,
    Parameters,
    Solution,
    Step,
    TrainingProblem,
)

__all__ = [
    "MLMC",
    "SAA",
    "SCGD",
    "SCSC",
    "At",
    "Interrupted",
    "NestedSGD",
    "Objective",
    "Parameters",
    "Solution",
    "Solver",
    "Step",
    "StochasticSolver",
    "TrainingProblem",
    "default_solver",
]


FEWEST_ROWS, MOST_ROWS = 1_000, 40_000
"""Between these, training goes over the history equally often, PASSES times."""
PASSES = 32


def default_solver(ambiguity: Ambiguity, rows: int = FEWEST_ROWS) -> StochasticSolver:
    """Return what ``solver=None`` stands for: tracked gradients where there are logarithms.

    Up to 1,000 rows 500 steps of 64 contexts; beyond, steps and batches grow with the square root
    of the rows, up to 40,000, so that there are 32 passes over the history. Forests of any size
    were best there on pooled bakery series and on hourly bikes (docs/results/real_series.md).
    """
    logs = ambiguity.at_penalty(1.0).reduction().logs()
    solver = NestedSGD() if logs is None else SCSC()
    if rows <= FEWEST_ROWS:
        return solver
    rows = min(rows, MOST_ROWS)
    batch = solver.batch * round(math.sqrt(rows / FEWEST_ROWS))
    grown: dict[str, Any] = {"batch": batch, "steps": round(PASSES * rows / batch)}
    return solver.set_params(**grown)
