"""What was saved, read again: a policy, or a panel's.

A policy that is read decides with NumPy alone (``policy_file.deciding``; a panel's, with pandas
besides): nothing is imported that learns. It becomes a ``RobustPolicy`` or a ``PanelPolicy``, in
place, as soon as it is asked for anything else (``becoming``). Where JAX has been imported already
there is nothing to wait for, and it is one from the beginning.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.policy_file import storage
from hedgerow.policy_file.deciding import plain_policy
from hedgerow.policy_file.storage import PANEL
from hedgerow.stored.becoming import Becoming, whole
from hedgerow.stored.single import StoredPolicy

if TYPE_CHECKING:
    from hedgerow.estimator import RobustPolicy
    from hedgerow.losses import Loss
    from hedgerow.panels import PanelPolicy

__all__ = ["StoredPolicy", "is_panel", "load"]


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
    if not (parts or loss is not None or _learns()) and about["format"] >= 3:
        found = _stored(path, arrays, about)
        if found is not None:
            return found
    return whole(path, arrays, about, parts, loss)


def _stored(
    path: str | os.PathLike[str], arrays: dict[str, np.ndarray], about: dict[str, Any]
) -> Any:
    """What decides without anything that learns; None if the file is not known, or not right."""
    if PANEL in about:
        from hedgerow.stored.panel import stored_panel  # tables need pandas

        return stored_panel(path, arrays, about)
    plain = plain_policy(arrays, about)
    return None if plain is None else StoredPolicy(path, arrays, about, plain)


def _learns() -> bool:
    """Whether this process has imported what learns."""
    return "jax" in sys.modules


def is_panel(policy: Any) -> bool:
    """Whether what was read is a panel's policy; asking it makes no policy whole."""
    if issubclass(type(policy), Becoming):
        return type(policy) is not StoredPolicy
    from hedgerow.panels import PanelPolicy

    return isinstance(policy, PanelPolicy)
