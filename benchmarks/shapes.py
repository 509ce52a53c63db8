"""Many fits of different shapes in one process: memory maps and memory stay bounded.

    python -m benchmarks.shapes [fits]

An expanding window is refitted and decides; every fit has a row more than the one before. Without
letting programs go, a process dies after some 200 of them (docs/results/reliability.md).
"""

import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np

import hedgerow as hr
from hedgerow import programs

FITS = 5000


def megabytes():
    """Resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


def main(fits):
    """Print maps and memory on the way, and the most there ever were."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(fits + 30, 2))
    y = 20 + 5 * X[:, 0] + rng.normal(size=len(X))
    most = [0, 0.0]
    begin = perf_counter()
    for i in range(fits):
        rows = 30 + i
        policy = hr.RobustPolicy(
            hr.Newsvendor(1, 3),
            hr.ERM(),
            hr.Affine(),
            hr.EmpiricalNominal(),
            hr.NestedSGD(steps=5, batch=8),
        ).fit(X[:rows], y[:rows])
        policy.predict(X[:rows])
        if i % 20 == 19:
            most = [max(most[0], programs.memory_maps()), max(most[1], megabytes())]
        if i % 100 == 99:
            print(
                f"{i + 1} fits, {perf_counter() - begin:.0f} s: {programs.memory_maps()} maps, "
                f"{megabytes():.0f} MB; at most {most[0]} maps, {most[1]:.0f} MB",
                flush=True,
            )
    print(f"at most {most[0]} maps and {most[1]:.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else FITS)
