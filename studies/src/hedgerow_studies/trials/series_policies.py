"""Hedgerow on real series: defaults, training that grows with the table, and searches in time.

``grown`` is a proposal for what defaults should do on larger tables; it was settled on the
rehearsals of the tuning stores (``real_series``) and chooses nothing by itself. The forest stays
as it is, 20 trees of depth 2, and the training sees every row about 32 times, as 500 steps of 64
contexts see 1000 rows; first by more steps, then by larger batches:

    steps  =  N/2, from 500 to 3000        batch  =  32·N/steps, at least 64

``grown_hedged`` hedges less, the more rows there are: beyond 1000 rows λ = 10·√(N/1000),
ε = 0.03/√(N/1000); up to there it is the default. ``chosen`` looks for penalty, nominal, gates and
steps in the order of time, on training days alone. ``compared`` hedges one distribution, with many
outcomes per context, against causal and plain adversaries at the same penalties.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.model_selection import TimeSeriesSplit

from hedgerow.ambiguity import ERM, Ambiguity, CausalSinkhorn, Sinkhorn
from hedgerow.data import EmpiricalNominal, Nominal
from hedgerow.estimator import RobustPolicy
from hedgerow.forecasts import ResidualNominal
from hedgerow.losses import Newsvendor
from hedgerow.rules import SoftForest
from hedgerow.search import RobustPolicyCV
from hedgerow.solvers import SCSC, NestedSGD
from hedgerow_studies.trials.real_series import Panel, Tables, tables
from hedgerow_studies.trials.series_rivals import Method, Ordered, in_time

FEW_ROWS, PASSES = 1000, 32
FEWEST_STEPS, MOST_STEPS, LEAST_BATCH = 500, 3000, 64
PENALTIES, EPSILONS = (10.0, math.inf), (0.1,)
FADED = (30.0, math.inf), (0.01,)
COMPARED, BLUR = (3.0, 10.0, 30.0), 0.01
AUTO: dict[str, Any] = dict.fromkeys(("x_scale", "y_scale", "loss_scale"), "auto")
SPLITS = 3


def grown_training(rows: int) -> dict[str, Any]:
    """Return steps and batch for so many rows."""
    steps = min(max(FEWEST_STEPS, rows // 2), MOST_STEPS)
    return {"steps": steps, "batch": max(LEAST_BATCH, round(PASSES * rows / steps))}


def default(panel: Panel, level: float, pooled: bool, seed: int) -> Ordered:
    """``RobustPolicy(loss)``, whatever the table."""
    made = tables(panel, pooled)
    return _ordered(made, RobustPolicy(_loss(level), random_state=seed))


def grown(panel: Panel, level: float, pooled: bool, seed: int) -> Ordered:
    """Plain empirical risk, trained for as long as so many rows want it."""
    made = tables(panel, pooled)
    solver = NestedSGD(nodes=1, **grown_training(len(made.outcomes)))
    policy = RobustPolicy(
        _loss(level), ERM(), nominal=EmpiricalNominal(), solver=solver, random_state=seed
    )
    return _ordered(made, policy)


def grown_hedged(panel: Panel, level: float, pooled: bool, seed: int) -> Ordered:
    """The same, hedged the less, the more rows there are."""
    made = tables(panel, pooled)
    rows = len(made.outcomes)
    trust = math.sqrt(rows / FEW_ROWS)
    many = CausalSinkhorn(10.0 * trust, 0.03 / trust, **AUTO)
    model = None if rows <= FEW_ROWS else many
    solver = SCSC(nodes=1, **grown_training(rows))
    policy = RobustPolicy(
        _loss(level), model, nominal=EmpiricalNominal(), solver=solver, random_state=seed
    )
    return _ordered(made, policy)


def chosen(panel: Panel, level: float, pooled: bool, seed: int) -> Ordered:
    """Return what a search in the order of time finds best."""
    made = tables(panel, pooled)
    rows = len(made.outcomes)
    small = rows <= FEW_ROWS
    penalties, epsilons = (PENALTIES, EPSILONS) if small else FADED
    nominals: list[Nominal] = [EmpiricalNominal()]
    if small and not panel.past:  # the dishes; dozens of longer series would take hours
        nominals.append(ResidualNominal())
    search = RobustPolicyCV(
        _loss(level),
        penalties=penalties,
        epsilons=epsilons,
        nominals=nominals,
        rules=[SoftForest(), SoftForest(gates="random")],
        solver=SCSC(nodes=1, outcomes_per_context=8, **grown_training(rows)),
        cv=TimeSeriesSplit(SPLITS) if small else [in_time(np.sort(made.dates))],
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
    estimator.fit(X[by_time], made.outcomes[by_time])
    orders = np.maximum(np.ravel(estimator.predict(X_test)), 0) * made.units[1]
    found = getattr(estimator, "best_params_", {})
    return Ordered(orders, ", ".join(f"{name} {value}" for name, value in found.items()))
