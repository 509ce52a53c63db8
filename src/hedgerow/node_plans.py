"""Which nodes to evaluate a robust value with, level by level, each about twice the one before.

- Points that never move, or a discrete reference measure: sums are exact, one level.
- One feature: Gauss–Legendre panels that reach as far as moving the context can pay.
- Two features: a product of Gauss–Hermite or Laguerre rules.
- More: scrambled Sobol points with random shifts, in independent replicates.
- Two or more, where moving a context can pay many times the temperature: Sobol points around the
  context and around where its mass gathers, since the kernel alone would rarely reach there.
- Causal Wasserstein: nodes are where ascents start.

Outcomes get nodes only if the loss has no closed-form log-moment.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hedgerow.ambiguity import SinkhornAmbiguity, TransportAmbiguity
from hedgerow.moments import Problem
from hedgerow.nodes import GaussQuadrature, Nodes, Reference, Sobol

REPLICATES = 8
SOBOL_NODES = 64
PRODUCT_NODES = 12
MOST_HERMITE, MOST_LAGUERRE = 256, 128
PANEL_NODES = 8
PANEL_WIDTHS = 4.0
STARTS, START_LEVELS = 4, 5
STEEP = 8.0
"""Exponents that vary by more than this leave too much to nodes far out in the kernel's tails."""
MOST_CONTEXTS = 4096
MOST_EXPONENTS = 2**25


class NodePlan(NamedTuple):
    """Which nodes to use. ``settles``: their error shows in the difference to the last value."""

    context_nodes: Nodes
    outcome_nodes: Nodes | None
    replicates: int
    contexts: int
    settles: bool
    bulk_at: float | None = None


def needs_bulk(problem: Problem, penalty: float | None) -> bool:
    """Whether exponents vary so much that nodes of the kernel alone may miss what counts.

    ``penalty`` is in working units.
    """
    model = problem.ambiguity
    if not isinstance(model, SinkhornAmbiguity) or problem.nominal.contexts.shape[1] == 1:
        return False
    return problem.largest_gain() > STEEP * (penalty or 1.0) * float(model.epsilon)


def node_plan(
    problem: Problem,
    reference: tuple[Reference, Reference] | None,
    level: int,
    penalty: float | None,
) -> NodePlan | None:
    """Return the nodes of a level, or None beyond the last.

    ``penalty`` is what the level before found best under a radius, in working units.
    """
    total, features = problem.nominal.contexts.shape
    model = problem.ambiguity
    if not isinstance(model, TransportAmbiguity):
        return NodePlan(Sobol(1), None, 1, total, False) if level == 0 else None
    if not isinstance(model, SinkhornAmbiguity):
        starts = Sobol(STARTS * 2**level)
        return NodePlan(starts, None, 1, total, True) if level < START_LEVELS else None
    if reference is not None:
        contexts, outcomes = problem.in_working_units(reference)
        return NodePlan(contexts, outcomes, 1, total, False) if level == 0 else None
    outcome_nodes = _outcome_nodes(problem, level)
    penalty = _working_penalty(problem, model) or penalty
    bulk_at = penalty or 1.0 if needs_bulk(problem, penalty) else None
    if features == 1:
        nodes, n = _panels(problem, model, level, penalty or 1.0)
        plan = NodePlan(nodes, outcome_nodes, 1, total, True)
    elif features == 2 and bulk_at is None:
        nodes, n = _product(model, level)
        plan = NodePlan(nodes, outcome_nodes, 1, total, True)
    else:
        contexts, n = min(total, MOST_CONTEXTS * 2**level), SOBOL_NODES * 2**level
        settles = outcome_nodes is not None
        plan = NodePlan(Sobol(n), outcome_nodes, REPLICATES, contexts, settles, bulk_at)
    effort = plan.contexts * plan.replicates * n * problem.nominal.most_outcomes
    return plan if level < 2 or effort <= MOST_EXPONENTS else None


def _outcome_nodes(problem: Problem, level: int) -> Nodes | None:
    if problem.working_loss().has_log_moment:
        return None
    single = problem.nominal.outcomes.shape[1] == 1
    return GaussQuadrature(16 * 2**level) if single else Sobol(64 * 2**level)


def _product(model: SinkhornAmbiguity, level: int) -> tuple[GaussQuadrature, int]:
    """A product rule for two features, and how many nodes it has."""
    most = MOST_HERMITE if model.order == 2 else MOST_LAGUERRE  # beyond, weights underflow
    n = min(PRODUCT_NODES * 2**level, most)
    return GaussQuadrature(n), (n if model.order == 2 else 2 * n) ** 2


def _panels(
    problem: Problem, model: SinkhornAmbiguity, level: int, penalty: float
) -> tuple[GaussQuadrature, int]:
    """Panels around a single feature, and how many nodes they have.

    Moving by a cost of c takes λc, so nobody moves further than a cost of (largest gain)/λ; beyond
    that and twelve standard deviations (forty widths) the integrand is negligible.
    """
    far = model.root(problem.largest_gain() / penalty)
    width = math.sqrt(model.epsilon / 2) if model.order == 2 else float(model.epsilon)
    reach = far + (12.0 if model.order == 2 else 40.0) * width
    panels = 2 ** (level + math.ceil(math.log2(reach / (PANEL_WIDTHS * width))))
    return GaussQuadrature(PANEL_NODES, panels, np.float64(reach)), 2 * panels * PANEL_NODES


def _working_penalty(problem: Problem, model: SinkhornAmbiguity) -> float | None:
    """The model's own penalty in working units; None under a radius."""
    if model.penalty is None:
        return None
    resolved = model.resolve(problem.units, problem.loss, problem.nominal)
    return float(getattr(resolved.in_units(problem.units), "penalty", 1.0))
