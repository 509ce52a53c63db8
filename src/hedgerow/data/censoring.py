"""Censored outcomes: rows that only say "at least this much", and what they may have been.

On a day that sold out, sales are demand cut off by stock. With y_i what was seen and δ_i = 0 where
it was cut off, the product-limit estimator (Kaplan & Meier 1958) of demand is

    S(t) = Π_{y_j ≤ t, δ_j = 1} ( 1 − w_j / Σ_{y_l ≥ y_j} w_l ),

rows that end at the same value counting as seen before cut off. It is what remains when the weight
of every censored row is handed on, in order, to the rows to its right (Efron 1967). Here that is
done row by row: a censored row keeps its context, and its outcome becomes those seen to its right,

    P(Y = y_j | Y > y_i) = (S(y_j−) − S(y_j)) / S(y_i),

with S among rows of near contexts (Beran 1981's conditional estimator with k-nearest weights),
since stock and demand may both depend on the context. What S leaves beyond the largest value, if
that is censored itself, stays there as an outcome that is still censored.

Every part of a censored row remembers from where on it may lie, its ``low``: an adversary may move
it upwards without limit, and downwards no further than that.

The mirror image is the chance of not being cut off before y, by which held-out rows are judged
(Robins & Rotnitzky 1992): a row that was seen stands for 1/G(y−) rows of its kind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from hedgerow.data.rows import by_label, in_order, near_rows, tie_labels

MOST_PARTS = 16
"""Outcomes that one censored row is given; of more, so many quantiles with equal shares."""
EQUAL_PARTS = 8
"""Parts of every row where all have to count the same."""
NEAREST = 50
"""Rows of near contexts, at least, among which a censored row's weight is handed on."""
RAREST = 0.1
"""No chance of being seen is taken to be smaller: one row stands for ten at most."""
GOLDEN = (math.sqrt(5) - 1) / 2

Column = Float[np.ndarray, " rows"]
Mask = Bool[np.ndarray, " rows"]


class RowParts(NamedTuple):
    """Rows, each in parts: whose part it is, which row's outcome it takes, its share, its bound.

    Shares of a row sum to 1, and parts stand in the order of rows and outcomes. ``low`` is −∞ for
    a row that was seen.
    """

    row: Int[np.ndarray, " parts"]
    outcome: Int[np.ndarray, " parts"]
    share: Float[np.ndarray, " parts"]
    low: Float[np.ndarray, " parts"]

    def expected(self, y: Column) -> Column:
        """What is expected of each row, (rows,): itself, or the mean of what lies beyond it."""
        return np.bincount(self.row, self.share * y[self.outcome])

    def equal_parts(
        self, y: Column
    ) -> tuple[Float[np.ndarray, "rows parts"], Float[np.ndarray, "rows parts"]]:
        """Outcomes of each row and their bounds, in EQUAL_PARTS quantiles that count the same."""
        own = np.arange(self.row[-1] + 1)[:, None]
        first = np.searchsorted(self.row, own, side="left")
        last = np.searchsorted(self.row, own, side="right") - 1
        below = np.cumsum(self.share)
        before = below[first] - self.share[first]
        levels = (np.arange(EQUAL_PARTS) + own * GOLDEN % 1) / EQUAL_PARTS
        places = np.searchsorted(below, before + levels * (below[last] - before), side="right")
        places = np.clip(places, first, last)
        return y[self.outcome[places]], self.low[places]


class ProductLimits(NamedTuple):
    """Rows in order, seen before censored at one value, with what is estimated at each.

    ``mass`` is that of the outcome (of a last row that is censored: all that is left), ``beyond``
    what lies to the right of the row, ``uncut`` the chance of not being cut off before it.
    """

    order: Int[np.ndarray, " rows"]
    mass: Column
    beyond: Column
    uncut: Column


def censored_in_order(
    X: np.ndarray, Y: np.ndarray, weights: np.ndarray, censored: Mask
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Mask]:
    """Rows with weight, sorted, each once (``in_order``), a censored one beside a seen one."""
    X, both, weights = in_order(X, np.column_stack([Y, censored]), weights)
    return X, both[:, :-1], weights, both[:, -1] > 0


def product_limits(y: Column, weights: Column, censored: Mask) -> ProductLimits:
    """Return the product-limit estimators of outcomes and of what cuts them off."""
    order = np.lexsort((censored, y))
    weight, cut = weights[order], censored[order]
    at_risk = np.cumsum(weight[::-1])[::-1]
    ends = weight / np.where(at_risk > 0, at_risk, 1.0)
    beyond = np.cumprod(np.where(cut, 1.0, 1 - ends))
    before = np.concatenate([[1.0], beyond[:-1]])
    mass = np.where(cut, 0.0, before * ends)
    if cut[-1]:
        mass[-1] = before[-1]
    uncut = np.cumprod(np.where(cut, 1 - ends, 1.0))
    return ProductLimits(order, mass, beyond, np.concatenate([[1.0], uncut[:-1]]))


def among_near(X: np.ndarray, y: Column, weights: Column, censored: Mask) -> RowParts:
    """Hand the weight of censored rows on among rows of near contexts."""
    labels = tie_labels(X)
    groups = near_rows(X, NEAREST, np.unique(labels[censored]))
    return redistribute(y, weights, censored, labels, groups)


def among_all(y: Column, weights: Column, censored: Mask) -> RowParts:
    """Hand the weight of censored rows on among all rows."""
    return among_members(y, weights, censored, np.zeros(len(y), np.int64))


def among_members(y: Column, weights: Column, censored: Mask, labels: np.ndarray) -> RowParts:
    """Hand the weight of censored rows on among rows of the same label."""
    return redistribute(y, weights, censored, labels, dict(enumerate(by_label(labels))))


def redistribute(
    y: Column,
    weights: Column,
    censored: Mask,
    labels: Int[np.ndarray, " rows"],
    groups: Mapping[int, Int[np.ndarray, " near"]],
) -> RowParts:
    """Hand the weight of every censored row on to the right, within the group of its label."""
    seen, cut = np.flatnonzero(~censored), np.flatnonzero(censored)
    found = [(seen, seen, np.ones(len(seen)), np.full(len(seen), -np.inf))]
    asked, place_of = np.unique(labels[cut], return_inverse=True)
    for label, own in zip(asked, by_label(place_of), strict=True):
        near = groups[int(label)]
        limits = product_limits(y[near], weights[near], censored[near])
        ordered = near[limits.order]
        place = dict(zip(ordered.tolist(), range(len(ordered)), strict=True))
        for row in cut[own]:
            chosen, share = _to_the_right(limits, place[int(row)], row * GOLDEN % 1)
            taken = ordered[chosen]
            low = np.where(censored[taken], y[taken], y[row])
            found.append((np.full(len(taken), row), taken, share, low))
    row, outcome, share, low = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((y[outcome], row))
    return RowParts(row[order], outcome[order], share[order], low[order])


def _to_the_right(
    limits: ProductLimits, place: int, phase: float
) -> tuple[Int[np.ndarray, " parts"], Float[np.ndarray, " parts"]]:
    """Places to the right of a censored one that have mass, and their shares of what lies there.

    Where nothing does, or nothing but what is censored at its own place, the row stays.
    """
    chosen = place + 1 + np.flatnonzero(limits.mass[place + 1 :] > 0)
    if len(chosen) == 0:
        return np.array([place]), np.ones(1)
    share = limits.mass[chosen] / limits.beyond[place]
    if len(chosen) <= MOST_PARTS:
        return chosen, share / share.sum()
    levels = (np.arange(MOST_PARTS) + phase) / MOST_PARTS
    below = np.cumsum(share) / share.sum()
    drawn = np.minimum(np.searchsorted(below, levels, side="right"), len(chosen) - 1)
    return chosen[drawn], np.full(MOST_PARTS, 1 / MOST_PARTS)


def weights_of_seen(X: np.ndarray, y: Column, weights: Column, censored: Mask) -> Column:
    """What rows count when losses are averaged over those that were seen: w·δ/G(y−|x), (rows,).

    G is the chance of not being cut off before y among rows of near contexts. Averages of any loss
    of context and outcome are then right wherever being cut off depends on the context only, and
    every pair that is averaged over has really been. The price is what lies beyond all that was
    ever seen: no weight makes up for it.
    """
    labels = tie_labels(X)
    asked = np.unique(labels[~censored])
    chance = np.ones(len(y))
    for label, near in near_rows(X, NEAREST, asked).items():
        limits = product_limits(y[near], weights[near], censored[near])
        uncut = np.empty(len(near))
        uncut[limits.order] = limits.uncut
        own = labels[near] == label
        chance[near[own]] = uncut[own]
    return np.where(censored, 0.0, weights / np.maximum(chance, RAREST))
