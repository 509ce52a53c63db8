"""Files that are whole or not there: written beside their target, then renamed over it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path to write to; it takes the place of ``path`` only if nothing fails.

    The temporary file lies in the same folder, so that the rename is one step, and keeps the
    suffix, from which writers read the format.
    """
    target = check_target(path)
    temporary = target.with_name(f".{uuid.uuid4().hex}{target.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def check_target(path: str | os.PathLike[str]) -> Path:
    """Return ``path`` if a file can be put there, or say why not; worth asking before long work."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file to write.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} into.")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"The folder {target.parent} cannot be written to.")
    return target
