"""Fits on thirty different numbers of rows: what is compiled, and how long they take.

    python -m benchmarks.row_counts [--kind {defaults,erm}]

Every part runs in a process of its own: a cold first fit at 400 × 10, warm ones, thirty fits with
thirty numbers of rows from 300 to 3000, and what they compile (all that JAX compiles counts, the
small programs of single operations included). To compare versions, run it with either on
PYTHONPATH.
"""

import argparse
import json
import subprocess
import sys
import warnings
from time import perf_counter

import numpy as np

ROWS = np.linspace(300, 3000, 30).round().astype(int)
WARM = 7


def history(rows, features=10):
    """A newsvendor's history: one direction matters, and noise grows along it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features))
    noise = rng.gamma(2.0, 2.0, rows)
    return X, 20 + 5 * np.tanh(X[:, 0] - X[:, 1]) + noise * (1 + 0.3 * np.tanh(X[:, 2]))


def part(kind):
    """Measure in this process."""
    import jax

    compiled = []

    def listen(event, duration, **_):
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(duration)

    jax.monitoring.register_event_duration_secs_listener(listen)
    import hedgerow as hr

    warnings.simplefilter("ignore")
    given = {} if kind == "defaults" else {"ambiguity": hr.ERM(), "nominal": hr.EmpiricalNominal()}
    X, y = history(int(ROWS[-1]))

    def timed(rows, value=False):
        before, begin = len(compiled), perf_counter()
        policy = hr.RobustPolicy(hr.Newsvendor(1, 3), random_state=0, **given)
        policy.fit(X[:rows], y[:rows]).predict(X[:rows])
        fit, between = perf_counter() - begin, perf_counter()
        if value:
            policy.robust_value_  # noqa: B018
        return fit, perf_counter() - between, len(compiled) - before

    cold, cold_value, first = timed(400, value=True)
    warm = np.array([timed(400, value=True) for _ in range(WARM)])
    before, begin = len(compiled), perf_counter()
    training = _training_programs(hr)
    for rows in ROWS:
        timed(int(rows))
    found = {
        "cold fit, s": cold,
        "cold value, s": cold_value,
        "compiled for them": first,
        "warm fit, s": float(np.median(warm[:, 0])),
        "warm value, s": float(np.median(warm[:, 1])),
        "30 fits, s": perf_counter() - begin,
        "compiled for 30": len(compiled) - before,
        "training programs": _training_programs(hr) - training,
    }
    print(json.dumps(found))


def _training_programs(hr):
    """Compilations of the training program so far; NaN where the version does not count."""
    count = getattr(hr.programs, "compilations", None)
    return float("nan") if count is None else count()["hedgerow.solvers.loop.stretch"]


def main():
    """Print a table, one column per kind of fit."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--kind", choices=["defaults", "erm"], help="only these fits")
    arguments.add_argument("--here", action="store_true", help="measure one kind in this process")
    asked = arguments.parse_args()
    if asked.here:
        part(asked.kind)
        return
    kinds = [asked.kind] if asked.kind else ["defaults", "erm"]
    columns = []
    for kind in kinds:
        command = [sys.executable, "-m", "benchmarks.row_counts", "--here", "--kind", kind]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        columns.append(json.loads(done.stdout.splitlines()[-1]))
    print(f"{'':20}" + "".join(f"{kind:>12}" for kind in kinds))
    for name in columns[0]:
        print(f"{name:20}" + "".join(f"{column[name]:12.3g}" for column in columns))


if __name__ == "__main__":
    main()
