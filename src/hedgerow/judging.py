"""What to think of a trained rule: whether training went well, and whether the rule is of use.

    nominal loss of the rule ≤ nominal loss of the best constant decision   (``fitting.loses``)

A rule that loses to a constant, and does not hedge better either, gives way to it. What a user
should know comes along as warnings, which the caller gives.
"""

from __future__ import annotations

import jax
import numpy as np

from hedgerow._convergence import DivergedWarning
from hedgerow._warnings import HedgerowWarning, InfiniteValueWarning, UselessRuleWarning
from hedgerow.ambiguity import Problem
from hedgerow.certify.value import certify, penalty_needed
from hedgerow.describe.numbers import number
from hedgerow.fitting import loses
from hedgerow.rules import ConstantRule, FittedRule, Start
from hedgerow.solvers import Solution, Solver

JUDGED = 10_000
"""Contexts that nominal losses are compared on at most."""
CLEARLY = 0.95
"""Of the constant's loss: an objective that ends below it needs no closer look."""
FEWEST = 10
"""Objectives of single batches that such an end must be read off from."""
ROUGHLY = 1e-2


def divergence(solution: Solution, solver: Solver) -> list[HedgerowWarning]:
    """Return what a user should know of a training: that it diverged, and what else there was."""
    if solution.status != "diverged":
        return [*solution.remarks]
    slower = " Lower its learning_rate." if hasattr(solver, "learning_rate") else ""
    return [
        DivergedWarning(
            f"Training diverged after {len(solution.history)} of {solver.steps} steps of "
            f"{type(solver).__name__}; the last finite rule was kept.{slower}"
        ),
        *solution.remarks,
    ]


def judged(
    problem: Problem, solution: Solution, key: jax.Array
) -> tuple[Solution, list[HedgerowWarning]]:
    """Return the solution, or the best constant decision if the learned rule loses to it.

    Where the objective ended well below the constant's loss there is nothing to ask. Else the
    nominal losses of both are compared. A rule that hedges may well cost more than a
    constant if nothing happens; it loses only if its robust value is higher, too. What a user
    should know comes along as warnings.
    """
    if solution.status != "diverged" and _clearly_better(problem, solution.history):
        return solution, _infinite(problem, solution.rule)
    learned, fixed = _nominal_losses(problem, solution.rule)
    if not loses(learned, fixed, problem.units.loss_unit):
        return solution, _infinite(problem, solution.rule)
    decision_set = problem.loss.decisions_for(len(problem.units.y_unit))
    constant = ConstantRule.at(Start.of(problem.units, decision_set))
    contenders = (solution.rule, constant) if np.isfinite(learned) else ()
    values = [certify(problem, rule, key, ROUGHLY).robust.value for rule in contenders]
    costs = (
        f"Under the nominal distribution the learned rule costs {number(learned)} a row, more than "
        f"the best constant decision ({number(fixed)})"
    )
    if values and values[0] < values[1]:
        doubt = (
            f"{costs}: the price of hedging this strongly. Its robust value is lower "
            f"({number(values[0])} against {number(values[1])}); a larger penalty, or a smaller "
            "radius, hedges less."
        )
    else:
        solution = solution._replace(rule=constant, status="constant")
        doubt = (
            f"{costs}, which is used in its place; train longer or with a lower learning_rate, or "
            "give it features that tell more."
        )
    return solution, [UselessRuleWarning(doubt), *_infinite(problem, solution.rule)]


def _clearly_better(problem: Problem, history: np.ndarray) -> bool:
    """Whether the last tenth of objectives lies below the constant's loss beyond their noise."""
    tail = history[-(len(history) // 10) :]
    if len(tail) < FEWEST:
        return False
    upper = tail.mean() + 3 * tail.std(ddof=1) / np.sqrt(len(tail))
    return bool(upper < CLEARLY * problem.units.constant_loss / problem.units.loss_unit)


def _infinite(problem: Problem, rule: FittedRule) -> list[HedgerowWarning]:
    """Whether the learned rule asks for a larger penalty, where that depends on decisions."""
    penalty, kernels = problem.working.penalty, problem.kernels
    if penalty is None or kernels is None:
        return []
    if problem.one_loss().needed_penalty(kernels.outcome) is None:
        return []
    need = penalty_needed(problem, rule).penalty
    if float(penalty) > need:
        return []
    least = float(problem.given.penalty) * need / float(penalty)
    return [
        InfiniteValueWarning(
            "The robust value of the learned rule is infinite at "
            f"penalty={problem.given.penalty:g}; its decisions need one greater than {least:.4g}."
        )
    ]


def _nominal_losses(problem: Problem, rule: FittedRule) -> tuple[float, float]:
    """Mean losses of a rule and of the best constant, on at most JUDGED contexts; inf for NaN."""
    nominal, units = problem.nominal, problem.units
    count = len(nominal.contexts)
    seen = np.linspace(0, count - 1, min(count, JUDGED)).round().astype(int)
    decisions = rule.decide(units.contexts(nominal.contexts[seen], np.float64))
    each = nominal.count[seen]
    entries = np.repeat(nominal.start[seen] - np.cumsum(each) + each, each) + np.arange(each.sum())
    mass = nominal.joint_mass()[entries]
    outcomes = units.outcomes(nominal.outcomes[nominal.entry_outcome[entries]], np.float64)
    # the fit's own: asking the given one might teach it vertices
    loss = problem.loss_of(np.repeat(seen, each))
    means = [
        float(mass @ np.asarray(loss(np.broadcast_to(z, (len(mass), z.shape[1])), outcomes)))
        for z in (np.repeat(decisions, each, axis=0), (units.constant / units.z_unit)[None])
    ]
    learned, fixed = np.nan_to_num(means, nan=np.inf) * units.loss_unit / mass.sum()
    return float(learned), float(fixed)
