"""XLA's two code generators for processors: compiling our programs, and running them.

    python -m benchmarks.compilation [--repeats 3]

Each trial is a fresh process without any cache, and both generators take turns. The first fit
compiles and runs; the second one only runs. What ``hedgerow.programs`` prefers comes out of this.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings

import numpy as np

import hedgerow as hr
from hedgerow import programs
from hedgerow_studies.trials.inventory_trial import InventoryDraw
from hedgerow_studies.trials.newsvendor_trial import NewsvendorDraw

DRAWS = {"newsvendor": NewsvendorDraw, "inventory": InventoryDraw}
OLDER, NEWER = "older", "newer"


def timed(generator: str) -> None:
    """Print the seconds of first and second fits and searches, by problem."""
    if generator == NEWER:
        programs.PREFERRED["xla_cpu_use_fusion_emitters"] = True
    found = {}
    for problem, kind in DRAWS.items():
        draw = kind(400, 10, 2000, test_rows=10)
        for what, make in (("fit", hr.RobustPolicy), ("search", hr.RobustPolicyCV)):
            for when in ("first", "second"):
                start = time.perf_counter()
                make(draw.loss, random_state=0).fit(draw.train.data, draw.train.target)
                found[f"{problem}, {when} {what}"] = time.perf_counter() - start
    print(json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--timed", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.timed:
        timed(asked.timed)
        return
    seconds = {OLDER: [], NEWER: []}
    for _ in range(asked.repeats):
        for generator, found in seconds.items():
            command = [sys.executable, "-m", "benchmarks.compilation", "--timed", generator]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found.append(json.loads(done.stdout.splitlines()[-1]))
    print("| 400 × 10 | older, s | newer, s | ratio |\n|---|---:|---:|---:|")
    for what in seconds[OLDER][0]:
        older, newer = (np.median([one[what] for one in seconds[g]]) for g in (OLDER, NEWER))
        print(f"| {what} | {older:.2f} | {newer:.2f} | {newer / older:.1f} |")


if __name__ == "__main__":
    main()
