"""Cells: results of long studies, one small file each, safe to interrupt and to share.

A cell's file is named by a hash of everything it depends on, so a changed parameter, other data or
another version of the package never finds an old result. Files are written whole or not at all;
a study that was killed goes on where it stopped, and two runs on one folder do each other no harm.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hedgerow._files import whole_file
from hedgerow._version import __version__


class Cells:
    """A folder of results.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    context : dict
        What all cells depend on (data, horizon); plain JSON values.
    """

    def __init__(self, folder: str | os.PathLike[str], context: dict[str, Any]) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"{self.folder} is a file; give the name of a folder.")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.context = {"version": __version__, **context}

    def get(self, key: dict[str, Any]) -> dict[str, Any] | None:
        """Return a finished cell's result, or None; a damaged file counts as none."""
        try:
            stored = json.loads(self._path(key).read_text(encoding="utf-8"))
            return stored["result"]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: dict[str, Any], result: dict[str, Any]) -> None:
        """Store a result beside the key that it belongs to."""
        text = json.dumps({"key": key, "context": self.context, "result": result}, indent=1)
        with whole_file(self._path(key)) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def _path(self, key: dict[str, Any]) -> Path:
        described = json.dumps({"context": self.context, "key": key}, sort_keys=True)
        return self.folder / f"{hashlib.sha256(described.encode()).hexdigest()[:24]}.json"


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Around work whose result is kept: an interrupt on the way ends it, whatever else hears of it.

    A solver takes an interrupt for the wish to stop training and returns the rule it has, which is
    right for whoever waits for it, and wrong for a study, where it would pass for a result.
    """
    if threading.current_thread() is not threading.main_thread():  # others hear of none
        yield
        return
    asked = []

    def note(number: int, frame: Any) -> None:
        asked.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if asked:
        raise KeyboardInterrupt
