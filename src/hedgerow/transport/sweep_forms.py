"""From the scalings of the target to the second marginal they lead to, in one sweep.

Among all γ with the right first marginal (and causality), the nearest to exp(−c/ε)·b in relative
entropy is closed form. With A(ŷ, x) = log Σ_y exp(−c_y(ŷ,y)/ε)·b(x,y),

    π(x | route) ∝ exp( −c_x(x̂,x)/ε + Σ_ŷ p̂(ŷ | route)·A(ŷ,x) ),    κ(y | ŷ, x) ∝ exp(−c_y/ε)·b(x,y)

and log b is the only state. Which sums have to be formed depends on the points:

- ``CausalGrid``, ``PlainGrid``: most pairs of a context and an outcome occur. Everything is a
  matrix product: O(n³) for n × n points on each side, where the plan has n⁴ entries.
- ``PlainCloud``: points without such structure, where routes go to cells freely. The kernel
  exp(−c/ε) is a matrix (routes, target cells).
- ``CausalCloud``: repeated contexts with outcomes of their own. The kernel is a matrix
  (target cells, source outcomes), cut into target contexts.

The clouds keep their kernel multiplied by the scalings of an earlier sweep, so that its entries are
probabilities, and bring it up to date when the scalings have moved too far (log-domain absorption;
Schmitzer 2019). Columns that underflow are summed term by term, in the log domain.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np
import scipy.sparse
from jaxtyping import Float

from hedgerow.transport.log_products import BLOCK, SAFE, LogKernel, grouped_log_sum_exp, log_sum_exp
from hedgerow.transport.transport_problem import TransportProblem

FAR = 20.0
"""How far scalings may move, in logarithms, before a cloud's kernel is brought up to date.

Entries that lose digits to underflow are below exp(−708); after two factors of at most exp(20)
they are still far below SAFE.
"""
BLAS_GAIN = 10.0
"""About how much faster a matrix product handles a number than a pass over memory does."""


class Form(Protocol):
    """One sweep at one epsilon."""

    def sweep(
        self, log_scaling: Float[np.ndarray, " cells"]
    ) -> tuple[Float[np.ndarray, " cells"], float]:
        """Logarithm of the second marginal, and Σ_routes mass · log normaliser of the route."""
        ...


def form(problem: TransportProblem, epsilon: float) -> Form:
    """Choose the form that needs the least work."""
    source, target = problem.source, problem.target
    outcomes = len(source.outcomes) * len(target.outcomes)
    contexts = len(source.contexts) * len(target.contexts)
    grid = outcomes * len(target.contexts) + contexts * len(source.outcomes)
    if problem.is_plain:
        cloud = len(problem.route_mass) * target.cells
    else:
        cloud = len(source.outcomes) * target.cells
    if grid <= BLAS_GAIN * cloud:
        return CausalGrid(problem, epsilon) if problem.causal else PlainGrid(problem, epsilon)
    return PlainCloud(problem, epsilon) if problem.is_plain else CausalCloud(problem, epsilon)


class CausalGrid:
    """Causal sweeps by matrix products."""

    def __init__(self, problem: TransportProblem, epsilon: float) -> None:
        source = problem.source
        self.target = problem.target
        self.mass = problem.route_mass
        self.log_context_kernel = -problem.context_cost / epsilon
        log_outcome_kernel = -problem.outcome_cost / epsilon
        self.to_outcomes = LogKernel(log_outcome_kernel)
        self.from_outcomes = LogKernel(np.ascontiguousarray(log_outcome_kernel.T))
        self.conditional = source.as_grid(source.conditional, 0.0)
        self.from_contexts = LogKernel(source.as_grid(np.log(source.mass), -np.inf).T.copy())

    def sweep(self, log_scaling: np.ndarray) -> tuple[np.ndarray, float]:
        """Logarithm of the second marginal, and the routes' normalisers."""
        scaling = self.target.as_grid(log_scaling, -np.inf)
        arrivals = self.to_outcomes(scaling.T)
        log_routes = self.log_context_kernel + self.conditional @ arrivals
        normaliser = log_sum_exp(log_routes)
        log_routes -= normaliser[:, None]
        arriving = self.from_contexts(log_routes)
        second = self.from_outcomes(arriving - arrivals).T
        cells = second[self.target.cell_context, self.target.cell_outcome]
        return log_scaling + cells, float(self.mass @ normaliser)


class PlainGrid:
    """Sweeps without causality, by matrix products: the kernel is a Kronecker product."""

    def __init__(self, problem: TransportProblem, epsilon: float) -> None:
        self.source, self.target = problem.source, problem.target
        log_context_kernel = -problem.context_cost / epsilon
        log_outcome_kernel = -problem.outcome_cost / epsilon
        self.to_outcomes = LogKernel(log_outcome_kernel)
        self.to_contexts = LogKernel(log_context_kernel)
        self.from_outcomes = LogKernel(np.ascontiguousarray(log_outcome_kernel.T))
        self.from_contexts = LogKernel(np.ascontiguousarray(log_context_kernel.T))
        self.log_mass = self.source.as_grid(np.log(self.source.mass), -np.inf)

    def sweep(self, log_scaling: np.ndarray) -> tuple[np.ndarray, float]:
        """Logarithm of the second marginal, and the routes' normalisers."""
        scaling = self.target.as_grid(log_scaling, -np.inf)
        normaliser = self.to_contexts(self.to_outcomes(scaling.T).T)
        weight = self.from_contexts(self.log_mass - normaliser)
        second = self.from_outcomes(weight.T).T
        cells = second[self.target.cell_context, self.target.cell_outcome]
        routes = normaliser[self.source.cell_context, self.source.cell_outcome]
        return log_scaling + cells, float(self.source.mass @ routes)


class PlainCloud:
    """Sweeps between routes and target cells, by products of a matrix with a vector."""

    def __init__(self, problem: TransportProblem, epsilon: float) -> None:
        self.mass = problem.route_mass
        self.log_kernel = problem.plain_cost() / -epsilon
        self.absorbed: np.ndarray | None = None

    def sweep(self, log_scaling: np.ndarray) -> tuple[np.ndarray, float]:
        """Logarithm of the second marginal, and the routes' normalisers."""
        if self.absorbed is None or np.abs(log_scaling - self.absorbed).max() > FAR:
            self._absorb(log_scaling)
        moved = log_scaling - self.absorbed
        factor = np.exp(moved)
        sums = self.kernel @ factor
        normaliser = self.normaliser + np.log(sums)
        second = factor * ((self.mass / sums) @ self.kernel)
        lost = _lost(second, len(self.mass))
        log_second = np.log(second)
        rows = (np.log(self.mass) - normaliser)[:, None]
        for part in lost:
            terms = self.log_kernel[:, part] + rows
            log_second[part] = log_scaling[part] + log_sum_exp(terms.T)
        return log_second, float(self.mass @ normaliser)

    def _absorb(self, log_scaling: np.ndarray) -> None:
        exponents = self.log_kernel + log_scaling
        self.normaliser = log_sum_exp(exponents)
        exponents -= self.normaliser[:, None]
        self.kernel = np.exp(exponents, out=exponents)
        self.absorbed = log_scaling.copy()


class CausalCloud:
    """Causal sweeps context by context: arrays are (target_contexts, source_outcomes)."""

    def __init__(self, problem: TransportProblem, epsilon: float) -> None:
        source, target = problem.source, problem.target
        self.mass = problem.route_mass
        self.log_context_kernel = problem.context_cost.T / -epsilon
        self.log_outcome_kernel = problem.outcome_cost.T[target.cell_outcome] / -epsilon
        self.conditional = scipy.sparse.csc_array(problem.route_outcomes.T)
        ends = np.append(target.start, target.cells)
        self.pieces = [slice(a, b) for a, b in pairwise(ends)]
        self.start, self.cell_context = target.start, target.cell_context
        # Source cells sorted by outcome, so that those with equal outcomes are neighbours.
        order = np.argsort(source.cell_outcome, kind="stable")
        self.context_of = source.cell_context[order]
        self.log_mass = np.log(source.mass[order])
        outcome = source.cell_outcome[order]
        self.outcome_start = np.searchsorted(outcome, np.arange(len(source.outcomes)))
        self.absorbed: np.ndarray | None = None

    def sweep(self, log_scaling: np.ndarray) -> tuple[np.ndarray, float]:
        """Logarithm of the second marginal, and the routes' normalisers."""
        if self.absorbed is None or np.abs(log_scaling - self.absorbed).max() > FAR:
            self._absorb(log_scaling)
        factor = np.exp(log_scaling - self.absorbed)
        gain = np.stack([factor[piece] @ self.kernel[piece] for piece in self.pieces])
        np.log(gain, out=gain)
        arrivals = self.arrivals + gain
        log_routes = self.log_context_kernel + arrivals @ self.conditional
        normaliser = log_sum_exp(log_routes.T)
        log_routes -= normaliser
        arriving = log_routes[:, self.context_of] + self.log_mass
        log_weight = grouped_log_sum_exp(arriving, self.outcome_start) - gain
        level = log_weight.max(axis=1)
        weight = np.exp(log_weight - level[:, None])
        second = np.concatenate(
            [self.kernel[piece] @ row for piece, row in zip(self.pieces, weight, strict=True)]
        )
        lost = _lost(second, weight.shape[1])
        log_second = np.log(second) + level[self.cell_context] + log_scaling - self.absorbed
        for part in lost:
            context = self.cell_context[part]
            weights = log_weight[context] + (gain[context] - arrivals[context])
            terms = self.log_outcome_kernel[part] + weights
            log_second[part] = log_scaling[part] + log_sum_exp(terms)
        return log_second, float(self.mass @ normaliser)

    def _absorb(self, log_scaling: np.ndarray) -> None:
        exponents = self.log_outcome_kernel + log_scaling[:, None]
        self.arrivals = grouped_log_sum_exp(exponents.T, self.start).T.copy()
        exponents -= self.arrivals[self.cell_context]
        self.kernel = np.exp(exponents, out=exponents)
        self.absorbed = log_scaling.copy()


def _lost(second: np.ndarray, terms: int) -> list[np.ndarray]:
    """Columns that underflow, in parts of bounded work; what they hold becomes 1."""
    columns = np.flatnonzero(second < SAFE)
    second[columns] = 1.0
    return np.array_split(columns, 1 + columns.size * terms // BLOCK) if columns.size else []
