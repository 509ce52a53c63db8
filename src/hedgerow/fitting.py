"""From history to a trained rule: what fitting a policy and searching for one have in common.

    history (X, Y, weights) → nominal distribution → units → problem → first rule → trained rule

Plain functions of checked arrays and parts; ``estimator`` and ``search`` are their façades.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import jax
import numpy as np
from sklearn.utils import check_random_state

from hedgerow import _checks
from hedgerow._warnings import ConstantFeatureWarning
from hedgerow.ambiguity import Ambiguity, CausalSinkhorn, Problem
from hedgerow.certify.value import certify
from hedgerow.data import EmpiricalNominal, Nominal, Units
from hedgerow.losses import Loss
from hedgerow.programs import program
from hedgerow.rules import FittedRule, Rule, SoftForest, Start
from hedgerow.rules.base import build_rule
from hedgerow.rules.slopes import outcome_slopes
from hedgerow.solvers import Solution, Solver, default_solver
from hedgerow.solvers.training import Progress

ROUNDS, EXACT = 3, 1e-7
"""A loss whose pieces are too many to know in advance is trained on again with those it lacked."""

DEFAULT_AMBIGUITY = CausalSinkhorn(
    penalty=10.0, epsilon=0.1, order=2, x_scale="auto", y_scale="auto", loss_scale="auto"
)


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
    ) -> Parts:
        """Fill in defaults, and refuse what is no such part in one sentence."""
        _checks.instance(
            "loss", loss, Loss, "a loss such as hedgerow.Newsvendor(holding=1, stockout=2)"
        )
        ambiguity = _part(ambiguity, DEFAULT_AMBIGUITY, Ambiguity, "ambiguity", "ERM()")
        parts = cls(
            loss=loss,
            ambiguity=ambiguity,
            rule=_part(rule, SoftForest(), Rule, "rule", "SoftForest()"),
            nominal=_part(nominal, EmpiricalNominal(), Nominal, "nominal", "EmpiricalNominal()"),
            solver=_part(solver, default_solver(ambiguity), Solver, "solver", "SCSC()"),
        )
        for part in parts:
            part.check()
        return parts


class Keys(NamedTuple):
    """Randomness of the first rule, of training and of certified values."""

    rule: jax.Array
    training: jax.Array
    value: jax.Array


def keys_of(random_state: Any) -> Keys:
    """Return the keys that go with what scikit-learn takes for randomness."""
    return _split(check_random_state(random_state).randint(np.iinfo(np.int32).max))


@program
def _split(seed: Any) -> Keys:
    """Three keys of a seed, in one program."""
    return Keys(*jax.random.split(jax.random.key(seed, impl="rbg"), 3))


def pose(parts: Parts, X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> Problem:
    """Turn checked history into a problem, or say what is wrong with it."""
    _checks.within_support(Y, parts.loss.support_for(Y.shape[1]))
    nominal = parts.nominal.build(X, Y, weights)
    units = Units.measure(nominal, parts.loss)
    return Problem.of(nominal, units, parts.loss, parts.ambiguity)


def first_rule(parts: Parts, problem: Problem, key: jax.Array) -> FittedRule:
    """Return the rule that training begins with."""
    units = problem.units
    slopes = None
    if parts.rule.begins_along_slopes:
        slopes = outcome_slopes(problem.nominal, units)
    decision_set = parts.loss.decisions_for(len(units.y_unit))
    return build_rule(parts.rule, key, Start.of(units, decision_set, slopes))


def learn(
    problem: Problem, rule: FittedRule, solver: Solver, keys: Keys, progress: Progress | None
) -> tuple[Solution, Any]:
    """Train and, if the loss knew too little of itself around the learned rule, train on.

    Returns the solution, and what the loss's pool reported last (None without one).
    """
    problem.cover(rule, widen=0.9)
    rounds = ROUNDS
    while True:
        penalty = budget = None
        if problem.given.radius is not None:
            begin = certify(problem, rule, keys.value, tolerance=0.1)
            penalty, budget = begin.penalty, begin.budget
        training = solver.training(problem, rule, penalty, budget)
        solution = solver.run(training, keys.training, progress)
        rule, report, rounds = solution.rule, problem.cover(solution.rule), rounds - 1
        exact = report is None or report.gap <= EXACT * problem.units.loss_unit
        if exact or rounds == 0:
            return solution, report


def remark(problem: Problem, names: Any, *, model: bool) -> None:
    """Warn of features that never vary and, if ``model``, of what the model has to say."""
    constant = np.flatnonzero(problem.units.x_factor == 0)
    if len(constant):
        listed = [str(i) if names is None else str(names[i]) for i in constant[:10]]
        more = ", …" if len(constant) > 10 else ""
        warnings.warn(
            f"Feature(s) {', '.join(listed)}{more} never vary in the training data and are "
            "ignored.",
            ConstantFeatureWarning,
            stacklevel=4,
        )
    if model:
        for warning in problem.given.remarks(problem.nominal):
            warnings.warn(warning, stacklevel=4)


def _part(given: Any, default: Any, kind: type, name: str, example: str) -> Any:
    hint = f"None or {kind.__name__.lower()} such as hedgerow.{example}"
    return default if given is None else _checks.instance(name, given, kind, hint)
