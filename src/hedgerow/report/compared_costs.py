"""What decisions cost on the rows of a report, beside what else could have been decided.

    mean loss ± standard error,   paired difference d̄ ± t·s_d/√n  (95 %),   quantiles,   CVaR

Comparisons are paired, row by row: what makes a day costly for one policy mostly makes it costly
for all, and only the difference is of interest. Who decided on some rows only (a column of present
orders with gaps) is compared on those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import t as student

from hedgerow.data.columns import numeric_column
from hedgerow.describe.numbers import counted, listed, number
from hedgerow.explain.lens import decided
from hedgerow.metrics import cvar
from hedgerow.report.subject import Subject, contexts_of

CONFIDENCE = 0.95
TAIL = 0.05
FORESIGHT = "Perfect foresight"


@dataclass(frozen=True)
class Cost:
    """One way to decide, and what it cost on each row."""

    name: str
    remark: str
    losses: Float[np.ndarray, " rows"]
    """NaN on rows that it did not decide on."""
    kind: str
    """The "policy" (the one reported on), "other" policy, present "orders", or a "reference"."""

    @property
    def known(self) -> Float[np.ndarray, " some"]:
        """Costs of the rows that it decided on."""
        return self.losses[np.isfinite(self.losses)]

    @property
    def mean(self) -> float:
        """Average cost."""
        return float(self.known.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean; 0 of a single row, which says nothing about others."""
        return standard_error(self.known)

    @property
    def spread(self) -> dict[str, float]:
        """Median, 90 % quantile, worst row, and mean of the worst 5 %."""
        middle, high = np.quantile(self.known, [0.5, 0.9])
        return {
            "median": float(middle),
            "high": float(high),
            "tail": cvar(-self.known, TAIL),
            "worst": float(self.known.max()),
        }

    def against(self, other: Cost) -> tuple[float, float, float]:
        """How much more this costs than the other, row by row, with the ends of its interval."""
        gaps = self.losses - other.losses
        gaps = gaps[np.isfinite(gaps)]
        return float(gaps.mean()), *interval(gaps)


def standard_error(values: np.ndarray) -> float:
    """Standard deviation of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def interval(values: np.ndarray) -> tuple[float, float]:
    """Ends of the 95 % confidence interval of the mean (Student's t)."""
    half = standard_error(values)
    if len(values) > 1:
        half *= float(student.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
    mean = float(values.mean())
    return mean - half, mean + half


def costs_of(subject: Subject, X: Any, against: Mapping[str, Any]) -> list[Cost]:
    """The policy, other policies, the best fixed decisions, and perfect foresight where known."""
    policy, Y = subject.policy, subject.outcomes
    found = [Cost("This policy", "", subject.losses(subject.decisions), "policy")]
    for name, other in against.items():
        if hasattr(other, "predict"):
            decisions = _decisions(name, other, X, subject)
            found.append(Cost(name, "another policy", subject.losses(decisions), "other"))
        else:
            found.insert(1, _ordered(str(name), other, subject))
    hindsight = subject.loss.best_constant(Y, np.ones(len(Y)))
    for when, decision, remark in (
        ("of training", policy.units_.constant, ""),
        ("in hindsight", hindsight, ", which nobody could know before"),
    ):
        name, said = f"Best fixed decision {when}", f"always {fixed_words(decision)}{remark}"
        found.append(Cost(name, said, subject.losses(decision), "reference"))
    foreseen = subject.loss.foresight(Y)
    if foreseen is not None:
        found.append(Cost(FORESIGHT, "every outcome known before", foreseen, "reference"))
    return found


def compared_with(costs: list[Cost]) -> Cost:
    """What the policy is measured by: present orders where there are any, else a fixed decision."""
    orders = [cost for cost in costs if cost.kind == "orders"]
    return orders[0] if orders else next(cost for cost in costs if cost.kind == "reference")


def _ordered(name: str, columns: Any, subject: Subject) -> Cost:
    """Present orders: a column of the table for each decision; empty where nobody knows."""
    names = [columns] if isinstance(columns, str) else list(columns)
    decisions = subject.policy.n_decisions_
    if len(names) != decisions:
        raise ValueError(
            f"against={{{name!r}: …}} must name a fitted policy or one column for each of "
            f"{counted(decisions, 'decision')}; got {columns!r}."
        )
    if subject.table is None:
        raise ValueError(f"against={{{name!r}: {columns!r}}} needs X as a table with that column.")
    orders = np.full((subject.rows, decisions), np.nan)
    for k, column in enumerate(names):
        if column not in subject.table.columns:
            raise ValueError(
                f"There is no column {column!r} to compare with; the table has "
                f"{listed(subject.table.columns)}."
            )
        given = subject.table[column].notna().to_numpy()
        orders[given, k] = numeric_column(subject.table[given], column) if given.any() else []
    known = np.isfinite(orders).all(axis=1)
    if not known.any():
        raise ValueError(f"{listed(names)}: no row says what was ordered.")
    losses = np.where(known, subject.losses(np.where(np.isfinite(orders), orders, 0.0)), np.nan)
    remark = f"column {listed(names, most=4)}"
    if not known.all():
        remark += f", on {int(known.sum()):,} of the {counted(subject.rows, 'row')}"
    return Cost(name, remark, losses, "orders")


def fixed_words(decision: np.ndarray) -> str:
    """A decision as it is listed: its numbers, the first few of many."""
    return listed(map(number, decision), most=4)


def _decisions(name: str, other: Any, X: Any, subject: Subject) -> np.ndarray:
    decisions = decided(other, contexts_of(other, X))
    if decisions.shape[1] != subject.policy.n_decisions_:
        raise ValueError(
            f"{name} makes {decisions.shape[1]} decision(s), but the policy of the report makes "
            f"{subject.policy.n_decisions_}; they cannot be compared."
        )
    return decisions
