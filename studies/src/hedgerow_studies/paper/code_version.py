"""The versions that numbers depend on: a fingerprint of this package's source, and libraries.

Files that only draw, print or describe do not count, so that a better figure costs no recomputing;
any other change of the package does, so that old numbers are never mixed with new ones.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

LIBRARIES = ("jax", "equinox", "optax", "numpy", "scipy", "scikit-learn", "highspy")
DRAWN = ("cli", "plots", "report", "demo.py", "reproduce/pages", "reproduce/running.py")


@cache
def code_version() -> str:
    """Twelve hexadecimal digits."""
    package = Path(str(files("hedgerow")))
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if not any(name == drawn or name.startswith(f"{drawn}/") for drawn in DRAWN):
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


@cache
def library_versions() -> dict[str, str]:
    """The libraries that compute, with their versions."""
    return {name: version(name) for name in LIBRARIES}
