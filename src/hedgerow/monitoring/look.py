"""One look at what has arrived: the tests, the columns that moved, the distance.

cost      Is E[cost | past] ≤ bound? A test that may be looked at every day (``evidence``).
shift     Are new rows exchangeable with history, column by column? Likewise; the columns'
          evidence is averaged, and those that would pass alone are named.
distance  How far are recent rows? Column by column, in units of the transport cost,

              Σ_j W_p^p(column j)  ≤  W_p^p(rows),

          less what samples of history as long are apart by chance: an estimate from below of how
          much of the radius is used up, and a p-value for this one look.

The level is the chance of any false alarm, however often one looks; half of it is each test's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from hedgerow import _checks
from hedgerow.describe.numbers import listed
from hedgerow.monitoring.evidence import conformal_ranks, evidence
from hedgerow.monitoring.seen import BEYOND, MOVED, QUIET, Watch

COMPARED, LEVELS = 400, 100
"""Samples of history that say what a distance usually is; quantiles that are compared."""


@dataclass(frozen=True)
class Streams:
    """What is compared: new rows with history.

    Attributes
    ----------
    costs : (rows,) array
        Of new rows, in their order.
    before, now : (rows, columns) arrays
        Values of history, column by column, and of new rows; NaN where there is none.
    names : list of str
        Of the columns.
    scales : (columns,) array
        What a distance is counted in; 0: the column takes no part in distances.
    order : float
        p of the distance.
    room : float or None
        How far a radius lets rows move.
    single : (columns,) array of bool
        Columns of single series: half of the evidence is theirs, and they are no part of the
        distance of all.
    unit : str
        What a row is called.
    unwatched : tuple of str
        Series that have no history.
    """

    costs: Float[np.ndarray, " rows"]
    before: Float[np.ndarray, "old columns"]
    now: Float[np.ndarray, "rows columns"]
    names: list[str]
    scales: Float[np.ndarray, " columns"]
    order: float
    room: float | None
    single: Bool[np.ndarray, " columns"]
    unit: str = "row"
    unwatched: tuple[str, ...] = ()


@dataclass(frozen=True)
class Terms:
    """What a watch is told: the bound of the mean cost, and how to look."""

    bound: float
    level: float
    floor: float
    ignore: Any
    recent: int
    seed: int

    def check(self) -> None:
        """Refuse what cannot be meant."""
        _checks.below_one("level", self.level)
        _checks.finite("floor", self.floor)
        _checks.count("recent", self.recent)
        _checks.count("random_state", self.seed, 0)


def look(streams: Streams, terms: Terms) -> Watch:
    """Test new rows against the bound and against history."""
    costs, bound, floor = streams.costs, terms.bound, terms.floor
    if not bound > floor:
        raise ValueError(
            f"bound={bound:g} must exceed floor={floor:g}, the least cost of a {streams.unit}."
        )
    if costs.min(initial=math.inf) < floor:
        raise ValueError(
            f"A {streams.unit} cost {costs.min():g}, less than floor={floor:g}: give a floor that "
            "no cost falls below."
        )
    ignored = _ignored(terms.ignore, streams.names)
    threshold = math.log(2 / terms.level)
    spent = evidence((costs - floor) / (bound - floor) - 1)
    each = np.zeros(streams.now.shape)
    for j in np.flatnonzero(~ignored):
        each[:, j] = _moving(streams.before[:, j], streams.now[:, j], terms.seed + int(j))
    log_weights = _log_weights(ignored, streams.single)
    used = np.isfinite(log_weights)
    shift = np.logaddexp.reduce(each[:, used] + log_weights[used], axis=1)
    most = each.max(axis=0, initial=0.0)
    alarms = {
        BEYOND: np.flatnonzero(spent >= threshold),
        MOVED: np.flatnonzero(shift >= threshold) if used.any() else np.zeros(0, int),
    }
    given = {name: int(rows[0]) + 1 for name, rows in alarms.items() if len(rows)}
    status = next((name for name in (BEYOND, MOVED) if name in given), QUIET)
    recent = streams.now[-terms.recent :]
    scales = np.where(ignored, 0.0, streams.scales)
    distance, p_value, distances = distances_of(
        streams.before, recent, scales, streams.order, terms.level, terms.seed, streams.single
    )
    alone = most >= threshold - log_weights
    return Watch(
        status=status,
        level=terms.level,
        rows=len(costs),
        bound=bound,
        mean_cost=float(costs.mean()),
        cost_evidence=spent,
        shift_evidence=shift,
        alarm=given.get(status),
        columns=tuple(streams.names),
        column_evidence=most,
        moved=tuple(streams.names[j] for j in np.argsort(-most) if alone[j]),
        means_before=_means(streams.before),
        means_now=_means(recent),
        distance=distance,
        distance_p=p_value,
        distances=distances,
        room=streams.room,
        unit=streams.unit,
        unwatched=streams.unwatched,
    )


def _moving(before: np.ndarray, now: np.ndarray, seed: int) -> Float[np.ndarray, " rows"]:
    """Evidence that a column has moved, row by row; rows without a value bet nothing."""
    known = np.isfinite(now)
    sign = np.zeros(len(now))
    sign[known] = 1 - 2 * conformal_ranks(before[np.isfinite(before)], now[known], seed)
    return evidence(np.stack([sign, -sign], axis=1))


def _log_weights(ignored: np.ndarray, single: np.ndarray) -> Float[np.ndarray, " columns"]:
    """How much of the evidence is each column's: alike in each of two kinds, which share it."""
    kinds = [kind for kind in (~ignored & ~single, ~ignored & single) if kind.any()]
    found = np.full(len(ignored), -np.inf)
    for kind in kinds:
        found[kind] = -math.log(kind.sum() * len(kinds))
    return found


def _means(values: Float[np.ndarray, "rows columns"]) -> Float[np.ndarray, " columns"]:
    """Means of what there is; 0 where there is nothing."""
    known = np.isfinite(values)
    return np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def _ignored(ignore: Any, names: list[str]) -> np.ndarray:
    wanted = [ignore] if isinstance(ignore, str) else list(ignore)
    for name in wanted:
        if name not in names:
            raise ValueError(
                f"There is no column {name!r} to ignore; there are {listed(names, 12)}."
            )
    return np.array([name in wanted for name in names])


def distances_of(
    before: Float[np.ndarray, "old columns"],
    now: Float[np.ndarray, "recent columns"],
    scales: np.ndarray,
    order: float,
    level: float,
    seed: int,
    single: np.ndarray,
) -> tuple[float, float, np.ndarray]:
    """How far apart all columns with a scale are and its p-value; how far each is.

    W_p^p of each column in its scale, and their sum but for ``single`` ones, less what chance makes
    of samples of history as long as the recent rows, except for a share ``level`` of them.
    """
    rng = np.random.default_rng(seed)
    levels = (np.arange(LEVELS) + 0.5) / LEVELS
    columns = before.shape[1]
    far, usual = np.zeros(columns), np.zeros((COMPARED, columns))
    for j in np.flatnonzero(scales > 0):
        past, recent = (values[np.isfinite(values[:, j]), j] for values in (before, now))
        if not (len(past) and len(recent)):
            continue
        old = np.quantile(past, levels)
        drawn = rng.choice(past, size=(COMPARED, len(recent)))
        apart = np.abs(np.quantile(recent, levels) - old) / scales[j]
        chance = np.abs(np.quantile(drawn, levels, axis=1) - old[:, None]) / scales[j]
        far[j], usual[:, j] = np.mean(apart**order), np.mean(chance**order, axis=0)

    def beyond(found: float, by_chance: np.ndarray) -> float:
        return max(found - float(np.quantile(by_chance, 1 - level)), 0.0) ** (1 / order)

    together, sums = far[~single].sum(), usual[:, ~single].sum(axis=1)
    p_value = float((1 + np.sum(sums >= together)) / (1 + len(sums)))
    each = np.array([beyond(far[j], usual[:, j]) for j in range(columns)])
    return beyond(together, sums), p_value, each
