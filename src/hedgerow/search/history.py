"""The history that a search splits: what is trained on, and what held-out rows count.

    mean loss of a candidate = Σ_k c_k·Ψ(f(x_k), y_k) / Σ_k c_k    over rows that a fold holds out

Usually c is a row's weight. What a decision costs on a censored row is not known, so such rows
count nothing, and those that were seen count by the inverse of their chance of it
(``data.censoring``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hedgerow.data.censoring import weights_of_seen

Split = tuple[np.ndarray, np.ndarray]


class History(NamedTuple):
    """Checked data: contexts (rows, d), outcomes (rows, y) and weights (rows,).

    ``censored`` says which outcomes were at least this much; None: all were seen in full. Then
    ``counted`` is what rows count when they are held out, since the loss of a censored one is not
    known (``data.censoring.weights_of_seen``); None: their weights.
    """

    contexts: np.ndarray
    outcomes: np.ndarray
    weights: np.ndarray
    censored: np.ndarray | None = None
    counted: np.ndarray | None = None

    @classmethod
    def of(
        cls, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, censored: np.ndarray | None
    ) -> History:
        """Put checked data together."""
        if censored is None:
            return cls(X, Y, weights)
        counted = weights_of_seen(X, Y[:, 0], weights, censored)
        return cls(X, Y, weights, censored, counted)

    def at(self, rows: np.ndarray) -> History:
        """Return some of the rows."""
        censored = None if self.censored is None else self.censored[rows]
        counted = None if self.counted is None else self.counted[rows]
        return History(
            self.contexts[rows], self.outcomes[rows], self.weights[rows], censored, counted
        )

    def check(self, splits: list[Split]) -> None:
        """Refuse folds that train on, or hold out, nothing that was seen in full."""
        if self.censored is None:
            return
        for i, split in enumerate(splits):
            for rows, what in zip(split, ("trains on", "holds out"), strict=True):
                if np.all(self.censored[rows]):
                    raise ValueError(
                        f"Every row that fold {i} {what} is censored; use fewer folds, or a "
                        "splitter that mixes censored rows with others."
                    )

    def held_out(self, rows: np.ndarray) -> np.ndarray:
        """What rows count that are held out."""
        return (self.weights if self.counted is None else self.counted)[rows]
