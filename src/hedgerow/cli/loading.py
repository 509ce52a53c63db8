"""Policies as commands read them: with the parts that installed packages offer.

A package offers a part by an entry point of the group ``hedgerow.parts``, whose value is its class.
Files still import nothing: what may be imported is for whoever installs packages to say.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

from hedgerow.estimator import RobustPolicy
from hedgerow.panels import PanelPolicy
from hedgerow.stored import load

GROUP = "hedgerow.parts"


def installed_parts() -> list[type]:
    """Return the parts that installed packages offer."""
    parts = []
    for entry in entry_points(group=GROUP):
        try:
            parts.append(entry.load())
        except Exception as error:  # whatever a package raises when it is imported
            package = entry.dist.name if entry.dist else entry.module
            why = " ".join(f"{type(error).__name__}: {error}".split())
            raise ImportError(
                f"The part {entry.name} of {package} cannot be loaded ({why}): install it again, "
                "or remove it."
            ) from error
    return parts


def load_stored(path: Path) -> RobustPolicy | PanelPolicy:
    """Read a policy file, with its own parts and those of installed packages."""
    return load(path, parts=installed_parts())


def load_policy(path: Path) -> RobustPolicy:
    """Read the file of a policy that is no panel's."""
    policy = load_stored(path)
    if isinstance(policy, PanelPolicy):
        raise ValueError(
            f"{path} holds the policy of a panel; a policy of single rows is wanted here."
        )
    return policy
