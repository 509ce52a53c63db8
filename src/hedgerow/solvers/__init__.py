"""Solvers: ways to minimise averages of logarithms of expectations over a rule's parameters."""

from hedgerow.ambiguity import Ambiguity
from hedgerow.solvers.base import Solver
from hedgerow.solvers.mlmc import MLMC
from hedgerow.solvers.nested import NestedSGD
from hedgerow.solvers.saa import SAA
from hedgerow.solvers.scgd import SCGD
from hedgerow.solvers.scsc import SCSC
from hedgerow.solvers.task import Task, Training

__all__ = [
    "MLMC",
    "SAA",
    "SCGD",
    "SCSC",
    "NestedSGD",
    "Solver",
    "Task",
    "Training",
    "default_solver",
]


def default_solver(ambiguity: Ambiguity) -> Solver:
    """Return what ``solver=None`` stands for: tracked gradients; plain ones for ERM."""
    return SCSC() if ambiguity.compositional else NestedSGD()
