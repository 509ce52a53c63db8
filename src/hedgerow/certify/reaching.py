"""Which radius it takes for the worst case to cost so much: the robust value, read backwards.

    v(ρ) = inf_λ { λ·ρ̄ + F_λ } ≥ c   ⟺   ρ̄ ≥ sup_λ (c − F_λ)/λ

With t = 1/λ the right-hand side is sup_t { c·t − t·F_{1/t} }, the convex conjugate of the
perspective of F: concave in t, and at its maximum the worst case at price λ costs exactly c,

    E(λ) = F_λ − λ·F'_λ = c.

So one search over penalties gives the radius of a cost, where a search over radii would nest
another in it. F comes from the same nodes as the certified value (``value.py``), added until its
error is within the tolerance. This error is numerical; what sampling adds is for ``calibration``.
"""

from __future__ import annotations

import math
from itertools import count
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from scipy.optimize import root_scalar

from hedgerow.ambiguity import Ambiguity, PenalisedAmbiguity, Problem
from hedgerow.certify.best_penalty import SEARCH, ends
from hedgerow.certify.moments import DualPoint, Moments
from hedgerow.certify.node_plans import NodePlan, NodePlanner, choose_contexts
from hedgerow.certify.value import penalty_needed
from hedgerow.describe.parts import offered
from hedgerow.rules import FittedRule

FARTHEST = 1e30
"""Excess costs are clipped there, so that a root can be sought next to an infinite one."""


class Reached(NamedTuple):
    """The smallest radius whose worst case costs so much.

    ``radius`` is infinite if none does, and ``least`` if the least discrepant distribution costs as
    much already; ``doubt`` is the numerical error of the cost that is reached, in the loss's unit;
    ``status`` is "converged" or "node limit".
    """

    radius: float
    least: float
    doubt: float
    status: str


def with_radius(model: Ambiguity, radius: float, instead: str = "") -> PenalisedAmbiguity:
    """Return the model with a radius, or say that it has none and what to do ``instead``."""
    needed = "A radius is chosen among those of a model that has one (hedgerow.CausalSinkhorn does)"
    return offered(model.within(radius), model, "within", needed, instead)


def radius_reaching(
    problem: Problem, rule: FittedRule, cost: float, key: PRNGKeyArray, tolerance: float = 5e-3
) -> Reached:
    """Find the smallest radius within which the worst case costs at least so much on average."""
    model = with_radius(problem.given, 1.0)
    problem = problem.against(model)
    problem.cover(rule)
    planner = NodePlanner(problem, rule, None)
    unit, wanted = problem.units.loss_unit, cost / problem.units.loss_unit
    about = (problem.units, problem.loss, problem.nominal)
    with jax.enable_x64(True):
        found: _Place | None = None
        least = floor = doubt = 0.0
        status = "node limit"
        for level in count():
            plan = planner.plan(level, None if found is None else found.penalty)
            if plan is None:
                break
            setting = problem.setting(plan.context_nodes, plan.outcome_nodes)
            if found is None:
                floor = model.smallest_penalty(*about) / unit
                if problem.kernels is not None:
                    floor = max(floor, penalty_needed(problem, rule, setting).penalty)
                least = model.least_discrepancy(*about, setting)
            contexts, share = choose_contexts(problem.nominal.context_mass, plan.contexts)
            moments = Moments(
                problem, rule, contexts, share, setting, plan.replicates, key, plan.modes
            )
            before = found
            found = _reach(moments, wanted, floor, before)
            doubt = _doubt(found, plan)
            if plan.settles:
                doubt = math.inf if before is None else abs(found.cost - before.cost)
            near = doubt <= tolerance * max(abs(wanted), 1e-3)
            if near and not planner.is_blind(plan, found.penalty):
                status = "converged"
                break
    if found is None:
        raise ValueError("There are no nodes to evaluate the robust value with.")
    radius = math.inf if found.used == math.inf else float(model.root(max(least + found.used, 0.0)))
    return Reached(radius, float(model.root(max(least, 0.0))), doubt * unit, status)


class _Place(NamedTuple):
    """Where a search over penalties ended: the penalty, what its worst case uses, what it costs.

    ``used`` is the discrepancy beyond the least one, ``cost`` = λ·used + F.
    """

    position: float
    penalty: float
    used: float
    cost: float
    dual: DualPoint


def _reach(moments: Moments, cost: float, floor: float, before: _Place | None) -> _Place:
    """Find the penalty λ = floor + e^position at which the worst case costs so much."""

    def lacking(position: float) -> float:
        """What is lacking to the cost; rises with the penalty."""
        penalty = floor + math.exp(position)
        dual = moments.at(penalty)
        short = cost - (dual.value - penalty * dual.slope)
        return -FARTHEST if math.isnan(short) else float(np.clip(short, -FARTHEST, FARTHEST))

    start = 0.0 if before is None else before.position
    low, high = ends(lacking, start, 1.0 if before is None else 0.1)
    if lacking(low) >= 0:
        position = low
    elif lacking(high) <= 0:
        position = high
    else:
        position = float(root_scalar(lacking, bracket=(low, high), xtol=1e-10, rtol=1e-12).root)
    penalty = floor + math.exp(position)
    dual = moments.at(penalty)
    used = max((cost - dual.value) / penalty, 0.0)
    if position >= SEARCH:  # the least discrepant distribution costs as much
        used = 0.0
    elif position <= -SEARCH and floor == 0.0:  # no distribution does
        return _Place(position, penalty, math.inf, dual.value, dual)
    return _Place(position, penalty, used, dual.value + penalty * used, dual)


def _doubt(found: _Place, plan: NodePlan) -> float:
    """Standard error and bias of F at the penalty found, as ``value.py`` has them."""
    dual = found.dual
    if plan.replicates == 1:
        return 0.0
    error = math.sqrt(float(dual.replicates.var(ddof=1)) / plan.replicates)
    bias = (dual.value - float(dual.replicates.mean())) / (plan.replicates - 1)
    return error + max(bias, 0.0)
