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
from hedgerow.data.censoring import RowParts, among_members, among_near, censored_in_order
from hedgerow.data.rows import (
    in_order,
    labels_in_order,
    places_of,
    standardised,
    tie_labels,
)
from hedgerow.describe.parts import NominalDescription


@dataclass(frozen=True)
class NominalDistribution:
    """A discrete nominal distribution in compressed rows: entries of context k stand together.

    ``start`` and ``count`` say where each context's entries begin and how many there are,
    ``entry_outcome`` which row of ``outcomes`` each is; the masses of contexts sum to 1, and so do
    those of one context's entries.

    ``entry_low`` says from where on each entry may lie: −∞, or what a censored row was seen to
    reach at least (``data.censoring``). None: no row is censored.
    """

    contexts: Float[np.ndarray, "contexts features"]
    context_mass: Float[np.ndarray, " contexts"]
    outcomes: Float[np.ndarray, "rows outcomes"]
    start: Int[np.ndarray, " contexts"]
    count: Int[np.ndarray, " contexts"]
    entry_outcome: Int[np.ndarray, " entries"]
    entry_mass: Float[np.ndarray, " entries"]
    entry_low: Float[np.ndarray, "entries outcomes"] | None = None

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
        if support is None:
            return self
        low = None if self.entry_low is None else np.minimum(self.entry_low, support[1])
        return replace(self, outcomes=np.clip(self.outcomes, *support), entry_low=low)

    def joint_mass(self) -> np.ndarray:
        """Mass of each entry under P̂: m_k · p̂_ki."""
        return np.repeat(self.context_mass, self.count) * self.entry_mass


class Nominal(Component):
    """How the history becomes a nominal distribution (abstract)."""

    @abstractmethod
    def build(self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> NominalDistribution:
        """Return the nominal distribution of rows (X, Y) with non-negative weights."""

    def build_censored(
        self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, censored: np.ndarray
    ) -> NominalDistribution:
        """Return that of rows of which the ``censored`` ones say "at least this much" only.

        What is returned has an ``entry_low``; there is one outcome.
        """
        name = type(self).__name__
        raise NotImplementedError(
            f"{name} does not say what becomes of censored rows: write {name}.build_censored "
            "(docs/extending.md shows how), or use hedgerow.EmpiricalNominal()."
        )

    def outline(
        self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray
    ) -> NominalDistribution | None:
        """Return any distribution of the shape that ``build`` will return, without its work.

        Programs are compiled for it while the work is done. None: it is not known, or soon done.
        """
        return None

    def description(self) -> NominalDescription:
        """Say what becomes of rows."""
        return NominalDescription(type(self).__name__)


class EmpiricalNominal(Nominal):
    """The empirical distribution; exactly equal contexts are grouped, in O(N log N).

    Examples
    --------
    >>> import numpy as np
    >>> import hedgerow as hr
    >>> X, y = np.array([[1.0], [1.0], [2.0]]), np.array([[3.0], [5.0], [4.0]])
    >>> found = hr.EmpiricalNominal().build(X, y, np.ones(3) / 3)
    >>> len(found.contexts), len(found.entry_outcome)  # equal contexts become one
    (2, 3)
    """

    def build(self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> NominalDistribution:
        """Group exact ties of the rows of X."""
        X, Y, weights = in_order(X, Y, weights)
        return _grouped(X, Y, weights, labels_in_order(X))

    def build_censored(
        self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, censored: np.ndarray
    ) -> NominalDistribution:
        """Give each censored row what was seen beyond it in near contexts."""
        X, Y, weights, censored = censored_in_order(X, Y, weights, censored)
        parts = among_near(X, Y[:, 0], weights, censored)
        return _in_parts(X, Y, weights, tie_labels(X), parts)

    def description(self) -> NominalDescription:
        """They stay as they are."""
        return NominalDescription("empirical: history as it is")


class AdaptedNominal(Nominal):
    """The adapted empirical distribution: contexts quantised to cells of about equally many rows.

    Parameters
    ----------
    cells : int or None
        How many cells at most. None: the square root of the number of rows, rounded up.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(
    ...     loss, hr.ERM(), hr.Affine(), hr.AdaptedNominal(cells=10), hr.NestedSGD(steps=50)
    ... )
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
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
        centres, labels = self._cells(X, weights)
        return _grouped(centres, Y, weights, labels)

    def build_censored(
        self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, censored: np.ndarray
    ) -> NominalDistribution:
        """Quantise contexts; a censored row becomes what was seen beyond it in its cell."""
        X, Y, weights, censored = censored_in_order(X, Y, weights, censored)
        centres, labels = self._cells(X, weights)
        parts = among_members(Y[:, 0], weights, censored, labels)
        return _in_parts(centres, Y, weights, labels, parts)

    def _cells(self, X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centre of every row's cell (rows, features), and its label."""
        cells = self.cells or math.ceil(math.sqrt(len(X)))
        labels = _median_cells(X, cells)
        mass = np.bincount(labels, weights)
        # Means are taken from the first row, so that a constant feature stays exactly constant.
        origin = X[0]
        centres = origin + np.stack(
            [np.bincount(labels, weights * column) / mass for column in (X - origin).T], axis=1
        )
        return centres[labels], labels


class NeighbourNominal(Nominal):
    """Each context with the outcomes of its k nearest neighbours (itself included).

    Distances are Euclidean after each feature is divided by its spread, so neither units nor typos
    matter. Neighbours count by their sample weight.

    Parameters
    ----------
    k : int
        Outcomes per context.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(
    ...     loss, hr.ERM(), hr.Affine(), hr.NeighbourNominal(5), hr.NestedSGD(steps=50)
    ... )
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
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
        neighbours = self._neighbours(X)
        k = neighbours.shape[1]
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

    def build_censored(
        self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, censored: np.ndarray
    ) -> NominalDistribution:
        """Look up neighbours; a censored one brings what was seen beyond it in near contexts."""
        X, Y, weights, censored = censored_in_order(X, Y, weights, censored)
        neighbours = self._neighbours(X)
        parts = among_near(X, Y[:, 0], weights, censored)
        mass = weights[neighbours]
        lent = (weights[:, None] * mass / mass.sum(axis=1, keepdims=True)).ravel()
        lender, borrower = neighbours.ravel(), np.repeat(np.arange(len(X)), neighbours.shape[1])
        # every part of a lender goes to each that borrows from it
        count = np.bincount(parts.row, minlength=len(X))
        each = count[lender]
        first = (np.cumsum(count) - count)[lender]
        places = np.repeat(first - np.cumsum(each) + each, each) + np.arange(each.sum())
        lent_parts = RowParts(
            np.repeat(np.arange(len(lender)), each), *(p[places] for p in parts[1:])
        )
        return _in_parts(X[borrower], Y, lent, borrower, lent_parts)

    def _neighbours(self, X: np.ndarray) -> np.ndarray:
        """The nearest rows of each, (rows, neighbours)."""
        places = standardised(X)
        search = NearestNeighbors(n_neighbors=min(self.k, len(X))).fit(places)
        return search.kneighbors(places, return_distance=False)


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
    order = places_of(labels)
    if order is None:
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


def _in_parts(
    contexts: np.ndarray, Y: np.ndarray, weights: np.ndarray, labels: np.ndarray, parts: RowParts
) -> NominalDistribution:
    """Collect parts of rows by the rows' labels, with what each may not fall below."""
    mass = weights[parts.row] * parts.share
    found = _grouped(contexts[parts.row], Y[parts.outcome], mass, labels[parts.row])
    return replace(found, entry_low=parts.low[found.entry_outcome, None])
