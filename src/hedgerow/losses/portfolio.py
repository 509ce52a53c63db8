"""Portfolios: weights w on the simplex, chosen before the assets' returns y are known.

A portfolio's loss sees the returns only through its own, r = w·y. A decision is (level, w), where
the level is the one free number that turns a measure of risk into an expected loss:

    MeanVariance   Ψ = −ω r + (r − z₀)²              z₀ at its best is the mean of r
    MeanCVaR       Ψ = −ω r + η + (−r − η)⁺/α        η at its best is the value at risk

How fast the loss grows with y depends on w, so what a penalty must exceed depends on the rule:
spreading the weights is hedging in itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from hedgerow import _checks, _row_checks
from hedgerow.decisions import DecisionSet, Free, Product, Simplex
from hedgerow.losses.base import Loss, namespace


class PortfolioLoss(Loss):
    """What losses of the portfolio's return share (abstract)."""

    reads_columns = False
    level_name: ClassVar[str] = "level"
    """What the level, a portfolio's first decision, is at its best."""
    return_weight: float = 1.0
    _: KW_ONLY
    outcome_support: tuple[Any, Any] | None = None

    def check(self) -> None:
        """The weight of the return is a number, not negative; the support is an interval."""
        _checks.nonnegative("return_weight", self.return_weight)
        if self.outcome_support is not None:
            _checks.interval("outcome_support", self.outcome_support)

    def decisions_for(self, n_outcomes: int) -> DecisionSet:
        """A free level, and one weight per asset."""
        if n_outcomes < 2:
            raise ValueError(
                f"A portfolio needs the returns of at least 2 assets, but Y has {n_outcomes} "
                "column(s)."
            )
        return Product(Free(1), Simplex(n_outcomes))

    def decision_names(self, outcomes: Sequence[str]) -> list[str]:
        """The level, and the assets by their own names."""
        return [self.level_name, *outcomes]

    def decision_unit(self, outcome_unit: np.ndarray, constant: np.ndarray) -> np.ndarray:
        """The level is counted like returns; weights have no unit."""
        level = constant[1:] @ outcome_unit
        return np.concatenate([[level], np.ones(len(outcome_unit))])

    def __call__(self, z: Any, y: Any) -> Any:
        """Loss of (level, weights) z (…, 1 + assets) at returns y (…, assets)."""
        xp = namespace(z, y, self.return_weight)
        if xp is np:
            z, y = _checks.numeric("z", z), _checks.numeric("y", y)
        z, y = xp.atleast_1d(xp.asarray(z)), xp.atleast_1d(xp.asarray(y))
        if z.shape[-1] != y.shape[-1] + 1:
            raise ValueError(
                f"A decision is a level and one weight per asset: expected {y.shape[-1] + 1} "
                f"numbers for {y.shape[-1]} assets, got {z.shape[-1]}."
            )
        return self.of_return(return_of(z, y), z[..., 0])

    def of_return(self, r: Any, level: Any) -> Any:
        """Loss of a portfolio that returned r."""
        raise NotImplementedError

    def realised(self, returns: np.ndarray) -> float:
        """Mean loss of a portfolio over its returns (periods,), at the level best in hindsight.

        The level is a device of the loss; no money depends on it. So this is how portfolios are
        judged, whatever level they came with.
        """
        raise NotImplementedError

    def _shares(self, outcomes: Any, weights: Any) -> tuple[np.ndarray, np.ndarray]:
        """Returns of at least two assets, and each row's share of the weight."""
        outcomes = _row_checks.outcomes(outcomes)
        self.decisions_for(outcomes.shape[1])
        weights = _row_checks.weights(weights, len(outcomes))
        return outcomes, weights / weights.sum()


def return_of(z: Any, y: Any) -> Any:
    """Return r = w·y of decisions (level, w)."""
    return (z[..., 1:] * y).sum(axis=-1)
