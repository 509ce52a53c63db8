"""What numbers depend on besides parameters and data: versions, all declared in one place.

    hedgerow    ``NUMERICS`` of the library, raised when a change of its code changes numbers
    a family    an integer below, raised when its cells compute something else than before
    libraries   the releases that are installed

Sources are not looked at: a better comment, name or figure computes nothing again.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

from hedgerow._version import NUMERICS

FAMILIES = {
    "distributions": 1,
    "synthetic": 3,
    "portfolio": 1,
    "tree": 1,
    "trials": 3,
    "as_published": 1,
    "real_series": 1,
    "leaderboard": 1,
}
"""Kinds of studies. Raise a number when the same parameters and data come to mean other work."""
LIBRARIES = ("jax", "equinox", "optax", "numpy", "scipy", "scikit-learn", "highspy")


@cache
def libraries() -> dict[str, str]:
    """The libraries that compute, with their versions."""
    return {name: version(name) for name in LIBRARIES}


def versions(family: str | None = None) -> dict[str, Any]:
    """Everything that results of a family depend on besides parameters and data."""
    own = {} if family is None else {family: FAMILIES[family]}
    return {"hedgerow": NUMERICS, **own, **libraries()}
