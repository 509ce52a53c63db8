"""What was saved, read again: a policy, or a panel's.

A policy that is read decides with NumPy alone (``policy_file.deciding``): nothing is imported that
learns. It becomes a ``RobustPolicy``, in place, as soon as it is asked for anything else. Where JAX
has been imported already there is nothing to wait for, and it is one from the beginning.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from threading import RLock
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hedgerow._warnings import OutsideWarning
from hedgerow.data.columns import encode, encoded_by
from hedgerow.data.ranges import far_outside, names_outside, outside_words
from hedgerow.describe.names import feature_names
from hedgerow.policy_file import storage, told_of
from hedgerow.policy_file.deciding import plain_policy
from hedgerow.policy_file.storage import PANEL

if TYPE_CHECKING:
    from hedgerow.estimator import RobustPolicy
    from hedgerow.losses import Loss
    from hedgerow.panels import PanelPolicy
    from hedgerow.plain import PlainPolicy

NAMED_BY_OUTCOMES = ("hedgerow.Newsvendor", "hedgerow.InventorySubstitution")
"""Losses whose decisions are called what the outcomes are called."""
_becoming = RLock()


def load(
    path: str | os.PathLike[str], loss: Loss | None = None, parts: Iterable[type] = ()
) -> RobustPolicy | PanelPolicy:
    """Read a policy file.

    Parameters
    ----------
    path : path
        A file written by ``RobustPolicy.save`` or ``PanelPolicy.save``.
    loss : Loss, optional
        Takes the place of the stored loss: a ``CustomLoss``, whose function files do not hold.
    parts : classes
        Losses, rules, models, nominals, solvers and decision sets of other packages that the file
        names. Files import nothing by themselves.

    Raises
    ------
    PolicyFileError
        If the file is damaged, or not what a policy file has to be: one sentence says where. In a
        process without JAX, what deciding does not need is checked when it is first asked for.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> policy.save("demand.hedgerow")
    >>> again = hr.load("demand.hedgerow")
    >>> bool((again.predict(data.data) == policy.predict(data.data)).all())
    True
    """
    parts = tuple(parts)
    if parts:
        from hedgerow.policy_file.parts import Known

        Known(parts)  # refuses what is no part before anything is the file's fault
    arrays, about = storage.read(path)
    if not (parts or loss is not None or PANEL in about or _learns()) and about["format"] >= 3:
        plain = plain_policy(arrays, about)
        if plain is not None:
            return cast("RobustPolicy", StoredPolicy(path, arrays, about, plain))
    return _whole(path, arrays, about, parts, loss)


def _learns() -> bool:
    """Whether this process has imported what learns."""
    return "jax" in sys.modules


def _whole(
    path: str | os.PathLike[str],
    arrays: dict[str, np.ndarray],
    about: dict[str, Any],
    parts: tuple[type, ...] = (),
    loss: Any = None,
) -> Any:
    """The policy with all its parts."""
    from hedgerow.estimator import RobustPolicy
    from hedgerow.panels.panel_file import read_panel
    from hedgerow.policy_file import unpacked
    from hedgerow.programs import refuse_in_forked_process

    refuse_in_forked_process()
    with told_of(path):
        if PANEL in about:
            return read_panel(arrays, about, parts, loss)
        return unpacked(RobustPolicy, arrays, about, parts, loss)


def is_panel(policy: Any) -> bool:
    """Whether what was read is a panel's policy; asking it makes no policy whole."""
    if type(policy) is StoredPolicy:
        return False
    from hedgerow.panels import PanelPolicy

    return isinstance(policy, PanelPolicy)


class StoredPolicy:
    """A policy as its file tells of it: a ``RobustPolicy`` to be, which already decides.

    What is known without making its parts is answered at once; any other question, and any change,
    first turns the object into a ``RobustPolicy``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        arrays: dict[str, np.ndarray],
        about: dict[str, Any],
        plain: PlainPolicy,
    ) -> None:
        vars(self).update(
            _file=(path, arrays, about),
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

    def _become(self) -> Any:
        """Turn into a ``RobustPolicy``, and return it."""
        with _becoming:
            if type(self) is StoredPolicy:
                whole = _whole(*vars(self)["_file"])
                own = vars(self)
                own.clear()
                own.update(vars(whole))
                vars(object)["__class__"].__set__(self, type(whole))
        return self

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        """What it is to be, so that ``isinstance`` tells the truth."""
        from hedgerow.estimator import RobustPolicy

        return RobustPolicy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._become(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._become(), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._become(), name)

    def __dir__(self) -> list[str]:
        return dir(self._become())

    def __repr__(self) -> str:
        return repr(self._become())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._become().__reduce_ex__(protocol)
