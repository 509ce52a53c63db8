"""Many fits of different shapes in one process: memory maps and memory stay bounded.

    python -m benchmarks.shapes [fits]

An expanding window is refitted and decides: every fit has a row more than the one before, which
compiles nothing. Every twentieth is of another kind, of which there are 300 (numbers of features,
depths of trees), and compiles everything. Without letting programs go a process would die after
some 200 of those (docs/results/reliability.md). Training takes 5 steps: what it leaves behind does
not depend on how long it takes.
"""

import sys
import warnings
from time import perf_counter

import numpy as np

import hedgerow as hr
from hedgerow import programs

FITS = 5000
ALIKE = 20
FEATURES, DEPTHS = range(1, 61), range(1, 6)


def main(fits):
    """Print maps and memory on the way, and the most there ever were."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(fits + 30, FEATURES[-1]))
    y = 20 + 5 * X[:, 0] + rng.normal(size=len(X))
    kinds = [(features, depth) for features in FEATURES for depth in DEPTHS]
    most = [0, 0.0]
    begin = perf_counter()
    for i in range(fits):
        rows, (features, depth) = 30 + i, kinds[i // ALIKE % len(kinds)]
        policy = hr.RobustPolicy(
            hr.Newsvendor(1, 3),
            hr.ERM(),
            hr.SoftForest(trees=2, depth=depth),
            hr.EmpiricalNominal(),
            hr.NestedSGD(steps=5, batch=8),
        ).fit(X[:rows, :features], y[:rows])
        policy.predict(X[:rows, :features])
        most = [max(most[0], programs.memory_maps()), max(most[1], programs.memory() / 2**20)]
        if i % 250 == 249:
            print(
                f"{i + 1} fits, {perf_counter() - begin:.0f} s, "
                f"{programs.compilations().total()} compilations: {programs.memory_maps()} maps, "
                f"{programs.memory() / 2**20:.0f} MB; at most {most[0]} maps, {most[1]:.0f} MB",
                flush=True,
            )
    print(f"at most {most[0]} maps and {most[1]:.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else FITS)
