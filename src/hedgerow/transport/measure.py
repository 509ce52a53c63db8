"""Discrete measures on context × outcome, and the structure that makes their transport cheap.

    P = Σ_i p_i · δ(x_i, y_i)

The transport cost separates, c = c_x + c_y, so what matters about a point is which *context* x and
which *outcome* y it has. ``Side`` lists the distinct ones, and the *cells* (context, outcome) that
carry mass: points without mass are left out, points that coincide are one cell. Causality is about
contexts that are exactly equal, so only those are ever joined.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from hedgerow import _checks

ROUNDING = 1e-6
"""How far from 1 the sum of weights may lie: rounding in single precision, no more."""


class DiscreteMeasure:
    """Finitely many points (x, y) with weights that sum to 1.

    Parameters
    ----------
    x : (n, d_x) or (n,)
        Contexts; 1-D means one column. Points whose rows are exactly equal share a context.
    y : (n, d_y) or (n,)
        Outcomes; 1-D means one column.
    weights : (n,), optional
        Not negative, with sum 1; a difference of rounding is divided out, any other sum is refused,
        because it is more often a mistake than a wish. None: equal weights.

    Attributes
    ----------
    x, y, weights : arrays
        Read-only, of shapes (n, d_x), (n, d_y) and (n,).

    Examples
    --------
    >>> import hedgerow as hr
    >>> hr.DiscreteMeasure([0, 0, 1], [-1, 1, 5])
    DiscreteMeasure(3 points, 2 contexts, d_x=1, d_y=1)
    """

    def __init__(self, x: Any, y: Any, weights: Any = None) -> None:
        self.x, self.y = _points("x", x), _points("y", y)
        if len(self.x) != len(self.y):
            raise ValueError(
                f"x and y must have one row per point each, got {len(self.x)} rows of x and "
                f"{len(self.y)} of y."
            )
        self.weights = _weights(weights, len(self.x))
        for array in (self.x, self.y, self.weights):
            array.flags.writeable = False

    @classmethod
    def grid(cls, x: Any, y: Any, weights: Any = None) -> DiscreteMeasure:
        """All pairs of the given contexts and outcomes, the outcome changing fastest.

        Parameters
        ----------
        x : (n_x, d_x) or (n_x,)
        y : (n_y, d_y) or (n_y,)
        weights : (n_x, n_y), optional
            ``weights[a, b]`` belongs to (x[a], y[b]). None: equal weights.
        """
        x, y = _points("x", x), _points("y", y)
        shape = (len(x), len(y))
        if weights is not None:
            weights = _checks.parameter("weights", weights)
            if weights.shape != shape:
                raise ValueError(
                    f"weights must have one row per x and one column per y, {shape}; got shape "
                    f"{weights.shape}."
                )
            weights = weights.ravel()
        return cls(np.repeat(x, shape[1], axis=0), np.tile(y, (shape[0], 1)), weights)

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        """Say how large it is."""
        return (
            f"DiscreteMeasure({len(self)} points, {len(self.side.contexts)} contexts, "
            f"d_x={self.x.shape[1]}, d_y={self.y.shape[1]})"
        )

    @cached_property
    def side(self) -> Side:
        """Distinct contexts, outcomes and cells."""
        return Side.of(self)


@dataclass(frozen=True)
class Side:
    """A measure by its distinct contexts and outcomes; cells are sorted by context, then outcome.

    ``start`` is where each context's cells begin, ``point_cell`` the cell of each point (-1 for a
    point without mass), ``point_share`` which part of its cell's mass a point carries.
    """

    measure: DiscreteMeasure
    contexts: Float[np.ndarray, "contexts d_x"]
    outcomes: Float[np.ndarray, "outcomes d_y"]
    cell_context: Int[np.ndarray, " cells"]
    cell_outcome: Int[np.ndarray, " cells"]
    mass: Float[np.ndarray, " cells"]
    start: Int[np.ndarray, " contexts"]
    point_cell: Int[np.ndarray, " n"]
    point_share: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, measure: DiscreteMeasure) -> Side:
        """Find what is distinct among the points that carry mass."""
        kept = np.flatnonzero(measure.weights > 0)
        weights = measure.weights[kept]
        contexts, context = _distinct(measure.x[kept])
        outcomes, outcome = _distinct(measure.y[kept])
        cells, cell = np.unique(context * len(outcomes) + outcome, return_inverse=True)
        cell_context, cell_outcome = np.divmod(cells, len(outcomes))
        mass = np.bincount(cell, weights)
        point_cell = np.full(len(measure), -1)
        point_cell[kept] = cell
        point_share = np.zeros(len(measure))
        point_share[kept] = weights / mass[cell]
        start = np.searchsorted(cell_context, np.arange(len(contexts)))
        cells_of = cell_context, cell_outcome, mass, start
        return cls(measure, contexts, outcomes, *cells_of, point_cell, point_share)

    @property
    def cells(self) -> int:
        """How many distinct points carry mass."""
        return len(self.mass)

    @cached_property
    def context_mass(self) -> Float[np.ndarray, " contexts"]:
        """Mass of each context."""
        return np.add.reduceat(self.mass, self.start)

    @cached_property
    def conditional(self) -> Float[np.ndarray, " cells"]:
        """Mass of each cell given its context."""
        return self.mass / self.context_mass[self.cell_context]

    def as_grid(self, cells: np.ndarray, fill: float) -> np.ndarray:
        """Values of cells as a matrix (contexts, outcomes), ``fill`` where there is no cell."""
        grid = np.full((len(self.contexts), len(self.outcomes)), fill)
        grid[self.cell_context, self.cell_outcome] = cells
        return grid

    def to_points(self, cells: np.ndarray) -> np.ndarray:
        """Masses of cells (last axis) as masses of points: each cell's split among its points."""
        return cells.take(self.point_cell, axis=-1) * self.point_share


def _points(name: str, value: Any) -> np.ndarray:
    array = _checks.numeric(name, value)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.size == 0:
        raise ValueError(
            f"{name} must have one row per point and at least one point and column, got shape "
            f"{array.shape}."
        )
    return array


def _weights(weights: Any, points: int) -> np.ndarray:
    if weights is None:
        return np.full(points, 1 / points)
    array = _checks.parameter("weights", weights)
    if array.shape != (points,):
        raise ValueError(
            f"weights must have one entry per point ({points}), got shape {array.shape}."
        )
    if np.any(array < 0):
        raise ValueError("weights must not be negative.")
    total = array.sum()
    if abs(total - 1) > ROUNDING:
        raise ValueError(f"weights must sum to 1, got {total:.6g}; divide them by their sum.")
    return array / total


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows in lexicographic order, and which of them each row is."""
    order = np.lexsort(rows.T[::-1])
    differs = np.append(True, np.any(rows[order[1:]] != rows[order[:-1]], axis=1))
    labels = np.empty(len(rows), dtype=np.int64)
    labels[order] = np.cumsum(differs) - 1
    return rows[order[differs]], labels
