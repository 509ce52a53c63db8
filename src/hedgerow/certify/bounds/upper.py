"""A proved upper bound on the dual: no distribution that the model allows is worse.

Every group of moments is bounded by itself, by whichever argument proves most:

- the hull: no decision lies outside the rule's, and a convex gain is largest at a corner,
- tangents and curvature, with slabs where curvature is largest (``smearing``, ``suprema``),

the cheaper first; slabs go to the groups where most is left between bound and estimate, until the
gap asked for is met or the budget is spent. Where nothing is proved the bound is infinite, and why
is said.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from hedgerow.certify.bounds.cells import COUNT, celled
from hedgerow.certify.bounds.gains import (
    ENTRIES,
    Gains,
    climbed_gains,
    corners,
    decisions_between,
    integrated_gains,
)
from hedgerow.certify.bounds.smearing import (
    CELLS,
    COARSEST,
    PANELS,
    Around,
    mapped,
    smeared,
    stretched,
)
from hedgerow.certify.bounds.suprema import (
    COARSER,
    SLABS,
    climbed,
    climbed_through_map,
    stayed,
)
from hedgerow.rules.expansion import Expansion

if TYPE_CHECKING:
    from hedgerow.certify.value import Evaluation

BUDGET = 2**26
"""Gains that are looked up, in all."""
AT_ONCE = 2**21
FINEST = 256
"""Slabs along one direction, at most."""


class Upper(NamedTuple):
    """A bound on the dual F, in working units, and why it is infinite ("" if it is not)."""

    value: float
    reason: str = ""


class UpperBound:
    """An upper bound on what was evaluated, refined until it is as near as ``gap``, a share."""

    def __init__(self, evaluation: Evaluation, gap: float) -> None:
        self.evaluation = evaluation
        self.gap = gap * max(abs(evaluation.dual.value), 1e-9)
        self._spent = 0

    def integrated(self) -> Upper:
        """Gains are averaged over kernels, in logarithms."""
        moments = self.evaluation.moments
        if moments.setting.outcome_nodes is not None:
            return _open("the loss has no closed moments; write {}.closed_moments", self._loss)
        return self._bounded(integrated_gains, self._smear)

    def climbed(self) -> Upper:
        """Gains are maximised."""
        loss = self.evaluation.problem.one_loss()
        if loss.best_response(self._kernels.outcome) is None:
            return _open("the loss's worst outcome is climbed to; write {}.best_response", loss)
        return self._bounded(climbed_gains, self._climb)

    @property
    def _kernels(self) -> Any:
        return self.evaluation.moments.setting.moving()

    @property
    def _loss(self) -> Any:
        return self.evaluation.problem.loss

    def _bounded(self, tabulate: Any, refine: Any) -> Upper:
        """Bound every group; ``refine`` returns a better bound for some of them."""
        problem, rule = self.evaluation.problem, self.evaluation.rule
        if problem.pool is not None:
            return _open("the loss's pieces are found one by one ({})", self._loss)
        slopes = problem.working_slopes()
        if slopes is None:
            missing = "the loss does not say how steep it is; write {}.decision_slopes"
            return _open(missing, self._loss)
        features = problem.nominal.contexts.shape[1]
        expansion = rule.expansion(features)
        if expansion is None:
            return _open("the rule does not say how far it may turn; write {}.expansion", rule)
        table = self._table(expansion, tabulate, slopes)
        if table is None:
            return _open("decisions have no hull with few corners ({})", rule)
        ceilings, around = table
        weights = self._weights(len(ceilings))
        some = weights > 0
        bounds = np.where(some, ceilings, 0.0)
        if around is not None:
            bounds = refine(around, bounds, weights)
        if not np.all(np.isfinite(bounds[some])):
            return _open("moves that the kernel makes are too wide for what is known of {}", rule)
        return Upper(float(weights[some] @ bounds[some]))

    def _weights(self, groups: int) -> Float[np.ndarray, " groups"]:
        """dF/du of every group; of outcomes that move on their own, each its share of a context."""
        weights = np.asarray(self.evaluation.dual.weights)
        if weights.size < groups:
            batches = self.evaluation.moments.batches()
            shares = np.concatenate([np.asarray(batch.outcome_mass) for batch in batches])
            weights = weights * shares[: len(weights)]
        return weights.reshape(groups)

    def _left(self, bounds: np.ndarray, weights: np.ndarray) -> Float[np.ndarray, " contexts"]:
        """How far each context's bound lies above its estimate."""
        dual = self.evaluation.dual
        estimates = np.sum(np.asarray(dual.weights) * np.asarray(dual.log_moments), axis=1)
        return (weights * bounds).reshape(len(estimates), -1).sum(axis=1) - estimates

    def _table(
        self, expansion: Expansion, tabulate: Any, slopes: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, Around | None] | None:
        """The largest gain of every group in the hull, and what finer bounds start from."""
        low, high = expansion.low, expansion.high
        moments, penalty = self.evaluation.moments, self.evaluation.penalty
        if expansion.image is not None:
            low, high = expansion.image(low, high)
        if len(low) > 1:
            found = corners(low, high)
            return None if found is None else (tabulate(moments, penalty, found).max(axis=1), None)
        steepest = float(np.max(np.abs(slopes)))
        around = self._around(expansion, steepest)
        ends = self._ends(around, float(low[0]), float(high[0]))
        if not np.all(np.isfinite([*ends, steepest])):
            return None
        gains = Gains.of(*ends, tabulate(moments, penalty, decisions_between(*ends)))
        if not np.all(np.isfinite([low, high])):  # beyond the table as steep as the loss is
            gains = replace(gains, outward=np.full_like(gains.outward, around.steepest))
            ceilings = np.full(len(gains.values), np.inf)
        else:
            ceilings = gains.values[:, [0, -1]].max(axis=1)
        groups = len(gains.values) // len(around.homes)
        home = np.repeat(np.arange(len(around.homes)), groups)
        return ceilings, replace(around, gains=gains, home=home)

    def _around(self, expansion: Expansion, steepest: float) -> Around:
        problem, moments = self.evaluation.problem, self.evaluation.moments
        kernel = self._kernels.context
        homes = problem.units.contexts(problem.nominal.contexts[moments.contexts], np.float64)
        scale, width = np.asarray(kernel.scale, np.float64), np.asarray(kernel.width, np.float64)
        deviation = float(np.max(width / np.where(scale > 0, scale, 1.0)))
        nothing = Gains(0.0, 1.0, np.zeros((1, 2)), np.zeros((2, 1)))
        per_exponent = steepest / self._temperature
        return Around(expansion, homes, scale, deviation, np.zeros(0, int), nothing, per_exponent)

    @property
    def _temperature(self) -> float:
        """What gains are counted in."""
        model = self.evaluation.moments.model.at_penalty(self.evaluation.penalty)
        logs = model.reduction().logs()
        return 1.0 if logs is None else float(logs.temperature)

    def _ends(self, around: Around, low: float, high: float) -> tuple[float, float]:
        """Between which decisions are tabulated: the hull, or as far as moves will lead."""
        if np.isfinite(low) and np.isfinite(high):
            middle = (low + high) / 2
            return (low, high) if high > low else (middle - 1e-6, middle + 1e-6)
        z = around.tangents(around.homes)[0]
        spread = np.linalg.norm(around.expansion.steepest[0] * around.scale) * around.deviation
        reach = spread * (8.0 + around.steepest * around.lipschitz * spread) + 1e-3
        image: Any = around.expansion.image
        ends = np.array([[np.min(z - reach)], [np.max(z + reach)]])
        least, most = image(ends, ends)[0][:, 0]
        return float(least), float(most)

    def _smear(self, around: Around, bounds: np.ndarray, weights: np.ndarray) -> np.ndarray:
        kernel = self._kernels.context
        if kernel.squared() is None:  # other orders and norms, categories: the hull's bound stands
            return bounds
        if kernel.low is None and np.count_nonzero(around.scale) == 1:
            return self._in_pieces(
                lambda some: celled(some, kernel.order), around, bounds, weights, COUNT
            )
        if kernel.order == 1 and kernel.low is None:
            return np.minimum(bounds, stretched(around, around.deviation))
        if not kernel.gaussian:
            return bounds
        if around.expansion.image is not None:
            return np.minimum(bounds, self._in_pieces(mapped, around, bounds, weights, CELLS))
        for directions in range(3):
            each = 2**directions * (PANELS + 1)  # of one slab
            free = max(BUDGET - self._spent, 0) / len(bounds) / each
            most = int(min(FINEST, max(free, COARSEST))) if directions == 1 else COARSEST
            bounds = self._in_pieces(
                lambda some, r=directions, most=most: smeared(some, r, most),
                around,
                bounds,
                weights,
                most**directions * each,
            )
        return bounds

    def _climb(self, around: Around, bounds: np.ndarray, weights: np.ndarray) -> np.ndarray:
        kernel, penalty = self._kernels.context, float(self.evaluation.penalty or 0.0)
        if kernel.squared() is None:
            return bounds
        if kernel.order == 1:
            return np.minimum(bounds, stayed(around, penalty))
        if kernel.order != 2:
            return bounds
        if around.expansion.image is not None:
            found = self._in_pieces(
                lambda some: climbed_through_map(some, penalty), around, bounds, weights, CELLS
            )
            return np.minimum(bounds, found)
        for directions in range(2):
            bounds = self._in_pieces(
                lambda some, r=directions: climbed(some, penalty, r),
                around,
                bounds,
                weights,
                (2 * SLABS) ** directions * ENTRIES // COARSER,
            )
        return bounds

    def _in_pieces(
        self, bound: Any, around: Around, bounds: np.ndarray, weights: np.ndarray, cost: int
    ) -> np.ndarray:
        """Improve bounds, those first where most is to be gained, as far as the budget goes."""
        left = self._left(bounds, weights)
        if left.sum() <= self.gap:
            return bounds
        groups = len(bounds) // len(left)
        order = np.argsort(-left)
        order = order[: max((BUDGET - self._spent) // (cost * groups), 0)]
        self._spent += len(order) * cost * groups
        bounds, size = bounds.copy(), max(AT_ONCE // (cost * groups), 1)
        for start in range(0, len(order), size):
            some = order[start : start + size]
            rows = (some[:, None] * groups + np.arange(groups)).ravel()
            piece = replace(
                around,
                homes=around.homes[some],
                home=np.repeat(np.arange(len(some)), groups),
                gains=around.gains.some(rows),
            )
            bounds[rows] = np.minimum(bounds[rows], bound(piece))
        return bounds


def _open(reason: str, part: Any) -> Upper:
    return Upper(float("inf"), reason.format(type(part).__name__))
