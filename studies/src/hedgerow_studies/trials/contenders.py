"""Methods that are compared out of sample, each a way to get from a history to a rule.

Everything that has to be chosen is chosen by cross-validation on the history. A search over
hedgerow's settings is run once and read three ways: the best candidate; the most hedged one that
cannot be told from it; and the best that trusts the history as it is, one outcome per context,
which is the empirical risk stopped at the right time.

``causality`` chooses nothing: causal and plain Sinkhorn, at the same penalties, on one and the same
distribution with many outcomes per context.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hedgerow.ambiguity import ERM, KL, CausalSinkhorn, Sinkhorn
from hedgerow.data import EmpiricalNominal, Nominal
from hedgerow.estimator import RobustPolicy
from hedgerow.forecasts import ResidualNominal
from hedgerow.losses import Loss, Newsvendor
from hedgerow.rules import TwoLayer
from hedgerow.search import RobustPolicyCV
from hedgerow_studies.trials.baselines import LinearQuantile, QuantileBoosting, WeightedSAA

Fit = Callable[[Loss, np.ndarray, np.ndarray, int], dict[str, Any]]
"""(loss, X, Y, seed) → fitted estimators by name."""

PENALTIES = (3.0, 10.0, 30.0, math.inf)
EPSILONS = (0.01, 0.1)
NOMINALS = (EmpiricalNominal(), ResidualNominal())
COMPARED = (1.0, 3.0, 10.0, 30.0)
BLUR = 0.01
AUTO: dict[str, Any] = dict.fromkeys(("x_scale", "y_scale", "loss_scale"), "auto")
CHOSEN, CAUTIOUS, TRUSTING = "hedgerow", "hedgerow, cautious", "empirical risk, stopped early"
DEFAULT, EARLIER, NETWORK = "hedgerow, defaults", "hedgerow, defaults of 0.1", "network"
BOOSTING, LINEAR = "boosting", "linear quantile"
DIVERGENCE, UNHEDGED = "KL, residual nominal", "unhedged, residual nominal"
CAUSAL, PLAIN = "causal Sinkhorn", "Sinkhorn"
FOREST, NEIGHBOURS = "weighted SAA, forest", "weighted SAA, neighbours"


def searched(loss: Loss, X: np.ndarray, Y: np.ndarray, seed: int, **settings: Any) -> dict:
    """One search, three choices."""
    given = {"penalties": PENALTIES, "epsilons": EPSILONS, "nominals": NOMINALS} | settings
    search = RobustPolicyCV(loss, refit=False, race=False, random_state=seed, **given).fit(X, Y)
    found = {
        CHOSEN: search.policy("best"),
        CAUTIOUS: search.policy("one-standard-error"),
        TRUSTING: search.policy("best", penalties=math.inf, nominals=NOMINALS[:1]),
    }
    return {name: policy.fit(X, Y) for name, policy in found.items()}


def trusting(loss: Loss, X: np.ndarray, Y: np.ndarray, seed: int) -> dict[str, Any]:
    """Only what a search for it alone needs: the empirical risk, and when to stop."""
    search = RobustPolicyCV(
        loss, penalties=(math.inf,), nominals=NOMINALS[:1], race=False, random_state=seed
    )
    return {TRUSTING: search.fit(X, Y)}


def divergence(loss: Loss, X: np.ndarray, Y: np.ndarray, seed: int) -> dict[str, Any]:
    """KL, its penalty chosen, on the residual nominal."""
    model = KL(10.0, loss_scale="auto")
    search = RobustPolicyCV(
        loss, model, COMPARED, nominals=NOMINALS[1:], refit=True, random_state=seed
    )
    return {DIVERGENCE: search.fit(X, Y)}


def causality(loss: Loss, X: np.ndarray, Y: np.ndarray, seed: int) -> dict[str, Any]:
    """Two adversaries at equal penalties, and none, on one distribution."""
    made = NOMINALS[1].build(X, Y.reshape(len(Y), -1), np.ones(len(Y)))
    nominal = Built(made)
    models: dict[str, Any] = {UNHEDGED: ERM()}
    for penalty in COMPARED:
        for name, kind in ((CAUSAL, CausalSinkhorn), (PLAIN, Sinkhorn)):
            models[f"{name}, {penalty:g}"] = kind(penalty, BLUR, **AUTO)
    return {
        name: RobustPolicy(loss, model, nominal=nominal, random_state=seed).fit(X, Y)
        for name, model in models.items()
    }


class Built(Nominal):
    """A distribution that was built before, whatever the rows."""

    distribution: Any

    def build(self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> Any:
        """Return it."""
        return self.distribution


def default(loss: Loss, X: np.ndarray, Y: np.ndarray, seed: int) -> dict[str, Any]:
    """No search: what ``RobustPolicy(loss)`` does."""
    return {DEFAULT: RobustPolicy(loss, random_state=seed).fit(X, Y)}


def earlier(loss: Loss, X: np.ndarray, Y: np.ndarray, seed: int) -> dict[str, Any]:
    """Rows as they are and a wide hedge: the defaults of release 0.1."""
    model = CausalSinkhorn(10.0, 0.1, **AUTO)
    policy = RobustPolicy(loss, model, nominal=EmpiricalNominal(), random_state=seed)
    return {EARLIER: policy.fit(X, Y)}


def network(loss: Loss, X: np.ndarray, Y: np.ndarray, seed: int) -> dict[str, Any]:
    """The paper's two-layer network on the empirical risk, stopped early."""
    search = RobustPolicyCV(
        loss,
        penalties=(math.inf,),
        nominals=NOMINALS[:1],
        rules=[TwoLayer()],
        random_state=seed,
    )
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


HEDGEROW: dict[str, Fit] = {
    "searched": searched,
    "trusting": trusting,
    "default": default,
    "earlier": earlier,
    "divergence": divergence,
    "causality": causality,
}
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
