"""How bad it can get: the certified value of a fixed rule under its ambiguity model.

    penalty:  F_λ = max_P { E_P Ψ − λ·(R_p^p(P̂, P) − least R_p^p) }
    radius:   v = max_P { E_P Ψ : R_p(P̂, P) ≤ ρ } = inf_λ { λ·ρ̄ + F_λ }

(paper: soft-causal-sdro-dual and Eq:MCO:whole)

F is an average of logarithms of averages over nodes (``node_plans.py``), doubled until standard
error and bias are within the tolerance, or until quadrature stands still.
The replicates' spread gives the standard error; since the logarithm of an average of m nodes is low
by about variance/(2m), the gap between pooled and single replicates measures the bias that pooling
has left. Everything is computed in float64. Over a discrete reference measure sums are exact.

The penalty under a radius is for ``best_penalty``.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, fields, replace
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from hedgerow import _checks
from hedgerow._components import double
from hedgerow._convergence import InexactValueWarning
from hedgerow._frames import require_pandas
from hedgerow._warnings import InfiniteValueWarning
from hedgerow.ambiguity import ERM, Ambiguity, Budget, Problem, Setting
from hedgerow.certify.admissibility import Need, Ray, smallest_penalty_for
from hedgerow.certify.best_penalty import best_penalty, used_up
from hedgerow.certify.bounds import GAP, two_sided
from hedgerow.certify.moments import DualPoint, Moments
from hedgerow.certify.node_plans import NodePlan, NodePlanner, choose_contexts
from hedgerow.describe.display import Display, Facts
from hedgerow.describe.numbers import number
from hedgerow.kernels import Reference, Sobol
from hedgerow.losses import by_row
from hedgerow.rules import FittedRule

if TYPE_CHECKING:
    from hedgerow.estimator import RobustPolicy


@dataclass(frozen=True, repr=False)
class RobustValue(Display):
    """How bad it can get on average, in the loss's units.

    Attributes
    ----------
    value : float
        With a penalty: the worst expected loss less the price of reaching it. With a radius: the
        worst expected loss within it.
    stderr : float
        Standard error from nodes and, where contexts were sampled, from contexts.
    bias : float
        Estimate of the error that the finite number of nodes still leaves.
    nominal : float
        Expected loss under the nominal distribution itself.
    expected_loss : float
        Expected loss under the worst case: the value, plus what the adversary paid. With a radius
        the value itself, a supremum that need not be attained.
    discrepancy : float or None
        R_p^p between nominal and worst case (for KL the divergence); None without ambiguity. May be
        negative: with continuous reference measures it is a difference of entropies.
    penalty : float or None
        λ in the loss's units, given or found; None without ambiguity.
    radius : float or None
        ρ, if the model has one.
    nodes, contexts : int
        Effort spent: nodes per context, and contexts.
    status : str
        "converged" to the tolerance, "node limit" if it was not reached, or "infinite".
    lower, upper : float
        A guarantee: the exact value for these data lies between them. ``lower`` is attained by a
        distribution that the model allows, ``upper`` is proved; infinite where nothing is.
    unproved : str
        Why a bound is infinite; "" if none is.
    ray : Ray or None
        Where the value is infinite: along which ray of contexts and outcomes, in the data's units,
        the loss outgrows what the penalty takes. Not kept in policy files.
    """

    value: float
    stderr: float
    bias: float
    nominal: float
    expected_loss: float
    discrepancy: float | None
    penalty: float | None
    radius: float | None
    nodes: int
    contexts: int
    status: str
    lower: float = -math.inf
    upper: float = math.inf
    unproved: str = "not asked for"
    ray: Ray | None = None

    def _heading(self) -> str:
        return f"Robust value {number(self.value)} ± {number(self.stderr + self.bias, 1)}"

    def _facts(self) -> Facts:
        told = [("nominal", f"{number(self.nominal)}, if nothing changes")]
        if self.expected_loss != self.value:
            told.append(("worst case", f"{number(self.expected_loss)}, its expected loss"))
        for name in ("penalty", "radius", "discrepancy"):
            found = getattr(self, name)
            if found is not None:
                told.append((name, number(found)))
        guarantee = self.guarantee()
        told += [("guarantee", guarantee)] if guarantee else []
        effort = f"{self.status}, {self.nodes:,} nodes for each of {self.contexts:,} contexts"
        return [*told, ("status", effort)]

    def to_frame(self) -> Any:
        """Return a pandas table of one row, so that values can be put below each other."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        del named["ray"]
        return require_pandas().DataFrame([named])

    def __float__(self) -> float:
        """Return the value."""
        return self.value

    def guarantee(self, unit: str = "") -> str:
        """Say between which bounds the exact value lies; "" if that was not asked for."""
        low, high = (f"{number(end, 4)}{unit}" for end in (self.lower, self.upper))
        if math.isfinite(self.upper):
            return f"proved to lie between {low} and {high}"
        if not math.isfinite(self.lower):
            return ""
        return f"proved to be at least {low}; no upper bound is proved: {self.unproved}"


class Evaluation(NamedTuple):
    """A robust value and what it was computed from, in working units."""

    robust: RobustValue
    problem: Problem
    rule: FittedRule
    moments: Moments
    dual: DualPoint
    penalty: float | None
    budget: Budget | None


def robust_value(
    policy: RobustPolicy,
    X: Any,
    Y: Any,
    *,
    ambiguity: Ambiguity | None = None,
    reference: tuple[Reference, Reference] | None = None,
    tolerance: float = 1e-3,
    gap: float = GAP,
    sample_weight: Any = None,
    random_state: int = 0,
    censored: Any = None,
    at: Any = None,
) -> RobustValue:
    """Worst expected loss of a fitted policy on data that need not be its training data.

    Parameters
    ----------
    policy : RobustPolicy
        A fitted policy.
    X, Y : array-like
        Contexts and outcomes that make up the nominal distribution, by the policy's own nominal.
    ambiguity : Ambiguity or None
        What to guard against; None: what the policy was trained against.
    reference : (Reference, Reference) or None
        Discrete reference measures on contexts and outcomes, in the data's units; sums over them
        are exact. None: Lebesgue measure.
    tolerance : float
        Nodes are added until standard error and bias are within this share of the value, or until
        a limit is reached, which is said in ``status`` and a warning.
    gap : float
        The upper bound is refined until it is within this share of the value, or a budget is spent.
    sample_weight : array-like or None
        Weights of the rows.
    random_state : int
        Seed of the nodes' random shifts.
    censored : (rows,) of bool or None
        Where the outcome was at least Y, as in ``fit``. Not together with ``reference``.
    at : (features,) array-like or None
        One context, such as today's: how bad its decision can turn out, around what the nominal
        holds possible there (a nominal of one outcome per context says so). Not with ``censored``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(50, 1, random_state=0)
    >>> X, y = data.data, data.target
    >>> policy = hr.RobustPolicy.from_function(lambda x: 3 + x[0], hr.Newsvendor(0.6, 1.0), X, y)
    >>> model = hr.KL(penalty=2.0)
    >>> value = hr.robust_value(policy, X, y, ambiguity=model)
    >>> bool(value.value >= value.nominal)
    True
    """
    _checks.nonnegative("gap", gap)
    evaluation = evaluated(
        policy, X, Y, ambiguity, reference, tolerance, sample_weight, random_state, censored, at
    )
    remark(evaluation.robust, tolerance)
    return two_sided(evaluation, gap)


def remark(found: RobustValue, tolerance: float = 1e-3) -> None:
    """Warn of a value that is infinite, or not known to the tolerance."""
    if found.value == math.inf:
        warnings.warn(
            "The robust value is infinite: far from the data the loss under this rule outgrows "
            "the transport cost at this penalty; a larger penalty makes it finite, or a bounded "
            "outcome_support (its .ray shows where).",
            InfiniteValueWarning,
            stacklevel=3,
        )
    elif found.status != "converged":
        warnings.warn(
            f"The robust value is known to {found.stderr + found.bias:.2g} only, not to the "
            f"requested {tolerance:g} of it: the limit of nodes was reached.",
            InexactValueWarning,
            stacklevel=3,
        )


def penalty_needed(problem: Problem, rule: FittedRule, setting: Setting | None = None) -> Need:
    """Return the penalty below which this rule's value is infinite, in working units."""
    with jax.enable_x64(True):
        units, setting = problem.units, setting or problem.setting(Sobol(1), None)
        contexts = units.contexts(problem.nominal.contexts, np.float64)
        middle = np.median(units.outcomes(problem.nominal.outcomes, np.float64), axis=0)
        around, rule = setting.moving(), double(rule)
        needs = [
            smallest_penalty_for(rule, double(loss), around, contexts, middle)
            for loss in by_row(setting.loss, problem.parameters()).telling()
        ]
        return max(needs, key=lambda need: need.penalty)


def evaluated(
    policy: RobustPolicy,
    X: Any,
    Y: Any,
    ambiguity: Ambiguity | None,
    reference: tuple[Reference, Reference] | None,
    tolerance: float,
    sample_weight: Any,
    random_state: int,
    censored: Any,
    at: Any = None,
) -> Evaluation:
    """Check what ``robust_value`` and ``worst_case`` are given, and certify."""
    policy = _checks.fitted_policy(policy)
    _checks.positive("tolerance", tolerance)
    policy.tell_typos(X, Y, sample_weight, stacklevel=4)
    problem = policy.problem(
        X, Y, ambiguity=ambiguity, sample_weight=sample_weight, censored=censored, at=at
    )
    key = jax.random.key(_checks.count("random_state", random_state, 0), impl="rbg")
    return certify(problem, policy.rule_, key, tolerance, reference)


def certify(
    problem: Problem,
    rule: FittedRule,
    key: PRNGKeyArray,
    tolerance: float = 1e-3,
    reference: tuple[Reference, Reference] | None = None,
) -> Evaluation:
    """Evaluate a rule to a relative tolerance, as far as the limit on nodes allows."""
    widths = (problem.nominal.contexts.shape[1], problem.nominal.outcomes.shape[1])
    _checks.reference(reference, Reference, widths)
    problem.cover(rule)
    planner = NodePlanner(problem, rule, reference)
    with jax.enable_x64(True):
        best = terms = None
        for level in count():
            plan = planner.plan(level, None if best is None else best.penalty)
            if plan is None:
                break
            setting = problem.setting(plan.context_nodes, plan.outcome_nodes)
            terms = terms or _Terms.of(problem, rule, setting, reference is None, key)
            best = _evaluate(problem, rule, plan, setting, terms, key, best)
            found = best.robust
            size = max(abs(found.value), 1e-3 * problem.units.loss_unit)
            near_enough = found.stderr + found.bias <= tolerance * size or found.value == math.inf
            if near_enough and not planner.is_blind(plan, best.penalty):
                met = "infinite" if found.value == math.inf else "converged"
                return best._replace(robust=replace(found, status=met))
    if best is None:
        raise ValueError("There are no nodes to evaluate the robust value with.")
    return best


class _Terms(NamedTuple):
    """What does not depend on the nodes, in working units.

    ``need`` is the penalty below which this rule's value is infinite, and why.
    """

    nominal: float
    least: float | None
    budget: Budget | None
    need: Need

    @classmethod
    def of(
        cls,
        problem: Problem,
        rule: FittedRule,
        setting: Setting,
        moves_freely: bool,
        key: PRNGKeyArray,
    ) -> _Terms:
        """Compute them; over a discrete reference measure points do not move freely."""
        contexts = np.arange(len(problem.nominal.contexts))
        trusting, share = problem.against(ERM()), problem.nominal.context_mass
        moments = Moments(trusting, rule, contexts, share, setting, 1, key)
        nominal = moments.at(None).value
        if not math.isfinite(nominal):
            raise ValueError(
                "The policy's decisions or their losses are not finite (NaN or inf) on these data."
            )
        need = Need(0.0)
        if setting.kernels is not None and moves_freely:
            need = penalty_needed(problem, rule, setting)
        model, about = problem.given, (problem.units, problem.loss, problem.nominal, setting)
        return cls(nominal, model.least_discrepancy(*about), model.budget(*about), need)


def _evaluate(
    problem: Problem,
    rule: FittedRule,
    plan: NodePlan,
    setting: Setting,
    terms: _Terms,
    key: PRNGKeyArray,
    previous: Evaluation | None,
) -> Evaluation:
    """Evaluate with one plan's nodes."""
    unit = problem.units.loss_unit
    contexts, share = choose_contexts(problem.nominal.context_mass, plan.contexts)
    moments = Moments(problem, rule, contexts, share, setting, plan.replicates, key, plan.modes)
    penalty, reserved = moments.model.penalty, 0.0
    if terms.budget is not None:
        floor = max(terms.budget.floor, terms.need.penalty)
        before = None if previous is None else previous.penalty
        penalty = best_penalty(moments, terms.budget.excess, floor, before)
        reserved = penalty * terms.budget.excess
    penalty = None if penalty is None else float(penalty)
    dual = moments.at(penalty)
    finite = penalty is None or penalty > terms.need.penalty
    value = dual.value + reserved if finite else math.inf
    variance = bias = 0.0
    if plan.replicates > 1:
        variance = float(dual.replicates.var(ddof=1)) / plan.replicates
        bias = (dual.value - float(dual.replicates.mean())) / (plan.replicates - 1)
    if len(contexts) < len(problem.nominal.contexts):
        variance += float(dual.by_context.var(ddof=1)) / len(contexts)
    if plan.settles and finite:
        bias = math.inf if previous is None else abs(value - previous.robust.value / unit)
    paid = 0.0 if penalty is None else -penalty * dual.slope
    if not finite:
        paid = math.inf
    radius = problem.given.radius
    used = -dual.slope
    if terms.budget is not None and penalty is not None:
        used = used_up(used, penalty - max(terms.budget.floor, terms.need.penalty), terms.budget)
    robust = RobustValue(
        value=value * unit,
        stderr=math.sqrt(variance) * unit,
        bias=max(bias, 0.0) * unit,
        nominal=terms.nominal * unit,
        expected_loss=(dual.value + paid if terms.budget is None else value) * unit,
        discrepancy=None if terms.least is None else terms.least + used,
        penalty=None if penalty is None else penalty * unit,
        radius=None if radius is None else float(radius),
        nodes=plan.replicates * moments.nodes,
        contexts=len(contexts),
        status="node limit",
        ray=None if finite or terms.need.ray is None else _in_users_units(terms.need.ray, problem),
    )
    return Evaluation(robust, problem, rule, moments, dual, penalty, terms.budget)


def _in_users_units(ray: Ray, problem: Problem) -> Ray:
    units = problem.units
    return Ray(
        units.x_centre + ray.context * units.x_spread,
        ray.outcome * units.y_unit,
        ray.context_direction * units.x_spread,
        ray.outcome_direction * units.y_unit,
    )
