"""Compiled programs kept on disk, so that the next process need not compile them again.

    hr.compilation_cache()        one line, before the first fit; the command does so by itself

JAX names a program by what it computes, its shapes, its options and its own versions; a folder is
for one kind of processor, for what was compiled for another may not run here. An entry is written
beside its place and renamed, so writers at once do not disturb each other nor readers, and begins
with a digest: one that was cut short or spoilt is removed and compiled again. Beyond the limit
those that were not used for longest go. A disk that is full, read-only or slow to answer costs the
cache and nothing else.

JAX keeps its cache in one place of a process (``jax.config``); that is set here, when asked for,
and nowhere else. Programs are traced in any case; what is saved is compiling.
"""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

VARIABLE = "HEDGEROW_CACHE"
"""Environment variable: another folder, or one of OFF."""
OFF = ("", "0", "off", "no", "none", "false")
MEGABYTES = 512
SUFFIX, UNFINISHED = ".program", ".unfinished"
DIGEST = 32
BETWEEN_SWEEPS = 2**24
"""Bytes written between two looks at what there is."""


def compilation_cache(
    folder: str | os.PathLike[str] | None = None, megabytes: float = MEGABYTES
) -> Path | None:
    """Keep compiled programs on disk between processes, from now on in this one.

    Parameters
    ----------
    folder : path or None
        Where. None: the folder of the environment variable HEDGEROW_CACHE ("off": no cache), else
        ``hedgerow`` in the user's cache folder.
    megabytes : float
        Beyond this, programs that were not used for longest are removed.

    Returns
    -------
    Path or None
        Where programs are kept; None: nowhere, because the variable says so, or because nothing
        can be written there (a warning says why).

    Examples
    --------
    >>> import os
    >>> import hedgerow as hr
    >>> os.environ["HEDGEROW_CACHE"] = "off"
    >>> hr.compilation_cache() is None
    True
    """
    if not megabytes > 0:
        raise ValueError(f"megabytes must be positive, got {megabytes!r}.")
    named = os.environ.get(VARIABLE)
    if folder is None and named is not None and named.strip().lower() in OFF:
        return None
    try:
        place = Path(folder or named or users_folder()).expanduser() / "programs" / _machine()
        place.mkdir(parents=True, exist_ok=True)
        _try_to_write(place)
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        warnings.warn(
            f"Compiled programs are not kept between runs: {why} ({folder or named or 'cache'}). "
            f"Name another folder, or say {VARIABLE}=off.",
            stacklevel=2,
        )
        return None
    return place if _use(ProgramCache(place, int(megabytes * 2**20))) else None


def users_folder() -> Path:
    """Return the folder for what can be made again, as the platform has it."""
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "hedgerow"


class ProgramCache:
    """A folder of compiled programs, as JAX wants one: ``get`` and ``put`` bytes by a name.

    Neither ever fails; what cannot be read is not there, what cannot be written is not kept.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._path = self.path = folder  # JAX reads the former
        self._limit, self._written, self._lock = limit, 0, Lock()
        self.sweep()

    def get(self, key: str) -> bytes | None:
        """Return what was kept by that name, if it is whole."""
        place = self._place(key)
        try:
            kept = place.read_bytes()
        except OSError:
            return None
        value = kept[DIGEST:]
        if hashlib.sha256(value).digest() != kept[:DIGEST]:
            with suppress(OSError):
                place.unlink()
            return None
        with suppress(OSError):
            os.utime(place)  # used now
        return value

    def put(self, key: str, value: bytes) -> None:
        """Keep it."""
        place = self._place(key)
        unfinished = place.with_name(f"{secrets.token_hex(8)}{UNFINISHED}")
        try:
            unfinished.write_bytes(hashlib.sha256(value).digest() + value)
            os.replace(unfinished, place)
        except OSError:
            with suppress(OSError):
                unfinished.unlink()
            return
        with self._lock:
            self._written += len(value)
            due = self._written > min(BETWEEN_SWEEPS, self._limit // 8)
            self._written = 0 if due else self._written
        if due:
            self.sweep()

    def sweep(self) -> None:
        """Remove what is beyond the limit, the longest unused first, and what was left behind."""
        found = []
        with suppress(OSError):
            for entry in os.scandir(self.path):
                with suppress(OSError):
                    if entry.name.endswith((SUFFIX, UNFINISHED)):
                        about = entry.stat()
                        found.append((about.st_mtime, about.st_size, entry.path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self._limit:
                break
            with suppress(OSError):
                os.unlink(path)
            total -= size

    def _place(self, key: str) -> Path:
        return self.path / (hashlib.sha256(key.encode()).hexdigest() + SUFFIX)


def _use(kept: ProgramCache) -> bool:
    """Hand it to JAX; False where this version of JAX takes none."""
    import jax

    before = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    try:
        from jax._src import compilation_cache as theirs

        theirs.reset_cache()
        theirs._cache, theirs._cache_initialized = kept, True  # pyright: ignore
        jax.config.update("jax_compilation_cache_dir", str(kept.path))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    except (ImportError, AttributeError):
        jax.config.update("jax_compilation_cache_dir", before)
        warnings.warn(
            "Compiled programs are not kept between runs: this version of JAX takes no cache.",
            stacklevel=3,
        )
        return False
    return True


def _try_to_write(folder: Path) -> None:
    """Find out at once whether anything can be kept there."""
    trial = folder / f"{secrets.token_hex(8)}{UNFINISHED}"
    try:
        trial.write_bytes(b"\0")
    finally:
        with suppress(OSError):
            trial.unlink()


def _machine() -> str:
    """Name the kind of processor, with all that it can do, and the versions that compile for it."""
    from jax import version as jax
    from jaxlib import version as jaxlib

    able = f"{platform.machine()} {platform.processor()}"
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        able += " ".join(
            next((line for line in lines if line.lower().startswith(start)), "")
            for start in ("model name", "flags", "features")
        )
    told = f"{sys.platform} {able} {jax.__version__} {jaxlib.__version__}"
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def in_use() -> Any:
    """Return the folder that JAX keeps programs in by now, if any."""
    import jax

    return jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
