"""From history to a trained rule: what fitting one or many and searching for one share.

    history (X, Y, weights) → nominal distribution → units → problem → first rule → trained rule

Plain functions of checked arrays and parts; ``estimator``, ``panels`` and ``search`` are their
façades. Whether what was learned is of use is for ``judging``.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import jax
import numpy as np
from sklearn.utils import check_random_state

from hedgerow import _checks, _row_checks, ladder
from hedgerow._warnings import (
    ConstantFeatureWarning,
)
from hedgerow.ambiguity import Ambiguity, CausalSinkhorn, Problem
from hedgerow.certify.radii import wide_radius
from hedgerow.certify.value import certify
from hedgerow.data import Nominal, NominalDistribution, TrainingTable, Units
from hedgerow.data.conditional import conditional
from hedgerow.describe.parts import offered
from hedgerow.forecasts import default_nominal
from hedgerow.losses import Loss, along, named_columns
from hedgerow.programs import awaited, meanwhile, program
from hedgerow.rules import FittedRule, Hardening, Rule, SoftForest
from hedgerow.rules.joint import begun, joined
from hedgerow.rules.slopes import outcome_slopes
from hedgerow.solvers import Solution, Solver, TrainingProblem, default_solver
from hedgerow.solvers.training import Progress

ROUNDS, EXACT = 3, 1e-7
"""A loss whose pieces are too many to know in advance is trained on again with those it lacked."""

WORSE, NOTHING = 1e-3, 1e-6
"""By this share of the constant's loss, and of the loss's unit, a rule loses to it."""

DEFAULT_AMBIGUITY = CausalSinkhorn(
    penalty=10.0, epsilon=0.01, order=2, x_scale="auto", y_scale="auto", loss_scale="auto"
)


FEW_ROWS = 100
MOST_KINDS = 256
_compiled: set[Any] = set()
"""Kinds of fits whose programs were asked for ``meanwhile`` in this process."""


def default_ambiguity(rows: int) -> CausalSinkhorn:
    """Return what ``ambiguity=None`` stands for: a hedge that fades as data grow.

    Beyond 100 rows the penalty grows with the square root of their number, as the distance of an
    empirical distribution from the truth falls: 10 for 100 rows, 20 for 400, 100 for 10,000. That
    is no worse than a fixed one on the paper's newsvendor and better on bakery series, single and
    pooled (docs/results/recipe.md, docs/results/real_series.md).
    """
    fading = math.sqrt(max(rows, FEW_ROWS) / FEW_ROWS)
    return DEFAULT_AMBIGUITY.replace(penalty=DEFAULT_AMBIGUITY.penalty * fading)


class Parts(NamedTuple):
    """What a policy is composed of, with defaults filled in and checked."""

    loss: Loss
    ambiguity: Ambiguity
    rule: Rule
    nominal: Nominal
    solver: Solver

    @classmethod
    def of(
        cls,
        loss: Any,
        ambiguity: Any = None,
        rule: Any = None,
        nominal: Any = None,
        solver: Any = None,
        rows: int = 0,
        outcomes: int = 1,
    ) -> Parts:
        """Fill in defaults for such a history, and refuse what is no such part in one sentence."""
        _checks.instance(
            "loss", loss, Loss, "a loss such as hedgerow.Newsvendor(holding=1, stockout=2)"
        )
        ambiguity = _part(ambiguity, default_ambiguity(rows), Ambiguity, "ambiguity", "ERM()")
        parts = cls(
            loss=loss,
            ambiguity=ambiguity,
            rule=_part(rule, SoftForest(), Rule, "rule", "SoftForest()"),
            nominal=_part(
                nominal, default_nominal(rows, outcomes), Nominal, "nominal", "EmpiricalNominal()"
            ),
            solver=_part(solver, default_solver(ambiguity, rows), Solver, "solver", "SCSC()"),
        )
        for part in parts:
            part.inspect()
        return parts


class Keys(NamedTuple):
    """Randomness of the first rule, of training and of certified values."""

    rule: jax.Array
    training: jax.Array
    value: jax.Array


def keys_of(random_state: Any) -> Keys:
    """Return the keys that go with what scikit-learn takes for randomness."""
    return _split(check_random_state(random_state).randint(np.iinfo(np.int32).max))


@program(brief=True)
def _split(seed: Any) -> Keys:
    """Three keys of a seed, in one program."""
    return Keys(*jax.random.split(jax.random.key(seed, impl="rbg"), 3))


def nominal_of(
    parts: Parts,
    X: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray,
    censored: np.ndarray | None = None,
) -> NominalDistribution:
    """Turn checked history into the nominal distribution, within the loss's outcome support.

    ``censored`` (rows,) says which outcomes were at least this much; None: all were seen in full.
    """
    support = parts.loss.support_for(Y.shape[1])
    _row_checks.within_support(Y, support)
    if censored is None:
        return parts.nominal.build(X, Y, weights).within(support)
    return parts.nominal.build_censored(X, Y, weights, censored).within(support)


def nominal_at(
    parts: Parts,
    X: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray,
    censored: np.ndarray | None,
    context: np.ndarray,
) -> NominalDistribution:
    """Turn checked history into what its nominal says of one context (1, features)."""
    if censored is not None:
        raise ValueError("at is understood for rows that were seen in full: leave censored out.")
    if len(context) != 1:
        raise ValueError(f"at must be one context; got {len(context)} rows.")
    support = parts.loss.support_for(Y.shape[1])
    _row_checks.within_support(Y, support)
    return conditional(parts.nominal, X, Y, weights, context[0]).within(support)


def pose(
    parts: Parts,
    X: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray,
    censored: np.ndarray | None = None,
) -> Problem:
    """Turn checked history into a problem, or say what is wrong with it."""
    if censored is None:
        _compile_meanwhile(parts, X, Y, weights)
    return posed(parts, nominal_of(parts, X, Y, weights, censored))


def _compile_meanwhile(parts: Parts, X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> None:
    """Have training compiled while a nominal is built that takes long, once for a kind of fit."""
    if parts.ambiguity.radius is not None:  # where it begins takes a certified value
        return
    kind = (
        str(jax.tree_util.tree_structure(parts._replace(nominal=None))),  # it may hold arrays
        X.shape[1],
        Y.shape[1],
        ladder.room(len(X)),
    )
    if kind in _compiled:
        return
    if len(_compiled) >= MOST_KINDS:
        _compiled.clear()
    _compiled.add(kind)

    def work() -> None:
        outline = parts.nominal.outline(X, Y, weights)
        if outline is None:
            return
        problem = posed(parts, outline.within(parts.loss.support_for(Y.shape[1])))
        keys = keys_of(0)
        rule = first_rule(parts, problem, keys.rule)
        training = training_of(problem, rule, parts.solver, keys.value)
        parts.solver.compile(training, keys.training)

    meanwhile(work)


def posed(parts: Parts, nominal: NominalDistribution) -> Problem:
    """Turn a nominal distribution into a problem."""
    loss = along(parts.loss.with_thresholds() or parts.loss, nominal.contexts)
    return Problem.of(nominal, Units.measure(nominal, loss), loss, parts.ambiguity)


def first_rule(parts: Parts, problem: Problem, key: jax.Array) -> FittedRule:
    """Return the rule that training begins with."""
    units = problem.units
    slopes = None
    if parts.rule.begins_along_slopes:
        slopes = outcome_slopes(problem.nominal, units)
    return begun(parts.rule, key, units, problem.loss, slopes)


def with_thresholds(problem: Problem, rule: FittedRule) -> FittedRule:
    """Return a rule that somebody else made, with the thresholds that are best for it."""
    if problem.loss.thresholds == 0:
        return rule
    nominal, units = problem.nominal, problem.units
    owner = nominal.entry_context
    z_unit = units.z_unit[problem.loss.thresholds :]
    decisions = (rule.decide(units.contexts(nominal.contexts, np.float64)) * z_unit)[owner]
    outcomes = nominal.outcomes[nominal.entry_outcome]
    loss = problem.loss.rows(owner)
    return joined(
        rule, loss.best_thresholds(decisions, outcomes, nominal.joint_mass()), units, problem.loss
    )


def learn(
    problem: Problem, rule: FittedRule, solver: Solver, keys: Keys, progress: Progress | None
) -> tuple[Solution, Any]:
    """Train and, if the loss knew too little of itself around the learned rule, train on.

    Returns the solution, and what the loss's pool reported last (None without one).
    """
    awaited()
    problem.cover(rule, widen=0.9)
    rounds = ROUNDS
    while True:
        training = training_of(problem, rule, solver, keys.value)
        solution = solver.run(training, keys.training, progress)
        rule, report, rounds = solution.rule, problem.cover(solution.rule), rounds - 1
        exact = report is None or report.gap <= EXACT * problem.units.loss_unit
        if exact or rounds == 0:
            return solution, report


def training_of(
    problem: Problem,
    rule: FittedRule,
    solver: Solver,
    key: jax.Array,
    table: TrainingTable | None = None,
) -> TrainingProblem:
    """Return what to train on; under a radius, from the penalty that goes with the first rule."""
    penalty = budget = None
    if problem.given.radius is not None:
        begin = certify(problem, rule, key, tolerance=0.1)
        penalty, budget = begin.penalty, begin.budget
    return solver.training(problem, rule, penalty, budget, table)


def loses(loss: float | np.ndarray, constant: float | np.ndarray, unit: float | np.ndarray) -> Any:
    """Whether a rule's nominal loss is above that of the best constant by more than nothing.

    ``unit`` is the loss's unit. Arrays stand for as many policies; what is NaN loses.
    """
    return np.logical_not(loss <= constant + WORSE * np.abs(constant) + NOTHING * unit)


def harden(
    policy: Any, contexts: np.ndarray | None, tolerance: float
) -> tuple[FittedRule, Hardening]:
    """Return a policy's rule with hard gates, and how alike the two decide on some contexts.

    Without any, on the nominal ones.
    """
    needed = "Only rules with gates can be hardened"
    hard = offered(policy.rule_.hardened(), policy.rule_, "hardened", needed)
    if contexts is None:
        nominal = getattr(policy, "nominal_", None)
        if nominal is None:
            raise ValueError(
                "Policy files hold no training data, so how alike the two decide cannot be told: "
                "give contexts, policy.hardened(X)."
            )
        contexts, mass = nominal.contexts, nominal.context_mass
    else:
        mass = np.ones(len(contexts))
    units = policy.units_
    x = units.contexts(contexts, np.float64)
    crisp, soft = (rule.decide(x) * units.z_unit for rule in (hard, policy.rule_))
    return hard, Hardening.between(crisp, soft, tolerance, mass)


def remark(problem: Problem, names: Any, *, model: bool) -> None:
    """Warn of features that never vary and, if ``model``, of what the model has to say."""
    constant = np.flatnonzero(problem.units.x_factor == 0)
    read = {
        place
        for _, column in named_columns(problem.loss)
        for term in column.positions or ()
        for place in term
    }
    constant = [place for place in constant if place not in read]  # those say what things cost
    if len(constant):
        listed = [str(i) if names is None else str(names[i]) for i in constant[:10]]
        more = ", …" if len(constant) > 10 else ""
        warnings.warn(
            f"Feature(s) {', '.join(listed)}{more} never vary in the training data, or hardly, and "
            "are ignored.",
            ConstantFeatureWarning,
            stacklevel=4,
        )
    if model:
        wide = wide_radius(problem, names)
        for warning in (*problem.given.remarks(problem.nominal), *([wide] if wide else [])):
            warnings.warn(warning, stacklevel=4)


def _part(given: Any, default: Any, kind: type, name: str, example: str) -> Any:
    hint = f"None or {kind.__name__.lower()} such as hedgerow.{example}"
    return default if given is None else _checks.instance(name, given, kind, hint)
