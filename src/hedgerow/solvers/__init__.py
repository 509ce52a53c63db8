"""Solvers: ways to minimise averages of logarithms of expectations over a rule's parameters."""

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
PASSES, MOST_STEPS = 32, 3_000


def default_solver(ambiguity: Ambiguity, rows: int = FEWEST_ROWS) -> StochasticSolver:
    """Return what ``solver=None`` stands for: tracked gradients where there are logarithms.

    Up to 1,000 rows 500 steps of 64 contexts. Beyond, there are 32 passes over the history, first
    by more steps, from 6,000 rows on by larger batches, up to 40,000 rows: what was best on pooled
    bakery series and hourly bikes, for forests of any size (docs/results/real_series.md).
    """
    logs = ambiguity.at_penalty(1.0).reduction().logs()
    solver = NestedSGD() if logs is None else SCSC()
    if rows <= FEWEST_ROWS:
        return solver
    rows = min(rows, MOST_ROWS)
    steps = min(PASSES * rows // solver.batch, MOST_STEPS)
    whole = round(PASSES * rows / steps / solver.batch)  # multiples, so that tables share programs
    grown: dict[str, Any] = {"steps": steps, "batch": solver.batch * whole}
    return solver.set_params(**grown)
