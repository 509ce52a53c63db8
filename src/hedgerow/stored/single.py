"""A policy of single rows that was read: it decides with NumPy alone."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow._warnings import OutsideWarning
from hedgerow.data.columns import encode, encoded_by
from hedgerow.data.ranges import far_outside, names_outside, outside_words
from hedgerow.describe.names import feature_names
from hedgerow.stored.becoming import Becoming

if TYPE_CHECKING:
    from hedgerow.plain import PlainPolicy

NAMED_BY_OUTCOMES = ("hedgerow.Newsvendor", "hedgerow.InventorySubstitution")
"""Losses whose decisions are called what the outcomes are called."""


class StoredPolicy(Becoming):
    """A ``RobustPolicy`` to be, which already decides."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        arrays: dict[str, np.ndarray],
        about: dict[str, Any],
        plain: PlainPolicy,
    ) -> None:
        super().__init__(
            *(path, arrays, about),
            _plain_form=plain,
            n_features_in_=about["features"],
            n_outcomes_=about["outcomes"],
            n_decisions_=len(plain.unit),
            status_=about["status"],
            columns_=about["columns"],
            table_format_=about.get("table_format"),
            ranges_=arrays.get("ranges"),
        )
        if about["feature_names"] is not None:
            vars(self)["feature_names_in_"] = np.array(about["feature_names"], dtype=object)

    def predict(self, X: Any) -> np.ndarray:
        """Decide, as ``RobustPolicy.predict`` does, which is asked where X is anything unusual."""
        contexts = self._contexts(X)
        if contexts is None:
            return self._become().predict(X)
        if self.ranges_ is not None:
            told = outside_words(far_outside(self.ranges_, contexts), feature_names(self))
            if told is not None:
                warnings.warn(told, OutsideWarning, stacklevel=2)
        decisions = self._plain_form.decide(contexts)
        single = self._file[2]["single_outcome"] and decisions.shape[1] == 1
        return decisions[:, 0] if single else decisions

    def outside(self, X: Any) -> list[tuple[str, ...]]:
        """Return the features of each row that are far outside of training, likewise."""
        contexts = self._contexts(X)
        if contexts is None or self.ranges_ is None:
            return self._become().outside(X)
        return names_outside(far_outside(self.ranges_, contexts), feature_names(self))

    @property
    def outcome_names_(self) -> list[str] | None:
        """What outcomes are called, if the policy was told."""
        return (self.columns_ or {}).get("outcomes")

    @property
    def decision_names_(self) -> list[str]:
        """What decisions are called (``describe.names``)."""
        names, loss = self.outcome_names_ or [], self._file[2]["policy"]["loss"]["component"]
        if loss in NAMED_BY_OUTCOMES and len(names) == self.n_decisions_:
            return list(names)
        return self._become().decision_names_

    def _contexts(self, X: Any) -> np.ndarray | None:
        """X as float64, if it is a table with the columns of training, or an array of numbers."""
        names = vars(self).get("feature_names_in_")
        columns = encoded_by(self.columns_, names, X)
        if columns is not None:
            X = encode(X, columns)
        if type(X) is np.ndarray:
            kinds, array = X.dtype.kind, X
        elif names is not None and hasattr(X, "columns") and hasattr(X, "dtypes"):
            if list(X.columns) != list(names):
                return None
            kinds = [kind.kind if isinstance(kind, np.dtype) else "?" for kind in X.dtypes]
            array = np.asarray(X)
        else:
            return None
        if not set(kinds) <= set("fiub") or array.ndim != 2 or len(array) == 0:
            return None
        array = array.astype(np.float64, copy=False)
        most = np.finfo(np.float32).max
        if array.shape[1] != self.n_features_in_ or not np.all(np.abs(array) <= most):
            return None
        if type(X) is np.ndarray and names is not None:  # in scikit-learn's words
            warnings.warn(
                "X does not have valid feature names, but RobustPolicy was fitted with feature "
                "names",
                UserWarning,
                stacklevel=3,
            )
        return array

    @staticmethod
    def _to_be() -> type:
        from hedgerow.estimator import RobustPolicy

        return RobustPolicy
