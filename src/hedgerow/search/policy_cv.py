"""Choosing by cross-validation: penalties, epsilons, orders, nominals, rules and training steps.

Every candidate is trained on every fold and judged by its mean loss on what the fold holds out.
Candidates that differ in penalty and epsilon only are trained together, by one compiled program
that all folds share (``solvers.grid``). Training is watched after 25, 50, 100, 200, … steps, so
that when to stop is chosen along with the rest, for the empirical risk as for every model.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from hedgerow import _checks, _row_checks
from hedgerow._components import listed
from hedgerow._frames import require_pandas
from hedgerow._progress import reporter
from hedgerow._warnings import OutlierWarning, VacuousCausalityWarning
from hedgerow.ambiguity import ERM, Ambiguity
from hedgerow.certify.value import RobustValue
from hedgerow.data import Nominal, spreads
from hedgerow.estimator import RobustPolicy
from hedgerow.fitting import Parts, pose
from hedgerow.losses import Loss, along, located
from hedgerow.rules import Rule
from hedgerow.search.candidates import (
    EPSILONS,
    PENALTIES,
    Family,
    families_of,
    listed_numbers,
    settings_of,
)
from hedgerow.search.folds import Trial, try_families
from hedgerow.search.history import History
from hedgerow.solvers import StochasticSolver

SELECTIONS = ("best", "one-standard-error")


@dataclass(eq=False, repr=False)
class RobustPolicyCV(BaseEstimator):
    """A ``RobustPolicy`` whose settings are chosen by cross-validation.

    Parameters
    ----------
    loss : Loss
        What decisions cost.
    ambiguity : Ambiguity or None
        What to hedge against; its penalty and epsilon are those to be chosen. None: that of
        ``RobustPolicy``.
    penalties : sequence of float
        Penalties to try; ``inf`` is the empirical risk, hedged against nothing. Inadmissible ones
        are left out, unless all are.
    epsilons : sequence of float
        Epsilons to try, where the model has one.
    orders : sequence of int or None
        Orders to try, where the model has one; None: the model's own.
    nominals, rules : sequence or None
        Nominals and rules to try; None: ``EmpiricalNominal()`` and what ``RobustPolicy`` takes for
        as many rows; ``SoftForest()``.
    solver : StochasticSolver or None
        How to train: ``steps`` is the most there can be. None: what ``RobustPolicy`` takes for as
        many rows, with one node and at most eight outcomes of a context a step.
    cv : int, splitter or iterable
        As scikit-learn has it; ``TimeSeriesSplit()`` for what comes in time.
    selection : {"best", "one-standard-error"}
        Least mean loss; or the most hedged candidate that cannot be told from it: whose held-out
        losses exceed those of the best, row by row, by at most one standard error of the mean
        difference. Most hedged: smallest penalty, then largest epsilon, then least loss.
    refit : bool
        Train on all data with what was chosen.
    random_state : int, RandomState or None
    n_jobs : int or None
        Processes for candidates that cannot share a program (orders, nominals, rules), by joblib.
    verbose : bool or callable
        True shows progress; a callable gets (done, in all, least loss so far).
    outliers : {"warn", "clip", "error"}
        As for ``RobustPolicy``; the whole history is looked at once, before it is split.
    race : bool
        Spare rules, nominals and orders that are clearly behind after two folds the other folds;
        their mean losses are then infinite. With ``n_jobs`` nobody is spared.
    radii : sequence of float or None
        Radii to try, besides penalties; ones that no distribution lies within are left out.

    Attributes
    ----------
    cv_results_ : pandas.DataFrame
        One row per candidate and number of steps, the best first: settings, mean loss and its
        standard error over folds, loss of every fold, excess over the best and the standard error
        of that, row by row. Losses of trainings that diverged are infinite, as are mean losses of
        those that were left out of the race.
    best_params_ : dict
        The chosen rule, nominal, order, penalty, epsilon and steps.
    best_score_ : float
        Minus the mean loss of what was chosen, as for ``score``.
    best_estimator_ : RobustPolicy
        Trained on all data, if ``refit``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load_restaurant("steak")
    >>> search = hr.RobustPolicyCV(hr.Newsvendor(1, 3), random_state=0)
    >>> search.fit(data.data[:500], data.target[:500]).best_params_  # doctest: +SKIP
    """

    loss: Loss
    ambiguity: Ambiguity | None = None
    penalties: Sequence[float] = PENALTIES
    epsilons: Sequence[float] = EPSILONS
    orders: Sequence[int] | None = None
    nominals: Sequence[Nominal] | None = None
    rules: Sequence[Rule] | None = None
    solver: StochasticSolver | None = None
    cv: Any = 5
    selection: str = "best"
    refit: bool = True
    random_state: Any = None
    n_jobs: int | None = None
    verbose: Any = False
    outliers: str = "warn"
    race: bool = True
    radii: Sequence[float] | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, censored: Any = None) -> Self:
        """Try every candidate on every fold, choose, and train on all data.

        ``censored`` as for ``RobustPolicy.fit``; folds split it with the rows. What a decision
        costs on a censored row is not known, so candidates are judged by the held-out rows that
        were seen, each counted by the inverse of its chance not to be cut off before its outcome,
        given its context. Every loss is then that of a pair of context and outcome that has been;
        outcomes borrowed from near rows would favour rules that smooth as the borrowing does.
        """
        _checks.one_of("selection", self.selection, SELECTIONS)
        families_of(self, 0, 1)  # what is wrong with them is said before the data
        Parts.of(self.loss, ERM())
        history = self._history(X, y, sample_weight, censored)
        names, features = getattr(self, "feature_names_in_", None), history.contexts.shape[1]
        families = [
            family._replace(models=[model.located(names, features) for model in family.models])
            for family in families_of(self, *history.outcomes.shape)
        ]
        loss = located(self.loss, names, features)
        along(loss, history.contexts).check_rows()
        for family in families:  # what is wrong is said before the work
            Parts.of(loss, ERM(), family.rule, family.nominal, family.solver)
        pose(Parts.of(loss, ERM()), *history[:3])
        splitter: Any = check_cv(self.cv)
        splits = list(splitter.split(X, y))
        history.check(splits)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        trials = self._search(families, loss, history, splits, seed)
        if not trials:
            raise ValueError("No penalty is admissible on every fold; try larger ones.")
        self._seed = seed
        self._choose(trials, np.concatenate([history.held_out(test) for _, test in splits]))
        if self.refit:
            policy = self.policy()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", OutlierWarning)  # said of the whole history
                if self.ambiguity is None:  # nobody asked for a causal model by name
                    warnings.simplefilter("ignore", VacuousCausalityWarning)
                self.best_estimator_ = policy.fit(X, y, sample_weight, censored)
        return self

    def policy(
        self,
        selection: str | None = None,
        penalties: float | Sequence[float] | None = None,
        nominals: Sequence[Nominal] | None = None,
    ) -> RobustPolicy:
        """Return, not fitted, what this or another way of choosing leads to.

        ``selection`` as above, None: this search's own; ``penalties``, ``nominals``: choose among
        these only, so ``penalties=inf`` gives the best rule that hedges against nothing.
        """
        check_is_fitted(self, "results_")
        selection = selection or self.selection
        _checks.one_of("selection", selection, SELECTIONS)
        among = None if penalties is None else listed_numbers("penalties", penalties)
        family, model, steps = self._tried[self._pick(selection, among, nominals)]
        return family.policy(self.loss, model, steps, self._seed).set_params(outliers=self.outliers)

    def predict(self, X: Any) -> np.ndarray:
        """Decide, by what was chosen."""
        return self._policy.predict(X)

    def losses(self, X: Any, y: Any) -> np.ndarray:
        """Return the loss of the decision on each row."""
        return self._policy.losses(X, y)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return minus the mean loss: larger is better."""
        return self._policy.score(X, y, sample_weight)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chosen policy to a file that ``hedgerow.load`` reads."""
        self._policy.save(path)

    @property
    def robust_value_(self) -> RobustValue:
        """Certified value of the chosen policy on the training data."""
        return self._policy.robust_value_

    def __dir__(self) -> list[str]:
        """Leave out a value that is yet to be computed, as policies do."""
        policy = getattr(self, "best_estimator_", None)
        return listed(self, policy is not None and policy.has_robust_value_)

    @property
    def cv_results_(self) -> Any:
        """What was tried and what it cost, the best first, as a pandas table."""
        check_is_fitted(self, "results_")
        table = require_pandas().DataFrame(self.results_)
        return table.sort_values("mean_loss", kind="stable").reset_index(drop=True)

    @property
    def _policy(self) -> RobustPolicy:
        check_is_fitted(self, "results_")
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("There is no policy to ask, because refit=False.")
        return self.best_estimator_

    def _history(self, X: Any, y: Any, sample_weight: Any, censored: Any) -> History:
        """Check the data, and take their features' names."""
        _row_checks.given(self, y)
        _checks.numeric("X", X)
        contexts = cast(np.ndarray, validate_data(self, X, dtype=np.float64, ensure_min_samples=2))
        outcomes = _row_checks.outcomes(y)
        check_consistent_length(contexts, outcomes)
        weights = _row_checks.weights(sample_weight, len(contexts))
        censored = _row_checks.censored(censored, outcomes, weights)
        names = getattr(self, "feature_names_in_", None)
        contexts = spreads.mend("X", _row_checks.contexts(contexts), weights, self.outliers, names)
        outcomes = spreads.mend("Y", outcomes, weights, self.outliers)
        return History.of(contexts, outcomes, weights, censored)

    def _search(
        self,
        families: list[Family],
        loss: Loss,
        history: History,
        splits: list[Any],
        seed: int,
    ) -> list[Trial]:
        """Train everything; in processes if asked, else with progress."""
        if self.n_jobs not in (None, 1):
            work = (
                delayed(try_families)([family], loss, history, splits, seed, race=False)
                for family in families
            )
            found = Parallel(n_jobs=self.n_jobs)(work)
            return [trial for trials in cast(list, found) for trial in trials]
        with reporter(self.verbose, 1.0) as report:

            def watch(done: int, total: int, least: float) -> None:
                if report is not None and math.isfinite(least):
                    report(done, total, least, None)

            return try_families(families, loss, history, splits, seed, watch, self.race)

    def _choose(self, trials: list[Trial], weights: np.ndarray) -> None:
        """Put the results down and choose; ``weights`` are those of the held-out rows."""
        rows, places = [], []
        for trial in trials:
            for i, steps in enumerate(trial.steps):
                losses = trial.losses[:, i]
                error = losses.std(ddof=1) / math.sqrt(len(losses)) if len(losses) > 1 else 0.0
                mean = losses.mean()
                rows.append(
                    {
                        "rule": repr(trial.family.rule),
                        "nominal": repr(trial.family.nominal),
                        **settings_of(trial.model, trial.penalties[i]),
                        "steps": steps,
                        "mean_loss": math.inf if math.isnan(mean) else mean,
                        "standard_error": error,
                        **{f"fold_{k}": loss for k, loss in enumerate(losses)},
                    }
                )
                places.append((trial.family, trial.model, steps))
        means = np.array([row["mean_loss"] for row in rows])
        if not np.any(np.isfinite(means)):
            raise ValueError("Every training diverged; lower the solver's learning_rate.")
        best = int(np.argmin(means))
        held_out = [held for trial in trials for held in trial.rows]
        for row, held in zip(rows, held_out, strict=True):
            row["excess"] = row["mean_loss"] - means[best]
            row["excess_error"] = _paired_error(held, held_out[best], weights)
        names = dict.fromkeys(name for row in rows for name in row)
        self.results_ = {name: [row.get(name) for row in rows] for name in names}
        self._tried = places
        picked = self._pick(self.selection)
        family, model, steps = places[picked]
        self.best_params_ = {
            "rule": family.rule,
            "nominal": family.nominal,
            **settings_of(model, rows[picked]["penalty"]),
            "steps": steps,
        }
        self.best_score_ = -float(means[picked])

    def _pick(
        self,
        selection: str,
        penalties: Sequence[float] | None = None,
        nominals: Sequence[Nominal] | None = None,
    ) -> int:
        """Place of the candidate that a way of choosing leads to."""
        columns = self.results_
        rows = [{name: columns[name][i] for name in columns} for i in range(len(self._tried))]
        named = None if nominals is None else [repr(nominal) for nominal in nominals]
        allowed = [
            i
            for i, row in enumerate(rows)
            if (penalties is None or row["penalty"] in penalties)
            and (named is None or row["nominal"] in named)
        ]
        if not allowed:
            what = f"penalties {penalties}" if named is None else f"nominals {', '.join(named)}"
            raise ValueError(f"None of the {what} was tried and admissible.")
        if selection == "one-standard-error":
            near = [i for i in allowed if rows[i]["excess"] <= rows[i]["excess_error"]]
            if near:
                return min(near, key=lambda i: _hedging(rows[i]))
        return min(allowed, key=lambda i: (rows[i]["mean_loss"], _seen_loss(rows[i])))

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that Y is required and may have several columns."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _hedging(row: dict[str, Any]) -> tuple[float, float, float]:
    """Smaller for candidates that hedge more."""
    return row["penalty"], -(row.get("epsilon") or 0.0), row["mean_loss"]


def _seen_loss(row: dict[str, Any]) -> float:
    """Mean loss on the folds that a candidate saw: those left out of the race did not see all."""
    losses = np.array([loss for name, loss in row.items() if name.startswith("fold_")])
    seen = losses[~np.isnan(losses)]
    return float(seen.mean()) if len(seen) else math.inf


def _paired_error(losses: np.ndarray, others: np.ndarray, weights: np.ndarray) -> float:
    """Standard error of the mean difference of two candidates' losses on the same rows."""
    if not np.all(np.isfinite(losses)):
        return 0.0
    gaps = losses.astype(np.float64) - others
    spread = gaps - np.average(gaps, weights=weights)
    return float(np.sqrt(np.sum((weights * spread) ** 2)) / np.sum(weights))
