"""Cross-validation: how long a grid takes, and what choosing by it is worth out of sample.

    python -m benchmarks.search [--sizes 200x5 400x10 ...] [--draws 4] [--skip-speed]

Speed: 5 penalties × 5 epsilons × 5 folds on 400 rows of 10 features, in one program, against
scikit-learn's ``GridSearchCV`` with two processes training the same forests for as many steps, with
the same solver (one node a context) and as ``RobustPolicy`` comes (four).
Quality: mean losses of forests on the paper's newsvendor, averaged over the noise exactly, on draws
with seeds 2000 and up, which no table of results uses.
"""

import argparse
import math
import subprocess
import sys
import time
import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV

import hedgerow as hr
from benchmarks.quality import HOLDING, LOSS, STOCKOUT
from hedgerow.datasets import expected_newsvendor_loss, make_newsvendor

SIZES = ("200x5", "400x10", "1000x20", "200x50", "1000x50")
PENALTIES, EPSILONS = (3.0, 5.0, 10.0, 20.0, 50.0), (0.02, 0.05, 0.1, 0.2, 0.5)
AUTO = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}
ONE_NODE = hr.SCSC(nodes=1)
ROWS = hr.EmpiricalNominal()
OURS, WIDE = "RobustPolicyCV", "RobustPolicyCV() as it comes, residuals and rows"
SAME, PLAIN = "GridSearchCV, the same solver", "GridSearchCV(RobustPolicy())"
METHODS = {
    "default": lambda: hr.RobustPolicy(LOSS, random_state=0),
    "empirical risk, 500 steps": lambda: hr.RobustPolicy(
        LOSS, hr.ERM(), nominal=ROWS, random_state=0
    ),
    "empirical risk, steps chosen": lambda: hr.RobustPolicyCV(
        LOSS, penalties=(math.inf,), nominals=[ROWS], random_state=0
    ),
    "hedged, everything chosen": lambda: hr.RobustPolicyCV(
        LOSS, penalties=(2.0, 5.0, 10.0, 30.0), random_state=0
    ),
    "either, everything chosen": lambda: hr.RobustPolicyCV(LOSS, random_state=0),
    "either, of up to 1000 steps": lambda: hr.RobustPolicyCV(
        LOSS, solver=hr.SCSC(nodes=1, steps=1000), random_state=0
    ),
    "either, one standard error": lambda: hr.RobustPolicyCV(
        LOSS, selection="one-standard-error", random_state=0
    ),
}


def timed(kind: str) -> None:
    """Fit one search and print its seconds; in a process of its own, so that it compiles."""
    train = make_newsvendor(400, 10, random_state=2000)
    if kind == WIDE:
        search = hr.RobustPolicyCV(LOSS, refit=False, random_state=0)
    elif kind == OURS:
        search = hr.RobustPolicyCV(
            LOSS, None, PENALTIES, EPSILONS, nominals=[ROWS], refit=False, random_state=0
        )
    else:
        model = hr.CausalSinkhorn(10.0, 0.1, **AUTO)
        solver = ONE_NODE if kind == SAME else None
        policy = hr.RobustPolicy(LOSS, model, nominal=ROWS, solver=solver, random_state=0)
        grid = {"ambiguity__penalty": PENALTIES, "ambiguity__epsilon": EPSILONS}
        search = GridSearchCV(policy, grid, cv=5, n_jobs=2, refit=False)
    start = time.perf_counter()
    search.fit(train.data, train.target)
    print(time.perf_counter() - start)


def speed(repeats: int = 3) -> None:
    """Seconds in fresh processes, one kind after the other."""
    seconds = {kind: [] for kind in (OURS, SAME, PLAIN, WIDE)}
    for _ in range(repeats):
        for kind, found in seconds.items():
            command = [sys.executable, "-W", "ignore", "-m", "benchmarks.search", "--timed", kind]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found.append(float(done.stdout.split()[-1]))
    print("5 × 5 grid, 5 folds, 400 × 10, 500 steps, compilation included:")
    ours = np.median(seconds[OURS])
    for kind, found in seconds.items():
        print(f"  {kind}: {np.median(found):.1f} s, {np.median(found) / ours:.1f} ×")


def quality(sizes: list[str], draws: int) -> None:
    """Mean losses out of sample, one row per method."""
    print("| method | " + " | ".join(sizes) + " |\n|---|" + "---:|" * len(sizes))
    for name, make in METHODS.items():
        cells = []
        for size in sizes:
            rows, features = map(int, size.split("x"))
            losses = []
            for seed in range(2000, 2000 + draws):
                train = make_newsvendor(rows, features, random_state=seed)
                test = make_newsvendor(20_000, features, beta=train.beta, random_state=seed + 100)
                decided = make().fit(train.data, train.target).predict(test.data)
                losses.append(
                    expected_newsvendor_loss(decided, test.signal, HOLDING, STOCKOUT).mean()
                )
            cells.append(f"{np.mean(losses):.4f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=list(SIZES))
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--skip-speed", action="store_true")
    parser.add_argument("--timed", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.timed:
        timed(asked.timed)
        return
    if not asked.skip_speed:
        speed()
    quality(asked.sizes, asked.draws)


if __name__ == "__main__":
    main()
