"""LearnedPolicy: what a learned rule is asked for once it is there, and how it is handed on.

    contexts X → decisions → their losses, orders in lots, or the problem that other rows pose
    policy → file, ONNX model or Python module

Training (``estimator``), reading (``policy_file``) and panels set the attributes declared below;
here they are read, and changed only where another rule takes over (``adopt``).
"""

from __future__ import annotations

import copy
import os
import warnings
from contextlib import suppress
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from hedgerow import _checks, _row_checks, exporting, fitting, placing
from hedgerow._warnings import OutlierWarning, OutsideWarning
from hedgerow.ambiguity import Ambiguity, Problem
from hedgerow.certify.value import RobustValue
from hedgerow.data import Nominal, NominalDistribution, TableEncoder, Units, spreads
from hedgerow.data.columns import encode, encoded_by
from hedgerow.data.ranges import far_outside, names_outside, outside_words
from hedgerow.describe.names import decision_names, feature_names
from hedgerow.describe.numbers import number
from hedgerow.forecasts import default_nominal
from hedgerow.losses import Loss, along, located, named_columns
from hedgerow.lots import Lots, PlacedOrders
from hedgerow.policy_file import write_policy
from hedgerow.rules import FittedRule, Hardening, Rule


class LearnedPolicy(BaseEstimator):
    """A learned rule with the units, loss and model that it was learned with.

    What the attributes mean is said by ``RobustPolicy``, which users meet.
    """

    loss: Loss
    ambiguity: Ambiguity | None
    rule: Rule | None
    nominal: Nominal | None
    outliers: str

    rule_: FittedRule
    units_: Units
    nominal_: NominalDistribution
    ambiguity_: Ambiguity
    n_features_in_: int
    feature_names_in_: np.ndarray
    n_outcomes_: int
    n_decisions_: int
    columns_: dict | None
    table_format_: dict | None = None
    """How the table that it was trained on was written, if the command read it; files keep it."""
    ranges_: np.ndarray | None = None
    thresholds_: np.ndarray | None = None
    hardening_: Hardening | None = None
    _single_outcome: bool
    _robust_value: RobustValue | None
    _errors: np.ndarray | None
    _steps: Any = None
    """What makes contexts of what is given, in a pipeline."""

    def predict(self, X: Any) -> np.ndarray:
        """Decide: (rows,) if Y was 1-D and there is one decision, else (rows, decisions).

        X may be a table as in ``fit``. Rows far ``outside`` of training are warned of.
        """
        check_is_fitted(self, "rule_")
        contexts = self._checked_contexts(X)
        if self.ranges_ is not None:
            told = outside_words(far_outside(self.ranges_, contexts), feature_names(self))
            if told is not None:
                warnings.warn(told, OutsideWarning, stacklevel=2)
        return self._decided(contexts)

    def outside(self, X: Any) -> list[tuple[str, ...]]:
        """Return, row by row, the features that are far outside of what the policy was trained on.

        Farther than a tenth of the range's width beyond it; features have their own ranges, so an
        unusual combination of usual values is not seen.
        """
        if self.ranges_ is None:
            raise ValueError(
                "The policy does not know where its training rows lay: its file was written by an "
                "earlier version; fit and save it again."
            )
        return names_outside(far_outside(self.ranges_, self.contexts(X)), feature_names(self))

    def behind(self, steps: Any) -> Self:
        """Return the policy as the last step of a scikit-learn pipeline, behind these others.

        It takes what the pipeline takes; explanations speak of what the other steps make of that.
        """
        if not len(steps):
            return self
        found = copy.copy(self)
        if len(steps) == 1 and isinstance(steps[0], TableEncoder):
            found.columns_ = {**(self.columns_ or {}), "encoder": steps[0].to_json()}
            return found
        found._steps = steps
        if not hasattr(self, "feature_names_in_"):
            with suppress(AttributeError, ValueError, NotFittedError):  # steps need not say
                found.feature_names_in_ = np.asarray(steps.get_feature_names_out(), dtype=object)
        return found

    def losses(self, X: Any, y: Any) -> np.ndarray:
        """Return the loss of this policy's decision on each row, (rows,)."""
        decisions = self.predict(X).reshape(-1, self.n_decisions_)
        losses = self.loss_on(X)(decisions, self.outcomes(y, decisions))
        return np.asarray(losses, dtype=np.float64)

    def place(
        self, X: Any, lots: Lots, *, on_hand: Any = None, mode: str = "carry-over"
    ) -> PlacedOrders:
        """Decide, and turn decisions into orders that can be placed, as ``Lots.place`` does.

        Demand is taken to scatter around decisions as it did in training (``errors_``).
        """
        decisions = self.predict(X).reshape(-1, self.n_decisions_)
        return placing.place(self.loss_on(X), decisions, self.errors_, lots, on_hand, mode)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return minus the mean loss: larger is better."""
        losses = self.losses(X, y)
        return -float(np.average(losses, weights=_row_checks.weights(sample_weight, len(losses))))

    def tell_typos(self, X: Any, y: Any, sample_weight: Any = None, *, stacklevel: int = 3) -> None:
        """Name rows that look like typos beside those of training, and say what they change.

        Whoever judges a policy by rows asks this first, once: ``hedgerow.robust_value``, say. Rows
        are judged as they are; a policy with ``outliers="error"`` refuses them.
        """
        contexts = self.contexts(X)
        outcomes, units = self.outcomes(y, contexts), self.units_
        weights = _row_checks.weights(sample_weight, len(contexts))
        names = getattr(self, "feature_names_in_", None)
        scale = np.where(units.y_spread > 0, units.y_spread, units.y_unit)
        found = [
            spreads.beside_training("X", contexts, weights, units.x_centre, units.x_spread, names),
            spreads.beside_training("Y", outcomes, weights, None, scale, self.outcome_names_),
        ]
        odd = [one for one in found if one is not None]
        if not odd:
            return
        told = " ".join(one.sentence for one in odd)
        if self.outliers == "error":
            raise ValueError(f"{told} Correct or remove them, or set outliers to 'warn'.")
        usual = ~np.any([one.rows for one in odd], axis=0) & (weights > 0)
        told += " Such values are counted as they are"
        if usual.any():
            with np.errstate(over="ignore"):
                losses = np.asarray(self.loss_on(contexts)(self._decide(contexts), outcomes))
                every = np.average(losses, weights=weights)
            rest = np.average(losses[usual], weights=weights[usual])
            told += f": a row costs {number(every)} on average, {number(rest)} without them"
        warnings.warn(f"{told}.", OutlierWarning, stacklevel=stacklevel)

    def loss_on(self, X: Any) -> Loss:
        """Return the loss of these rows: what it reads from columns of X is in place."""
        if any(named_columns(self.loss)):
            return self._priced(self.contexts(X))
        return self.loss if self.thresholds_ is None else self.loss_

    @property
    def loss_(self) -> Loss:
        """The loss with what was learned of it, and what it reads from X located there."""
        loss = self._located()
        return loss if self.thresholds_ is None else loss.at_thresholds(self.thresholds_)

    @property
    def errors_(self) -> np.ndarray | None:
        """How far outcomes were above decisions in training, at 99 levels; None: no such loss."""
        check_is_fitted(self, "rule_")
        if self._errors is None and getattr(self, "nominal_", None) is not None:
            made = self._decide(self.nominal_.contexts)
            self._errors = placing.errors_of(self.loss, self.nominal_, made)
        return self._errors

    @property
    def given_(self) -> Ambiguity:
        """The ambiguity model as it was given, or the default for as many rows."""
        found = getattr(self, "ambiguity_", None)
        if self.ambiguity is not None:
            return self.ambiguity if found is None else self.ambiguity.settled(found)
        priced = fitting.DEFAULT_AMBIGUITY if found is None else found
        return fitting.DEFAULT_AMBIGUITY.replace(penalty=priced.penalty)

    def nominal_for(self, rows: int) -> Nominal:
        """How so many rows become a distribution: as asked for, or the default."""
        return self.nominal or default_nominal(rows, self.n_outcomes_)

    def problem(
        self,
        X: Any,
        y: Any,
        *,
        ambiguity: Ambiguity | None = None,
        sample_weight: Any = None,
        censored: Any = None,
        at: Any = None,
    ) -> Problem:
        """Return other data, ready for ``robust_value`` and ``worst_case`` of the learned rule.

        The data become a distribution as in fit; units, scales included, stay those of training.
        With ``at`` it is what these data say of one context.
        """
        X = self.contexts(X)
        Y = self.outcomes(y, X)
        own = self.nominal_for(len(X))
        self._priced(X)
        parts = self._placed(fitting.Parts.of(self.loss_, ambiguity or self.given_, nominal=own))
        weights = _row_checks.weights(sample_weight, len(X))
        censored = _row_checks.censored(censored, Y, weights)
        if at is None:
            nominal = fitting.nominal_of(parts, X, Y, weights, censored)
        else:
            nominal = fitting.nominal_at(parts, X, Y, weights, censored, self.contexts(at))
        return Problem.of(nominal, self.units_, parts.loss, parts.ambiguity)

    def contexts(self, X: Any) -> np.ndarray:
        """Return contexts (rows, features) as float64, checked.

        Columns of a table may come in any order, and arrays need no names.
        """
        check_is_fitted(self, "rule_")
        X = self._features(X)
        X = _row_checks.in_columns(X, getattr(self, "feature_names_in_", None))
        array = _row_checks.contexts(np.atleast_2d(_checks.numeric("X", X)))
        if array.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {array.shape[1]} feature(s), but the policy was fitted with "
                f"{self.n_features_in_}."
            )
        return array

    def outcomes(self, y: Any, rows: Any) -> np.ndarray:
        """Return outcomes (rows, outcomes) that fit the policy, one row for each of ``rows``."""
        Y = _row_checks.outcomes(y)
        check_consistent_length(rows, Y)
        if Y.shape[1] != self.n_outcomes_:
            raise ValueError(
                f"Y has {Y.shape[1]} column(s), but the policy was fitted with {self.n_outcomes_}."
            )
        return Y

    def adopt(self, learned: FittedRule, description: Rule) -> Self:
        """Decide by another rule, trained on the same data; its robust value is not known yet."""
        check_is_fitted(self, "rule_")
        self.rule_, self.rule, self._robust_value = learned, description, None
        self._errors = None
        return self

    def hardened(self, X: Any = None, *, tolerance: float = 0.1) -> Self:
        """Return the policy with hard gates: every question answered by yes or no (τ → 0).

        This policy stays as it is. How alike the two decide is measured on X, or on the contexts of
        training where none are given (``hardening_``). A hard forest jumps: it has no derivatives,
        and its robust value is another, computed when it is asked for.

        Parameters
        ----------
        X : (rows, features), optional
        tolerance : float
            What counts as the same decision, as a share of it.
        """
        check_is_fitted(self, "rule_")
        contexts = None if X is None else self.contexts(X)
        found = fitting.harden(self, contexts, _checks.positive("tolerance", tolerance))
        hard = copy.copy(self)
        hard.rule_, hard.hardening_ = found
        hard._robust_value = hard._errors = None
        return hard

    def remember_columns(self, encoder: TableEncoder, outcomes: list[str]) -> Self:
        """Remember how a table became X and what its outcomes are called; files keep it."""
        check_is_fitted(self, "rule_")
        self.columns_ = {"encoder": encoder.to_json(), "outcomes": [str(name) for name in outcomes]}
        return self

    @property
    def encoder_(self) -> TableEncoder | None:
        """How a table becomes X, if the policy was told."""
        check_is_fitted(self, "rule_")
        return TableEncoder.from_json(self.columns_.get("encoder")) if self.columns_ else None

    @property
    def outcome_names_(self) -> list[str] | None:
        """What outcomes are called, if the policy was told."""
        check_is_fitted(self, "n_outcomes_")
        return (self.columns_ or {}).get("outcomes")

    @property
    def decision_names_(self) -> list[str]:
        """What decisions are called: by the loss, by the outcomes, or by number."""
        check_is_fitted(self, "rule_")
        return decision_names(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to one file that ``hedgerow.load`` reads; no code is stored or run.

        The robust value is stored if it has been asked for. A regular file that is there is
        overwritten, as by ``numpy.save``, and keeps its mode; the old one stays if that fails.
        """
        check_is_fitted(self, "rule_")
        write_policy(path, self)

    def export(self, path: str | os.PathLike[str], precision: str = "float64") -> None:
        """Write the policy for places without hedgerow: .onnx, or .py as ``to_python`` makes it.

        An ONNX model takes features (``contexts``) to ``decisions``, in the user's units and in
        this precision ("float64" or "float32"); what turns a table's text and dates into features
        is not in it.
        """
        check_is_fitted(self, "rule_")
        exporting.export(self, path, precision)

    def to_python(self) -> str:
        """Return a Python module's text: ``decide(row)``, with the standard library alone."""
        check_is_fitted(self, "rule_")
        return exporting.to_python(self)

    def _located(self) -> Loss:
        return located(self.loss, getattr(self, "feature_names_in_", None), self.n_features_in_)

    def _placed(self, parts: fitting.Parts) -> fitting.Parts:
        """Parts that know where the columns are that the model names."""
        return parts._replace(ambiguity=self._knowing(parts.ambiguity))

    def _knowing(self, model: Ambiguity) -> Ambiguity:
        """The model, knowing where the columns are that it names."""
        return model.located(getattr(self, "feature_names_in_", None), self.n_features_in_)

    def _priced(self, contexts: np.ndarray) -> Loss:
        """The loss of rows with these contexts, checked."""
        loss = along(self.loss_, contexts)
        loss.check_rows()
        return loss

    def _decide(self, contexts: np.ndarray) -> np.ndarray:
        units, plain = self.units_, exporting.plain_form(self)
        if plain is not None:
            return plain.decide(contexts)
        return self.rule_.decide(units.contexts(contexts, np.float64)) * units.z_unit

    def alone(self) -> Self:
        """Return the policy without the steps of a pipeline before it: it takes what they make."""
        if self._steps is None:
            return self
        found = copy.copy(self)
        found._steps = None
        return found

    def _decided(self, contexts: np.ndarray) -> np.ndarray:
        """Decisions for checked contexts, in the shape that ``predict`` gives them."""
        decisions = self._decide(contexts)
        return decisions[:, 0] if self._single_outcome and decisions.shape[1] == 1 else decisions

    def _checked_contexts(self, X: Any) -> np.ndarray:
        """Contexts for ``predict``, with scikit-learn's checks of what columns are called."""
        if self._steps is not None:
            return self.contexts(X)
        return self._validated(self._features(X), reset=False)

    def _features(self, X: Any) -> Any:
        """What the rule is asked with: the features of a table as in ``fit``, other X as it is."""
        if self._steps is not None:
            return self._steps.transform(X)
        columns = encoded_by(self.columns_, getattr(self, "feature_names_in_", None), X)
        return X if columns is None else encode(X, columns)

    def _validated(self, X: Any, *, reset: bool) -> np.ndarray:
        _checks.numeric("X", X)
        least = 2 if reset else 1
        checked = validate_data(self, X, reset=reset, dtype=np.float64, ensure_min_samples=least)
        return _row_checks.contexts(cast(np.ndarray, checked))
