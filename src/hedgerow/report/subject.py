"""What a report is about: a policy, the rows it is shown on, and what everything is called.

A table becomes contexts as the policy's own columns say; contexts that are numbers already are
taken as they are. Names are those of ``describe.names``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from hedgerow import _checks
from hedgerow.ambiguity import Problem
from hedgerow.data.columns import DATE, NUMBER, Column
from hedgerow.data.encoder import TableEncoder
from hedgerow.decisions import DecisionSet
from hedgerow.describe.names import decision_names, feature_names, outcome_names
from hedgerow.estimator import RobustPolicy
from hedgerow.explain.lens import decided
from hedgerow.losses import Loss
from hedgerow.report.calendar import dates_in, row_noun

MOST_JUDGED = 2000


@dataclass(frozen=True)
class Subject:
    """A policy and the rows of the report."""

    policy: RobustPolicy
    table: Any
    """The table the rows came from; None if they came as an array."""
    columns: list[Column]
    """What a reader can set: the table's columns, or the features themselves."""
    contexts: Float[np.ndarray, "rows features"]
    """In the data's units, as outcomes are."""
    outcomes: Float[np.ndarray, "rows outcomes"]
    features: list[str]
    labels: list[str]
    """The features' names in words ("weekday = SUN")."""
    outcome_names: list[str]
    decision_names: list[str]
    unit: str
    loss_unit: str
    """What decisions and losses are counted in, in words; may be empty."""
    encoder: TableEncoder | None = None
    """What made features of the table's columns; None if they were features already."""
    date_name: str = ""
    dates: np.ndarray | None = None
    """Days of the rows, datetime64[D], and what their column is called."""

    @classmethod
    def read(
        cls,
        policy: Any,
        X: Any,
        Y: Any,
        unit: str = "",
        loss_unit: str = "",
        time: str | None = None,
    ) -> Subject:
        """Check the policy and the rows, and find names for everything."""
        _checks.fitted_policy(policy)
        contexts, encoder = contexts_of(policy, X), _encoder_for(policy, X)
        features = feature_names(policy)
        plain = [Column(name, NUMBER) for name in features]
        table = X.rename(columns=str) if hasattr(X, "rename") else None
        own = [c.name for c in (encoder.columns_ if encoder else ()) if c.kind == DATE]
        date_name, dates = dates_in(table, time or next(iter(own), None)) or ("", None)
        return cls(
            policy=policy,
            table=table,
            columns=plain if encoder is None else encoder.columns_,
            contexts=contexts,
            outcomes=policy.outcomes(Y, contexts),
            features=features,
            labels=policy.encoder_.labels() if policy.encoder_ else features,
            outcome_names=outcome_names(policy, Y),
            decision_names=decision_names(policy, Y),
            unit=unit,
            loss_unit=loss_unit,
            encoder=encoder,
            date_name=date_name,
            dates=dates,
        )

    @cached_property
    def noun(self) -> str:
        """What a row is called: a day or a week where dates say so."""
        return row_noun(self.dates)

    @cached_property
    def dated(self) -> bool:
        """Whether rows can be laid out along a calendar: each has a date of its own."""
        return self.dates is not None and len(np.unique(self.dates)) == self.rows

    @property
    def money(self) -> str:
        """What losses are counted in, to be written behind a number."""
        return f" {self.loss_unit}" if self.loss_unit else ""

    @property
    def decision_set(self) -> DecisionSet:
        """Where decisions lie, in the data's units."""
        return self.policy.loss.decisions_for(self.outcomes.shape[1])

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.contexts)

    @cached_property
    def decisions(self) -> np.ndarray:
        """What the policy decides on each row, (rows, decisions)."""
        return decided(self.policy, self.contexts)

    @cached_property
    def loss(self) -> Loss:
        """The loss of these rows."""
        return self.policy.loss_on(self.contexts)

    @cached_property
    def judged(self) -> np.ndarray:
        """Rows that worst cases are computed from: evenly spaced ones, if there are very many."""
        return evenly(self.rows, MOST_JUDGED)

    @cached_property
    def problem(self) -> Problem:
        """These rows as a distribution, with what the policy hedges against."""
        return self.policy.problem(self.contexts[self.judged], self.outcomes[self.judged])

    def losses(self, decisions: np.ndarray) -> np.ndarray:
        """What decisions (rows, decisions), or one for all rows, would have cost on each row."""
        shape = (self.rows, self.policy.n_decisions_)
        found = self.loss(np.broadcast_to(decisions, shape), self.outcomes)
        return np.asarray(found, dtype=np.float64)

    def outcome_of(self, decision: int) -> int | None:
        """Which outcome a decision prepares for, in the same unit; None if there is no such one."""
        return decision if len(self.decision_names) == len(self.outcome_names) else None


def evenly(rows: int, most: int) -> np.ndarray:
    """At most so many positions, evenly spaced from the first row to the last."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(int))


def contexts_of(policy: RobustPolicy, X: Any) -> np.ndarray:
    """Contexts (rows, features) of a table with the policy's columns, or of anything array-like."""
    encoder = _encoder_for(policy, X)
    return policy.contexts(X if encoder is None else encoder.transform(X))


def _encoder_for(policy: RobustPolicy, X: Any) -> TableEncoder | None:
    """The policy's encoder, if X is a table with the columns that it turns into features."""
    encoder = policy.encoder_
    if encoder is None or not hasattr(X, "columns"):
        return None
    present = set(map(str, X.columns))
    encoded = all(str(name) in present for name in encoder.get_feature_names_out())
    plain = all(column.kind == NUMBER for column in encoder.columns_)
    return encoder if plain or not encoded else None
