"""Which settings the default solver should have: one changed at a time, on every problem.

    python -m benchmarks.solver_defaults [--out FOLDER] [--seeds 3] [--only TEXT]

Excess over the minimum of F, median over seeds, for the problems of ``benchmarks.solver_truth``
that have logarithms to track; the folder's minima are shared with ``benchmarks.solvers``.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import optax
import pandas as pd

import hedgerow as hr
from benchmarks.solver_truth import cases

PLAIN_ADAM = optax.scale_by_adam()
VARIANTS = {
    "default": {},
    "every field at one pace": {"optimizer": PLAIN_ADAM},
    "100 steps": {"steps": 100},
    "1000 steps": {"steps": 1000},
    "2000 steps": {"steps": 2000},
    "rate 0.01": {"learning_rate": 0.01},
    "rate 0.04": {"learning_rate": 0.04},
    "averaging 0.25": {"averaging": 0.25},
    "constant rate, averaging 0.5": {"decay": "constant", "averaging": 0.5},
    "tracking 0.05": {"tracking": 0.05},
    "tracking 0.8": {"tracking": 0.8},
    "1 node": {"nodes": 1},
    "16 nodes": {"nodes": 16},
    "16 contexts, 16 nodes": {"batch": 16, "nodes": 16},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("solver-results"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="problems and rules whose name contains this")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    rows = []
    for case in cases():
        if not case.model.compositional or asked.only not in f"{case.name}, {case.rule}":
            continue
        mine = []
        for name, settings in VARIANTS.items():
            solver = hr.SCSC(**settings)
            case.policy(solver).fit(case.X, case.Y)  # compiles
            for seed in range(asked.seeds):
                start = time.perf_counter()
                policy = case.policy(solver, seed).fit(case.X, case.Y)
                seconds = time.perf_counter() - start
                mine.append((case.name, case.rule, name, case.value(policy.rule_)[0], seconds))
        least = case.minimum(asked.out / "minima.json")
        rows += [(*row, 100 * (row[3] / least - 1)) for row in mine]
        columns = ["problem", "rule", "variant", "F", "seconds", "excess"]
        found = pd.DataFrame(rows, columns=columns)
        found.to_csv(asked.out / "defaults.csv", index=False)
        print(f"{case.name}, {case.rule}: done", flush=True)
    table = found.pivot_table(
        index="variant", columns=["problem", "rule"], values="excess", aggfunc="median", sort=False
    )
    seconds = found.groupby("variant")["seconds"].median()
    print("\n| settings | " + " | ".join(f"{p}, {r}" for p, r in table.columns), end="")
    print(" | worst | seconds |\n|---|" + "---:|" * (len(table.columns) + 2))
    for name, row in table.iterrows():
        cells = " | ".join(f"{value:.3f}" for value in row)
        print(f"| {name} | {cells} | {np.max(row):.3f} | {seconds[name]:.2f} |")


if __name__ == "__main__":
    main()
