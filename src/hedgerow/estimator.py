"""RobustPolicy: the scikit-learn façade. It checks, composes and reports; no mathematics here.

    history (X, Y) → nominal distribution → working units → compiled training → a learned rule

The steps are those of ``fitting`` and ``judging``; what is asked of the learned rule: ``learned``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self, cast

import jax
import numpy as np
from sklearn.base import clone
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from hedgerow import _checks, _row_checks, fitting, judging
from hedgerow._components import listed
from hedgerow._progress import reporter
from hedgerow._warnings import HedgerowWarning, OutlierWarning, unsaid
from hedgerow.ambiguity import Ambiguity, Problem
from hedgerow.certify.bounds import two_sided
from hedgerow.certify.promise import Calibration
from hedgerow.certify.settling import Settled, settle
from hedgerow.certify.value import RobustValue, certify, remark
from hedgerow.data import Nominal, TableEncoder, spreads
from hedgerow.data.columns import has_words
from hedgerow.data.ranges import ranges_of
from hedgerow.learned import LearnedPolicy
from hedgerow.losses import Loss
from hedgerow.rules import GivenRule, Rule
from hedgerow.rules.joint import parted, stripped
from hedgerow.solvers import Interrupted, Solution, Solver


class RobustPolicy(LearnedPolicy):
    """A decision rule learned from history that hedges against the history being misleading.

    Parameters
    ----------
    loss : Loss
        What decisions cost, such as ``Newsvendor(holding=0.6, stockout=1.0)``.
    ambiguity : Ambiguity or None
        What to hedge against; None: ``CausalSinkhorn(penalty=10, epsilon=0.01, order=2)`` with all
        scales "auto", a penalty that grows with the root of the rows beyond 100. ``ERM()`` hedges
        against nothing.
    rule : Rule or None
        The kind of decision rule; None: ``SoftForest()``.
    nominal : Nominal or None
        How history becomes a distribution; None: ``ResidualNominal()`` for 100 to 2,000 rows with
        at most 8 outcomes, else ``EmpiricalNominal()``.
    solver : Solver or None
        How to train; None: what is best by measurement, for longer the more rows there are
        (``hedgerow.solvers.default_solver``).
    outliers : {"warn", "clip", "error"}
        What to do about values that look like typos, ten times as far from the median as nine in
        ten of the others: name them in a warning and keep them, move them to where that begins, or
        refuse them. Scales are resistant in any case.
    columns : {"auto"} or None
        What becomes of a table with text or dates: "auto" has a ``TableEncoder`` make features of
        its columns, in ``fit`` and whenever the policy is asked; None refuses it. Tables of numbers
        alone are taken as they are.
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
        How training ended: "converged" (the objective stood still at the end), "step limit" (not
        yet), "stopped early" (the solver's ``tolerance`` was met), "interrupted", "diverged" (the
        last finite rule was kept), "constant" (the learned rule lost to the best constant decision,
        which was taken instead); "given" if nothing was learned.
    thresholds_ : (n,) array or None
        Numbers of the loss that were learned with the rule, such as the value at risk of ``CVaR``;
        None: it has none.
    n_features_in_, feature_names_in_, n_outcomes_, n_decisions_
        Shapes and names seen in fit.
    recourse_ : Growth or None
        Losses with a second stage: how exact the values seen in training were around the learned
        rule (``gap`` 0: exactly so), after at most three rounds. None for other losses, and not
        kept in policy files.
    calibration_ : Calibration or None
        How the radius was found, if ``radius="calibrated"`` was asked for; files keep its promise.
    promise_, reference_, room_
        What the policy is watched by (``hedgerow.remember``, ``hedgerow.watch``): a bound of the
        mean cost, samples of history by column, and how far the model moves rows; None: not known.
    ranges_ : (2, n_features) array or None
        Least and largest value of each feature in training, typos left out (``outside``); None in
        files of earlier versions.
    hardening_ : Hardening or None
        Of a policy made by ``hardened``: how alike it and the soft one decide; else None.
    columns_ : dict or None
        How a table became X (``TableEncoder.to_json``) and what its outcomes are called, if the
        policy was told (``remember_columns``); kept in policy files.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load_restaurant("steak")
    >>> policy = hr.RobustPolicy(hr.Newsvendor(holding=1, stockout=3), random_state=0)
    >>> orders = policy.fit(data.data[:500], data.target[:500]).predict(data.data[500:])
    """

    def __init__(
        self,
        loss: Loss,
        ambiguity: Ambiguity | None = None,
        rule: Rule | None = None,
        nominal: Nominal | None = None,
        solver: Solver | None = None,
        random_state: Any = None,
        verbose: Any = False,
        outliers: str = "warn",
        columns: str | None = "auto",
    ) -> None:
        self.loss = loss
        self.ambiguity = ambiguity
        self.rule = rule
        self.nominal = nominal
        self.solver = solver
        self.random_state = random_state
        self.verbose = verbose
        self.outliers = outliers
        self.columns = columns

    def fit(self, X: Any, y: Any, sample_weight: Any = None, censored: Any = None) -> Self:
        """Learn from contexts X (rows, features) and outcomes y, (rows,) or (rows, outcomes).

        ``censored`` (rows,) is True where the outcome was at least y, as on days sold out: what it
        may have been is learned from near contexts, and the adversary moves it upwards only. An
        interrupt goes on to whoever called, and what had been learned is kept ("interrupted").
        """
        X, columns = self._table_read(X, y)
        wish = self.ambiguity.radius_wish() if isinstance(self.ambiguity, Ambiguity) else None
        if wish is not None:
            self._take_on(settle(wish, self, X, y, sample_weight, censored))
        else:
            try:
                self.train(*self.read_history(X, y, sample_weight, censored))
            except Interrupted as interrupted:
                if len(interrupted.solution.history):
                    self.columns_ = columns
                raise
        self.columns_ = columns
        return self

    def train(self, parts: fitting.Parts, problem: Problem, single_outcome: bool) -> Self:
        """Learn from a history that this policy, or one that differs in its seed, has read.

        So many beginnings share what takes long with many rows: reading them, units, the table.
        """
        keys = fitting.keys_of(self.random_state)
        rule = fitting.first_rule(parts, problem, keys.rule)
        try:
            with reporter(self.verbose, problem.units.loss_unit) as progress:
                solution, report = fitting.learn(problem, rule, parts.solver, keys, progress)
        except Interrupted as interrupted:
            if len(interrupted.solution.history):
                self._keep(problem, interrupted.solution, keys.value, single_outcome)
            raise
        diverged = judging.divergence(solution, parts.solver)
        solution, doubts = judging.judged(problem, solution, keys.value)
        for doubt in (*diverged, *doubts):
            warnings.warn(doubt, stacklevel=2)
        self._keep(problem, solution, keys.value, single_outcome, report)
        return self

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
        censored: Any = None,
    ) -> Self:
        """Return a policy that decides by a rule you already have, to be examined, not trained.

        ``function`` maps one context (features,) to one decision, both in the data's units; it must
        be written with ``jax.numpy``. Data, loss and ambiguity serve as in ``fit``: they set units
        and the nominal distribution. Such a policy cannot be saved, since files hold no functions.
        """
        policy = cls(loss, ambiguity, nominal=nominal)
        _, problem, single_outcome = policy.read_history(X, y, sample_weight, censored)
        units = stripped(problem.units, problem.loss.thresholds)
        rule = GivenRule(
            function=jax.jit(function),  # traced once, however often it is asked
            x_centre=units.x_centre,
            x_spread=units.x_spread,
            z_unit=units.z_unit,
            decision_set=loss.decisions_for(len(units.y_unit)).in_units(units.z_unit),
        )
        rule.check(units.contexts(problem.nominal.contexts[:1], np.float64))
        rule = fitting.with_thresholds(problem, rule)
        solution = Solution(rule, np.empty(0), "given")
        policy._keep(problem, solution, jax.random.key(0, impl="rbg"), single_outcome)
        return policy

    @property
    def robust_value_(self) -> RobustValue:
        """Value under the ambiguity model on the training data; computed when first asked."""
        check_is_fitted(self, "rule_")
        if self._robust_value is None:
            if not hasattr(self, "nominal_"):
                raise AttributeError(
                    "The robust value of this policy was not asked for before it was saved, and "
                    "policy files hold no training data; hedgerow.robust_value(policy, X, Y) "
                    "computes it on any data."
                )
            model = self._knowing(self.given_)
            problem = Problem.of(self.nominal_, self.units_, self.loss_, model)
            evaluation = certify(problem, self.rule_, self._key)
            remark(evaluation.robust)
            self._robust_value = two_sided(evaluation)
        return self._robust_value

    @property
    def has_robust_value_(self) -> bool:
        """Whether ``robust_value_`` is known without computing anything."""
        return getattr(self, "_robust_value", None) is not None

    def __dir__(self) -> list[str]:
        """Leave out what is yet to be computed: displays ask for everything that is listed."""
        return listed(self, self.has_robust_value_)

    def posed(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, censored: Any = None
    ) -> tuple[Problem, RobustPolicy, int]:
        """Return a history as a problem, whoever knows its columns, and its rows; without training.

        None: the history that a fitted policy was trained on. Rows of another one that look like
        typos are named; all else that there is to say is for training.
        """
        if X is None:
            _checks.fitted_policy(self)
            if not hasattr(self, "nominal_"):
                raise ValueError(
                    "Policy files hold no training data: give X and Y to be asked about."
                )
            model = self._knowing(self.given_)
            problem = Problem.of(self.nominal_, self.units_, self.loss_, model)
            return problem, self, len(self.nominal_.contexts)
        asked = cast(Any, clone(self))
        X, _ = self._table_read(X, y)
        with unsaid(*(kind for kind in HedgerowWarning.__subclasses__() if kind != OutlierWarning)):
            _, problem, _ = asked.read_history(X, y, sample_weight, censored)
        asked.n_outcomes_ = problem.nominal.outcomes.shape[1]
        asked.columns_ = None
        return problem, asked, len(_row_checks.outcomes(y))

    def retrained(self, ambiguity: Ambiguity, X: Any, y: Any) -> Self:
        """Return a policy with another model, trained on this history."""
        return cast(Any, clone(self)).set_params(ambiguity=ambiguity).fit(X, y)

    def read_history(
        self, X: Any, y: Any, sample_weight: Any, censored: Any
    ) -> tuple[fitting.Parts, Problem, bool]:
        """Check the data and turn them into a problem; also the parts, and whether Y was 1-D."""
        given = self.loss, self.ambiguity, self.rule, self.nominal, self.solver
        parts = fitting.Parts.of(*given)  # what is wrong with them is said before the data
        _row_checks.given(self, y)
        X = self._validated(X, reset=True)
        y = _checks.numeric("Y", y)
        check_consistent_length(X, y)
        Y = _row_checks.outcomes(y)
        parts.loss.decisions_for(Y.shape[1])
        parts = self._placed(fitting.Parts.of(self._located(), *given[1:], *Y.shape))
        self._priced(X)
        names = getattr(self, "feature_names_in_", None)
        weights = _row_checks.weights(sample_weight, len(X))
        censored = _row_checks.censored(censored, Y, weights)
        ordinary = spreads.ordinary_ends(X, weights)
        self.ranges_ = ranges_of(X, ordinary.low, ordinary.high)
        X = spreads.mend("X", X, weights, self.outliers, names, ordinary)
        Y = spreads.mend("Y", Y, weights, self.outliers)
        problem = fitting.pose(parts, X, Y, weights, censored)
        fitting.remark(problem, names, model=self.ambiguity is not None)
        return parts, problem, y.ndim == 1

    def _table_read(self, X: Any, y: Any) -> tuple[Any, dict | None]:
        """Return the features of a table with text or dates, and how they were made of it."""
        _checks.one_of("columns", self.columns, ("auto", None))
        if self.columns is None or not has_words(X):
            return X, None
        encoder = TableEncoder()
        made = encoder.fit_transform(X)
        names = [str(name) for name in getattr(y, "columns", [getattr(y, "name", None)])]
        known = "None" not in names and len(names) == np.size(y) // max(len(made), 1)
        columns: dict[str, Any] = {"encoder": encoder.to_json()}
        return made, columns | ({"outcomes": names} if known else {})

    def _keep(
        self,
        problem: Problem,
        solution: Solution,
        key: jax.Array,
        single_outcome: bool,
        recourse: Any = None,
    ) -> None:
        """Take on what was read and learned, all at once, when nothing can fail any more."""
        self.rule_, self.thresholds_ = parted(solution.rule, problem.units, problem.loss)
        self.units_ = stripped(problem.units, problem.loss.thresholds)
        self.nominal_ = problem.nominal
        self.ambiguity_ = problem.model
        self.history_ = solution.history * problem.units.loss_unit
        self.status_ = solution.status
        self.n_outcomes_ = problem.nominal.outcomes.shape[1]
        self.n_decisions_ = self.loss.decisions_for(self.n_outcomes_).dimension
        self.recourse_ = recourse
        self.columns_ = None
        self.calibration_: Calibration | None = None
        self.promise_: float | None = None
        self.reference_: np.ndarray | None = None
        self.room_: float | None = None
        self._single_outcome = single_outcome
        self._key = key
        self._robust_value = None
        self._errors = None

    def _take_on(self, found: Settled) -> Self:
        """Take on what another policy of these parameters has learned, with the radius found."""
        given = set(self.get_params(deep=False))
        learned = {name: part for name, part in vars(found.policy).items() if name not in given}
        vars(self).update(learned)
        self.ambiguity_ = self.ambiguity_.within(found.radius) or self.ambiguity_
        self.calibration_ = found.calibration
        self.promise_ = None if found.calibration is None else found.calibration.promise
        self._robust_value = None
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that Y is required and may have several columns."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
