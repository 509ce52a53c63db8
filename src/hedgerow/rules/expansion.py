"""What is certain of a rule around any context: its tangent, and how far it may leave it.

    | f(x + u) − f(x) − ∂f(x)·u |  ≤  ½·uᵀ M u + L·‖u‖      for every x and every u

and f never leaves its hull. Upper bounds on robust values are made of this (``certify.bounds``).

In a soft tree f depends on x through the logits a_i = w_i·x + b_i of its gates. With ``gap_i`` the
largest difference between decisions beyond gate i on its left and on its right,

    |∂²f/∂a_i²|     ≤ max|σ''|·gap_i = gap_i/(6√3),
    |∂²f/∂a_i∂a_j|  ≤ max|σ'|²·gap_j = gap_j/16      where gate i is above gate j on a route,

and 0 for two gates that no route passes both. From |a_i a_j| ≤ (a_i² + a_j²)/2 follows
M = mean over trees of Σ_i γ_i w_i w_iᵀ: a tighter form of the paper's prop-srf-lip, which has one
number for all directions. Trees that look along one direction have an M of nearly rank one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hedgerow.rules.forest_arrays import ForestArrays

BEND, STEEP = 1 / (6 * math.sqrt(3)), 1 / 4
"""The largest |σ''| and σ' of a gate."""


@dataclass(frozen=True)
class Expansion:
    """A rule's tangents and what they miss, per decision; contexts are standardised.

    Attributes
    ----------
    at : contexts (rows, d) → values (rows, k) and slopes (rows, k, d)
    curvature : (k, d, d), symmetric and positive
        M.
    steepness : (k,)
        L.
    steepest : (k, d)
        The largest |∂f/∂x_j| anywhere.
    low, high : (k,)
        Ends of the hull; infinite where there are none.
    image, image_steepest : (k,) to (k,), and (k,); or None
        None: the numbers are the decisions. Else a map from bounds on them to bounds on decisions,
        increasing in each number by itself, and its largest derivatives.
    """

    at: Callable[
        [Float[np.ndarray, "rows d"]],
        tuple[Float[np.ndarray, "rows k"], Float[np.ndarray, "rows k d"]],
    ]
    curvature: Float[np.ndarray, "k d d"]
    steepness: Float[np.ndarray, " k"]
    steepest: Float[np.ndarray, "k d"]
    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]
    image: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None
    image_steepest: Float[np.ndarray, " k"] | None = None


def forest_expansion(trees: ForestArrays) -> Expansion:
    """Return what is certain of a mean of soft trees."""

    def at(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return trees.decide(trees.logits(x.T)).T, trees.gradients(x.T)

    return Expansion(
        at=at,
        curvature=np.einsum(
            "tgk,tgd,tge->kde",
            curvature_by_gate(trees) / len(trees.leaves),
            trees.weights,
            trees.weights,
            optimize=True,
        ),
        steepness=np.zeros(trees.leaves.shape[2]),
        steepest=_steepest(trees),
        low=trees.leaves.min(axis=1).mean(axis=0),
        high=trees.leaves.max(axis=1).mean(axis=0),
    )


def curvature_by_gate(trees: ForestArrays) -> Float[np.ndarray, "t g k"]:
    """γ: what each gate's w wᵀ counts in a tree's curvature."""
    gaps = _gaps(trees)
    counts = BEND * gaps
    for level in range(trees.depth):
        for below in range(level + 1, trees.depth):
            gates = np.arange(2**below - 1, 2 ** (below + 1) - 1)
            mixed = STEEP**2 * gaps[:, gates]
            counts[:, gates] += mixed
            for gate in range(2**level):  # the gates above, each with what hangs below it
                counts[:, 2**level - 1 + gate] += mixed[:, gate :: 2**level].sum(axis=1)
    return counts


def _steepest(trees: ForestArrays) -> Float[np.ndarray, "k d"]:
    """Mean over trees of the largest Σ_i ¼·gap_i·|w_i| over the gates of one route."""
    each = STEEP * np.einsum("tgk,tgd->tgkd", _gaps(trees), np.abs(trees.weights))
    beyond = np.zeros((len(each), 2**trees.depth, *each.shape[2:]))
    for level in reversed(range(trees.depth)):
        half = beyond.shape[1] // 2
        here = each[:, 2**level - 1 : 2 ** (level + 1) - 1]
        beyond = here + np.maximum(beyond[:, :half], beyond[:, half:])
    return beyond[:, 0].mean(axis=0)


def _gaps(trees: ForestArrays) -> Float[np.ndarray, "t g k"]:
    """The largest difference between decisions beyond each gate, left and right."""
    low = high = trees.leaves
    gaps: list[np.ndarray] = []
    for _ in range(trees.depth):
        half = low.shape[1] // 2
        left, right = slice(None, half), slice(half, None)
        gaps.append(np.maximum(high[:, left] - low[:, right], high[:, right] - low[:, left]))
        low, high = (
            np.minimum(low[:, left], low[:, right]),
            np.maximum(high[:, left], high[:, right]),
        )
    return np.concatenate(gaps[::-1], axis=1)
