"""Tables of smooth increasing functions, made by SciPy once and looked up in compiled programs.

Values and slopes are known at equally spaced places from 0 on; between two of them stands the cubic
that has both (Hermite's). So a quantile function costs as much as a polynomial, and another order
of the cost is another table, not another program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

CELLS = 4096


class Table(eqx.Module):
    """A function on [0, end], continued as a straight line beyond."""

    end: Float[Array, ""]
    values: Float[Array, " n"]
    slopes: Float[Array, " n"]

    @classmethod
    def of(
        cls,
        function: Callable[[np.ndarray], np.ndarray],
        slope: Callable[[np.ndarray, np.ndarray], np.ndarray],
        end: float,
    ) -> Table:
        """Tabulate a function; ``slope`` is told places and values."""
        places = np.linspace(0.0, end, CELLS + 1)
        values = function(places)
        ends: Any = np.float64(end)
        found: Any = values
        slopes: Any = slope(places, values)
        return cls(ends, found, slopes)

    def __call__(self, place: Array) -> Array:
        """Look it up."""
        step = self.end / CELLS
        at = place / step
        cell = jnp.clip(jnp.floor(at), 0, CELLS - 1)
        t = jnp.clip(at - cell, 0.0, 1.0)
        beyond = jnp.maximum(place - self.end, 0.0)
        i = cell.astype(jnp.int32)
        left, right = self.values[i], self.values[i + 1]
        rise, fall = step * self.slopes[i], step * self.slopes[i + 1]
        bend = t * (1 - t)
        curve = bend * ((1 - t) * (rise - (right - left)) - t * (fall - (right - left)))
        return left + t * (right - left) + curve + beyond * self.slopes[-1]
