"""Policies as commands read them: with the parts that installed packages offer.

A package offers a part by an entry point of the group ``hedgerow.parts``, whose value is its class.
Files still import nothing: what may be imported is for whoever installs packages to say.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hedgerow._files import check_is_file, check_target
from hedgerow.data.table_files import check_readable

if TYPE_CHECKING:
    from hedgerow.cli.asking_options import DecideRequest, EvaluateRequest
    from hedgerow.estimator import RobustPolicy
    from hedgerow.panels import PanelPolicy

GROUP = "hedgerow.parts"


def check_asked(
    policy: Path, *tables: Path | None, out: Path | str | None = None, force: bool = False
) -> None:
    """Say at once what cannot be written or is not there, before anything is imported."""
    if out is not None and str(out) != "-" and not Path(out).is_dir():
        check_target(Path(out), overwrite=force)
    check_is_file(policy, "policy file")
    for table in tables:
        if table is not None and not table.is_dir():
            check_readable(table)


def load_stored(path: Path) -> RobustPolicy | PanelPolicy:
    """Read a policy file, with its own parts and those of installed packages."""
    from hedgerow.stored import load

    return load(path, parts=installed_parts())


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


def load_policy(path: Path, wanted: str = "a policy of single rows is wanted here") -> RobustPolicy:
    """Read the file of a policy that is no panel's; ``wanted`` is what to do about one that is."""
    from hedgerow.stored import is_panel

    policy = load_stored(path)
    if is_panel(policy):
        raise ValueError(f"{path} holds the policy of a panel; {wanted}.")
    return cast("RobustPolicy", policy)


def refuse_history(request: DecideRequest | EvaluateRequest) -> None:
    """What only panels understand."""
    for name in ("history", "by_series"):
        if getattr(request, name, None) is not None:
            raise ValueError(
                f"--{name.replace('_', '-')} is understood for panels; {request.policy} holds a "
                "policy of single rows."
            )
