"""What was read and decides already: it becomes the whole policy, in place, when asked for more."""

from __future__ import annotations

import os
from threading import RLock
from typing import Any

import numpy as np

from hedgerow.policy_file import told_of
from hedgerow.policy_file.storage import PANEL

_becoming = RLock()


def whole(
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


class Becoming:
    """A policy as its file tells of it.

    What is known without making its parts is answered at once, from attributes of its own; any
    other question, and any change, first turns the object into what it is to be.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        arrays: dict[str, np.ndarray],
        about: dict[str, Any],
        **known: Any,
    ) -> None:
        vars(self).update(_file=(path, arrays, about), **known)

    @staticmethod
    def _to_be() -> type:
        """The class of the whole policy."""
        raise NotImplementedError

    def _become(self) -> Any:
        """Turn into the whole policy, and return it."""
        with _becoming:
            if issubclass(type(self), Becoming):
                made = whole(*vars(self)["_file"])
                own = vars(self)
                own.clear()
                own.update(vars(made))
                vars(object)["__class__"].__set__(self, type(made))
        return self

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        """What it is to be, so that ``isinstance`` tells the truth."""
        return type(self)._to_be()

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
