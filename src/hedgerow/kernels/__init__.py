"""Kernels around a nominal point, and nodes for expectations under them.

``base`` says what every kernel offers; ``kernel`` (orders 1 and 2), ``power`` (any order) and
``radial`` (powers of norms) are kinds of it, which ``kernel_of`` chooses among;
``mixed`` has contexts that are not all numbers, ``lattice`` outcomes that are counts.
"""

from hedgerow.kernels.base import AbstractKernel, invert
from hedgerow.kernels.choice import kernel_of
from hedgerow.kernels.kernel import Kernel
from hedgerow.kernels.lattice import MOST_POINTS, LatticeKernel, StillKernel, lattice
from hedgerow.kernels.mixed import MixedKernel, mixed
from hedgerow.kernels.nodes import (
    Anchored,
    GaussQuadrature,
    MonteCarlo,
    Nodes,
    Reference,
    Scattered,
    Sobol,
)
from hedgerow.kernels.power import PowerKernel
from hedgerow.kernels.radial import RadialKernel
from hedgerow.kernels.tilted import NEVER, log_add

__all__ = [
    "MOST_POINTS",
    "NEVER",
    "AbstractKernel",
    "Anchored",
    "GaussQuadrature",
    "Kernel",
    "LatticeKernel",
    "MixedKernel",
    "MonteCarlo",
    "Nodes",
    "PowerKernel",
    "RadialKernel",
    "Reference",
    "Scattered",
    "Sobol",
    "StillKernel",
    "invert",
    "kernel_of",
    "lattice",
    "log_add",
    "mixed",
]
