"""Two-sided robust values: what some allowed distribution attains, and what none exceeds.

    lower  ≤  sup_P { E_P Ψ − λ·R(P) }  ≤  upper

**From below.** Of n nodes drawn from the kernel keep one, with probability in proportion to
exp(gain/T): that is a distribution which the model allows, and

    E log (1/n) Σ_j exp(gain_j/T)  ≤  E_P gain/T − KL(P ‖ kernel)  ≤  log E exp(gain/T)

(Cremer, Morris & Duvenaud 2017), so the estimate from nodes is too low on average, never too high;
its scatter over independent replicates is taken off. A model that moves points attains its value at
the points that were found.

**From above.** ``upper``: what is proved of rule, loss and kernel, without sampling.

Three things are kept apart: numerical error (``stderr``, ``bias``: how well the value is computed),
the guarantee (these bounds, on the value for these data), and sampling error (these data are a
sample: ``hedgerow.calibrate``).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np
from scipy.stats import t as student

from hedgerow.ambiguity import Ambiguity
from hedgerow.certify.bounds.upper import Upper, UpperBound
from hedgerow.certify.moments import Moments
from hedgerow.certify.node_plans import NodePlanner

if TYPE_CHECKING:
    from hedgerow.certify.value import Evaluation, RobustValue

__all__ = ["GAP", "Bounder", "Bounds", "two_sided"]

GAP = 0.05
"""Between lower and upper bound, as a share of the value: where refining ends by default."""
CHANCE = 1e-6
"""That the lower bound's own draws mislead."""


class Bounds(NamedTuple):
    """Bounds on the dual, in working units; why one is infinite ("" if none is)."""

    lower: float
    upper: float
    reason: str = ""


def two_sided(evaluation: Evaluation, gap: float = GAP) -> RobustValue:
    """Return the robust value with its bounds, the upper one refined to a gap of this share."""
    robust, unit = evaluation.robust, evaluation.problem.units.loss_unit
    if robust.value == math.inf:
        return replace(robust, lower=math.inf)
    with jax.enable_x64(True):
        found = evaluation.problem.working.bounds(Bounder(evaluation, gap))
    reserved = 0.0
    if evaluation.budget is not None and evaluation.penalty is not None:
        reserved = evaluation.penalty * evaluation.budget.excess
    lower, upper = ((end + reserved) * unit for end in (found.lower, found.upper))
    if robust.contexts < len(evaluation.problem.nominal.contexts):
        margin = float(student.isf(CHANCE, 7)) * robust.stderr
        lower, upper = lower - margin, upper + margin
    value = min(max(robust.value, lower), upper)
    return replace(robust, value=value, lower=lower, upper=upper, unproved=found.reason)


class Bounder:
    """The ways to bound a dual that a model chooses from (``Ambiguity.bounds``)."""

    def __init__(self, evaluation: Evaluation, gap: float) -> None:
        self.evaluation, self._gap = evaluation, gap

    def exact(self) -> Bounds:
        """Points never move: the value is finite arithmetic."""
        value = self.evaluation.dual.value
        return Bounds(value, value)

    def integrated(self) -> Bounds:
        """Gains are averaged over kernels: sampled from below, proved from above."""
        if self.evaluation.moments.setting.context_nodes.reference() is not None:
            return self.exact()
        lower = self._sampled()
        return self._paired(lower, UpperBound(self.evaluation, self._gap).integrated())

    def climbed(self) -> Bounds:
        """Points are moved to where the loss is large: attained there, proved from above."""
        attained = self.evaluation.dual.value
        return self._paired(attained, UpperBound(self.evaluation, self._gap).climbed())

    def unknown(self, model: Ambiguity) -> Bounds:
        """Nothing is proved."""
        name = type(model).__name__
        return Bounds(-math.inf, math.inf, f"{name} does not say how; write {name}.bounds")

    def _paired(self, lower: float, upper: Upper) -> Bounds:
        return Bounds(min(lower, upper.value), upper.value, upper.reason)

    def _sampled(self) -> float:
        """The dual from independent replicates of random nodes, less what they scatter by."""
        evaluation = self.evaluation
        dual = evaluation.dual
        if len(dual.replicates) < 2:  # from quadrature, whose error has a size but no sign
            planner = NodePlanner(evaluation.problem, evaluation.rule, None)
            plan = planner.sampled(0, evaluation.penalty)
            moments = evaluation.moments
            drawn = Moments(
                evaluation.problem,
                evaluation.rule,
                moments.contexts,
                moments.share,
                evaluation.problem.setting(plan.context_nodes, moments.setting.outcome_nodes),
                plan.replicates,
                jax.random.key(1, impl="rbg"),
                plan.modes,
            )
            dual = drawn.at(evaluation.penalty)
        count = len(dual.replicates)
        scatter = float(np.std(dual.replicates, ddof=1)) / math.sqrt(count)
        return dual.value - float(student.isf(CHANCE, count - 1)) * scatter
