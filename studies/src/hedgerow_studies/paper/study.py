"""A study: one figure or table of the paper as independent cells of work and a page that tells.

``cells`` lists plain dicts, ``run`` turns one into rows of a table. Both depend on nothing but the
cell and the study's own fields, so that cells can be computed anywhere, in any order, and kept.
What is drawn and written about the finished table is in ``hedgerow_studies.paper.pages``.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar

Cell = dict[str, Any]
Row = dict[str, Any]

SCALES = ("tiny", "quick", "full")
"""How much is done: for tests, for a first look (minutes), or as the paper did (hours)."""

INADMISSIBLE = "makes the robust value infinite"
"""What is said of a penalty at which nothing can be trained; in a map its loss is not a number."""


@dataclass(frozen=True)
class Study:
    """Base of studies (abstract); ``needs`` names a package beyond those that are always there."""

    what: ClassVar[str]
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

    def cells(self, scale: str) -> list[Cell]:
        """Everything that has to be computed, as plain JSON values."""
        raise NotImplementedError

    def run(self, cell: Cell) -> list[Row]:
        """Compute one cell: rows of plain values, which are completed by the cell's own."""
        raise NotImplementedError

    def context(self) -> dict[str, Any]:
        """What all cells depend on besides themselves and the code; plain JSON values."""
        return {}
