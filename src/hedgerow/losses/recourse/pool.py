"""A pool of dual vertices, grown from exact solves where it matters: the property of one fit.

    Ψ(z, y) ≥ max over the pool of π·(r0 + R y − T z) + c·z,   with equality on the rows grown on

Where the vertices are too many to list, compiled programs see the maximum over a pool. It begins
with one vertex and takes in those that are optimal on rows like those of training. Nothing of it
stays with the loss, so the same fit made twice sees the same pool.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hedgerow.losses.recourse.values import Pieces, Recourse, pieces_of, scan, sizes_of_vertices

FEWEST = 16
"""Pieces are padded to this many, or twice, four times, … as many: few shapes, few programs."""


class Growth(NamedTuple):
    """What bringing the pool to exactness on some rows took."""

    rows: int
    solves: int
    """Rows whose value the pool did not hold yet."""
    gap: float
    """Largest shortfall of the pool's value before it grew."""
    vertices: int
    """Vertices in the pool afterwards."""


class VertexPool:
    """The vertices of a second stage that were optimal on the rows it was grown on."""

    def __init__(self, recourse: Recourse) -> None:
        self._engine = recourse.anew()
        sizes = sizes_of_vertices(recourse.first)
        self._sizes = np.where(sizes > 0, sizes, 1.0)
        self._vertices: dict[bytes, np.ndarray] = {}
        self._keep(recourse.first)

    def grow(self, decisions: Any, outcomes: Any) -> Growth:
        """Bring the pool to exactness on these rows; nothing to do if all vertices are known."""
        z, y, _ = self._engine.rows(decisions, outcomes)
        if self._engine.enumerated:
            return Growth(len(z), 0, 0.0, len(self._engine.pieces()[0]))
        before = scan(self._exact(), z, y)[0]
        duals = self._engine.duals(z, y)
        feasible = ~np.isnan(duals[:, 0])
        self._keep(duals[feasible])
        before = before[feasible]
        gaps = scan(self._exact(), z[feasible], y[feasible])[0] - before
        usual = np.abs(before).mean() if len(before) else 0.0
        solves = int(np.sum(gaps > 1e-9 * np.maximum(usual, np.abs(before))))
        gap = float(max(np.max(gaps, initial=0.0), 0.0))
        return Growth(len(z), solves, gap, len(self._vertices))

    def pieces(self) -> Pieces:
        """Constants and slopes of the pool; one that grows is padded by repeating the last."""
        if self._engine.enumerated:
            return self._engine.pieces()
        exact = self._exact()
        size = FEWEST
        while size < len(exact[0]):
            size *= 2
        rows = np.minimum(np.arange(size), len(exact[0]) - 1)
        constants, in_y, in_z = (part[rows] for part in exact)
        return constants, in_y, in_z

    def _exact(self) -> Pieces:
        return pieces_of(self._engine.form, np.array(list(self._vertices.values())))

    def _keep(self, vertices: np.ndarray) -> None:
        """Add vertices, each once."""
        keys = np.round(vertices / self._sizes, 10) + 0.0
        for key, vertex in zip(keys, vertices, strict=True):
            self._vertices.setdefault(key.tobytes(), vertex)
