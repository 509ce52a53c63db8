"""Packages whose names are imported when they are first used (PEP 562).

A package's ``__init__`` says under TYPE_CHECKING what its names are, which type checkers and
editors read, and in a table where they live, which Python reads:

    __getattr__, __dir__, __all__ = lazy(__name__, {"encoder": "TableEncoder", …})

So ``from hedgerow.data.table_files import read_table`` does not wait for JAX, which the package's
other modules need.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    ``homes`` maps modules of the package to the names that live there, separated by spaces.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted(home)

    return find, listed, sorted(home)
