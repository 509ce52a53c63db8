"""Which nodes to evaluate a robust value with, level by level, each about twice the one before.

- Points that never move, or a discrete reference measure: sums are exact, one level.
- One feature: Gauss–Legendre panels that reach as far as moving the context can pay.
- Categorical variables: sums over every combination of values, while these are few; else drawn.
- Two features: a product of Gauss–Hermite or Laguerre rules.
- More: scrambled Sobol points with random shifts, in independent replicates.
- Two or more, where moving a context can pay many times the temperature, or pays most far away:
  Sobol points around the context and around where its mass gathers, since the kernel alone would
  rarely reach there.
- Causal Wasserstein: nodes are where ascents start.

Every level scans for that anew, and ascends from other starts: if two levels find different
summits, their values differ, and that counts as error.
Outcomes get nodes only if the loss has no closed-form log-moment.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hedgerow.ambiguity import Kernels, Problem
from hedgerow.ambiguity.outcome_moves import refuse_reference
from hedgerow.certify.moments import MOST_PLACES, Modes
from hedgerow.certify.scan import Scan, scan_around
from hedgerow.kernels import (
    AbstractKernel,
    GaussQuadrature,
    Nodes,
    Reference,
    Scattered,
    Sobol,
)
from hedgerow.rules import FittedRule

REPLICATES = 8
SOBOL_NODES, FEWER_NODES = 64, 16
"""Nodes in a replicate to begin with; fewer around modes or with nodes around outcomes."""
PRODUCT_NODES = 12
MOST_HERMITE, MOST_LAGUERRE = 256, 128
PANEL_NODES = 8
PANEL_WIDTHS = 4.0
STARTS, START_LEVELS = 4, 5
STEEP = 6.0
"""Exponents that vary by more than this leave too much to nodes far out in the kernel's tails."""
MOST_CONTEXTS = 4096
MOST_EXPONENTS = 2**25


class NodePlan(NamedTuple):
    """Which nodes to use.

    ``settles``: their error shows in the difference to the last value. ``near`` is the model's ε if
    the nodes look near contexts only, where mass might go far.
    """

    context_nodes: Nodes
    outcome_nodes: Nodes | None
    replicates: int
    contexts: int
    settles: bool
    modes: Modes | None = None
    level: int = 0
    near: float | None = None


class NodePlanner:
    """The nodes of one level after another, for a rule on a problem.

    A model chooses among ``in_place``, ``ascents`` and ``integration`` (``Ambiguity.node_plan``);
    each returns None beyond its last level. ``found`` is the penalty that the level before found
    best under a radius, in working units.
    """

    def __init__(
        self, problem: Problem, rule: FittedRule, reference: tuple[Reference, Reference] | None
    ) -> None:
        self.problem, self.rule, self.reference = problem, rule, reference
        self.found: float | None = None
        self._total, self._features = problem.nominal.contexts.shape

    def plan(self, level: int, found: float | None) -> NodePlan | None:
        """Return the nodes of a level, or None beyond the last."""
        self.found = found
        return self.problem.working.node_plan(self, level)

    def in_place(self, level: int) -> NodePlan | None:
        """Points never move: one level, exact."""
        self._refuse_reference()
        return NodePlan(Sobol(1), None, 1, self._total, False) if level == 0 else None

    def ascents(self, level: int) -> NodePlan | None:
        """Nodes are where ascents start."""
        self._refuse_reference()
        if level >= START_LEVELS:
            return None
        seen = self._scan(0.0, level)
        starts = Scattered(Sobol(STARTS * 2**level), seen.places, seen.moved)
        return NodePlan(starts, None, 1, self._total, True)

    def integration(self, level: int, epsilon: float) -> NodePlan | None:
        """Kernels with regularisation ε are integrated over."""
        if self.reference is not None:
            if self.problem.nominal.entry_low is not None:
                refuse_reference()
            contexts, outcomes = self.problem.in_working_units(self.reference)
            return NodePlan(contexts, outcomes, 1, self._total, False) if level == 0 else None
        scans = [self._scan(epsilon, seed) for seed in range(level + 1)]
        steep = any(_steep(self._penalty * epsilon, seen) for seen in scans)
        outcome_nodes = self._outcome_nodes(level)
        if isinstance(outcome_nodes, GaussQuadrature) and 16 * 2**level > self._most:
            return None
        contexts = min(self._total, MOST_CONTEXTS * 2**level)
        crossed = self._kernel.summed()
        numbers = len(self._kernel.continuous)
        near = epsilon if numbers > 1 else None
        if numbers == 0 and crossed is not None:
            nodes, n = GaussQuadrature(1), 1
            plan = NodePlan(nodes, outcome_nodes, 1, contexts, outcome_nodes is not None)
            if level and not plan.settles:
                return None
        elif numbers == 1 and crossed is not None:
            nodes, n = self._panels(level, epsilon, max(seen.reach for seen in scans))
            plan = NodePlan(nodes, outcome_nodes, 1, contexts, True)
        elif self._is_product(numbers, crossed) and not steep:
            nodes, n = self._product(level)
            if nodes is None:
                return None
            plan = NodePlan(nodes, outcome_nodes, 1, contexts, True, near=near)
        else:
            plan, n = self._drawn(level, scans[-1], steep, outcome_nodes, contexts, near)
        plan = plan._replace(level=level)
        n *= crossed or 1
        if outcome_nodes is not None:
            panels = 2 * (getattr(outcome_nodes, "panels", None) or 0.5)
            n *= round(outcome_nodes.n * panels) * self.problem.one_loss().terms
        effort = plan.contexts * plan.replicates * n * self.problem.nominal.most_outcomes
        effort *= 1 if plan.modes is None else 1 + MOST_PLACES
        return plan if level < 2 or effort <= MOST_EXPONENTS else None

    def sampled(self, level: int, penalty: float | None) -> NodePlan:
        """Random nodes at a penalty, whatever the number of features."""
        self.found = penalty
        model = self.problem.working
        epsilon = float(model.epsilon)  # pyright: ignore
        seen = self._scan(epsilon, level)
        steep = _steep(self._penalty * epsilon, seen)
        return self._drawn(level, seen, steep, None, self._total, None)[0]

    def _drawn(
        self,
        level: int,
        seen: Scan,
        steep: bool,
        outcome_nodes: Nodes | None,
        contexts: int,
        near: float | None,
    ) -> tuple[NodePlan, int]:
        """Sobol points in replicates, and how many: around modes as well, if moving pays there."""
        modes = None
        if steep:
            modes, near = Modes(self._penalty, seen.places, seen.moved, level), None
        n = (SOBOL_NODES if outcome_nodes is None and not steep else FEWER_NODES) * 2**level
        settles = outcome_nodes is not None or modes is not None
        nodes = Sobol(n)
        plan = NodePlan(nodes, outcome_nodes, REPLICATES, contexts, settles, modes, near=near)
        return plan, n

    def is_blind(self, plan: NodePlan, penalty: float | None) -> bool:
        """Whether a plan looks near contexts only although, at this penalty, mass goes far.

        Another scan than the plan's own is asked: the one that the next level begins with.
        """
        if plan.near is None or penalty is None:
            return False
        temperature = penalty * plan.near
        seen = scan_around(self.problem, self.rule, penalty, temperature, plan.level + 1)
        return _steep(temperature, seen)

    @property
    def _penalty(self) -> float:
        """The model's own penalty in working units, or the last one found under a radius."""
        own = self.problem.working.penalty
        return float(own) if own is not None else self.found or 1.0

    def _scan(self, epsilon: float, seed: int) -> Scan:
        return scan_around(self.problem, self.rule, self._penalty, self._penalty * epsilon, seed)

    def _refuse_reference(self) -> None:
        if self.reference is not None:
            raise ValueError(
                f"{type(self.problem.given).__name__} does not smear points out, so it has no "
                "reference measures: leave reference out."
            )

    def _is_product(self, numbers: int, crossed: int | None) -> bool:
        """Whether a product of two Gauss rules serves."""
        return numbers == 2 and crossed is not None and self._kernel.gauss(1) is not None

    def _outcome_nodes(self, level: int) -> GaussQuadrature | Sobol | None:
        """Nodes around outcomes, if the loss needs any."""
        kernels, loss = self.problem.kernels, self.problem.one_loss()
        if kernels is None or loss.closed_moments(kernels.outcome) is not None:
            return None
        if self.problem.nominal.outcomes.shape[1] > 1:
            return Sobol(32 * 2**level)
        kernel = kernels.outcome
        if kernel.gauss(1) is not None or not np.any(np.asarray(kernel.lebesgue)):
            return GaussQuadrature(16 * 2**level)
        if kernel.by_coordinate() is None:
            return Sobol(32 * 2**level)
        # a tilt may lead beyond the kernel's own reach: every level looks further, and closer
        reach = float(np.max(np.asarray(kernel.reach) / np.asarray(kernel.scale)))
        return GaussQuadrature(16, 8 * 3**level, np.float64(reach * 1.5**level))

    def _product(self, level: int) -> tuple[GaussQuadrature | None, int]:
        """A product rule for two features, and how many nodes it has; None beyond the largest."""
        n = PRODUCT_NODES * 2**level
        if n > self._most:
            return None, 0
        points, _ = self._kernel.gauss(n) or ((), ())
        return GaussQuadrature(n), len(points) ** 2

    @property
    def _kernel(self) -> AbstractKernel:
        return _moving(self.problem).context

    @property
    def _most(self) -> int:
        """The largest Gauss rule whose weights do not underflow."""
        return MOST_LAGUERRE if self._kernel.order == 1 else MOST_HERMITE

    def _panels(self, level: int, epsilon: float, far: float) -> tuple[GaussQuadrature, int]:
        """Panels around a single feature, and how many nodes they have.

        They reach as far as moving pays and, beyond that, twelve standard deviations (forty
        widths).
        """
        scale = np.asarray(self._kernel.scale)
        scale = np.where(scale > 0, scale, 1.0)
        width, beyond = (
            float(np.max(np.asarray(length) / scale))
            for length in (self._kernel.width, self._kernel.reach)
        )
        width, reach = max(width, 1e-300), far + beyond
        panels = 2 ** (level + math.ceil(math.log2(reach / (PANEL_WIDTHS * width))))
        return GaussQuadrature(PANEL_NODES, panels, np.float64(reach)), 2 * panels * PANEL_NODES


def _moving(problem: Problem) -> Kernels:
    if problem.kernels is None:
        raise ValueError("A model that moves points needs kernels; its `kernels` gave none.")
    return problem.kernels


def _steep(temperature: float, seen: Scan) -> bool:
    return seen.hidden or seen.net > STEEP * temperature


def choose_contexts(mass: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all contexts with their masses, or a systematic sample by mass with equal shares."""
    if len(mass) <= most:
        return np.arange(len(mass)), mass
    positions = (np.arange(most) + 0.5) / most
    cumulative = np.cumsum(mass)
    chosen = np.searchsorted(cumulative / cumulative[-1], positions)
    return chosen, np.full(most, 1 / most)
