"""A transport plan by its two factors, which are small where the plan is not.

    γ((x̂,ŷ), (x,y)) = p̂(x̂,ŷ) · π(x | route) · κ(y | ŷ, x)

Both factors are normalised after they are computed, so the first marginal and, where routes are
contexts, causality hold to rounding whatever the scalings are. The error of a solver that stopped
early is in the second marginal alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from jaxtyping import Float, Int

from hedgerow.transport.log_products import blocks, exp_in_place, grouped_log_sum_exp, softmax
from hedgerow.transport.transport_problem import TransportProblem


class Factors(Protocol):
    """What a plan is made of (an entropic one, or an exact one)."""

    def routes(self, routes: Int[np.ndarray, " r"]) -> Float[np.ndarray, "r target_contexts"]:
        """π(x | route) for some routes."""
        ...

    def outcomes(self, outcomes: Int[np.ndarray, " o"]) -> Float[np.ndarray, "o target_cells"]:
        """κ(y | ŷ, x) for some source outcomes, and all target cells (x, y)."""
        ...


@dataclass(frozen=True)
class EntropicFactors:
    """Factors of the plan that scalings of the target define, epsilon > 0 (``sweep_forms``)."""

    problem: TransportProblem
    epsilon: float
    log_scaling: Float[np.ndarray, " target_cells"]

    @cached_property
    def arrivals(self) -> Float[np.ndarray, "source_outcomes target_contexts"]:
        """A(ŷ, x) = log Σ_y exp(−c_y(ŷ,y)/ε)·b(x,y)."""
        start, outcomes = self.problem.target.start, len(self.problem.source.outcomes)
        parts = [
            grouped_log_sum_exp(self._exponents(np.arange(part.start, part.stop)), start)
            for part in blocks(outcomes, len(self.log_scaling))
        ]
        return np.concatenate(parts)

    @cached_property
    def causal_routes(self) -> Float[np.ndarray, "source_contexts target_contexts"]:
        """π(x | x̂), which is small enough to keep."""
        problem = self.problem
        aggregate = problem.route_outcomes @ self.arrivals
        return softmax(aggregate - problem.context_cost / self.epsilon)

    def routes(self, routes: np.ndarray) -> np.ndarray:
        """π(x | route) ∝ exp(−c_x/ε + Σ_ŷ p̂(ŷ | route)·A(ŷ,x))."""
        problem = self.problem
        if problem.causal:
            return self.causal_routes[routes]
        exponents = self.arrivals[problem.source.cell_outcome[routes]]
        return softmax(
            exponents - problem.context_cost[problem.route_context[routes]] / self.epsilon
        )

    def outcomes(self, outcomes: np.ndarray) -> np.ndarray:
        """κ(y | ŷ, x) ∝ exp(−c_y/ε)·b(x,y)."""
        weights = self._exponents(outcomes)
        weights -= self.arrivals[outcomes].take(self.problem.target.cell_context, axis=1)
        return normalised_by_context(self.problem, exp_in_place(weights))

    def _exponents(self, outcomes: np.ndarray) -> np.ndarray:
        exponents = self.problem.outcome_cost[outcomes] / -self.epsilon
        exponents = exponents.take(self.problem.target.cell_outcome, axis=1)
        exponents += self.log_scaling
        return exponents


class ExactFactors:
    """Factors given as masses: what is sent from routes to contexts, and from outcomes to cells.

    A row of masses may be all zero (a mass below what an LP solver resolves); what little there is
    then goes to the nearest context, or to the nearest outcome.
    """

    def __init__(self, problem: TransportProblem, sent: np.ndarray, moved: np.ndarray) -> None:
        empty = np.flatnonzero(sent.sum(axis=1) <= 0)
        nearest = problem.context_cost[problem.route_context[empty]].argmin(axis=1)
        sent[empty, nearest] = 1.0
        self.sent = sent / sent.sum(axis=1, keepdims=True)
        target = problem.target
        arrived = np.add.reduceat(moved, target.start, axis=1)
        outcome, context = np.nonzero(arrived <= 0)
        if len(outcome):
            cost = problem.outcome_cost[:, target.cell_outcome]
            ends = np.append(target.start, target.cells)
            for o, x in zip(outcome, context, strict=True):
                moved[o, ends[x] + cost[o, ends[x] : ends[x + 1]].argmin()] = 1.0
        self.moved = normalised_by_context(problem, moved)

    def routes(self, routes: np.ndarray) -> np.ndarray:
        """π(x | route)."""
        return self.sent[routes]

    def outcomes(self, outcomes: np.ndarray) -> np.ndarray:
        """κ(y | ŷ, x)."""
        return self.moved[outcomes]


def normalised_by_context(problem: TransportProblem, weights: np.ndarray) -> np.ndarray:
    """Divide weights (rows, target cells) by their sum over the cells of each target context."""
    sums = np.add.reduceat(weights, problem.target.start, axis=1)
    return weights / sums.take(problem.target.cell_context, axis=1)
