"""Recourse values: exact, with gradients, for millions of rows.

    Q(z, y) = c·z + min { q·w : W w = r0 + R y − T z, w ≥ 0 }
            = c·z + max_k π_k·(r0 + R y − T z)        over the vertices π_k of {π : Wᵀπ ≤ q},

which do not depend on (z, y). If the vertices are few, all are enumerated at construction and a
value is a maximum over them. Otherwise rows walk from vertex to vertex (``bases.py``) until
B⁻¹r ≥ 0 proves that theirs is optimal. Either way values returned are exact; what compiled programs
see of a second stage with too many vertices is a pool of them (``pool.py``).
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from hedgerow.losses.recourse.bases import INFEASIBLE, ROUNDING, ROWS_AT_ONCE, UNSETTLED, BasisPool
from hedgerow.losses.recourse.feasibility import Block, check_complete
from hedgerow.losses.recourse.standard_form import StandardForm
from hedgerow.losses.recourse.warm_solver import WarmSolver

ENUMERATION_LIMIT = 5000
"""Most bases that are enumerated at construction."""
SCANNED = 256
"""Most pieces that are scanned whole; above, walking is faster."""
Pieces = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Constants (k,), slopes in y (k, outcomes) and slopes in z (k, decisions)."""

# Many small products: threads of a BLAS would wait for each other most of the time.
_on_one_thread = ThreadpoolController().wrap(limits=1, user_api="blas")


class Recourse:
    """The second stage of one two-stage linear program, with its dual vertices.

    ``blocks`` say where decisions and outcomes may lie; complete recourse is checked on them.
    ``enumerated`` is whether all vertices are known, as they are up to a ``limit`` of bases, so
    that a maximum over ``pieces`` is exact everywhere. ``first`` are the vertices (vertices, rows
    of W) known at construction: all of them, or one.
    """

    @_on_one_thread
    def __init__(self, form: StandardForm, blocks: list[Block], limit: int | None = None) -> None:
        self.form = form
        self.solver = WarmSolver(form.matrix, form.cost)
        start = self.solver.first_basis(form.matrix)
        if start is None:
            raise ValueError(
                "The recourse cost is unbounded below: some w ≥ 0 with W w = 0 has q·w < 0; raise "
                "recourse_cost or bound the recourse decisions by further rows."
            )
        self._start = start
        self.bases = BasisPool(form.matrix, form.cost, start)
        self.enumerated = self.bases.enumerate(ENUMERATION_LIMIT if limit is None else limit)
        check_complete(form, self.bases, blocks)
        known = self.bases.vertex[: self.bases.size if self.enumerated else 1]
        self.first = known[_first_of_each(known, sizes_of_vertices(known))]
        self._rays = np.unique(np.round(self.bases.rays(), 12) + 0.0, axis=0)
        constants, in_y, in_z = form.pieces(self._rays)
        self._ray_pieces = constants, in_y, in_z - form.first_stage_cost
        self._pieces = pieces_of(form, self.first)

    def anew(self) -> Recourse:
        """Return an engine that remembers nothing of what this one was asked."""
        if self.enumerated:
            return self
        fresh = copy.copy(self)
        fresh.bases = BasisPool(self.form.matrix, self.form.cost, self._start)
        return fresh

    @property
    def vertices(self) -> np.ndarray:
        """All vertices, (vertices, rows of W)."""
        self._require_all()
        return self.first

    def pieces(self) -> Pieces:
        """Constants (k,), slopes in y (k, outcomes) and in z (k, decisions) of all vertices."""
        self._require_all()
        return self._pieces

    def _require_all(self) -> None:
        if not self.enumerated:
            raise ValueError(
                "This second stage has too many dual vertices to list; ask for those that matter "
                "around given rows: loss.pieces(decisions, outcomes)."
            )

    def values(self, z: Any, y: Any) -> np.ndarray:
        """Exact values at decisions z (…, decisions) and outcomes y (…, outcomes)."""
        return self.values_and_gradients(z, y)[0]

    @_on_one_thread
    def values_and_gradients(self, z: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Exact values (…), and subgradients in z (…, decisions) and in y (…, outcomes).

        The value is inf, and its subgradients NaN, where no recourse exists: outside the sets that
        were checked at construction.
        """
        z, y, shape = self.rows(z, y)
        if self.enumerated and len(self._pieces[0]) <= SCANNED:
            values, best = scan(self._pieces, z, y)
            _, in_y, in_z = self._pieces
            slopes_y, slopes_z = in_y[best], in_z[best]
            none = self._beyond(z, y)
        else:
            duals = self.duals(z, y)
            constants, slopes_y, slopes_z = self.form.pieces(duals)
            values = constants + np.einsum("nj,nj->n", slopes_y, y)
            values += np.einsum("ni,ni->n", slopes_z, z)
            none = np.isnan(values)
        if np.any(none):
            values[none], slopes_y[none], slopes_z[none] = np.inf, np.nan, np.nan
        return (
            values.reshape(shape),
            slopes_z.reshape(*shape, z.shape[1]),
            slopes_y.reshape(*shape, y.shape[1]),
        )

    @_on_one_thread
    def largest_slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """Steepest fall and rise of Q along each outcome, (outcomes,) each; inf if unbounded.

        The largest ∓(Rᵀπ)_j over the dual polyhedron is the second stage's value at ∓R_j.
        """
        columns = self.form.outcome_matrix.T
        steepest = []
        for right in (-columns, columns):
            duals = self._optimal(right)
            slopes = np.einsum("jm,jm->j", duals, right)
            steepest.append(np.where(np.isnan(slopes), np.inf, slopes))
        return steepest[0], steepest[1]

    def rows(self, z: Any, y: Any) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        """Decisions and outcomes as matrices of equally many rows, and the batch's shape."""
        z, y = _numbers("z", z), _numbers("y", y)
        expected = ("z", z, self.form.technology), ("y", y, self.form.outcome_matrix)
        for name, array, matrix in expected:
            if array.ndim == 0 or array.shape[-1] != matrix.shape[1]:
                raise ValueError(
                    f"{name} must have {matrix.shape[1]} entries along its last axis, got shape "
                    f"{array.shape}."
                )
        try:
            shape = np.broadcast_shapes(z.shape[:-1], y.shape[:-1])
        except ValueError:
            raise ValueError(
                f"z and y must have equally many rows, or one of them a single one; got shapes "
                f"{z.shape} and {y.shape}."
            ) from None
        z = np.broadcast_to(z, (*shape, z.shape[-1])).reshape(-1, z.shape[-1])
        y = np.broadcast_to(y, (*shape, y.shape[-1])).reshape(-1, y.shape[-1])
        return z, y, shape

    def _beyond(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Which rows lie beyond a ray of the dual polyhedron, so that no recourse exists."""
        constants, in_y, in_z = self._ray_pieces
        beyond = (z @ in_z.T + y @ in_y.T + constants).max(axis=1, initial=0.0) > 0
        if np.any(beyond):  # or only by rounding
            right = self.form.right_hand_sides(z[beyond], y[beyond])
            highest = (right @ self._rays.T).max(axis=1)
            beyond[beyond] = highest > ROUNDING * np.abs(right).max(axis=1)
        return beyond

    def duals(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Optimal vertices (n, m), NaN where no recourse exists."""
        return self._optimal(self.form.right_hand_sides(z, y))

    def _optimal(self, right: np.ndarray) -> np.ndarray:
        duals, status = self.bases.solve(right)
        duals[status == INFEASIBLE] = np.nan
        for row in np.nonzero(status == UNSETTLED)[0]:
            solved = self.solver.solve(right[row])
            duals[row] = np.nan if solved is None else solved
        return duals


def scan(pieces: Pieces, z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Largest piece per row: its value and its index."""
    constants, in_y, in_z = pieces
    values, best = np.empty(len(z)), np.empty(len(z), np.int64)
    for start in range(0, len(z), ROWS_AT_ONCE):
        piece = slice(start, start + ROWS_AT_ONCE)
        heights = z[piece] @ in_z.T
        heights += y[piece] @ in_y.T
        heights += constants
        best[piece] = np.argmax(heights, axis=1)
        values[piece] = heights[np.arange(len(heights)), best[piece]]
    return values, best


def pieces_of(form: StandardForm, vertices: np.ndarray) -> Pieces:
    """The affine functions of vertices, each once, in their order."""
    constants, in_y, in_z = form.pieces(vertices)
    together = np.column_stack([constants, in_y, in_z])
    first = _first_of_each(together, form.sizes_of_pieces(vertices))
    return constants[first], in_y[first], in_z[first]


def sizes_of_vertices(vertices: np.ndarray) -> np.ndarray:
    """What each coordinate of dual vertices is compared in: its own size, but not a rounding's."""
    sizes = np.abs(vertices).max(axis=0)
    return np.maximum(sizes, 1e-4 * sizes.max())


def _first_of_each(rows: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Which rows differ from all before by more than rounding; columns have sizes of their own.

    Constants and slopes are in different units, and one must not hide the other.
    """
    digits = np.round(rows / np.where(sizes > 0, sizes, 1.0), 10) + 0.0
    return np.sort(np.unique(digits, axis=0, return_index=True)[1])


def _numbers(name: str, value: Any) -> np.ndarray:
    """As float64; NaN is let through, since a value there is NaN as well."""
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must hold numbers only, got {value!r}.") from None
