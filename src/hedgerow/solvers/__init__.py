"""Solvers: ways to minimise averages of logarithms of expectations over a rule's parameters."""

from typing import Any

import numpy as np

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
PASSES, ABOUT_STEPS = 32, 3_000
BATCHES = np.array([1, 2, 3, 4, 6])
"""In so many times the solver's own batch: few, so that tables share programs."""


def default_solver(ambiguity: Ambiguity, rows: int = FEWEST_ROWS) -> StochasticSolver:
    """Return what ``solver=None`` stands for: what remembers, where there is more than a mean.

    Up to 1,000 rows 500 steps of 64 contexts. Beyond, there are 32 passes over the history, first
    by more steps, from some 6,000 rows on by larger batches and about 3,000 steps, up to 40,000
    rows: what was best on pooled bakery series and hourly bikes, for forests of any size
    (docs/results/real_series.md).

    Parameters
    ----------
    ambiguity : Ambiguity
        The model whose value is minimised.
    rows : int
        Rows of the history.

    Examples
    --------
    >>> import hedgerow as hr
    >>> hr.solvers.default_solver(hr.KL(penalty=1), rows=500).steps
    500
    """
    reduction = ambiguity.at_penalty(1.0).reduction()
    followed = reduction.logs() is not None or reduction.is_of_entries()
    solver = SCSC() if followed else NestedSGD()
    if rows <= FEWEST_ROWS:
        return solver
    rows = min(rows, MOST_ROWS)
    wanted = PASSES * rows / ABOUT_STEPS / solver.batch
    batch = solver.batch * int(BATCHES[np.argmin(np.abs(np.log(BATCHES / wanted)))])
    grown: dict[str, Any] = {"steps": PASSES * rows // batch, "batch": batch}
    return solver.set_params(**grown)
