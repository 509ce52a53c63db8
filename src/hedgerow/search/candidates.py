"""What a search tries, gathered by what can be trained in one program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hedgerow import _checks
from hedgerow.ambiguity import ERM, Ambiguity
from hedgerow.data import EmpiricalNominal, Nominal
from hedgerow.estimator import RobustPolicy
from hedgerow.fitting import DEFAULT_AMBIGUITY
from hedgerow.forecasts import default_nominal
from hedgerow.losses import Loss
from hedgerow.rules import Rule, SoftForest
from hedgerow.solvers import StochasticSolver, default_solver

if TYPE_CHECKING:
    from hedgerow.search.policy_cv import RobustPolicyCV

PENALTIES = (3.0, 10.0, 30.0, math.inf)
EPSILONS = (0.01, 0.1)
FEW = 8
"""Outcomes of a context that a step looks at; another sample of them at each step."""
SETTINGS = ("order", "radius", "penalty", "epsilon")


class Family(NamedTuple):
    """Candidates that differ in penalty, or radius, and epsilon only."""

    rule: Rule
    nominal: Nominal
    models: list[Ambiguity]
    solver: StochasticSolver

    def policy(
        self, loss: Loss, model: Ambiguity, steps: int | None = None, seed: int = 0
    ) -> RobustPolicy:
        """Return a policy with one of the models, for so many steps of the solver's schedule."""
        stop = None if steps is None or steps >= self.solver.steps else steps
        solver = self.solver.replace(stop_after=stop)
        return RobustPolicy(loss, model, self.rule, self.nominal, solver, random_state=seed)


def families_of(search: RobustPolicyCV, rows: int, outcomes: int) -> list[Family]:
    """All that a search is asked to try, on such a history."""
    template = _template(search.ambiguity)
    penalties = listed_numbers("penalties", search.penalties)
    radii = [] if search.radii is None else listed_numbers("radii", search.radii)
    priced = [{"penalty": penalty} for penalty in penalties if math.isfinite(penalty)]
    within = [{"radius": radius, "penalty": None} for radius in radii]
    settings = template.get_params(deep=False)
    orders, epsilons = [{}], [{}]
    if "order" in settings:
        listed = _several("orders", search.orders, settings["order"])
        orders = [{"order": order} for order in listed]
    if "epsilon" in settings:
        epsilons = [{"epsilon": e} for e in listed_numbers("epsilons", search.epsilons)]
    solver, plain = (
        search.solver or default_solver(model, rows).replace(nodes=1, **sampled)
        for model, sampled in ((template, {"outcomes_per_context": FEW}), (ERM(), {}))
    )
    _checks.instance("solver", solver, StochasticSolver, "None or a stochastic solver")
    families = []
    usual = {repr(one): one for one in (EmpiricalNominal(), default_nominal(rows, outcomes))}
    for rule, nominal in product(
        _several("rules", search.rules, SoftForest()),
        _several("nominals", search.nominals, *usual.values()),
    ):
        for order, limits in product(orders, (priced, within)):
            models = [
                type(template)(**(settings | order | epsilon | limit))
                for limit, epsilon in product(limits, epsilons)
            ]
            if models:
                families.append(Family(rule, nominal, models, solver))
        if math.inf in penalties:
            families.append(Family(rule, nominal, [ERM()], plain))
    return families


def _template(given: Any) -> Ambiguity:
    """Check the model whose settings are varied."""
    template: Any = given or DEFAULT_AMBIGUITY
    _checks.instance("ambiguity", template, Ambiguity, "None or a model with a penalty")
    if template.penalty is None and template.radius is None:
        raise TypeError(
            f"ambiguity must be a model with a penalty; {type(template).__name__} has none."
        )
    if template.radius is not None:
        raise ValueError(
            "ambiguity has a radius, but penalties and radii are chosen here: give it a penalty, "
            "and the radii to try as radii=[…]."
        )
    return template


def _several(name: str, given: Any, *default: Any) -> list[Any]:
    """At least one of something; None: the default ones."""
    if given is None:
        return list(default)
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) == 0:
        raise TypeError(f"{name} must be a list of what to try, or None; got {given!r}.")
    return list(given)


def listed_numbers(name: str, values: Any) -> list[float]:
    """At least one positive number; a penalty may be infinite."""
    found = [values] if np.ndim(values) == 0 else list(values)
    if not found:
        raise ValueError(f"{name} must hold at least one number.")
    return [
        math.inf if name == "penalties" and value == math.inf else _checks.positive(name, value)
        for value in found
    ]


def settings_of(model: Ambiguity, learned: float) -> dict[str, float]:
    """What is tried of a model; without one, as for the empirical risk, the penalty is infinite.

    Under a radius the penalty is the one that was ``learned`` along, on average over folds.
    """
    if model.penalty is None and model.radius is None:
        return {"penalty": math.inf}
    known = {
        name: given for name, given in model.get_params(deep=False).items() if given is not None
    }
    if model.radius is not None:
        known["penalty"] = learned
    return {name: known[name] for name in SETTINGS if name in known}
