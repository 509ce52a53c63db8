"""``hedgerow fit --search``: penalty, epsilon, gates and training steps by cross-validation."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import TimeSeriesSplit

from hedgerow._warnings import HedgerowWarning
from hedgerow.cli.screen import counting
from hedgerow.describe.numbers import number
from hedgerow.estimator import RobustPolicy
from hedgerow.rules import SoftForest
from hedgerow.search import RobustPolicyCV
from hedgerow.solvers import SCSC

FOLDS = 5
SOFT = SoftForest(temperature=4.0)
"""Learns more slowly, and decides better where outcomes say little (docs/results/recipe.md)."""


def choose(
    policy: RobustPolicy,
    X: pd.DataFrame,
    y: np.ndarray,
    kind: str,
    censored: np.ndarray | None = None,
    asked: dict[str, Any] | None = None,
) -> tuple[RobustPolicy, str]:
    """Return, not fitted, what the search leads to from a policy as asked for, and say why.

    ``asked`` is what ``RobustPolicyCV`` is to try besides. ``kind`` is "folds", or "time" for folds
    that follow what they are learned from. The empirical risk is always a candidate, and the only
    one if the policy has no other model; softer gates are one where no rule was asked for.
    """
    tried = dict(asked or {})
    solver = tried.pop("solver", None) or SCSC(nodes=1)  # the search's own
    if policy.solver is not None:
        solver.set_params(steps=policy.solver.steps)
    hedges = policy.given_.description().hedges
    nominals = None if policy.nominal is None else [policy.nominal]
    usual = repr(policy.rule) == repr(SoftForest())
    rules = [policy.rule, SOFT] if usual else [policy.rule]
    own: dict[str, Any] = {"nominals": nominals, "rules": rules}
    own |= {"ambiguity": policy.ambiguity} if hedges else {"penalties": [math.inf]}
    tried = own | tried
    folds = tried.pop("cv", FOLDS)
    search = RobustPolicyCV(
        policy.loss,
        **tried,
        solver=solver,
        cv=folds if kind == "folds" else TimeSeriesSplit(folds),
        refit=False,
        random_state=policy.random_state,
        outliers=policy.outliers,
    )
    with counting("searching") as report, warnings.catch_warnings():
        warnings.simplefilter("ignore", HedgerowWarning)  # training says it again
        search.set_params(
            verbose=lambda done, total, least: report(done, total, f"least loss {number(least)}")
        )
        search.fit(X, y, censored=censored)
    return search.policy(), _words(search, hedges, solver.steps, kind, folds)


def _words(search: RobustPolicyCV, hedges: bool, most: int, kind: str, count: int) -> str:
    """What was chosen, by what, and what it cost on rows that were held out."""
    chosen, best = search.best_params_, search.cv_results_.iloc[0]
    words = []
    if math.isfinite(chosen["penalty"]):
        words = [
            f"{name} {number(chosen[name])}" for name in ("penalty", "epsilon") if name in chosen
        ]
    elif hedges:
        words = ["empirical risk"]
    if repr(chosen["rule"]) == repr(SOFT):
        words.append(f"temperature {number(SOFT.temperature)}")
    words.append(f"{chosen['steps']:,} of {most:,} steps")
    folds = f"by {count} folds" + (" in order of time" if kind == "time" else "")
    loss = f"{number(best['mean_loss'])} ± {number(best['standard_error'], 2)}"
    return f"{', '.join(words)}, {folds}: held-out loss {loss}"
