"""RobustPolicy: the scikit-learn façade. It checks, composes and reports; no mathematics here.

history (X, Y) → nominal distribution → working units → compiled training → a rule to decide with
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Self, cast

import jax
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from hedgerow import _checks, policy_file
from hedgerow._components import single
from hedgerow._progress import reporter
from hedgerow.ambiguity import Ambiguity, CausalSinkhorn
from hedgerow.ambiguity.base import warn_if_causality_is_vacuous
from hedgerow.ambiguity.problem import Problem
from hedgerow.certify.value import RobustValue, certify
from hedgerow.data.nominal import EmpiricalNominal, Nominal, NominalDistribution
from hedgerow.data.units import Units
from hedgerow.decisions import DecisionSet
from hedgerow.losses import Loss
from hedgerow.packing import pack, unpack
from hedgerow.programs import program
from hedgerow.rules import GivenRule, Rule, SoftForest
from hedgerow.rules.base import build_rule, decide_rows
from hedgerow.rules.slopes import outcome_slopes
from hedgerow.solvers import Solver, Training, default_solver

ROUNDS, EXACT = 3, 1e-7
"""A loss whose pieces are too many to know in advance is trained on again with those it lacked."""


class RobustPolicy(BaseEstimator):
    """A decision rule learned from history that hedges against the history being misleading.

    Parameters
    ----------
    loss : Loss
        What decisions cost, such as ``Newsvendor(holding=0.6, stockout=1.0)``.
    ambiguity : Ambiguity or None
        What to hedge against; None: ``CausalSinkhorn(penalty=10, epsilon=0.1, order=2)`` with all
        scales "auto". ``ERM()`` hedges against nothing.
    rule : Rule or None
        The kind of decision rule; None: ``SoftForest()``.
    nominal : Nominal or None
        How history becomes a distribution; None: ``EmpiricalNominal()``.
    solver : Solver or None
        How to train; None: what is best by measurement (see ``hedgerow.solvers``).
    random_state : int, RandomState or None
        The same integer gives the same policy, bit for bit, on the same machine.
    verbose : bool or callable
        True shows progress; a callable is called with (steps done, steps in all, objective).

    Attributes
    ----------
    rule_ : FittedRule
        The learned rule, on standardised contexts and in working units.
    units_ : Units
        What connects working units to the user's.
    nominal_ : NominalDistribution
        The nominal distribution (not kept in policy files).
    ambiguity_ : Ambiguity
        The model with every "auto" resolved to a number. Under a radius, the penalty that goes
        with the learned rule is ``robust_value_.penalty``.
    history_ : (steps,) array
        Estimate of the robust objective at each step, in the loss's units.
    status_ : str
        "converged", "step limit", "stopped early" or "diverged"; "given" if nothing was learned.
    n_features_in_, feature_names_in_, n_outcomes_, n_decisions_
        Shapes and names seen in fit.
    recourse_ : Growth or None
        Losses with a second stage: how exact the values seen in training were around the learned
        rule (``gap`` 0: exactly so), after at most three rounds. None for other losses, and not
        kept in policy files.
    columns_ : dict or None
        How a table became X (``TableEncoder.to_json``) and what its outcomes are called, if the
        policy came from the command; kept in policy files.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load_restaurant("steak")
    >>> policy = hr.RobustPolicy(hr.Newsvendor(holding=1, stockout=3), random_state=0)
    >>> orders = policy.fit(data.data[:500], data.target[:500]).predict(data.data[500:])
    """

    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self,
        loss: Loss,
        ambiguity: Ambiguity | None = None,
        rule: Rule | None = None,
        nominal: Nominal | None = None,
        solver: Solver | None = None,
        random_state: Any = None,
        verbose: Any = False,
    ) -> None:
        self.loss = loss
        self.ambiguity = ambiguity
        self.rule = rule
        self.nominal = nominal
        self.solver = solver
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from contexts X (rows, features) and outcomes y, (rows,) or (rows, outcomes)."""
        solver = self._components()[-1]
        data, problem, keys = self._begin(X, y, sample_weight)
        training, report = self._learn(problem, solver, keys)
        self._keep(data, training, keys[1], report)
        if training.status == "diverged":
            slower = " Lower its learning_rate." if hasattr(solver, "learning_rate") else ""
            warnings.warn(
                f"Training diverged after {len(training.history)} of {solver.steps} steps of "
                f"{type(solver).__name__}; the last finite rule was kept.{slower}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _begin(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[_Data, Problem, tuple[jax.Array, jax.Array]]:
        """The data, the problem with the rule that training begins with, and the keys for both."""
        loss, _, rule, _, _ = self._components()
        data = self._read(X, y, sample_weight)
        units = data.units
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        key_rule, key_train, key_value = _keys(seed)
        decision_set = single(data.decision_set.in_units(units.z_unit))
        start = single(units.constant / units.z_unit)
        slopes = outcome_slopes(data.nominal, units) if rule.begins_along_slopes else None
        first = build_rule(rule, key_rule, self.n_features_in_, decision_set, start, slopes)
        problem = Problem(first, data.nominal, units, loss, data.given)
        return data, problem, (key_train, key_value)

    def _learn(
        self, problem: Problem, solver: Solver, keys: tuple[jax.Array, jax.Array]
    ) -> tuple[Training, Any]:
        """Train and, if the loss knew too little of itself around the learned rule, train on."""
        problem.cover(widen=0.9)
        rounds = ROUNDS
        while True:
            training = self._train(problem, solver, keys)
            problem = replace(problem, rule=training.rule)
            report = problem.cover()
            rounds -= 1
            exact = report is None or report.gap <= EXACT * problem.units.loss_unit
            if exact or rounds == 0:
                return training, report

    def _train(
        self, problem: Problem, solver: Solver, keys: tuple[jax.Array, jax.Array]
    ) -> Training:
        """Train from the problem's rule, with the loss as it is known now."""
        if getattr(problem.ambiguity, "radius", None) is None:
            task = problem.task(solver)
        else:
            begin = certify(problem, keys[1], tolerance=0.1)
            task = problem.task(solver, begin.penalty, begin.allowance)
        with reporter(self.verbose, problem.units.loss_unit) as progress:
            return solver.run(task, keys[0], progress)

    @classmethod
    def from_function(
        cls,
        function: Callable[[Any], Any],
        loss: Loss,
        X: Any,
        y: Any,
        *,
        ambiguity: Ambiguity | None = None,
        nominal: Nominal | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Return a policy that decides by a rule you already have, to be examined, not trained.

        ``function`` maps one context (features,) to one decision, both in the data's units; it must
        be written with ``jax.numpy``. Data, loss and ambiguity serve as in ``fit``: they set units
        and the nominal distribution. Such a policy cannot be saved, since files hold no functions.
        """
        policy = cls(loss, ambiguity, nominal=nominal)
        data = policy._read(X, y, sample_weight)
        units = data.units
        rule = GivenRule(
            function=jax.jit(function),  # traced once, however often it is asked
            x_centre=units.x_centre,
            x_spread=units.x_spread,
            z_unit=units.z_unit,
            decision_set=data.decision_set.in_units(units.z_unit),
        )
        rule.check(units.contexts(data.nominal.contexts[:1], np.float64))
        training = Training(rule, np.empty(0), "given")
        policy._keep(data, training, jax.random.key(0, impl="rbg"))
        return policy

    def predict(self, X: Any) -> np.ndarray:
        """Decide: (rows,) if Y was 1-D and there is one decision, else (rows, decisions)."""
        check_is_fitted(self, "rule_")
        X = self._contexts(X, reset=False)
        if isinstance(self.rule_, GivenRule):  # its numbers are the data's: float64 throughout
            decisions = self.rule_.decide(self.units_.contexts(X, np.float64)) * self.units_.z_unit
        else:
            decisions = decide_rows(self.rule_, self.units_.contexts(X)) * self.units_.z_unit
        return decisions[:, 0] if self._single_outcome and decisions.shape[1] == 1 else decisions

    def losses(self, X: Any, y: Any) -> np.ndarray:
        """Return the loss of this policy's decision on each row, (rows,)."""
        decisions = self.predict(X).reshape(-1, self.n_decisions_)
        Y = self._outcomes(y, decisions)
        return np.asarray(self.loss(decisions, Y), dtype=np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return minus the mean loss: larger is better."""
        losses = self.losses(X, y)
        return -float(np.average(losses, weights=_checks.weights(sample_weight, len(losses))))

    @property
    def robust_value_(self) -> RobustValue:
        """Value under the ambiguity model on the training data; computed when first asked."""
        check_is_fitted(self, "rule_")
        if self._robust_value is None:
            problem = Problem(self.rule_, self.nominal_, self.units_, self.loss, self._given)
            self._robust_value = certify(problem, self._key).robust
        return self._robust_value

    def problem(
        self, X: Any, y: Any, *, ambiguity: Ambiguity | None = None, sample_weight: Any = None
    ) -> Problem:
        """Return the learned rule on other data, ready for ``robust_value`` and ``worst_case``.

        The data become a distribution as in fit; units, scales included, stay those of training.
        """
        check_is_fitted(self, "rule_")
        X = self._contexts(X, reset=False)
        Y = self._outcomes(y, X)
        _checks.within_support(Y, self.loss.support_for(self.n_outcomes_))
        nominal = (self.nominal or EmpiricalNominal()).build(
            X, Y, _checks.weights(sample_weight, len(X))
        )
        model = _part(ambiguity, self._given, Ambiguity, "ambiguity", "ERM()")
        return Problem(self.rule_, nominal, self.units_, self.loss, model)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to one file that ``hedgerow.load`` reads; no code is stored or run."""
        check_is_fitted(self, "rule_")
        if isinstance(self.rule_, GivenRule):
            raise ValueError("A rule given as a function cannot be saved: files hold no functions.")
        policy_file.write(path, *pack(self))

    def _outcomes(self, y: Any, rows: np.ndarray) -> np.ndarray:
        """Outcomes that fit the policy, one row for each of ``rows``."""
        Y = _checks.outcomes(y)
        check_consistent_length(rows, Y)
        if Y.shape[1] != self.n_outcomes_:
            raise ValueError(
                f"Y has {Y.shape[1]} column(s), but the policy was fitted with {self.n_outcomes_}."
            )
        return Y

    def _components(self) -> tuple[Loss, Ambiguity, Rule, Nominal, Solver]:
        """The five parts, with defaults filled in and checked."""
        loss = _checks.instance(
            "loss", self.loss, Loss, "a loss such as hedgerow.Newsvendor(holding=1, stockout=2)"
        )
        ambiguity = _part(self.ambiguity, DEFAULT_AMBIGUITY, Ambiguity, "ambiguity", "ERM()")
        rule = _part(self.rule, SoftForest(), Rule, "rule", "SoftForest()")
        nominal = _part(self.nominal, EmpiricalNominal(), Nominal, "nominal", "EmpiricalNominal()")
        solver = _part(self.solver, default_solver(ambiguity), Solver, "solver", "SCSC()")
        for part in (loss, ambiguity, rule, nominal, solver):
            part.check()
        return loss, ambiguity, rule, nominal, solver

    def _read(self, X: Any, y: Any, sample_weight: Any) -> _Data:
        """Check the data and turn them into a nominal distribution with units of its own."""
        loss, given, _, nominal_kind, _ = self._components()
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X = self._contexts(X, reset=True)
        y = _checks.numeric("Y", y)
        check_consistent_length(X, y)
        Y = _checks.outcomes(y)
        decision_set = loss.decisions_for(Y.shape[1])
        _checks.within_support(Y, loss.support_for(Y.shape[1]))
        nominal = nominal_kind.build(X, Y, _checks.weights(sample_weight, len(X)))
        units = Units.measure(nominal, loss)
        self._warn_of_constant_features(units)
        ambiguity = given.resolve(units, loss, nominal)
        if self.ambiguity is not None and isinstance(nominal_kind, EmpiricalNominal):
            warn_if_causality_is_vacuous(given, nominal)
        return _Data(nominal, units, given, ambiguity, decision_set, y.ndim == 1)

    def _keep(self, data: _Data, training: Training, key: jax.Array, recourse: Any = None) -> None:
        """Take on what was read and learned, all at once, when nothing can fail any more."""
        self.rule_ = training.rule
        self.units_ = data.units
        self.nominal_ = data.nominal
        self.ambiguity_ = data.ambiguity
        self.history_ = training.history * data.units.loss_unit
        self.status_ = training.status
        self.n_outcomes_ = data.nominal.outcomes.shape[1]
        self.n_decisions_ = data.decision_set.dimension
        self.recourse_ = recourse
        self.columns_: dict | None = None
        self._given = data.given
        self._single_outcome = data.single_outcome
        self._key = key
        self._robust_value: RobustValue | None = None

    def _contexts(self, X: Any, *, reset: bool) -> np.ndarray:
        _checks.numeric("X", X)
        least = 2 if reset else 1
        checked = validate_data(self, X, reset=reset, dtype=np.float64, ensure_min_samples=least)
        return cast(np.ndarray, checked)

    def _warn_of_constant_features(self, units: Units) -> None:
        constant = np.flatnonzero(units.x_factor == 0)
        if len(constant):
            names = getattr(self, "feature_names_in_", None)
            listed = [str(i) if names is None else str(names[i]) for i in constant[:10]]
            more = ", …" if len(constant) > 10 else ""
            warnings.warn(
                f"Feature(s) {', '.join(listed)}{more} never vary in the training data and are "
                "ignored.",
                UserWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that Y is required and may have several columns."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


class _Data(NamedTuple):
    """What fit has read before it learns anything."""

    nominal: NominalDistribution
    units: Units
    given: Ambiguity
    ambiguity: Ambiguity
    decision_set: DecisionSet
    single_outcome: bool


DEFAULT_AMBIGUITY = CausalSinkhorn(
    penalty=10.0, epsilon=0.1, order=2, x_scale="auto", y_scale="auto", loss_scale="auto"
)


def load(path: str | os.PathLike[str], loss: Loss | None = None) -> RobustPolicy:
    """Read a policy file. ``loss`` supplies a CustomLoss's function, which files do not hold."""
    return unpack(RobustPolicy, path, loss, DEFAULT_AMBIGUITY)


def _part(given: Any, default: Any, kind: type, name: str, example: str) -> Any:
    hint = f"None or {kind.__name__.lower()} such as hedgerow.{example}"
    return default if given is None else _checks.instance(name, given, kind, hint)


@program
def _keys(seed: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Randomness of the first rule, of training and of certified values, in one program."""
    rule, training, value = jax.random.split(jax.random.key(seed, impl="rbg"), 3)
    return rule, training, value
