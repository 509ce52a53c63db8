"""HiGHS on one second-stage program, for a first basis and for rows a walk leaves open.

Only right-hand sides change between solves, so each one starts from the last one's basis.
"""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
from scipy.sparse import csr_array


def silent_highs(**options: Any) -> Any:
    """A HiGHS that prints nothing, on one thread: starting a second one costs more than a solve."""
    highs: Any = highspy.Highs()  # its stubs lack half of its methods
    for name, value in {"output_flag": False, "threads": 1, **options}.items():
        highs.setOptionValue(name, value)
    return highs


class WarmSolver:
    """min { q·w : W w = r, w ≥ 0 } for one r after another."""

    def __init__(self, matrix: np.ndarray, cost: np.ndarray) -> None:
        rows, columns = matrix.shape
        self.rows = np.arange(rows, dtype=np.int32)
        self.highs = silent_highs(solver="simplex")
        self.highs.addVars(columns, np.zeros(columns), np.full(columns, np.inf))
        self.highs.changeColsCost(columns, np.arange(columns, dtype=np.int32), cost)
        entries, ends = csr_array(matrix), np.zeros(rows)
        starts, index = (part.astype(np.int32) for part in (entries.indptr[:-1], entries.indices))
        self.highs.addRows(rows, ends, ends, entries.nnz, starts, index, entries.data)

    def solve(self, right: np.ndarray) -> np.ndarray | None:
        """Optimal dual solution, or None if no w ≥ 0 has W w = r."""
        self.highs.changeRowsBounds(len(right), self.rows, right, right)
        self.highs.run()
        status = self.highs.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return None
        if status != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"HiGHS could not solve a second-stage program: {status}.")
        return np.asarray(self.highs.getSolution().row_dual)

    def first_basis(self, matrix: np.ndarray) -> np.ndarray | None:
        """Columns of a vertex of {π : Wᵀπ ≤ q}, or None if that set is empty.

        The right-hand side W·u of a random u > 0 has a recourse, and no degenerate one.
        """
        rng = np.random.default_rng(0)
        for _ in range(10):
            right = matrix @ rng.uniform(0.5, 1.0, matrix.shape[1])
            self.highs.changeRowsBounds(len(right), self.rows, right, right)
            self.highs.run()
            if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                return None
            basis = np.asarray(self.highs.getBasicVariables()[1])
            if np.all(basis >= 0):
                return basis
        raise RuntimeError("HiGHS found no vertex of the dual of the second-stage program.")
