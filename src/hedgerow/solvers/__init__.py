"""Solvers: one training loop, and the ways to estimate a logarithm of an expectation in it."""

from hedgerow.ambiguity import Ambiguity
from hedgerow.solvers.base import Solver
from hedgerow.solvers.loop import Training, train
from hedgerow.solvers.nested import NestedSGD
from hedgerow.solvers.scgd import SCGD
from hedgerow.solvers.scsc import SCSC
from hedgerow.solvers.table import TrainingTable

__all__ = [
    "SCGD",
    "SCSC",
    "NestedSGD",
    "Solver",
    "Training",
    "TrainingTable",
    "default_solver",
    "train",
]


def default_solver(ambiguity: Ambiguity) -> Solver:
    """Return what ``solver=None`` stands for: tracked gradients; plain ones for ERM."""
    return SCSC() if ambiguity.compositional else NestedSGD()
