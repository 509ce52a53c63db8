"""What a first fit and a first value cost: without any cache, with one, and the second time.

    python -m benchmarks.cold_start [--repeats 3]

Newsvendor at 400 × 10, by the default nominal and by rows as they are, LightGBM's quantile
regression beside them. Every trial is a process of its own; medians of wall and of processor time.
Where others are at work on the machine, processor time is the one to read. Imports are counted
apart.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

ROWS, FEATURES = 400, 10
KINDS = ("default nominal", "rows as they are", "LightGBM quantile")


def timed(function):
    """Wall and processor time of a call."""
    wall, processor = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - wall, time.process_time() - processor


def trial(kind):
    """Measure in this process."""
    found = {}
    if kind == KINDS[2]:
        return lightgbm_trial()

    def load():
        import jax

        import hedgerow as hr

        hr.RobustPolicy  # noqa: B018
        jax.devices()

    found["import"] = timed(load)
    import hedgerow as hr
    from benchmarks.row_counts import history

    if os.environ.get("HEDGEROW_CACHE") != "off":
        hr.compilation_cache()
    X, y = history(ROWS, FEATURES)
    nominal = None if kind == KINDS[0] else hr.EmpiricalNominal()
    kept = {}

    def fit():
        kept["policy"] = hr.RobustPolicy(hr.Newsvendor(1, 3), nominal=nominal, random_state=0)
        kept["policy"].fit(X, y).predict(X)

    found["first fit"] = timed(fit)
    found["first value"] = timed(lambda: kept["policy"].robust_value_)
    found["second fit"] = timed(fit)
    found["second value"] = timed(lambda: kept["policy"].robust_value_)
    return found


def lightgbm_trial():
    """The same history, by boosting: no hedge, no value."""

    def load():
        import lightgbm  # noqa: F401

    found = {"import": timed(load)}
    import lightgbm

    from benchmarks.row_counts import history

    X, y = history(ROWS, FEATURES)

    def fit():
        model = lightgbm.LGBMRegressor(objective="quantile", alpha=0.75, verbose=-1, n_jobs=2)
        model.fit(X, y).predict(X)

    return found | {"first fit": timed(fit), "second fit": timed(fit)}


def run(kind, cache):
    """A trial in a process of its own; None where it cannot be run."""
    command = [sys.executable, "-m", "benchmarks.cold_start", "--trial", kind]
    environment = os.environ | {"HEDGEROW_CACHE": cache}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        return None
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--trial", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.trial:
        print(json.dumps(trial(asked.trial)))
        return
    whats = ("import", "first fit", "first value", "second fit", "second value")
    print(f"| {ROWS} × {FEATURES}, wall (processor) s | {' | '.join(whats)} |")
    print("|---|" + "---:|" * len(whats))
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            for words, cache in (("no cache", "off"), ("from the cache", folder)):
                if cache == folder and (kind == KINDS[2] or run(kind, folder) is None):
                    continue  # has none; or filled it just now
                several = [run(kind, cache) for _ in range(asked.repeats)]
                if None in several:
                    print(f"| {kind} | cannot be imported here |")
                    break
                cells = []
                for what in whats:
                    parts = [one[what] for one in several if what in one]
                    cells.append(
                        "{:.2f} ({:.2f})".format(*map(statistics.median, zip(*parts, strict=True)))
                        if parts
                        else ""
                    )
                print(f"| {kind}, {words} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
