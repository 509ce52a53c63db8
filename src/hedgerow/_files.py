"""Files that are whole or not there: written beside their target, then renamed over it.

A target is a regular file or nothing yet. Devices, pipes, folders and files marked read-only are
refused; a symbolic link stays, and what it points to is written. A file that is replaced keeps its
mode and owner, a new one gets what the umask leaves.

What is being written is called ``.hedgerow-<random>.tmp<suffix>`` and locked. A process that is
killed leaves it behind unlocked, and the next one to write in that folder removes it.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # not POSIX: what was left behind is known by its age alone
    fcntl = None

PREFIX, MIDDLE = ".hedgerow-", ".tmp"
STALE = 60.0 if fcntl else 86400.0
"""Seconds without a write after which a file that nobody has locked was left behind."""
KINDS = (
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)
_swept: set[Path] = set()


@contextmanager
def whole_file(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[Path]:
    """Yield a temporary path to write to; it takes the place of ``path`` only if nothing fails.

    The temporary file lies in the same folder, so that the rename is one step, and keeps the
    suffix, from which writers read the format. Trouble with the disk is told of the target.
    """
    check_target(path, overwrite=overwrite)
    target = Path(os.path.realpath(path))
    _sweep(target.parent)
    before = target.stat() if target.exists() else None
    temporary = target.with_name(f"{PREFIX}{secrets.token_hex(8)}{MIDDLE}{target.suffix}")
    try:
        with _locked(temporary, 0o666 if before is None else 0o600):
            yield temporary
            if before is not None:
                _take_on(temporary, before)
        os.replace(temporary, target)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(temporary)):
            raise
        untouched = "; what was there is untouched" if before else "; nothing was written"
        reason = f"cannot be written ({error.strerror}){untouched}"
        raise OSError(error.errno, reason, str(path)) from None
    finally:
        temporary.unlink(missing_ok=True)


def check_is_file(path: str | os.PathLike[str], kind: str) -> Path:
    """Return ``path`` if there is a file, or say that there is none of this kind."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no {kind} at {path}.")
    return path


def check_target(path: str | os.PathLike[str], *, overwrite: bool = True) -> Path:
    """Return ``path`` if a file can be put there, or say why not; worth asking before long work."""
    target = Path(path)
    real = Path(os.path.realpath(target)) if target.is_symlink() else target
    try:
        mode = target.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{target} is a folder; give the name of a file to write.")
    if not real.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {real.parent} to write {real.name} into.")
    if mode is not None:
        if not stat.S_ISREG(mode):
            kind = next((word for is_kind, word in KINDS if is_kind(mode)), "no regular file")
            raise OSError(f"{target} is {kind}; give the name of a file to write.")
        if not overwrite:
            raise FileExistsError(
                f"{target} is there already: give another name, or --force to replace it."
            )
        # root may write anything, but a file that nobody may write to was meant to stay
        if not mode & 0o222 or not os.access(target, os.W_OK):
            raise PermissionError(f"{target} is read-only; make it writable or give another name.")
    if not os.access(real.parent, os.W_OK):
        raise PermissionError(f"The folder {real.parent} cannot be written to.")
    return target


@contextmanager
def _locked(path: Path, mode: int) -> Iterator[None]:
    """Make an empty file and hold its lock, which the system lets go of if the process dies."""
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
    try:
        if fcntl:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def _take_on(temporary: Path, before: os.stat_result) -> None:
    """Give a file the owner, as far as that is allowed, and the mode of the one it replaces."""
    now = temporary.stat()
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError, AttributeError):
            os.chown(temporary, before.st_uid, before.st_gid)
    os.chmod(temporary, stat.S_IMODE(before.st_mode))


def _sweep(folder: Path) -> None:
    """Remove what killed processes left in a folder, once per process."""
    if folder in _swept:
        return
    _swept.add(folder)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            ours = entry.name.startswith(PREFIX) and MIDDLE in entry.name
            if ours and entry.is_file(follow_symlinks=False):
                _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(path: Path) -> None:
    """Remove a file that has not been written to for a while, unless a process holds its lock."""
    with suppress(OSError):  # it is locked, or another process has removed it
        if time.time() - path.stat().st_mtime < STALE:
            return
        handle = os.open(path, os.O_RDWR)
        try:
            if fcntl:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(handle)
        path.unlink()
