"""What is to be transported where, and at which cost.

    c_p = ‖(x − x̂)/s_x‖_p^p + ‖(y − ŷ)/s_y‖_p^p    or, with norm = q,    ‖·‖_q^p in both terms

A *route* is what decides where a source point's context goes. In a causal plan that is the source
context alone, X ⊥ Ŷ | X̂; in a plan without that restriction it is the source point itself. Every
plan of interest then factors (a separable cost gains nothing from more):

    γ((x̂,ŷ), (x,y)) = p̂(x̂,ŷ) · π(x | route) · κ(y | ŷ, x)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from jaxtyping import Float, Int

from hedgerow import _checks
from hedgerow.transport.measure import DiscreteMeasure, Side


@dataclass(frozen=True)
class TransportProblem:
    """Source, target, cost and whether plans have to be causal; see the module's formulas."""

    source: Side
    target: Side
    order: float
    causal: bool
    x_scale: np.ndarray
    y_scale: np.ndarray
    norms: tuple[float | None, float | None] = (None, None)

    @classmethod
    def between(
        cls,
        source: DiscreteMeasure,
        target: DiscreteMeasure,
        order: Any,
        x_scale: Any,
        y_scale: Any,
        causal: bool,
        norm: Any = None,
    ) -> TransportProblem:
        """Check what the user gave."""
        for name, measure in (("source", source), ("target", target)):
            _checks.instance(name, measure, DiscreteMeasure, "a hedgerow.DiscreteMeasure(x, y)")
        for name in ("x", "y"):
            here, there = (getattr(m, name).shape[1] for m in (source, target))
            if here != there:
                raise ValueError(
                    f"source and target must have equally many columns of {name}, got {here} and "
                    f"{there}."
                )
        order, norms = _checks.order("order", order), _checks.norms("norm", norm)
        scales = (
            _scale("x_scale", x_scale, source.x.shape[1]),
            _scale("y_scale", y_scale, source.y.shape[1]),
        )
        whole = int(order) if order == int(order) else order
        return cls(source.side, target.side, whole, causal, *scales, norms)

    @cached_property
    def context_cost(self) -> Float[np.ndarray, "source_contexts target_contexts"]:
        """c_x between distinct contexts."""
        return _cost(
            self.source.contexts, self.target.contexts, self.x_scale, self.order, self.norms[0]
        )

    @cached_property
    def outcome_cost(self) -> Float[np.ndarray, "source_outcomes target_outcomes"]:
        """c_y between distinct outcomes."""
        return _cost(
            self.source.outcomes, self.target.outcomes, self.y_scale, self.order, self.norms[1]
        )

    @cached_property
    def route(self) -> Int[np.ndarray, " source_cells"]:
        """The route of each source cell."""
        source = self.source
        return source.cell_context if self.causal else np.arange(source.cells)

    @cached_property
    def route_mass(self) -> Float[np.ndarray, " routes"]:
        """Source mass on each route."""
        return self.source.context_mass if self.causal else self.source.mass

    @cached_property
    def route_context(self) -> Int[np.ndarray, " routes"]:
        """The source context of each route."""
        return np.arange(len(self.source.contexts)) if self.causal else self.source.cell_context

    @cached_property
    def route_outcomes(self) -> scipy.sparse.csr_array:
        """p̂(ŷ | route) as a sparse matrix (routes, source_outcomes)."""
        source = self.source
        share = source.conditional if self.causal else np.ones(source.cells)
        shape = (len(self.route_mass), len(source.outcomes))
        return scipy.sparse.csr_array((share, (self.route, source.cell_outcome)), shape=shape)

    @property
    def is_plain(self) -> bool:
        """Whether γ is any plan between routes and target cells.

        So it is without causality, when every source context has one outcome (causality is
        vacuous), and when every target context has one outcome (a context says which cell).
        """
        one_each = len(self.target.contexts) == self.target.cells
        return len(self.route_mass) == self.source.cells or one_each

    def plain_cost(self) -> Float[np.ndarray, "routes target_cells"]:
        """Mean cost from a route to a target cell."""
        target = self.target
        cost = (self.route_outcomes @ self.outcome_cost)[:, target.cell_outcome]
        cost += self.context_cost[self.route_context[:, None], target.cell_context]
        return cost

    @property
    def size(self) -> int:
        """Multiplications in the largest product of a sweep."""
        return self.outcome_cost.size * len(self.target.contexts)

    @property
    def largest_cost(self) -> float:
        """No two points are further apart than this."""
        return float(self.context_cost.max() + self.outcome_cost.max())


def _scale(name: str, value: Any, columns: int) -> np.ndarray:
    if isinstance(value, str):
        raise TypeError(
            f"{name} must be a number or one number per column, got {value!r}; only ambiguity "
            'models find an "auto" scale from data.'
        )
    array = _checks.parameter(name, value)
    if array.shape not in ((), (1,), (columns,)):
        raise ValueError(
            f"{name} must be a number or one number per column ({columns}), got shape "
            f"{array.shape}."
        )
    if np.any(array <= 0):
        raise ValueError(f"{name} must be greater than 0, got {value!r}.")
    return np.broadcast_to(array, (columns,))


def _cost(
    here: np.ndarray, there: np.ndarray, scale: np.ndarray, order: float, norm: float | None
) -> np.ndarray:
    power = order if norm is None else norm
    cost = np.zeros((len(here), len(there)))
    with np.errstate(over="ignore"):  # infinite costs are refused where the problem is solved
        for a, b, unit in zip(here.T, there.T, scale, strict=True):
            move = np.abs((a[:, None] - b) / unit)
            if power == np.inf:
                np.maximum(cost, move, out=cost)
            else:
                cost += move**power
        if power == order:
            return cost
        return cost ** (order if power == np.inf else order / power)
