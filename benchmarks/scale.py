"""Scale: a million rows cost per step what a thousand do.

Prints, for N = 10³ and N = 10⁶ rows × 20 features: milliseconds per step at one batch size and
their ratio, peak memory, seconds to predict, and how the time to group ties grows from N to 10·N.
Each N is measured in a process of its own, so that the peak memory is its own.
"""

import json
import resource
import subprocess
import sys

import numpy as np

import hedgerow as hr
from benchmarks.timing import per_step, seconds
from hedgerow.data.nominal import EmpiricalNominal

FEATURES = 20


def measure(rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, FEATURES))
    y = np.maximum(5 + X[:, 0] + np.sin(X[:, 1]) + rng.normal(size=rows), 0)
    loss, model = hr.Newsvendor(0.6, 1.0), hr.Sinkhorn(5.0, 0.1)
    fitted = {}

    def run(steps):
        solver = hr.SCSC(steps=steps, batch=64, nodes=4)
        fitted["policy"] = hr.RobustPolicy(
            loss, model, None, EmpiricalNominal(), solver, random_state=0
        ).fit(X, y)

    whole = seconds(lambda: run(500))
    step = per_step(run, 200, 2200, repeats=3)
    fitted["policy"].predict(X[:10])
    predict = seconds(lambda: fitted["policy"].predict(X), repeats=3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"step": 1e3 * step, "fit": whole, "predict": predict, "memory": peak}


def report(rows):
    print(json.dumps(measure(rows)))


def grouping(rows, ties):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, FEATURES))
    if ties:
        X = np.round(X[:, :1] * 3) + np.zeros((1, FEATURES))
    nominal = EmpiricalNominal()
    return seconds(lambda: nominal.build(X, X[:, :1], np.ones(rows)), repeats=3)


def main():
    results = {}
    for rows in (1_000, 1_000_000):
        code = f"from benchmarks import scale; scale.report({rows})"
        run = [sys.executable, "-c", code]
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        results[rows] = json.loads(done.stdout)
    print(f"{'rows':>10}{'ms a step':>12}{'first fit s':>13}{'predict s':>12}{'peak GB':>10}")
    for rows, r in results.items():
        print(
            f"{rows:>10,}{r['step']:>12.3f}{r['fit']:>13.1f}{r['predict']:>12.2f}{r['memory']:>10.2f}"
        )
    small, large = results.values()
    print(f"cost per step, 10^6 rows / 10^3 rows: {large['step'] / small['step']:.2f}")
    for ties in (False, True):
        few, many = grouping(100_000, ties), grouping(1_000_000, ties)
        kind = "many ties" if ties else "no ties"
        print(f"grouping 10^6 / 10^5 rows, {kind}: {many:.2f} s / {few:.3f} s = {many / few:.1f}")


if __name__ == "__main__":
    main()
