"""What was saved, read again: a policy, or a panel's."""

from __future__ import annotations

import os
from collections.abc import Iterable

from hedgerow.estimator import RobustPolicy
from hedgerow.losses import Loss
from hedgerow.panels import PanelPolicy
from hedgerow.panels.panel_file import PANEL, read_panel
from hedgerow.policy_file import storage, told_of, unpacked
from hedgerow.policy_file.parts import Known
from hedgerow.programs import refuse_in_forked_process


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
        If the file is damaged, or not what a policy file has to be: one sentence says where.
    """
    refuse_in_forked_process()
    parts = tuple(parts)
    Known(parts)  # refuses what is no part before anything is the file's fault
    arrays, about = storage.read(path)
    with told_of(path):
        if PANEL in about:
            return read_panel(arrays, about, parts, loss)
        return unpacked(RobustPolicy, arrays, about, parts, loss)
