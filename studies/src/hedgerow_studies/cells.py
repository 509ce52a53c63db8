"""Cells: results of long studies, one small file each, safe to interrupt and to share.

    file name  =  hash of (what all cells of a kind depend on, the cell's own parameters)

So changed parameters, other data or other versions (``hedgerow_studies.versions``) never find an
old result. Files are written whole or not at all; a study that was killed goes on where it stopped,
and two runs on one folder do each other no harm.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from hedgerow._files import whole_file

Cell = dict[str, Any]
"""Parameters of one piece of work; plain JSON values."""


class Cells:
    """A folder of results.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    depends : dict
        What all cells depend on: versions, data, horizon; plain JSON values.
    """

    def __init__(self, folder: str | os.PathLike[str], depends: dict[str, Any]) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"{self.folder} is a file; give the name of a folder.")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.depends = depends

    def get(self, cell: Cell) -> Any:
        """Return a finished cell's result, or None; a damaged file counts as none."""
        try:
            return json.loads(self.path(cell).read_text(encoding="utf-8"))["result"]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def put(self, cell: Cell, result: Any) -> None:
        """Store a result beside everything that it belongs to."""
        text = json.dumps({"cell": cell, "depends": self.depends, "result": result}, indent=1)
        with whole_file(self.path(cell)) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def path(self, cell: Cell) -> Path:
        """The file that holds the cell's result once there is one."""
        described = json.dumps({"depends": self.depends, "cell": cell}, sort_keys=True)
        return self.folder / f"{hashlib.sha256(described.encode()).hexdigest()[:24]}.json"
