"""HiGHS on one second-stage program, for a first basis and for rows a walk leaves open.

Only right-hand sides change between solves, so each one starts from the last one's basis.
"""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
from scipy.sparse import csc_array


class WarmSolver:
    """min { q·w : W w = r, w ≥ 0 } for one r after another."""

    def __init__(self, matrix: np.ndarray, cost: np.ndarray) -> None:
        rows, columns = matrix.shape
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = columns, rows
        program.col_cost_ = cost
        program.col_lower_, program.col_upper_ = np.zeros(columns), np.full(columns, np.inf)
        program.row_lower_ = program.row_upper_ = np.zeros(rows)
        sparse = csc_array(matrix)
        index, start = sparse.indices.astype(np.int32), sparse.indptr.astype(np.int32)
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_ = start
        program.a_matrix_.index_ = index
        program.a_matrix_.value_ = sparse.data.astype(np.float64)
        self.rows = np.arange(rows, dtype=np.int32)
        self.highs: Any = highspy.Highs()  # its stubs lack half of its methods
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("solver", "simplex")
        self.highs.setOptionValue("threads", 1)  # starting a second one costs more than a solve
        self.highs.passModel(program)

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
