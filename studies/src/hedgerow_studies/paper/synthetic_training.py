"""How the synthetic studies train: hedged at chosen parameters, and on the empirical risk."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from hedgerow.ambiguity import ERM, Ambiguity, CausalSinkhorn
from hedgerow.data import EmpiricalNominal
from hedgerow.estimator import RobustPolicy
from hedgerow.search import RobustPolicyCV
from hedgerow.solvers import NestedSGD, Solver, default_solver
from hedgerow_studies.paper import published
from hedgerow_studies.paper.synthetic_models import TUNED, model, rule_of
from hedgerow_studies.paper.synthetic_problems import Draw

CONVERGED, EARLY = "ERM, to convergence", "ERM, stopped early"
LONG = {"tiny": 100, "quick": 2000, "full": 4000}
"""Steps of the empirical risk that is trained for as long as it falls."""
NEAREST = 1.05
"""Times the smallest penalty, at which values begin to be finite."""


def hedged(drawn: Draw, name: str, rule: str, seed: int) -> RobustPolicy:
    """A rule trained against a model at the parameters that were chosen for it."""
    tuned = TUNED[drawn.problem][name]
    ambiguity = model(name, tuned.penalty, tuned.epsilon)
    solver = stopped_after(tuned.steps, ambiguity)
    policy = RobustPolicy(
        drawn.loss,
        ambiguity,
        rule_of(drawn.problem, rule),
        EmpiricalNominal(),
        solver,
        random_state=seed,
    )
    return policy.fit(drawn.train.data, drawn.train.target)


def stopped_after(steps: int, ambiguity: Ambiguity) -> Solver:
    """One node a context, stopped after so many steps of the default schedule, as when tuned."""
    return default_solver(ambiguity).set_params(nodes=1, stop_after=steps)


def as_published(name: str) -> str:
    """What a model is called when its parameters are the published ones."""
    return f"{name}, published"


def at_published(drawn: Draw, name: str, seed: int) -> tuple[RobustPolicy, float]:
    """A forest at the published parameters, and its penalty: the nearest admissible one."""
    penalty, epsilon = published.TUNED[drawn.problem][name]
    order = int(name[0])
    outcomes = drawn.train.target.reshape(len(drawn.train.target), -1)
    cost = drawn.loss.outcome_cost(order, np.ones(outcomes.shape[1]))
    smallest = drawn.loss.smallest_penalty(cost, np.zeros(outcomes.shape[1]), outcomes)
    penalty = penalty if penalty > smallest else NEAREST * smallest
    model = CausalSinkhorn(penalty, cast(float, epsilon), order)
    rule = rule_of(drawn.problem, "forest")
    policy = RobustPolicy(drawn.loss, model, rule, EmpiricalNominal(), random_state=seed)
    return policy.fit(drawn.train.data, drawn.train.target), penalty


def converged(drawn: Draw, rule: str, seed: int, scale: str) -> RobustPolicy:
    """The empirical risk, trained for long, whatever it does out of sample.

    Whether it has settled by then is its ``status_``.
    """
    solver = NestedSGD(steps=LONG[scale])
    policy = RobustPolicy(
        drawn.loss,
        ERM(),
        rule_of(drawn.problem, rule),
        EmpiricalNominal(),
        solver,
        random_state=seed,
    )
    return policy.fit(drawn.train.data, drawn.train.target)


def stopped_early(drawn: Draw, rule: str, seed: int) -> Any:
    """The empirical risk, with the number of steps that five folds choose."""
    search = RobustPolicyCV(
        drawn.loss,
        penalties=(math.inf,),
        nominals=[EmpiricalNominal()],
        rules=[rule_of(drawn.problem, rule)],
        random_state=seed,
    )
    return search.fit(drawn.train.data, drawn.train.target)
