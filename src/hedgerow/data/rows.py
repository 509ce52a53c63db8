"""Rows of a history: in order and without repeats, with equal contexts known, and near ones."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from sklearn.neighbors import NearestNeighbors

from hedgerow.data.spreads import Spreads


def in_order(
    X: np.ndarray, Y: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with weight, sorted, each once with the weight of all that equal it.

    So neither the order of rows, nor rows without weight, nor repeating them all changes anything.
    """
    keep = weights > 0
    if not keep.all():
        X, Y, weights = X[keep], Y[keep], weights[keep]
    labels = tie_labels(X)
    order = places_of(labels)
    if order is not None:
        return X[order], Y[order], weights[order]
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
    differs = ~same_first
    alike = np.flatnonzero(same_first)  # of these only, the other features have to be looked at
    differs[alike] = np.any(X[order[alike + 1]] != X[order[alike]], axis=1)
    labels = np.empty(len(X), dtype=np.int64)
    labels[order] = np.append(0, np.cumsum(differs))
    return labels


def labels_in_order(X: np.ndarray) -> Int[np.ndarray, " rows"]:
    """``tie_labels`` of rows that are in order already, without sorting them again."""
    differs = np.zeros(max(len(X) - 1, 0), dtype=bool)
    for column in X.T:  # a table of many rows would be copied otherwise
        differs |= column[1:] != column[:-1]
    return np.append(0, np.cumsum(differs))[: len(X)]


def places_of(labels: Int[np.ndarray, " rows"]) -> Int[np.ndarray, " rows"] | None:
    """Return the row of every label, if each has exactly one: their order, without sorting."""
    if len(labels) == 0 or labels.max() != len(labels) - 1:
        return None
    order = np.full(len(labels), -1)
    order[labels] = np.arange(len(labels))
    return None if order.min() < 0 else order


def near_rows(
    X: Float[np.ndarray, "rows d"], least: int, asked: Int[np.ndarray, " asked"]
) -> dict[int, Int[np.ndarray, " near"]]:
    """Rows of the nearest contexts, at least ``least`` of them, by the asked labels of contexts.

    Labels are those of ``tie_labels``; rows of one context are never separated.
    """
    if len(asked) == 0:
        return {}
    members = by_label(tie_labels(X))
    places = standardised(X)[[rows[0] for rows in members]]
    search = NearestNeighbors(n_neighbors=min(least, len(members))).fit(places)
    counts = np.array([len(rows) for rows in members])
    groups = {}
    for label, nearest in zip(
        asked, search.kneighbors(places[asked], return_distance=False), strict=True
    ):
        enough = int(np.searchsorted(np.cumsum(counts[nearest]), least)) + 1
        groups[int(label)] = np.concatenate([members[other] for other in nearest[:enough]])
    return groups


def by_label(labels: Int[np.ndarray, " rows"]) -> list[Int[np.ndarray, " members"]]:
    """Rows of every label, in their order; of no rows, no labels."""
    if len(labels) == 0:
        return []
    ends = np.cumsum(np.bincount(labels))[:-1]
    return np.split(np.argsort(labels, kind="stable"), ends)
