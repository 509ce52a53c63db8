"""Policies as commands read them: with the parts that installed packages offer.

A package offers a part by an entry point of the group ``hedgerow.parts``, whose value is its class.
Files still import nothing: what may be imported is for whoever installs packages to say.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

from hedgerow.estimator import RobustPolicy
from hedgerow.stored import load

GROUP = "hedgerow.parts"


def load_policy(path: Path) -> RobustPolicy:
    """Read a policy file, with its own parts and those of installed packages."""
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
    policy = load(path, parts=parts)
    if not isinstance(policy, RobustPolicy):
        raise ValueError(
            f"{path} holds the policy of a panel, which this command does not read yet: use "
            "hedgerow.load and PanelPolicy.predict in Python."
        )
    return policy
