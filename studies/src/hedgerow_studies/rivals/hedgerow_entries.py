"""Hedgerow's own entries: what a user gets, and what it is made of, one thing at a time.

defaults       ``RobustPolicy(loss)``
search         ``RobustPolicyCV(loss)`` on everybody's folds: penalty, epsilon, nominal, steps
unhedged       the forest on residuals, no adversary
empirical      the forest on rows as they are, no adversary, stopped when folds say so
network        two layers of ReLU, likewise
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from hedgerow.ambiguity import ERM
from hedgerow.data import EmpiricalNominal
from hedgerow.estimator import RobustPolicy
from hedgerow.forecasts import ResidualNominal
from hedgerow.rules import SoftForest, TwoLayer
from hedgerow.search import RobustPolicyCV
from hedgerow_studies.rivals.method import Decide, Fitted, Method, Problem, Setting


class Policy(Method):
    """Base of entries that choose nothing, or by their own search (abstract)."""

    def fit(self, problem: Problem, X: np.ndarray, Y: np.ndarray, seed: int) -> Fitted:
        """Fit the estimator; its folds are everybody's."""
        found = self.estimator(problem, len(X), seed).fit(X, Y)
        chosen = getattr(found, "best_params_", {})
        said = ", ".join(f"{name} {value}" for name, value in chosen.items() if name != "rule")
        return Fitted(found.predict, said)

    def learn(
        self, problem: Problem, X: np.ndarray, Y: np.ndarray, setting: Setting, seed: int
    ) -> Decide:
        """Return the rule alone."""
        return self.fit(problem, X, Y, seed).decide

    def estimator(self, problem: Problem, rows: int, seed: int) -> Any:
        """Return what is fitted."""
        raise NotImplementedError


class Defaults(Policy):
    """No choice at all."""

    name: ClassVar[str] = "hedgerow defaults"
    what: ClassVar[str] = "RobustPolicy(loss), nothing chosen"

    def estimator(self, problem: Problem, rows: int, seed: int) -> Any:
        """The library's defaults."""
        return RobustPolicy(problem.loss, random_state=seed)


class Search(Policy):
    """The library's own search."""

    name: ClassVar[str] = "hedgerow search"
    what: ClassVar[str] = "RobustPolicyCV(loss): penalty, epsilon, nominal, steps (14 settings)"
    settings: ClassVar[dict[str, Any]] = {}

    def estimator(self, problem: Problem, rows: int, seed: int) -> Any:
        """The search on the problem's folds."""
        folds = problem.folds(rows, seed)
        return RobustPolicyCV(problem.loss, cv=folds, random_state=seed, **self.settings)


class Unhedged(Policy):
    """The forest on a distribution of residuals, without an adversary."""

    name: ClassVar[str] = "hedgerow unhedged"
    what: ClassVar[str] = "forest on predicted means and residuals, no adversary"

    def estimator(self, problem: Problem, rows: int, seed: int) -> Any:
        """Empirical risk on the residual nominal."""
        return RobustPolicy(problem.loss, ERM(), nominal=ResidualNominal(), random_state=seed)


class Empirical(Search):
    """The forest on rows as they are, stopped early."""

    name: ClassVar[str] = "hedgerow empirical risk"
    what: ClassVar[str] = "forest on rows as they are, no adversary, steps chosen"
    settings: ClassVar[dict[str, Any]] = {
        "penalties": (math.inf,),
        "nominals": [EmpiricalNominal()],
        "rules": [SoftForest()],
    }


class Network(Search):
    """The paper's network on the empirical risk, stopped early."""

    name: ClassVar[str] = "network"
    what: ClassVar[str] = "two layers of ReLU on the empirical risk, steps chosen"
    settings: ClassVar[dict[str, Any]] = Empirical.settings | {"rules": [TwoLayer()]}


METHODS = (Search(), Defaults(), Unhedged(), Empirical(), Network())
