"""Real series, split by time: hedgerow against rivals, series by series and pooled into one table.

    python -m benchmarks.real_series [bakery restaurant bikes] [--data FOLDER] [--out FOLDER]
    python -m benchmarks.real_series bakery --rehearsal    # tuning stores, a year earlier
    python -m benchmarks.real_series --causality           # causal against plain Sinkhorn

Bakery means the ten reported stores. Everything is chosen on training days. Results go to FOLDER
cell by cell; a run that was stopped goes on where it was; ``--report`` prints what is there.
"""

import argparse
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.real_series_report import report
from hedgerow_studies.cells import Cells
from hedgerow_studies.running import Engine, compute
from hedgerow_studies.trials import real_series
from hedgerow_studies.trials.series_policies import CAUSALITY, POLICIES
from hedgerow_studies.trials.series_rivals import RIVALS
from hedgerow_studies.versions import versions

METHODS = POLICIES | RIVALS | CAUSALITY
PANELS = ("bakery", "restaurant", "bikes")
STOCKOUTS = (3.0, 9.0)
REHEARSED = ("2017-05-01", "2017-11-01")
"""Where half-years begin that are decided for in a rehearsal, within the training period."""
SHOWN = 6
"""Bakery series on which adversaries are compared: the first of the reported stores."""


@cache
def panel_of(name: str, folder: str, begins: str | None) -> real_series.Panel:
    """Return a panel; with a date, the rehearsal on the tuning stores that begins there."""
    if name == "restaurant":
        return real_series.restaurant()
    if name == "bikes":
        return real_series.bikes(Path(folder))
    found = real_series.bakery(Path(folder), tuning=begins is not None)
    if begins is None:
        return found
    start = pd.Timestamp(begins)
    return found.rehearsal(start, start + pd.DateOffset(months=6))


@dataclass(frozen=True)
class Orders:
    """Orders of one method for one series, or for all of a panel at once."""

    folder: str
    name: str = "real series"

    def depends(self):
        files = [Path(self.folder) / file for file in (real_series.BAKERY, real_series.BIKES)]
        data = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.exists()]
        return {"data": data, **versions("real_series")}

    def run(self, cell):
        panel = panel_of(cell["panel"], self.folder, cell.get("rehearsal"))
        pooled = cell["series"] is None
        panel = panel if pooled else panel.only([cell["series"]])
        level = cell["stockout"] / (1 + cell["stockout"])
        found = METHODS[cell["method"]](panel, level, pooled, 0)
        return {"orders": np.round(found.orders, 4).tolist(), "chosen": found.chosen}

    def label(self, cell):
        return " ".join(str(value) for value in cell.values())


def cells_of(asked) -> list[dict]:
    """What is to be computed: every method per series and, where there are several, pooled."""
    methods = asked.methods or list(CAUSALITY if asked.causality else POLICIES | RIVALS)
    wanted = []
    for name in asked.panels:
        begins = REHEARSED if asked.rehearsal and name == "bakery" else (None,)
        for begin in begins:
            series = panel_of(name, asked.data, begin).series[: asked.series]
            if asked.causality and name == "bakery":
                series = series[:SHOWN]
            together = [None] if len(series) > 1 and not (asked.causality or asked.series) else []
            for stockout in asked.stockouts:
                for method in methods:
                    pooling = [] if method == "weekday quantile" else together
                    for one in [*series, *pooling]:
                        cell = {"panel": name, "stockout": stockout, "method": method}
                        cell |= {"series": one} | ({"rehearsal": begin} if begin else {})
                        wanted.append(cell)
    return wanted


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("panels", nargs="*", default=list(PANELS), help="default: all three")
    parser.add_argument("--data", default=str(real_series.DATA))
    parser.add_argument("--out", type=Path, default=Path("real-series-results"))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS))
    parser.add_argument("--stockouts", nargs="+", type=float, default=list(STOCKOUTS))
    parser.add_argument("--series", type=int, help="only so many series of a panel, not pooled")
    parser.add_argument("--rehearsal", action="store_true", help="tuning stores, training period")
    parser.add_argument("--causality", action="store_true", help="compare adversaries instead")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--report", action="store_true", help="only print what is there")
    asked = parser.parse_args(given)
    work, listed = Orders(asked.data), cells_of(asked)
    if not asked.report:
        wanted = [(work, cell) for cell in listed]
        compute(wanted, asked.out, Engine(jobs=asked.jobs), lambda *done: print(*done, flush=True))
    kept = Cells(asked.out, work.depends())
    found = [(cell, kept.get(cell)) for cell in listed]
    report(
        [(cell, result["value"]) for cell, result in found if result is not None],
        lambda cell: panel_of(cell["panel"], asked.data, cell.get("rehearsal")),
        asked.causality,
    )


if __name__ == "__main__":
    main()
