"""Nominal distributions: contexts, their outcomes, and how much mass each carries.

    P̂ = Σ_k m_k · δ(x̂_k) ⊗ Σ_i p̂_ki · δ(ŷ_ki)

Causal robustness differs from plain robustness only where a context has several outcomes. With
continuous covariates every context is seen once, so the choice of nominal matters:

- ``EmpiricalNominal``: the data as they are; rows whose contexts are exactly equal are grouped.
- ``AdaptedNominal``: contexts are quantised to cells by recursive median splits, and a cell's
  context is the mean of its members (adapted empirical measures; Backhoff, Bartl, Beiglböck &
  Wiesel 2022), which makes the nominal converge in causal distance.
- ``NeighbourNominal``: each context keeps its place and borrows the outcomes of its nearest
  neighbours.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from sklearn.neighbors import NearestNeighbors

from hedgerow import _checks
from hedgerow._components import Component
from hedgerow.data.spreads import Spreads
from hedgerow.describe.parts import NominalDescription


@dataclass(frozen=True)
class NominalDistribution:
    """A discrete nominal distribution in compressed rows: entries of context k stand together.

    ``start`` and ``count`` say where each context's entries begin and how many there are,
    ``entry_outcome`` which row of ``outcomes`` each is; the masses of contexts sum to 1, and so do
    those of one context's entries.
    """

    contexts: Float[np.ndarray, "contexts features"]
    context_mass: Float[np.ndarray, " contexts"]
    outcomes: Float[np.ndarray, "rows outcomes"]
    start: Int[np.ndarray, " contexts"]
    count: Int[np.ndarray, " contexts"]
    entry_outcome: Int[np.ndarray, " entries"]
    entry_mass: Float[np.ndarray, " entries"]

    @property
    def most_outcomes(self) -> int:
        """The largest number of outcomes that any one context has."""
        return int(self.count.max())

    @property
    def entry_context(self) -> np.ndarray:
        """The context of each entry, k."""
        return np.repeat(np.arange(len(self.contexts)), self.count)

    @property
    def entry_place(self) -> np.ndarray:
        """The place of each entry among those of its context, i."""
        return np.arange(len(self.entry_outcome)) - np.repeat(self.start, self.count)

    def within(self, support: tuple[np.ndarray, np.ndarray] | None) -> NominalDistribution:
        """Return it with outcomes moved into their support; None: all of R^d."""
        return self if support is None else replace(self, outcomes=np.clip(self.outcomes, *support))

    def joint_mass(self) -> np.ndarray:
        """Mass of each entry under P̂: m_k · p̂_ki."""
        return np.repeat(self.context_mass, self.count) * self.entry_mass


class Nominal(Component):
    """How the history becomes a nominal distribution (abstract)."""

    @abstractmethod
    def build(self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> NominalDistribution:
        """Return the nominal distribution of rows (X, Y) with non-negative weights."""

    def description(self) -> NominalDescription:
        """Say what becomes of rows."""
        return NominalDescription(type(self).__name__)


class EmpiricalNominal(Nominal):
    """The empirical distribution; exactly equal contexts are grouped, in O(N log N)."""

    def build(self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> NominalDistribution:
        """Group exact ties of the rows of X."""
        X, Y, weights = in_order(X, Y, weights)
        return _grouped(X, Y, weights, tie_labels(X))

    def description(self) -> NominalDescription:
        """They stay as they are."""
        return NominalDescription("empirical: history as it is")


class AdaptedNominal(Nominal):
    """The adapted empirical distribution: contexts quantised to cells of about equally many rows.

    Parameters
    ----------
    cells : int or None
        How many cells at most. None: the square root of the number of rows, rounded up.
    """

    def __init__(self, cells: int | None = None) -> None:
        self.cells = cells
        self.check()

    def check(self) -> None:
        """Cells must be a positive whole number."""
        if self.cells is not None:
            _checks.count("cells", self.cells)

    def description(self) -> NominalDescription:
        """Similar ones are taken together."""
        return NominalDescription(
            "adapted: contexts gathered in cells", "similar rows taken together"
        )

    def build(self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> NominalDistribution:
        """Quantise contexts, then group them."""
        X, Y, weights = in_order(X, Y, weights)
        cells = self.cells or math.ceil(math.sqrt(len(X)))
        labels = _median_cells(X, cells)
        mass = np.bincount(labels, weights)
        # Means are taken from the first row, so that a constant feature stays exactly constant.
        origin = X[0]
        centres = origin + np.stack(
            [np.bincount(labels, weights * column) / mass for column in (X - origin).T], axis=1
        )
        return _grouped(centres[labels], Y, weights, labels)


class NeighbourNominal(Nominal):
    """Each context with the outcomes of its k nearest neighbours (itself included).

    Distances are Euclidean after each feature is divided by its spread, so neither units nor typos
    matter. Neighbours count by their sample weight.

    Parameters
    ----------
    k : int
        Outcomes per context.
    """

    def __init__(self, k: int = 10) -> None:
        self.k = k
        self.check()

    def check(self) -> None:
        """The number of neighbours must be a positive whole number."""
        _checks.count("k", self.k)

    def description(self) -> NominalDescription:
        """Each has the outcomes of its neighbours."""
        return NominalDescription(
            f"neighbour: each context with the outcomes of its {self.k} nearest",
            "each with what happened on similar rows",
        )

    def build(self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> NominalDistribution:
        """Look up neighbours and weight their outcomes."""
        X, Y, weights = in_order(X, Y, weights)
        k = min(self.k, len(X))
        places = standardised(X)
        search = NearestNeighbors(n_neighbors=k).fit(places)
        neighbours = search.kneighbors(places, return_distance=False)
        mass = weights[neighbours]
        return NominalDistribution(
            contexts=X,
            context_mass=weights / weights.sum(),
            outcomes=Y,
            start=np.arange(len(X)) * k,
            count=np.full(len(X), k),
            entry_outcome=neighbours.ravel(),
            entry_mass=(mass / mass.sum(axis=1, keepdims=True)).ravel(),
        )


def in_order(
    X: np.ndarray, Y: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with weight, sorted, each once with the weight of all that equal it.

    So neither the order of rows, nor rows without weight, nor repeating them all changes anything.
    """
    keep = weights > 0
    X, Y, weights = X[keep], Y[keep], weights[keep]
    labels = tie_labels(X)
    order = np.lexsort((*Y.T[::-1], labels))
    labels, Y = labels[order], Y[order]
    differs = (labels[1:] != labels[:-1]) | np.any(Y[1:] != Y[:-1], axis=1)
    first = np.flatnonzero(np.append(True, differs))
    return X[order[first]], Y[first], np.add.reduceat(weights[order], first)


def standardised(X: np.ndarray) -> np.ndarray:
    """Features centred and in spreads: large common offsets would spoil distances."""
    spreads = Spreads.measure(X, np.ones(len(X)))
    return (X - spreads.centre) / np.where(spreads.deviation > 0, spreads.deviation, 1.0)


def tie_labels(X: np.ndarray) -> np.ndarray:
    """Label rows so that equal rows, and only equal rows, share a label, in lexicographic order.

    Rows are sorted by their first feature; only those tied there are sorted by the rest.
    """
    order = np.argsort(X[:, 0], kind="stable")
    same_first = X[order[1:], 0] == X[order[:-1], 0]
    tied = np.append(same_first, False) | np.append(False, same_first)
    rows = order[tied]
    order[tied] = rows[np.lexsort(X[rows, ::-1].T)]
    differs = np.any(X[order[1:]] != X[order[:-1]], axis=1)
    labels = np.empty(len(X), dtype=np.int64)
    labels[order] = np.append(0, np.cumsum(differs))
    return labels


def _median_cells(X: np.ndarray, cells: int) -> np.ndarray:
    """Split at the median of the widest standardised feature until there are ``cells`` cells.

    Equal contexts are never separated. Each round splits every cell that can still be split, the
    largest first; O(N log cells) work per feature looked at.
    """
    places = standardised(X)
    parts = [np.arange(len(X))]
    while len(parts) < cells:
        parts.sort(key=len, reverse=True)
        room, split = cells - len(parts), []
        for part in parts:
            halves = _median_halves(places, part) if room > 0 else None
            split.extend(halves or (part,))
            room -= 1 if halves else 0
        if len(split) == len(parts):
            break
        parts = split
    labels = np.empty(len(X), dtype=np.int64)
    for label, part in enumerate(parts):
        labels[part] = label
    return labels


def _median_halves(X: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    rows = X[part]
    widths = rows.max(axis=0) - rows.min(axis=0)
    if widths.max() == 0:
        return None
    column = rows[:, np.argmax(widths)]
    below = column <= np.median(column)
    if below.all():  # more than half the rows share the largest value
        below = column < column.max()
    return part[below], part[~below]


def _grouped(
    contexts: np.ndarray, Y: np.ndarray, weights: np.ndarray, labels: np.ndarray
) -> NominalDistribution:
    """Collect rows by label; within a context, entries are sorted by their first outcome."""
    order = np.lexsort((Y[:, 0], labels))
    sorted_labels = labels[order]
    start = np.flatnonzero(np.concatenate([[True], sorted_labels[1:] != sorted_labels[:-1]]))
    count = np.diff(np.append(start, len(order)))
    mass = weights[order]
    group_mass = np.add.reduceat(mass, start)
    return NominalDistribution(
        contexts=contexts[order[start]],
        context_mass=group_mass / weights.sum(),
        outcomes=Y,
        start=start,
        count=count,
        entry_outcome=order,
        entry_mass=mass / np.repeat(group_mass, count),
    )
