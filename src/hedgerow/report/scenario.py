"""How bad it can get: the value that was certified, and what the world would look like then.

The worst case is a distribution near the rows of the report under which the policy does as badly as
its model allows. It is shown by draws from it: histograms of outcomes, and of the features that
matter most, beside the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.certify.worst_cases import worst_case
from hedgerow.report.live import evenly
from hedgerow.report.subject import Subject

MOST_ROWS, DRAWS, BINS = 2000, 4000, 24
MOST_OUTCOMES, MOST_FEATURES = 3, 5
TOLERANCE = 5e-3


@dataclass(frozen=True)
class Scenario:
    """The worst case near the rows."""

    rows: int = 0
    """How many it was computed from."""
    expected_loss: float = float("nan")
    value: float = float("nan")
    nominal: float = float("nan")
    """Mean loss in the worst case; that, less the price of reaching it; mean loss of the rows."""
    panels: tuple[dict[str, Any], ...] = ()
    """Histograms: ``name``, ``kind``, ``edges``, ``data`` and ``worst`` shares, means, spreads."""
    trouble: str = ""
    """Why there is no worst case to show; empty if there is one."""


def scenario_of(subject: Subject, importance: np.ndarray) -> Scenario:
    """Draw from the worst case near the rows; where there is none, say why."""
    policy = subject.policy
    if not policy.given_.description().hedges:
        return Scenario(
            trouble="This policy trusts its data: it was trained without hedging against anything "
            "(empirical risk minimisation), so there is no worst case to show."
        )
    some = evenly(subject.rows, MOST_ROWS)
    X, Y = subject.contexts[some], subject.outcomes[some]
    try:
        worst = worst_case(policy, X, Y, tolerance=TOLERANCE)
        draws = worst.sample(DRAWS)
    except (ValueError, NotImplementedError) as error:  # infinite, or a model that states none
        return Scenario(trouble=f"No worst case could be computed on these rows: {error}")
    # Every number is shifted by degrees, which says little about what is only ever 0 or 1.
    order = np.argsort(-importance, kind="stable")
    telling = [j for j in order if importance[j] > 0 and len(np.unique(X[:, j])) > 2]
    panels = [
        _panel(subject.outcome_names[i], "outcome", Y[:, i], draws.y[:, i])
        for i in range(min(MOST_OUTCOMES, Y.shape[1]))
    ] + [
        _panel(subject.labels[j], "feature", X[:, j], draws.x[:, j])
        for j in telling[:MOST_FEATURES]
    ]
    return Scenario(
        rows=len(some),
        expected_loss=float(worst.expected_loss()),
        value=float(worst.robust.value),
        nominal=float(worst.robust.nominal),
        panels=tuple(panels),
    )


def _panel(name: str, kind: str, data: np.ndarray, worst: np.ndarray) -> dict[str, Any]:
    """Shares of data and draws in common bins, which leave out the draws' outermost thousandths."""
    low, high = np.quantile(worst, [0.001, 0.999])
    low, high = min(low, data.min()), max(high, data.max())
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    shares = [np.histogram(np.clip(v, low, high), edges)[0] / len(v) for v in (data, worst)]
    return {
        "name": name,
        "kind": kind,
        "edges": edges.tolist(),
        "data": shares[0].tolist(),
        "worst": shares[1].tolist(),
        "means": [float(data.mean()), float(worst.mean())],
        "spreads": [float(data.std()), float(worst.std())],
    }
