"""What a report is about: a policy, the rows it is shown on, and what everything is called.

A table becomes contexts as the policy's own columns say; contexts that are numbers already are
taken as they are. Names of decisions follow the outcomes where each decision prepares for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hedgerow import _checks
from hedgerow.data.encoder import CATEGORY, DATE, DATE_PARTS, TableEncoder
from hedgerow.estimator import RobustPolicy
from hedgerow.explain.lens import names_of
from hedgerow.losses import MeanCVaR, MeanVariance
from hedgerow.rules import GivenRule

LEVELS = {MeanVariance: "expected return", MeanCVaR: "value at risk"}
"""What the first decision of a portfolio is; the others are weights of assets."""


@dataclass(frozen=True)
class Subject:
    """A policy and the rows of the report.

    Attributes
    ----------
    policy : RobustPolicy
    table : the table the rows came from, if the policy knows its columns; else None
    contexts : (rows, features), in the data's units
    outcomes : (rows, outcomes)
    features, labels : names of the features, and the same in words ("weekday = SUN")
    outcome_names, decision_names : what they are called
    unit, loss_unit : what decisions and losses are counted in, in words; may be empty
    """

    policy: RobustPolicy
    table: Any
    contexts: np.ndarray
    outcomes: np.ndarray
    features: list[str]
    labels: list[str]
    outcome_names: list[str]
    decision_names: list[str]
    unit: str
    loss_unit: str

    @classmethod
    def read(cls, policy: Any, X: Any, Y: Any, unit: str = "", loss_unit: str = "") -> Subject:
        """Check the policy and the rows, and find names for everything."""
        _checks.fitted_policy(policy)
        check_is_fitted(policy, "rule_")
        if isinstance(policy.rule_, GivenRule):
            raise ValueError(
                "A report computes decisions live, which it cannot do for a rule given as a "
                "function; fit a policy, or use hedgerow.robust_value and hedgerow.worst_case."
            )
        contexts = contexts_of(policy, X)
        outcomes = policy._outcomes(Y, contexts)
        names = _outcome_names(policy, Y, outcomes.shape[1])
        return cls(
            policy=policy,
            table=X.rename(columns=str) if _is_raw_table(policy, X) else None,
            contexts=contexts,
            outcomes=outcomes,
            features=list(names_of(policy)),
            labels=_labels(policy),
            outcome_names=names,
            decision_names=_decision_names(policy, names),
            unit=unit,
            loss_unit=loss_unit,
        )

    @property
    def encoder(self) -> TableEncoder | None:
        """How columns became features, if the policy knows."""
        columns = self.policy.columns_
        return TableEncoder.from_json(columns.get("encoder")) if columns else None

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.contexts)

    @cached_property
    def decisions(self) -> np.ndarray:
        """What the policy decides on each row, (rows, decisions)."""
        return decisions_of(self.policy, self.contexts)

    def losses(self, decisions: np.ndarray) -> np.ndarray:
        """What decisions (rows, decisions), or one for all rows, would have cost on each row."""
        shape = (self.rows, self.policy.n_decisions_)
        found = self.policy.loss(np.broadcast_to(decisions, shape), self.outcomes)
        return np.asarray(found, dtype=np.float64)

    def outcome_of(self, decision: int) -> int | None:
        """Which outcome a decision prepares for, in the same unit; None if there is no such one."""
        same = len(self.decision_names) == len(self.outcome_names)
        return decision if same and type(self.policy.loss) not in LEVELS else None


def contexts_of(policy: RobustPolicy, X: Any) -> np.ndarray:
    """Contexts (rows, features) of a table with the policy's columns, or of anything array-like."""
    if _is_raw_table(policy, X):
        X = TableEncoder.from_json((policy.columns_ or {})["encoder"]).transform(X)
    names = getattr(policy, "feature_names_in_", None)
    if names is not None and hasattr(X, "columns"):
        missing = [str(name) for name in names if name not in X.columns]
        if missing:
            raise ValueError(
                f"The table lacks the column(s) {', '.join(missing[:12])}, which the policy was "
                "trained with."
            )
        X = X[list(names)]
    if names is not None and not hasattr(X, "columns"):
        X = _named(X, names)
    return policy._contexts(X, reset=False)


def decisions_of(policy: RobustPolicy, contexts: np.ndarray) -> np.ndarray:
    """Decisions (rows, decisions) for contexts in the data's units."""
    names = getattr(policy, "feature_names_in_", None)
    X = contexts if names is None else _named(contexts, names)
    return policy.predict(X).reshape(len(contexts), -1)


def _named(X: Any, names: Any) -> Any:
    from hedgerow.data.table_files import require_pandas

    array = np.asarray(X)
    if array.ndim != 2 or array.shape[1] != len(names):
        return X  # the policy says what is wrong with it
    return require_pandas().DataFrame(array, columns=list(names))


def _is_raw_table(policy: RobustPolicy, X: Any) -> bool:
    """Whether X has the columns that the policy's encoder turns into features."""
    if not policy.columns_ or not hasattr(X, "columns"):
        return False
    encoder = TableEncoder.from_json(policy.columns_.get("encoder"))
    present = set(map(str, X.columns))
    encoded = all(str(name) in present for name in encoder.get_feature_names_out())
    return not encoded or all(column.kind == "number" for column in encoder.columns_)


def _labels(policy: RobustPolicy) -> list[str]:
    """Names of features in words; only an encoder knows which column each of them came from."""
    if not policy.columns_:
        return list(names_of(policy))
    labels = []
    for column in TableEncoder.from_json(policy.columns_.get("encoder")).columns_:
        if column.kind == CATEGORY:
            labels += [f"{column.name} = {value}" for value in column.values]
        elif column.kind == DATE:
            labels += [f"{part.replace('_', ' ')} of {column.name}" for part in DATE_PARTS]
        else:
            labels.append(column.name)
    return labels


def _outcome_names(policy: RobustPolicy, Y: Any, count: int) -> list[str]:
    names = getattr(Y, "columns", None)
    if names is None and getattr(Y, "name", None) is not None:
        names = [Y.name]
    if names is None:
        names = (policy.columns_ or {}).get("outcomes")
    if names is None or len(names) != count:
        names = ["outcome"] if count == 1 else [f"outcome {i + 1}" for i in range(count)]
    return [str(name) for name in names]


def _decision_names(policy: RobustPolicy, outcomes: list[str]) -> list[str]:
    decisions = policy.n_decisions_
    if type(policy.loss) in LEVELS:
        return [LEVELS[type(policy.loss)], *outcomes]
    if decisions == len(outcomes):
        return ["decision"] if outcomes == ["outcome"] else outcomes
    return ["decision"] if decisions == 1 else [f"decision {i + 1}" for i in range(decisions)]
