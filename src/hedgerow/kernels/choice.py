"""Which kernel an order and a norm ask for.

    cost = Σ_j |v_j|^p   (norm None),    ‖v‖_q^p   (norm q = 1, 2 or ∞),    v = (u − c)/s

Where several say the same, the one with closed forms is taken: ‖·‖_1 and ‖·‖_2² are sums over
coordinates, and of a single coordinate every norm is its size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.kernels.base import AbstractKernel
from hedgerow.kernels.kernel import Kernel
from hedgerow.kernels.power import PowerKernel
from hedgerow.kernels.radial import RadialKernel


def kernel_of(
    order: float,
    norm: float | None,
    epsilon: Any,
    scale: np.ndarray,
    low: Any = None,
    high: Any = None,
    coordinates: int | None = None,
) -> AbstractKernel:
    """Return the kernel of an order, a norm, and so many coordinates that may move (None: all)."""
    coordinates = np.size(scale) if coordinates is None else coordinates
    if norm is None or norm == order or coordinates <= 1:
        if order in (1, 2):
            return Kernel(int(order), epsilon, scale, low, high)  # pyright: ignore
        return PowerKernel.of(float(order), epsilon, scale, low, high)  # pyright: ignore
    return RadialKernel.of(float(norm), float(order), epsilon, scale, low, high)
