"""Out of sample, everything chosen by cross-validation: the paper's cells, baselines, and shifts.

    python -m benchmarks.choosing newsvendor [--out FOLDER] [--draws 10] [--cells 200x5 ...]
    python -m benchmarks.choosing inventory  ...

Results go to FOLDER cell by cell; a run that was stopped goes on where it was. ``--jobs 2`` shares
the work between two processes. ``--report`` prints what is there.
"""

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import hedgerow as hr
from benchmarks.choosing_report import report
from hedgerow_studies.cells import Cells
from hedgerow_studies.paper.synthetic_problems import SIZES
from hedgerow_studies.running import Engine, compute
from hedgerow_studies.trials import contenders
from hedgerow_studies.trials.inventory_trial import InventoryDraw
from hedgerow_studies.trials.newsvendor_trial import (
    AS_TRAINED,
    CORRUPTED_HISTORY,
    NewsvendorDraw,
)
from hedgerow_studies.versions import versions

METHODS = contenders.HEDGEROW | contenders.BASELINES
CORRUPTED = "corrupted"
"""Hedgerow's methods on a corrupted history; not among those that run unless named."""
INVENTORY = {
    "penalties": (3.0, 30.0, math.inf),
    "epsilons": (0.1, 0.3),
    "rules": [hr.SoftForest(temperature=4.0)],
}
"""What is tried for the inventory: fewer pairs, as a training takes several times as long, and
softer gates, which are better there (tuning draws; docs/results/recipe.md)."""


def newsvendor(rows, features, seed, method):
    """Judge the estimators of one method on one draw."""
    draw = NewsvendorDraw(rows, features, seed)
    found = {"oracle": {AS_TRAINED: {"mean": draw.oracle()}}}
    if method == CORRUPTED:
        for fit in contenders.HEDGEROW.values():
            for name, estimator in fit(draw.loss, draw.train.data, draw.corrupted, seed).items():
                found[name] = {CORRUPTED_HISTORY: draw.judge(estimator.predict)[AS_TRAINED]}
        return found
    fitted = METHODS[method](draw.loss, draw.train.data, draw.train.target, seed)
    for name, estimator in fitted.items():
        found[name] = draw.judge(estimator.predict) | {"chosen": describe(estimator)}
    return found


def inventory(rows, features, seed, method):
    """The same for the inventory, without shifts."""
    draw = InventoryDraw(rows, features, seed)
    settings = INVENTORY if method == "searched" else {}
    fitted = METHODS[method](draw.loss, draw.train.data, draw.train.target, seed, **settings)
    few = any(name in (contenders.FOREST, contenders.NEIGHBOURS) for name in fitted)
    return {
        name: draw.judge(estimator.predict, few) | {"chosen": describe(estimator)}
        for name, estimator in fitted.items()
    }


@dataclass(frozen=True)
class Trials:
    """Methods on draws of one problem, as work that any process can do."""

    name: str

    def depends(self):
        return {"problem": self.name, **versions("trials")}

    def run(self, cell):
        trial = {"newsvendor": newsvendor, "inventory": inventory}[self.name]
        return trial(*(cell[name] for name in ("rows", "features", "seed", "method")))

    def label(self, cell):
        return f"{cell['rows']}x{cell['features']} {cell['seed']} {cell['method']}"


def describe(estimator):
    """What was chosen, in a few words."""
    policy = getattr(estimator, "best_estimator_", estimator)
    if not isinstance(policy, hr.RobustPolicy):
        return ""
    model = policy.given_
    settings = model.get_params(deep=False)
    kept = {name: settings[name] for name in ("penalty", "epsilon") if name in settings}
    soft = getattr(policy.rule, "temperature", 1.0)
    return {**kept, "temperature": soft, "steps": len(policy.history_)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problem", choices=SIZES)
    parser.add_argument("--out", type=Path, default=Path("choosing-results"))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="first seed; 2000 and up for tuning")
    parser.add_argument("--cells", nargs="+", help="such as 200x5 400x10; default: all 16")
    parser.add_argument(
        "--methods", nargs="+", default=list(METHODS), choices=[*METHODS, CORRUPTED]
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--report", action="store_true", help="only print what is there")
    asked = parser.parse_args()
    sizes = [tuple(map(int, cell.split("x"))) for cell in asked.cells or ()]
    sizes = sizes or SIZES[asked.problem]
    work = Trials(asked.problem)
    listed = [
        {"rows": n, "features": d, "seed": asked.first + draw, "method": method}
        for draw in range(asked.draws)
        for n, d in sizes
        for method in asked.methods
    ]
    for cell in listed:
        if asked.problem == "inventory" and cell["method"] == "searched":
            cell["settings"] = str(INVENTORY)
    if not asked.report:
        wanted = [(work, cell) for cell in listed]
        compute(wanted, asked.out, Engine(jobs=asked.jobs), lambda *done: print(*done, flush=True))
    kept = Cells(asked.out, work.depends())
    found = [(cell, kept.get(cell)) for cell in listed]
    report(asked.problem, [(cell, result and result["value"]) for cell, result in found])


if __name__ == "__main__":
    main()
