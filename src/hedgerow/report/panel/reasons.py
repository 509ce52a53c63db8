"""Why a series' orders are what they are, in its own units.

A pooled order is z = c·s·f(x): a factor c of the series, the scale s of the row, and a rule of the
context x. Over rows i of the series,

    how much column j counts     mean_i c·s_i·|∂_j f(x_i)| · (standard deviation of x_j over i)
    why z differs from usual     z − mean z_i = c·s·Σ_j φ_j + c·(s·mean f(x_i) − mean s_i·f(x_i))

with φ the attribution of f (``explain.attribute``); the last term is what the series' recent level
adds, and s alone counts |c·mean f|·(standard deviation of s_i). Rules of single series have
c = s = 1 and no such term.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from hedgerow import explain
from hedgerow.explain.lens import decided
from hedgerow.report.panel.subject import PanelSubject
from hedgerow.report.subject import evenly

MOST_ROWS, BACKGROUND = 200, 50
"""Rows of a series that importance is a mean of, and that an order is compared with."""
NOTHING = 1e-9
LEVEL, ITSELF = "recent level of the series", "size and spread of the series"


@dataclass(frozen=True)
class Reason:
    """Why one order differs from the series' usual one."""

    row: int
    usual: float
    order: float
    parts: list[tuple[str, float]]
    """What each column adds, the largest first; they sum to order − usual."""


@dataclass(frozen=True)
class Reasons:
    """What counts in a series, and reasons of some of its orders."""

    counts: list[tuple[str, float]]
    """Units by which an order moves when a column moves by what is usual in the series."""
    orders: list[Reason]


def reasons_of(subject: PanelSubject, place: int, rows: Int[np.ndarray, " some"]) -> Reasons:
    """What the orders of one series depend on, and why those of some rows are as they are."""
    own = np.flatnonzero(subject.places == place)
    some = own[evenly(len(own), MOST_ROWS)]
    policy, contexts, scale = _as_rule(subject, place, np.concatenate([some, rows]))
    groups = _groups(subject, contexts.columns)
    X = contexts.to_numpy(np.float64)
    seen, seen_scale = X[: len(some)], scale[: len(some)]
    f = decided(policy, policy.contexts(contexts))[:, 0]
    counts = _counts(policy, contexts[: len(some)], seen_scale, groups)
    level = float(np.std(seen_scale) * abs(f[: len(some)].mean()))
    if level > 0:
        counts[LEVEL] = level
    back = evenly(len(some), BACKGROUND)
    usual_rule, usual = f[back].mean(), float(np.mean(seen_scale[back] * f[back]))
    found = []
    for at, row in enumerate(rows, start=len(some)):
        one = explain.attribute(policy, X[at], seen[back]).grouped(groups)
        parts = dict(zip(one.names, scale[at] * one.values[0], strict=True))
        if level > 0:
            parts[LEVEL] = float(scale[at] * usual_rule - usual)
        ranked = sorted(parts.items(), key=lambda part: -abs(part[1]))
        found.append(Reason(int(row), usual, float(scale[at] * f[at]), ranked))
    ranked = sorted(counts.items(), key=lambda count: -count[1])
    least = NOTHING * max(counts.values(), default=0.0)  # what never varies moves nothing
    return Reasons([(name, value) for name, value in ranked if value > least], found)


def _as_rule(
    subject: PanelSubject, place: int, rows: np.ndarray
) -> tuple[Any, Any, Float[np.ndarray, " rows"]]:
    """The policy of a series, contexts as it sees them, and what its decisions are times."""
    panel, table = subject.panel, subject.table.iloc[rows]
    if panel.policy_ is None:
        policy = panel.policy_for(subject.keys.values[place])
        return policy, panel.panel_.plain(table), np.ones(len(rows))
    seen = panel.panel_.rows(table)
    factor, at = panel.factors_, subject.trained_places[place]
    scale = seen.scale * (1.0 if factor is None or at < 0 else factor[at])
    return panel.policy_, seen.contexts, scale


def _groups(subject: PanelSubject, names: Any) -> dict[str, list[str]]:
    """Features by the column they came of, in words."""
    scaled = {*subject.panel.panel_.layout.scaled} if subject.panel.policy_ is not None else set()
    groups = {
        f"{column}, relative to the level" if column in scaled else column: features
        for column, features in subject.panel.panel_.encoder.groups().items()
    }
    codes = [name for name in subject.panel.panel_.codes if name in names]
    return groups | ({ITSELF: codes} if codes else {})


def _counts(policy: Any, contexts: Any, scale: np.ndarray, groups: Any) -> dict[str, float]:
    """Mean size of the derivative by each column, times how much it varies in the series."""
    if not np.any(scale > 0):
        return {}
    slopes = explain.importance(policy, contexts, sample_weight=scale, per="unit")
    spread = contexts.to_numpy(np.float64).std(axis=0)
    moved = explain.Importance(slopes.scores * spread * scale.mean(), slopes.names).grouped(groups)
    return {name: float(score) for name, score in zip(moved.names, moved.scores, strict=True)}
