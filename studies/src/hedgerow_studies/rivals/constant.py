"""The best constant decision of the history: what everybody else is measured by."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hedgerow_studies.rivals.method import Decide, Method, Problem, Setting

CONSTANT = "constant"


class Constant(Method):
    """One decision for every context."""

    name: ClassVar[str] = CONSTANT
    what: ClassVar[str] = "the best constant decision of the history; everybody's unit"

    def learn(
        self, problem: Problem, X: np.ndarray, Y: np.ndarray, setting: Setting, seed: int
    ) -> Decide:
        """Find it."""
        best = problem.loss.best_constant(Y, np.ones(len(Y)))
        return lambda contexts: np.tile(best, (len(contexts), 1))


METHODS = (Constant(),)
