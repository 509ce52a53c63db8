"""How bad it can get: the value that was certified, and what the world would look like then.

The worst case is a distribution near the rows of the report under which the policy does as badly as
its model allows. It is shown by draws from it: histograms of outcomes, and of the features that
matter most, beside the rows themselves. Where draws keep to the values that the rows hold, as of
categories and 0/1 columns that were declared so, shares of these values stand for a histogram.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from hedgerow.certify.value import certify
from hedgerow.certify.worst_cases import attaining
from hedgerow.data.encoder import CATEGORY
from hedgerow.describe.numbers import number
from hedgerow.report.subject import Subject
from hedgerow.report.worlds import Drawn, worlds

DRAWS, BINS = 4000, 24
MOST_OUTCOMES, MOST_FEATURES = 3, 5
TOLERANCE = 5e-3
SAME = 1e-6
"""What a draw may differ by from a value that it is: rounding of standardised columns."""


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
    """Histograms: ``name``, ``kind``, ``edges``, ``data`` and ``worst`` shares, means, spreads.

    Of what has few values: ``values`` in place of edges, means and spreads."""
    words: tuple[str, ...] = ()
    """What is different in the worst case, the weightiest first."""
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
    some = subject.judged
    X, Y = subject.contexts[some], subject.outcomes[some]
    try:
        found = certify(subject.problem, policy.rule_, jax.random.key(0, impl="rbg"), TOLERANCE)
        worst = attaining(found)
        draws = worst.sample(DRAWS)
    except (ValueError, NotImplementedError) as error:  # infinite, or a model that states none
        return Scenario(trouble=f"No worst case could be computed on these rows: {error}")
    panels = [
        _panel(subject.outcome_names[i], "outcome", Y[:, i], draws.y[:, i])
        for i in range(min(MOST_OUTCOMES, Y.shape[1]))
    ]
    named = _variables(subject)
    weight = [float(np.sum(importance[places])) for _, places, _ in named]
    for nth in np.argsort(np.negative(weight), kind="stable"):
        if len(panels) == min(MOST_OUTCOMES, Y.shape[1]) + MOST_FEATURES or not weight[nth] > 0:
            break
        name, places, values = named[nth]
        found = _feature(name, values, X[:, places], draws.x[:, places])
        panels += [] if found is None else [found]
    return Scenario(
        rows=len(some),
        expected_loss=float(worst.expected_loss()),
        value=float(worst.robust.value),
        nominal=float(worst.robust.nominal),
        panels=tuple(panels),
        words=tuple(
            worlds(
                Drawn(
                    subject,
                    some,
                    draws.x,
                    draws.y,
                    _sources(draws, X, subject.problem.nominal.contexts),
                )
            )
        ),
    )


def _sources(draws: Any, X: np.ndarray, contexts: np.ndarray) -> np.ndarray | None:
    """Which row each draw was moved from; None where contexts of the nominal are no rows."""
    rows = {x.tobytes(): i for i, x in enumerate(X + 0.0)}  # -0.0 becomes 0.0
    if len(rows) < len(X):
        return None
    homes = [rows.get(x.tobytes(), -1) for x in contexts + 0.0]
    if min(homes) < 0:
        return None
    return np.array(homes)[np.asarray(draws.source, np.int64)]


def _variables(subject: Subject) -> list[tuple[str, list[int], list[str]]]:
    """Features by name and place, all of a category together, with the names of its values."""
    alone = [(name, [place], []) for place, name in enumerate(subject.labels)]
    encoder = subject.policy.encoder_
    if encoder is None:
        return alone
    found: list[tuple[str, list[int], list[str]]] = []
    for column in encoder.columns_:
        first = sum(len(places) for _, places, _ in found)
        count = len(column.features)
        if column.kind == CATEGORY:
            found.append((column.name, [*range(first, first + count)], [*map(str, column.values)]))
        else:
            found += alone[first : first + count]
    return found


def _feature(
    name: str, values: list[str], data: np.ndarray, worst: np.ndarray
) -> dict[str, Any] | None:
    """A histogram, or shares of values; None where few values are shifted by degrees.

    A 0/1 column that takes −0.3 to 1.3 in the worst case says little.
    """
    if len(values) > 1:
        known = np.eye(len(values))
    else:
        known = np.unique(data, axis=0)
        values = [number(float(value)) for value in known[:, 0]]
        if len(known) > 2:
            return _panel(name, "feature", data[:, 0], worst[:, 0])
    shares = [_shares(rows, known) for rows in (data, worst)]
    if any(share is None for share in shares):
        return None
    return {
        "name": name,
        "kind": "feature",
        "values": values,
        "data": shares[0],
        "worst": shares[1],
    }


def _shares(rows: np.ndarray, known: np.ndarray) -> list[float] | None:
    """Shares of the known values; None if rows hold others."""
    gaps = np.abs(rows[:, None] - known).max(axis=2)
    if np.any(gaps.min(axis=1) > SAME):
        return None
    return (np.bincount(gaps.argmin(axis=1), minlength=len(known)) / len(rows)).tolist()


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
