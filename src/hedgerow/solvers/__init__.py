"""Solvers: ways to minimise averages of logarithms of expectations over a rule's parameters."""

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


def default_solver(ambiguity: Ambiguity) -> StochasticSolver:
    """Return what ``solver=None`` stands for: tracked gradients where there are logarithms."""
    logs = ambiguity.at_penalty(1.0).reduction().logs()
    return NestedSGD() if logs is None else SCSC()
