"""Figures that tell how good decisions were.

prescriptiveness   1 − (H − H*)/(H₀ − H*): how much of the gap between a baseline's loss H₀ and the
                   oracle's H* was closed (Bertsimas & Kallus 2020)
sharpe             √periods · mean/standard deviation
cvar               mean loss in the worst share of cases
drawdown           how far wealth is below its highest so far
turnover           share of wealth that changes hands between two portfolios
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hedgerow import _checks


def prescriptiveness(loss: Any, baseline: Any, oracle: Any) -> float:
    """Share of the gap between a baseline's mean loss and the oracle's that was closed.

    1 is as good as the oracle, 0 as good as the baseline, below 0 worse. Losses may be given as
    means or case by case; NaN where the baseline is no worse than the oracle.

    Examples
    --------
    >>> prescriptiveness(loss=0.75, baseline=1.0, oracle=0.5)
    0.5
    """
    mean, worse, best = (
        float(np.mean(_checks.series(name, value)))
        for name, value in (("loss", loss), ("baseline", baseline), ("oracle", oracle))
    )
    if not worse > best:
        return math.nan
    return 1 - (mean - best) / (worse - best)


def sharpe(returns: Any, periods: int = 252) -> float:
    """Annualised ratio of mean to standard deviation; NaN for returns that never vary."""
    returns = _checks.series("returns", returns)
    spread = float(np.std(returns))
    return math.sqrt(periods) * float(np.mean(returns)) / spread if spread > 0 else math.nan


def cvar(returns: Any, tail: float = 0.05) -> float:
    """Mean loss (minus return) over the worst ``tail`` of cases, the last one counted in part.

    Examples
    --------
    >>> cvar([-4.0, -2.0, 0.0, 1.0], tail=0.5)
    3.0
    """
    if not _checks.fraction("tail", tail) < 1:
        raise ValueError(f"tail must be less than 1, got {tail!r}.")
    losses = np.sort(-_checks.series("returns", returns))[::-1]
    shares = np.clip(tail * len(losses) - np.arange(len(losses)), 0.0, 1.0)
    return float(losses @ shares / (tail * len(losses)))


def drawdown(returns: Any) -> np.ndarray:
    """How far below its highest so far wealth stands after each period, as a share.

    ``returns`` are simple returns as fractions; the start counts as a high.
    """
    wealth = np.cumprod(1 + _checks.series("returns", returns))
    return 1 - wealth / np.maximum(np.maximum.accumulate(wealth), 1.0)


def turnover(before: Any, after: Any) -> float:
    """Half the sum of absolute changes in weights: 0 no trade, 1 everything sold and bought."""
    before, after = _checks.series("before", before), _checks.series("after", after)
    if before.shape != after.shape:
        raise ValueError(
            f"before and after must list the same assets, got {before.size} and {after.size}."
        )
    return float(np.abs(after - before).sum() / 2)
