"""Which nodes to evaluate a robust value with, level by level, each about twice the one before.

- Points that never move, or a discrete reference measure: sums are exact, one level.
- One feature: Gauss–Legendre panels that reach as far as moving the context can pay.
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

from hedgerow.ambiguity import SinkhornAmbiguity, TransportAmbiguity
from hedgerow.ambiguity.problem import Problem
from hedgerow.certify.moments import MOST_PLACES, Bulk
from hedgerow.certify.scan import Outlook, outlook
from hedgerow.kernels.nodes import GaussQuadrature, Nodes, Reference, Scattered, Sobol

REPLICATES = 8
SOBOL_NODES, FEWER_NODES = 64, 16
"""Nodes in a replicate to begin with; fewer around bulk or with nodes around outcomes."""
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
    """Which nodes to use. ``settles``: their error shows in the difference to the last value."""

    context_nodes: Nodes
    outcome_nodes: Nodes | None
    replicates: int
    contexts: int
    settles: bool
    bulk: Bulk | None = None
    level: int = 0


def node_plan(
    problem: Problem,
    reference: tuple[Reference, Reference] | None,
    level: int,
    found: float | None,
) -> NodePlan | None:
    """Return the nodes of a level, or None beyond the last.

    ``found`` is the penalty that the level before found best under a radius, in working units.
    """
    total, features = problem.nominal.contexts.shape
    model = problem.ambiguity
    if not isinstance(model, TransportAmbiguity):
        return NodePlan(Sobol(1), None, 1, total, False) if level == 0 else None
    penalty = _working_penalty(problem, model) or found or 1.0
    if not isinstance(model, SinkhornAmbiguity):
        seen = outlook(problem, penalty, 0.0, level)
        starts = Scattered(Sobol(STARTS * 2**level), seen.places, seen.moved)
        return NodePlan(starts, None, 1, total, True) if level < START_LEVELS else None
    if reference is not None:
        contexts, outcomes = problem.in_working_units(reference)
        return NodePlan(contexts, outcomes, 1, total, False) if level == 0 else None
    scans = [
        outlook(problem, penalty, penalty * float(model.epsilon), seed) for seed in range(level + 1)
    ]
    steep = any(_steep(model, penalty, seen) for seen in scans)
    outcome_nodes = _outcome_nodes(problem, level)
    if isinstance(outcome_nodes, GaussQuadrature) and 16 * 2**level > _most(model):
        return None
    contexts = min(total, MOST_CONTEXTS * 2**level)
    if features == 1:
        nodes, n = _panels(model, level, max(seen.reach for seen in scans))
        plan = NodePlan(nodes, outcome_nodes, 1, contexts, True)
    elif features == 2 and not steep:
        nodes, n = _product(model, level)
        if nodes is None:
            return None
        plan = NodePlan(nodes, outcome_nodes, 1, contexts, True)
    else:
        bulk = Bulk(penalty, scans[-1].places, scans[-1].moved, level) if steep else None
        n = (SOBOL_NODES if outcome_nodes is None and not steep else FEWER_NODES) * 2**level
        settles = outcome_nodes is not None or bulk is not None
        plan = NodePlan(Sobol(n), outcome_nodes, REPLICATES, contexts, settles, bulk)
    plan = plan._replace(level=level)
    if outcome_nodes is not None:
        n *= outcome_nodes.n * problem.working_loss().terms
    effort = plan.contexts * plan.replicates * n * problem.nominal.most_outcomes
    effort *= 1 if plan.bulk is None else 1 + MOST_PLACES
    return plan if level < 2 or effort <= MOST_EXPONENTS else None


def is_blind(problem: Problem, plan: NodePlan, penalty: float | None) -> bool:
    """Whether a plan looks near contexts only although, at this penalty, mass goes far.

    Another scan than the plan's own is asked: the one that the next level begins with.
    """
    model = problem.ambiguity
    several = problem.nominal.contexts.shape[1] > 1
    if not isinstance(model, SinkhornAmbiguity) or not several or plan.bulk is not None:
        return False
    if isinstance(plan.context_nodes, Reference) or penalty is None:
        return False
    seen = outlook(problem, penalty, penalty * float(model.epsilon), plan.level + 1)
    return _steep(model, penalty, seen)


def _steep(model: SinkhornAmbiguity, penalty: float, seen: Outlook) -> bool:
    return seen.hidden or seen.net > STEEP * penalty * float(model.epsilon)


def _outcome_nodes(problem: Problem, level: int) -> GaussQuadrature | Sobol | None:
    """Nodes around outcomes, if the loss needs any."""
    around = problem.resolved().neighbourhood(problem.units, problem.loss)
    if around is None or problem.working_loss().has_log_moment(around.outcome):
        return None
    if problem.nominal.outcomes.shape[1] > 1:
        return Sobol(32 * 2**level)
    return GaussQuadrature(16 * 2**level)


def _product(model: SinkhornAmbiguity, level: int) -> tuple[GaussQuadrature | None, int]:
    """A product rule for two features, and how many nodes it has; None beyond the largest."""
    n = PRODUCT_NODES * 2**level
    if n > _most(model):
        return None, 0
    return GaussQuadrature(n), (n if model.order == 2 else 2 * n) ** 2


def _most(model: SinkhornAmbiguity) -> int:
    """The largest Gauss rule whose weights do not underflow."""
    return MOST_HERMITE if model.order == 2 else MOST_LAGUERRE


def _panels(model: SinkhornAmbiguity, level: int, far: float) -> tuple[GaussQuadrature, int]:
    """Panels around a single feature, and how many nodes they have.

    They reach as far as moving pays and, beyond that, twelve standard deviations (forty widths).
    """
    width = math.sqrt(model.epsilon / 2) if model.order == 2 else float(model.epsilon)
    reach = far + (12.0 if model.order == 2 else 40.0) * width
    panels = 2 ** (level + math.ceil(math.log2(reach / (PANEL_WIDTHS * width))))
    return GaussQuadrature(PANEL_NODES, panels, np.float64(reach)), 2 * panels * PANEL_NODES


def _working_penalty(problem: Problem, model: TransportAmbiguity) -> float | None:
    """The model's own penalty in working units; None under a radius."""
    if model.penalty is None:
        return None
    resolved = model.resolve(problem.units, problem.loss, problem.nominal)
    return float(getattr(resolved.in_units(problem.units), "penalty", 1.0))
