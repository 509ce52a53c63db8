"""Methods that are compared out of sample, each a way to get from a history to a rule.

Everything that has to be chosen is chosen by cross-validation on the history. A search over
hedgerow's settings is run once and read three ways: the best candidate; the most hedged one that
cannot be told from it; and the best that trusts the data, which is the empirical risk stopped at
the right time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hedgerow.estimator import RobustPolicy
from hedgerow.losses import Loss, Newsvendor
from hedgerow.rules import TwoLayer
from hedgerow.search import RobustPolicyCV
from hedgerow_studies.trials.baselines import LinearQuantile, QuantileBoosting, WeightedSAA

Fit = Callable[[Loss, np.ndarray, np.ndarray, int], dict[str, Any]]
"""(loss, X, Y, seed) → fitted estimators by name."""

PENALTIES = (3.0, 10.0, 30.0, 100.0, math.inf)
EPSILONS = (0.03, 0.1, 0.3)
CHOSEN, CAUTIOUS, TRUSTING = "hedgerow", "hedgerow, cautious", "empirical risk, stopped early"
DEFAULT, NETWORK = "hedgerow, defaults", "network"
BOOSTING, LINEAR = "boosting", "linear quantile"
FOREST, NEIGHBOURS = "weighted SAA, forest", "weighted SAA, neighbours"


def searched(loss: Loss, X: np.ndarray, Y: np.ndarray, seed: int, **settings: Any) -> dict:
    """One search, three choices."""
    given = {"penalties": PENALTIES, "epsilons": EPSILONS} | settings
    search = RobustPolicyCV(loss, refit=False, random_state=seed, **given).fit(X, Y)
    found = {}
    for name, selection, trusting in (
        (CHOSEN, "best", False),
        (CAUTIOUS, "one-standard-error", False),
        (TRUSTING, "best", True),
    ):
        found[name] = search.policy(selection, penalties=(math.inf,) if trusting else None)
    return {name: policy.fit(X, Y) for name, policy in found.items()}


def default(loss: Loss, X: np.ndarray, Y: np.ndarray, seed: int) -> dict[str, Any]:
    """No search: what ``RobustPolicy(loss)`` does."""
    return {DEFAULT: RobustPolicy(loss, random_state=seed).fit(X, Y)}


def network(loss: Loss, X: np.ndarray, Y: np.ndarray, seed: int) -> dict[str, Any]:
    """The paper's two-layer network on the empirical risk, stopped early."""
    search = RobustPolicyCV(loss, penalties=(math.inf,), rules=[TwoLayer()], random_state=seed)
    return {NETWORK: search.fit(X, Y)}


def boosting(loss: Loss, X: np.ndarray, Y: np.ndarray, seed: int) -> dict[str, Any]:
    """Quantile boosting; levels are the newsvendor's, product by product."""
    return {BOOSTING: QuantileBoosting(critical_levels(loss), seed).fit(X, Y)}


def linear(loss: Loss, X: np.ndarray, Y: np.ndarray, seed: int) -> dict[str, Any]:
    """Linear quantile regression, likewise."""
    return {LINEAR: LinearQuantile(critical_levels(loss), seed).fit(X, Y)}


def weighted(loss: Loss, X: np.ndarray, Y: np.ndarray, seed: int) -> dict[str, Any]:
    """Weighted sample averages."""
    return {
        FOREST: WeightedSAA(loss, "forest", seed, sizes=(5, 10, 20)).fit(X, Y),
        NEIGHBOURS: WeightedSAA(loss, "neighbours", seed).fit(X, Y),
    }


HEDGEROW: dict[str, Fit] = {"searched": searched, "default": default}
BASELINES: dict[str, Fit] = {
    "network": network,
    "boosting": boosting,
    "linear": linear,
    "weighted": weighted,
}


def critical_levels(loss: Loss) -> Any:
    """b/(b + h), of every product if there are several."""
    known: Any = loss
    short = known.stockout if isinstance(loss, Newsvendor) else known.shortage
    holding, short = np.asarray(known.holding, float), np.asarray(short, float)
    levels = short / (short + holding)
    return float(levels) if levels.ndim == 0 else levels
