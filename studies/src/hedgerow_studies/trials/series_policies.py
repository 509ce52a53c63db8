"""Hedgerow on real series: defaults, forests that grow with the table, and searches in time.

``grown`` is a proposal for what defaults should do on larger tables; it was settled on the
rehearsals of the tuning stores (``real_series``) and chooses nothing by itself:

    depth  =  2 + ⌊log4(N/1000)⌋, at most 5        trees  =  20 at depth 2, else 40
    steps  =  500·(N/1000)^0.6, at most 4000       for N ≥ 1000 rows; below, those of 1000

``chosen`` looks for penalty, epsilon, nominal, forest and steps on the last quarter of the training
days, as rivals do. ``causal`` and ``plain`` hedge the same distribution, many outcomes per context,
at the same penalties.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.model_selection import TimeSeriesSplit

from hedgerow.ambiguity import ERM, Ambiguity, CausalSinkhorn, Sinkhorn
from hedgerow.data import EmpiricalNominal
from hedgerow.estimator import RobustPolicy
from hedgerow.forecasts import ResidualNominal
from hedgerow.losses import Newsvendor
from hedgerow.rules import SoftForest
from hedgerow.search import RobustPolicyCV
from hedgerow.solvers import SCSC, NestedSGD
from hedgerow_studies.trials.real_series import Panel, Tables, tables
from hedgerow_studies.trials.series_rivals import Method, Ordered, in_time

FEW_ROWS, MOST_DEPTH, MOST_STEPS = 1000, 5, 4000
GROWTH = 0.6
PENALTIES, EPSILONS = (10.0, 30.0, math.inf), (0.01, 0.1)
COMPARED, BLUR = (3.0, 10.0, 30.0), 0.01
AUTO: dict[str, Any] = dict.fromkeys(("x_scale", "y_scale", "loss_scale"), "auto")
SPLITS = 3


def grown_forest(rows: int) -> SoftForest:
    """Return the forest that so many rows can feed."""
    depth = 2 + math.floor(math.log(max(rows, FEW_ROWS) / FEW_ROWS, 4))
    return SoftForest(trees=20 if depth == 2 else 40, depth=min(depth, MOST_DEPTH))


def grown_steps(rows: int) -> int:
    """Return for how many steps of 64 contexts it is to learn from them."""
    return min(round(500 * (max(rows, FEW_ROWS) / FEW_ROWS) ** GROWTH), MOST_STEPS)


def default(panel: Panel, level: float, pooled: bool, seed: int) -> Ordered:
    """``RobustPolicy(loss)``, whatever the table."""
    made = tables(panel, pooled)
    return _ordered(made, RobustPolicy(_loss(level), random_state=seed))


def grown(panel: Panel, level: float, pooled: bool, seed: int) -> Ordered:
    """Plain empirical risk, with a forest and steps that grow."""
    made = tables(panel, pooled)
    rows = len(made.outcomes)
    solver = NestedSGD(steps=grown_steps(rows))
    rule = grown_forest(rows)
    return _ordered(made, RobustPolicy(_loss(level), ERM(), rule, solver=solver, random_state=seed))


def grown_hedged(panel: Panel, level: float, pooled: bool, seed: int) -> Ordered:
    """The same, lightly hedged."""
    made = tables(panel, pooled)
    rows = len(made.outcomes)
    policy = RobustPolicy(
        _loss(level),
        CausalSinkhorn(30.0, BLUR, **AUTO),
        grown_forest(rows),
        solver=SCSC(steps=grown_steps(rows)),
        random_state=seed,
    )
    return _ordered(made, policy)


def chosen(panel: Panel, level: float, pooled: bool, seed: int) -> Ordered:
    """Return what a search in the order of time finds best."""
    made = tables(panel, pooled)
    rows = len(made.outcomes)
    forest = grown_forest(rows)
    small = rows <= FEW_ROWS
    search = RobustPolicyCV(
        _loss(level),
        penalties=PENALTIES,
        epsilons=EPSILONS if small else (BLUR,),
        nominals=[EmpiricalNominal(), ResidualNominal(folds=SPLITS)] if small else None,
        rules=[forest] if small else [SoftForest(), forest],
        solver=SCSC(steps=grown_steps(rows), nodes=1, outcomes_per_context=8),
        cv=TimeSeriesSplit(SPLITS) if small else [in_time(made.dates)],
        random_state=seed,
        n_jobs=1,
    )
    return _ordered(made, search)


def compared(model: str, penalty: float) -> Method:
    """Return one adversary at one penalty, on predicted means with residuals."""

    def method(panel: Panel, level: float, pooled: bool, seed: int) -> Ordered:
        made = tables(panel, pooled)
        policy = RobustPolicy(
            _loss(level), _adversary(model, penalty), nominal=ResidualNominal(), random_state=seed
        )
        return _ordered(made, policy)

    return method


def _adversary(model: str, penalty: float) -> Ambiguity:
    if math.isinf(penalty):
        return ERM()
    return {"causal": CausalSinkhorn, "plain": Sinkhorn}[model](penalty, BLUR, **AUTO)


POLICIES: dict[str, Method] = {
    "hedgerow, defaults": default,
    "hedgerow, grown": grown,
    "hedgerow, grown and hedged": grown_hedged,
    "hedgerow, chosen": chosen,
}
CAUSALITY: dict[str, Method] = {"unhedged": compared("causal", math.inf)} | {
    f"{model}, {penalty:g}": compared(model, penalty)
    for penalty in COMPARED
    for model in ("causal", "plain")
}


def _loss(level: float) -> Newsvendor:
    """Costs whose best order is the quantile of this level; holding costs 1."""
    return Newsvendor(holding=1.0, stockout=level / (1 - level))


def _ordered(made: Tables, estimator: RobustPolicy | RobustPolicyCV) -> Ordered:
    """Fit in the order of time, and order for the test rows."""
    by_time = np.argsort(made.dates, kind="stable")
    X, X_test = (part.to_numpy() for part in made.numbers)
    if isinstance(estimator, RobustPolicyCV) and isinstance(estimator.cv, list):
        by_time = np.arange(len(X))  # its folds are rows as they are
    estimator.fit(X[by_time], made.outcomes[by_time])
    orders = np.maximum(np.ravel(estimator.predict(X_test)), 0) * made.units[1]
    found = getattr(estimator, "best_params_", {})
    return Ordered(orders, ", ".join(f"{name} {value}" for name, value in found.items()))
