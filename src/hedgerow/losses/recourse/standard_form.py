"""Second-stage programs as they are given, brought to one standard form.

    min { q·w : W w = r0 + R y − T z,  w ≥ 0 },   first-stage cost c·z.

Inequalities get a slack column each, rows are scaled to entries of at most one, and rows of W that
follow from others are dropped if their right-hand sides follow too. What is left has full row rank,
so the dual polyhedron {π : Wᵀπ ≤ q} has vertices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy.linalg import qr

from hedgerow import _checks

RANK_TOLERANCE = 1e-10
SENSES = {"=": 0.0, "<=": 1.0, ">=": -1.0}
"""The slack column's entry."""


@dataclass(frozen=True)
class StandardForm:
    """The program after reading: every array dense float64, W of full row rank."""

    cost: np.ndarray
    matrix: np.ndarray
    technology: np.ndarray
    outcome_matrix: np.ndarray
    constant: np.ndarray
    first_stage_cost: np.ndarray

    @classmethod
    def read(
        cls,
        recourse_cost: Any,
        recourse_matrix: Any,
        technology: Any,
        outcome_matrix: Any,
        constant: Any = None,
        first_stage_cost: Any = None,
        senses: Sequence[str] | None = None,
    ) -> StandardForm:
        """Check shapes and entries, and bring the program to standard form."""
        matrix = _matrix("recourse_matrix", recourse_matrix)
        rows, columns = matrix.shape
        technology = _matrix("technology", technology, rows)
        outcome_matrix = _matrix("outcome_matrix", outcome_matrix, rows)
        if recourse_cost is None:
            raise TypeError("recourse_cost must have one entry per column of recourse_matrix.")
        cost = _vector("recourse_cost", recourse_cost, columns, "column of recourse_matrix")
        right = _vector("constant", constant, rows, "row of recourse_matrix")
        first = _vector(
            "first_stage_cost", first_stage_cost, technology.shape[1], "column of technology"
        )
        slacks = _slacks(senses, rows)
        matrix = np.hstack([matrix, slacks])
        cost = np.concatenate([cost, np.zeros(slacks.shape[1])])
        both = np.hstack([right[:, None], outcome_matrix, technology])
        scale = np.abs(matrix).max(axis=1)
        scale = np.where(scale > 0, scale, 1.0)[:, None]
        matrix, both = _independent_rows(matrix / scale, both / scale)
        split = 1 + outcome_matrix.shape[1]
        return cls(cost, matrix, both[:, split:], both[:, 1:split], both[:, 0], first)

    def right_hand_sides(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """r0 + R y − T z for rows z (n, decisions) and y (n, outcomes)."""
        return self.constant + y @ self.outcome_matrix.T - z @ self.technology.T

    def pieces(self, duals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Affine functions π·(r0 + R y − T z) + c·z as constants and slopes in y and in z."""
        return (
            duals @ self.constant,
            duals @ self.outcome_matrix,
            self.first_stage_cost - duals @ self.technology,
        )

    def sizes_of_pieces(self, duals: np.ndarray) -> np.ndarray:
        """What constants and slopes, side by side, are sums of at most: their rounding's size."""
        sizes = np.abs(duals)
        constants, in_y, in_z = (
            sizes @ np.abs(part) for part in (self.constant, self.outcome_matrix, self.technology)
        )
        together = np.column_stack([constants, in_y, in_z + np.abs(self.first_stage_cost)])
        return together.max(axis=0)


def _matrix(name: str, value: Any, rows: int | None = None) -> np.ndarray:
    dense = value.toarray() if hasattr(value, "toarray") else value
    array = _checks.parameter(name, dense)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must be a matrix with at least one entry, got {array.shape}.")
    if rows is not None and array.shape[0] != rows:
        raise ValueError(
            f"{name} must have one row per row of recourse_matrix ({rows}), got {array.shape[0]}."
        )
    return array


def _vector(name: str, value: Any, length: int, counted: str) -> np.ndarray:
    if value is None:
        return np.zeros(length)
    array = _checks.parameter(name, value)
    if array.ndim == 0:
        return np.full(length, float(array))
    if array.shape != (length,):
        raise ValueError(f"{name} must have one entry per {counted} ({length}), got {array.shape}.")
    return array


def _slacks(senses: Sequence[str] | None, rows: int) -> np.ndarray:
    """One column per inequality: +1 for <=, −1 for >=."""
    if senses is None:
        return np.zeros((rows, 0))
    if isinstance(senses, str) or not hasattr(senses, "__len__") or len(senses) != rows:
        raise ValueError(
            f'senses must name one of "=", "<=" and ">=" per row of recourse_matrix ({rows}), '
            f"got {senses!r}."
        )
    signs = np.array([SENSES[_checks.one_of("senses", sense, [*SENSES])] for sense in senses])
    return np.diag(signs)[:, signs != 0]


def _independent_rows(matrix: np.ndarray, both: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Drop rows of W that follow from others; their right-hand sides must follow in the same way.

    ``both`` holds (r0, R, T) side by side.
    """
    triangle, order = cast(tuple[np.ndarray, np.ndarray], qr(matrix.T, mode="r", pivoting=True))
    sizes = np.abs(np.diag(triangle))
    rank = int(np.sum(sizes > RANK_TOLERANCE * max(sizes[0], 1e-300)))
    kept, dropped = np.sort(order[:rank]), np.sort(order[rank:])
    if len(dropped):
        combination = np.linalg.lstsq(matrix[kept].T, matrix[dropped].T)[0].T
        sizes = np.abs(both).max(axis=0)  # constants and slopes are in different units
        off = np.abs(both[dropped] - combination @ both[kept]) / np.where(sizes > 0, sizes, 1.0)
        if np.any(off > 1e-8):
            row = int(dropped[np.argmax(off.max(axis=1))])
            raise ValueError(
                f"Row {row} of recourse_matrix is a combination of its other rows, but its "
                "right-hand side (constant, outcome_matrix, technology) is not: no recourse exists "
                "for most decisions and outcomes."
            )
    return matrix[kept], both[kept]
