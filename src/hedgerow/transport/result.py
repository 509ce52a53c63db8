"""What a transport solver hands back: numbers, and views of a plan that need not be formed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from jaxtyping import Float

from hedgerow import _checks
from hedgerow._frames import require_pandas
from hedgerow.describe.display import Display, Facts
from hedgerow.describe.numbers import number
from hedgerow.transport.factors import Factors
from hedgerow.transport.log_products import blocks
from hedgerow.transport.transport_problem import TransportProblem

MOST_ENTRIES = 500_000_000
"""Four gigabytes: plans beyond are looked at through views."""


@dataclass(frozen=True)
class _Sums:
    """What one pass over the factors tells about a plan."""

    transport_cost: float
    relative_entropy: float
    marginal_error: float
    causality_error: float


class TransportResult(Display):
    """A transport plan between two discrete measures, with its value and its errors.

    Everything about the plan is computed from two small factors when it is asked for; the plan
    itself is formed by ``plan`` alone.

    Attributes
    ----------
    source, target : DiscreteMeasure
    epsilon : float
    order : int
    causal : bool
        Whether the plan was required to be causal.
    converged : bool
    status : str
        "converged" (the second marginal is met), "sweep limit" or "not finite" (it is not; the plan
        is that of the best sweep), or "optimal" (epsilon = 0).
    iterations : int
        Sweeps over the scalings, or iterations of the LP solver.
    """

    def __init__(
        self,
        problem: TransportProblem,
        epsilon: float,
        factors: Factors,
        status: str,
        iterations: int,
    ) -> None:
        self.source, self.target = problem.source.measure, problem.target.measure
        self.epsilon, self.order, self.causal = epsilon, problem.order, problem.causal
        self.status, self.iterations = status, iterations
        self.converged = status in ("converged", "optimal")
        self._problem, self._factors = problem, factors

    def _heading(self) -> str:
        kind = "Causal" if self.causal else "Non-causal"
        return f"{kind} transport of {len(self.source):,} to {len(self.target):,} points"

    def _facts(self) -> Facts:
        told = [("epsilon", number(self.epsilon)), ("order", number(self.order))]
        if "_sums" in vars(self):  # else it would have to be computed
            told += [("value", number(self.value)), ("cost", number(self.transport_cost))]
        return [*told, ("status", f"{self.status}, {self.iterations:,} iterations")]

    def to_frame(self) -> Any:
        """Return the plan as a pandas table: source, target and mass wherever there is mass."""
        plan = self.plan
        source, target = np.nonzero(plan)
        named = {"source": source, "target": target, "mass": plan[source, target]}
        return require_pandas().DataFrame(named)

    @property
    def value(self) -> float:
        """R_p^p = Σ γ·c + ε·Σ γ_ij·log(γ_ij / p_i), with the plan as it is.

        The reference measure ν counts the target's points as they are listed. Relative entropy
        against a count is not positive, so neither need the value be; it is the cost at ε = 0.
        """
        return self._sums.transport_cost + self.epsilon * self._sums.relative_entropy

    @property
    def distance(self) -> float:
        """R_p, the p-th root of ``value``: the causal or the Wasserstein distance at epsilon = 0.

        Raises
        ------
        ValueError
            If the value is negative, as it may be at epsilon > 0.
        """
        if self.value < 0:
            raise ValueError(
                f"The value at epsilon={self.epsilon:g} is {self.value:.6g}, and a negative value "
                "has no root; read .value, or solve at epsilon=0."
            )
        return self.value ** (1 / self.order)

    @property
    def transport_cost(self) -> float:
        """Σ γ·c, the cost without the entropy."""
        return self._sums.transport_cost

    @property
    def marginal_error(self) -> float:
        """Σ_i |Σ_j γ_ij − p_i| + Σ_j |Σ_i γ_ij − q_j|."""
        return self._sums.marginal_error

    @property
    def causality_error(self) -> float:
        """The largest total variation between γ(x | x̂, ŷ) and γ(x | x̂), over source points."""
        return self._sums.causality_error

    @cached_property
    def plan(self) -> Float[np.ndarray, "n_source n_target"]:
        """γ as a matrix, formed when first asked for."""
        shape = (len(self.source), len(self.target))
        if shape[0] * shape[1] > MOST_ENTRIES:
            raise ValueError(
                f"The plan has {shape[0]:,} × {shape[1]:,} entries, too many to form; look at "
                ".context_plan, .given(point) or .blocks() instead."
            )
        plan = np.empty(shape)
        for rows, block in self.blocks():
            plan[rows] = block
        return plan

    def rows(self, points: Any) -> Float[np.ndarray, "rows n_target"]:
        """Rows of the plan: γ from some source points (indices or a slice) to all target points."""
        chosen = np.arange(len(self.source))[points]
        return self.source.weights[chosen][:, None] * self._conditional(chosen)

    def blocks(
        self, size: int | None = None
    ) -> Iterator[tuple[slice, Float[np.ndarray, "rows n_target"]]]:
        """Go through the plan by blocks of source rows; None: blocks of about a megabyte."""
        n, m = len(self.source), len(self.target)
        pieces = blocks(n, m) if size is None else [slice(a, a + size) for a in range(0, n, size)]
        for piece in pieces:
            yield slice(piece.start, min(piece.stop, n)), self.rows(piece)

    def given(self, point: int) -> Float[np.ndarray, " n_target"]:
        """γ(x, y | x̂, ŷ): where the mass of one source point goes, in shares."""
        if self.source.weights[point] == 0:
            raise ValueError(
                f"Source point {point} has weight 0, so there is no plan given that point."
            )
        return self._conditional(np.array([point]))[0]

    @property
    def source_contexts(self) -> Float[np.ndarray, "source_contexts d_x"]:
        """The distinct x̂ that carry mass: rows of ``context_plan``."""
        return self._problem.source.contexts

    @property
    def target_contexts(self) -> Float[np.ndarray, "target_contexts d_x"]:
        """The distinct x that carry mass: columns of ``context_plan``."""
        return self._problem.target.contexts

    @cached_property
    def context_plan(self) -> Float[np.ndarray, "source_contexts target_contexts"]:
        """The plan from x̂ to x: γ summed over both outcomes."""
        return self._context_plan(np.arange(self._problem.source.cells))

    def context_plan_given(
        self, outcome: Any
    ) -> Float[np.ndarray, "source_contexts target_contexts"]:
        """γ(x̂, x | ŷ): the plan from x̂ to x given the source outcome, with sum 1.

        Parameters
        ----------
        outcome : float or (d_y,)
            A source outcome; the nearest one that carries mass is used.
        """
        side = self._problem.source
        wanted = _checks.parameter("outcome", outcome)
        if wanted.shape not in ((), side.outcomes.shape[1:]):
            raise ValueError(
                f"outcome must be a number or one per column of y ({side.outcomes.shape[1]}), got "
                f"shape {wanted.shape}."
            )
        nearest = np.square((side.outcomes - wanted) / self._problem.y_scale).sum(axis=1).argmin()
        plan = self._context_plan(np.flatnonzero(side.cell_outcome == nearest))
        return plan / plan.sum()

    def _conditional(self, points: np.ndarray) -> np.ndarray:
        """γ(target point | source point); a row of zeros for a source point without mass."""
        problem = self._problem
        cells = problem.source.point_cell[points]
        found = problem.target.to_points(
            self._transitions(cells).take(problem.target.cell_context, axis=1)
            * self._factors.outcomes(problem.source.cell_outcome[cells])
        )
        found[cells < 0] = 0.0
        return found

    def _transitions(self, cells: np.ndarray) -> np.ndarray:
        """π(x | route of a source cell)."""
        return self._factors.routes(self._problem.route[cells])

    def _context_plan(self, cells: np.ndarray) -> np.ndarray:
        side = self._problem.source
        plan = np.zeros((len(side.contexts), len(self._problem.target.contexts)))
        for part in blocks(len(cells), plan.shape[1]):
            chosen = cells[part]
            # A sparse product adds up rows of equal context many times faster than np.add.at.
            collect = scipy.sparse.csr_array(
                (side.mass[chosen], (side.cell_context[chosen], np.arange(len(chosen)))),
                shape=(len(plan), len(chosen)),
            )
            plan += collect @ self._transitions(chosen)
        return plan

    @cached_property
    def _sums(self) -> _Sums:
        """Costs, entropy and errors, from the factors, block by block.

        The middle of the way is (ŷ, x): how much arrives there is all the second leg needs.
        """
        problem, source, target = self._problem, self._problem.source, self._problem.target
        outcomes, contexts = len(source.outcomes), len(target.contexts)
        arrived, cost, entropy = np.zeros((outcomes, contexts)), 0.0, 0.0
        for part in blocks(len(problem.route_mass), contexts):
            share = self._factors.routes(np.arange(part.start, part.stop))
            mass = problem.route_mass[part, None] * share
            arrived += problem.route_outcomes[part].T @ mass
            cost += float(np.sum(mass * problem.context_cost[problem.route_context[part]]))
            entropy += _entropy(mass, share)
        second, sums = np.zeros(target.cells), np.empty((outcomes, contexts))
        for part in blocks(outcomes, target.cells):
            share = self._factors.outcomes(np.arange(part.start, part.stop))
            sums[part] = np.add.reduceat(share, target.start, axis=1)
            mass = arrived[part].take(target.cell_context, axis=1) * share
            second += mass.sum(axis=0)
            cost += float(np.sum(mass * problem.outcome_cost[part].take(target.cell_outcome, 1)))
            entropy += _entropy(mass, share)
        mean = self.context_plan / source.context_mass[:, None]
        first_error = causality_error = 0.0
        for part in blocks(source.cells, contexts):
            share = self._transitions(np.arange(part.start, part.stop))
            share *= sums[source.cell_outcome[part]]
            first_error += float(source.mass[part] @ np.abs(share.sum(axis=1) - 1))
            apart = np.abs(share - mean[source.cell_context[part]]).sum(axis=1) / 2
            causality_error = max(causality_error, float(apart.max()))
        listed = target.to_points(second)
        entropy += _entropy(listed, target.point_share)
        error = first_error + float(np.abs(listed - self.target.weights).sum())
        return _Sums(cost, entropy, error, causality_error)


def _entropy(mass: np.ndarray, share: np.ndarray) -> float:
    """Σ mass·log(share); where the share is 0 so is the mass."""
    return float(np.sum(mass * np.log(np.maximum(share, np.finfo(float).tiny))))
