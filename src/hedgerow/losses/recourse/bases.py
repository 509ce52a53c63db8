"""Bases of the dual polyhedron {π : Wᵀπ ≤ q}, stored once and walked by all rows together.

A basis B of m columns is a vertex π = B⁻ᵀ q_B. It is optimal for a right-hand side r exactly if
w_B = B⁻¹ r ≥ 0; if w_i < 0 for some i, the dual simplex method moves to the neighbour that lets the
i-th column go. Which column enters depends on the basis alone, not on r:

    enter  j = argmin { d_j / −α_j : α_j < 0 },    α = (B⁻¹)_i W,   d = q − Wᵀπ,

so that (basis, i) → neighbour is a table, filled when first needed and then shared by every r. If
no α_j is negative, −(B⁻¹)_i is a ray of the polyhedron and no w ≥ 0 has W w = r.

Ties are broken symbolically: q is read as q + ε·t for an infinitesimal ε and a random t, which
makes the polyhedron simple (m neighbours per vertex, no cycles) and moves no vertex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

UNKNOWN, RAY = -1, -2
OPTIMAL, INFEASIBLE, UNSETTLED = 0, 1, 2
ROUNDING = 1e-10
"""Relative size below which a number is taken for zero."""
ROWS_AT_ONCE = 1024
MEMORY = 256e6
"""Bytes of inverses kept before bases that were seldom optimal are forgotten."""
AT_ONCE = 32e6
"""Bytes of one array that are worked on at a time while bases are enumerated."""
FRONT, WIDE_FRONT = 128, 2048
"""Vertices among which a walk picks its start: few if every step is known, many if steps cost."""
STEPS_PER_ROW_OF_MATRIX = 50
GENERATIONS = 16
"""Updates of an inverse before it is computed afresh."""


class BasisPool:
    """Bases seen so far, their vertices, and the table of neighbours."""

    def __init__(self, matrix: np.ndarray, cost: np.ndarray, start: np.ndarray) -> None:
        self.matrix, self.cost = matrix, cost
        self.tie_cost = np.random.default_rng(0).uniform(0.5, 1.0, len(cost))
        self.tie_cost[start] = 0.0  # with it, the start is a vertex of the simple polyhedron too
        self.capacity = max(16, int(MEMORY / 8 / len(matrix) ** 2))
        self.complete = False
        self._clear()
        self._indices(start.astype(np.int32)[None])
        self.hits[0] = 1

    def _clear(self) -> None:
        m = len(self.matrix)
        self.size = 0
        self.where: dict[bytes, int] = {}
        self.columns = np.empty((0, m), np.int32)
        self.inverse = np.empty((0, m, m))
        self.vertex = np.empty((0, m))
        self.tie_vertex = np.empty((0, m))
        self.neighbour = np.empty((0, m), np.int64)
        self.hits = np.empty(0, np.int64)
        self.age = np.empty(0, np.int64)

    def enumerate(self, limit: int) -> bool:
        """Visit bases breadth-first; True if there are at most ``limit`` and all are known."""
        m = len(self.matrix)
        limit = min(limit, self.capacity // 2)
        needed = 8 * m * max(self.matrix.shape[1], m**2)  # a basis's pivots, and their inverses
        at_once = int(min(max(AT_ONCE / needed, 1), ROWS_AT_ONCE // 4))
        done = 0
        while done < self.size <= limit:
            front = np.arange(done, min(self.size, done + at_once))
            self._pivot(np.repeat(front, m), np.tile(np.arange(m), len(front)))
            done = front[-1] + 1
        self.complete = self.size <= limit
        return self.complete

    def rays(self) -> np.ndarray:
        """Rays of the polyhedron found so far; all extreme ones once everything is enumerated."""
        basis, row = np.nonzero(self.neighbour[: self.size] == RAY)
        return -self.inverse[basis, row]

    def solve(self, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Optimal vertices (n, m) of right-hand sides (n, m), and a status for each."""
        duals, status = np.empty_like(right), np.empty(len(right), np.int64)
        for start in range(0, len(right), ROWS_AT_ONCE):
            piece = slice(start, start + ROWS_AT_ONCE)
            if self.size > self.capacity:
                self._forget()
            at, status[piece] = self._walk(right[piece])
            duals[piece] = self.vertex[at]
            optimal, times = np.unique(at[status[piece] == OPTIMAL], return_counts=True)
            self.hits[optimal] += times
        return duals, status

    def _walk(self, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Send each row along the table from a good first guess until B⁻¹r ≥ 0.

        Rows that would fill the memory, or take too many steps, stay unsettled.
        """
        few = min(self.size, FRONT if self.complete else WIDE_FRONT)
        front = np.argpartition(-self.hits[: self.size], few - 1)[:few]  # most often optimal
        at = front[np.argmax(right @ self.vertex[front].T, axis=1)]
        tolerance = ROUNDING * np.linalg.norm(right, axis=1)
        status = np.full(len(right), UNSETTLED)
        active = np.arange(len(right))
        for _ in range(STEPS_PER_ROW_OF_MATRIX * len(self.matrix)):
            here = at[active]
            w = np.einsum("nij,nj->ni", self.inverse[here], right[active])
            leaving = np.argmin(w, axis=1)
            short = w[np.arange(len(w)), leaving] < -tolerance[active]
            status[active[~short]] = OPTIMAL
            active, here, leaving = active[short], here[short], leaving[short]
            unknown = self.neighbour[here, leaving] == UNKNOWN
            if np.any(unknown):
                pairs = np.unique(np.stack([here[unknown], leaving[unknown]], axis=1), axis=0)
                self._pivot(pairs[:, 0], pairs[:, 1])
            after = self.neighbour[here, leaving]
            status[active[after == RAY]] = INFEASIBLE
            active, after = active[after != RAY], after[after != RAY]
            at[active] = after
            if not len(active) or self.size > 1.25 * self.capacity:
                break
        return at, status

    def _pivot(self, bases: np.ndarray, rows: np.ndarray) -> None:
        """Fill the table at (basis, row) pairs."""
        matrix = self.matrix
        alpha = self.inverse[bases, rows] @ matrix
        distinct, which = np.unique(bases, return_inverse=True)
        slack, tie_slack, rounding = (part[which] for part in self._slacks(distinct))
        open_ = alpha < -ROUNDING * np.abs(alpha).max(axis=1, keepdims=True)
        np.put_along_axis(open_, self.columns[bases].astype(np.int64), False, axis=1)
        fall = np.where(open_, -alpha, 1.0)
        nearest = np.where(open_, slack / fall, np.inf).min(axis=1, keepdims=True)
        bounded = open_.any(axis=1)
        nearest = np.where(bounded[:, None], nearest, 0.0)
        tied = open_ & (slack - nearest * fall <= rounding)
        entering = np.argmin(np.where(tied, tie_slack / fall, np.inf), axis=1)
        columns = self.columns[bases]
        columns[np.arange(len(bases)), rows] = entering
        found = np.full(len(bases), RAY)
        found[bounded] = self._indices(columns[bounded], bases[bounded], rows[bounded])
        self.neighbour[bases, rows] = found

    def _slacks(self, bases: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Slacks q − Wᵀπ with rounding removed, their like for the tie costs, and the rounding."""
        vertex = self.vertex[bases]
        slack = self.cost - vertex @ self.matrix
        rounding = ROUNDING * (np.abs(self.cost) + np.abs(vertex) @ np.abs(self.matrix))
        slack = np.where(np.abs(slack) <= rounding, 0.0, slack)
        return slack, self.tie_cost - self.tie_vertex[bases] @ self.matrix, rounding

    def _indices(self, columns: np.ndarray, parents: Any = None, rows: Any = None) -> np.ndarray:
        """Positions of bases; unseen ones are added, as neighbours of parents where given."""
        keys = [row.tobytes() for row in np.sort(columns, axis=1)]
        fresh = {key: i for i, key in enumerate(keys) if key not in self.where}
        if fresh:
            new = list(fresh.values())
            if parents is None:
                self._append(columns[new], *self._from_scratch(columns[new]), 0)
            else:
                self._append(columns[new], *self._updated(columns[new], parents[new], rows[new]))
            self.where.update(zip(fresh, range(self.size - len(fresh), self.size), strict=True))
        return np.array([self.where[key] for key in keys], np.int64)

    def _from_scratch(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Inverses of bases, their vertices, and their like for the tie costs."""
        inverse = np.linalg.inv(self.matrix[:, columns].transpose(1, 0, 2))
        vertex = np.einsum("bij,bi->bj", inverse, self.cost[columns])
        tie_vertex = np.einsum("bij,bi->bj", inverse, self.tie_cost[columns])
        return inverse, vertex, tie_vertex

    def _updated(
        self, columns: np.ndarray, parents: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The same, and ages, from the parents: one column of each was exchanged.

        Rows of an inverse matter up to positive factors only. Errors add up over generations, so
        every now and then, and where the pivot is small, the inverse is computed afresh.
        """
        each = np.arange(len(columns))
        entering = columns[each, rows]
        column = self.matrix.T[entering]
        inverse = self.inverse[parents]
        leaving = inverse[each, rows]
        alpha = np.einsum("bij,bj->bi", inverse, column)
        pivot = alpha[each, rows]
        small = np.abs(pivot) < 1e-3 * np.abs(alpha).max(axis=1)
        inverse -= (alpha / pivot[:, None])[:, :, None] * leaving[:, None, :]
        inverse[each, rows] = -leaving  # the pivot is negative
        known = (self.vertex, self.cost), (self.tie_vertex, self.tie_cost)
        vertex, tie_vertex = (
            at[parents]
            + leaving * ((cost[entering] - np.sum(at[parents] * column, axis=1)) / pivot)[:, None]
            for at, cost in known
        )
        age = self.age[parents] + 1
        stale = small | (age > GENERATIONS)
        if np.any(stale):
            fresh = self._from_scratch(columns[stale])
            inverse[stale], vertex[stale], tie_vertex[stale] = fresh
            age[stale] = 0
        return inverse, vertex, tie_vertex, age

    def _append(
        self,
        columns: np.ndarray,
        inverse: np.ndarray,
        vertex: np.ndarray,
        tie_vertex: np.ndarray,
        age: Any,
    ) -> None:
        # rows of unit length keep the signs of w and let the walk leave by its farthest side
        inverse /= np.sqrt(np.einsum("bij,bij->bi", inverse, inverse))[:, :, None]
        first, self.size = self.size, self.size + len(columns)
        new = slice(first, self.size)
        for name, values in (
            ("columns", columns),
            ("inverse", inverse),
            ("vertex", vertex),
            ("tie_vertex", tie_vertex),
            ("neighbour", UNKNOWN),
            ("hits", 0),
            ("age", age),
        ):
            array = getattr(self, name)
            if self.size > len(array):
                array = np.resize(array, (max(16, 2 * self.size), *array.shape[1:]))
                setattr(self, name, array)
            array[new] = values

    def _forget(self) -> None:
        """Keep the bases that were optimal most often, at most half of what fits."""
        order = np.argsort(-self.hits[: self.size], kind="stable")[: self.capacity // 2]
        order = order[self.hits[order] > 0]
        columns, hits = self.columns[order], self.hits[order]
        self._clear()
        self._indices(columns)
        self.hits[: self.size] = hits
