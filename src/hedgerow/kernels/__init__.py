"""Kernels around a nominal point, and nodes for expectations under them."""

from hedgerow.kernels.kernel import NEVER, Kernel, invert, log_add
from hedgerow.kernels.nodes import (
    Anchored,
    GaussQuadrature,
    MonteCarlo,
    Nodes,
    Reference,
    Scattered,
    Sobol,
)

__all__ = [
    "NEVER",
    "Anchored",
    "GaussQuadrature",
    "Kernel",
    "MonteCarlo",
    "Nodes",
    "Reference",
    "Scattered",
    "Sobol",
    "invert",
    "log_add",
]
