"""A study: one figure or table of the paper as independent cells of work and a page that tells.

``cells`` lists plain dicts, ``run`` turns one into rows of a table. Both depend on nothing but the
cell and the study's own fields, so that cells can be computed anywhere, in any order, and kept
(``hedgerow_studies.running``). What is drawn and written about the finished table is in
``hedgerow_studies.paper.pages``.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from hedgerow import _checks
from hedgerow_studies.cells import Cell, Cells
from hedgerow_studies.running import Engine, Progress, compute
from hedgerow_studies.versions import versions

Row = dict[str, Any]

SCALES = ("tiny", "quick", "full")
"""How much is done: for tests, for a first look (minutes), or as the paper did (hours)."""


@dataclass(frozen=True)
class Study(ABC):
    """Base of studies (abstract).

    ``family`` is its kind in ``hedgerow_studies.versions``; ``needs`` names a package beyond those
    that are always there.
    """

    what: ClassVar[str]
    family: ClassVar[str | None] = None
    needs: ClassVar[str] = ""
    name: str

    @property
    def title(self) -> str:
        """What is shown."""
        return self.what

    @property
    def source(self) -> str:
        """Studies of one source share cells; unless a study says otherwise it is its own."""
        return self.name

    def check(self, scale: str) -> None:
        """Refuse what cannot be computed before anything is: a missing package, a short market."""
        if self.needs and find_spec(self.needs) is None:
            raise ImportError(
                f"{self.name} needs {self.needs}, which is not installed: pip install {self.needs}."
            )

    @abstractmethod
    def cells(self, scale: str) -> list[Cell]:
        """Everything that has to be computed, as plain JSON values."""

    @abstractmethod
    def run(self, cell: Cell) -> list[Row]:
        """Compute one cell: rows of plain values, which are completed by the cell's own."""

    def data(self) -> dict[str, Any]:
        """What all cells depend on besides themselves and versions; plain JSON values."""
        return {}

    def depends(self) -> dict[str, Any]:
        """Everything that results depend on besides their cells."""
        return {**versions(self.family), "study": self.source, **self.data()}

    def label(self, cell: Cell) -> str:
        """What is said of a cell that was just computed."""
        return self.name


def run(
    studies: Sequence[Study],
    scale: str,
    folder: str | os.PathLike[str],
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> dict[str, list[Row]]:
    """Compute what is missing of some studies, and return the rows of each, by its name."""
    _checks.one_of("scale", scale, SCALES)
    for study in studies:
        study.check(scale)
    wanted = [(study, cell) for study in studies for cell in study.cells(scale)]
    rows: dict[str, list[Row]] = {study.name: [] for study in studies}
    results = compute(wanted, Path(folder) / "cells", engine, progress)
    for (study, cell), result in zip(wanted, results, strict=True):
        rows[study.name] += [cell | row for row in result.value]
    return rows


def finished(
    studies: Sequence[Study], scale: str, folder: str | os.PathLike[str]
) -> dict[str, list[Row]]:
    """Return the rows of cells that have been computed, by the study's name; compute nothing."""
    rows: dict[str, list[Row]] = {}
    for study in studies:
        store = Cells(Path(folder) / "cells", study.depends())
        kept = [(cell, store.get(cell)) for cell in study.cells(scale)]
        rows[study.name] = [cell | row for cell, found in kept if found for row in found["value"]]
    return rows


def count_finished(study: Study, scale: str, folder: str | os.PathLike[str]) -> int:
    """Return how many cells of a study have been computed."""
    store = Cells(Path(folder) / "cells", study.depends())
    return sum(store.get(cell) is not None for cell in study.cells(scale))


def seconds(
    studies: Sequence[Study], scale: str, folder: str | os.PathLike[str]
) -> dict[str, float]:
    """Return the seconds of computing that each study's cells took, by its name.

    Cells that studies share count for the first of them. What is missing is computed.
    """
    listed = tasks(studies, scale)
    found = dict.fromkeys((study.name for study in studies), 0.0)
    results = compute(listed, Path(folder) / "cells")
    for (study, _), result in zip(listed, results, strict=True):
        found[study.name] += result.seconds
    return found


def tasks(studies: Sequence[Study], scale: str) -> list[tuple[Study, Cell]]:
    """Everything to be computed; a cell that studies share is listed once."""
    listed: dict[tuple[str, str], tuple[Study, Cell]] = {}
    for study in studies:
        for cell in study.cells(scale):
            listed.setdefault((study.source, json.dumps(cell, sort_keys=True)), (study, cell))
    return list(listed.values())
