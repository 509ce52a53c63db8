"""Are promises kept? The paper's newsvendor, bakery months, and the price of a promise.

    python -m benchmarks.promises newsvendor [--histories 1000] [--rows 100 400] [--features 5 20]
    python -m benchmarks.promises bakery
    python -m benchmarks.promises curve
    python -m benchmarks.promises panel
    python -m benchmarks.promises report

Cells go to benchmarks/results/promises/*.json as they are done; whoever starts again goes on.
``report`` prints the tables of docs/results/promise.md from them.

newsvendor: for every history a policy is learned (the hedge and forest of ``RobustPolicy``, and the
empirical nominal, for speed), a promise made at 80, 90 and 95 %, and one further block drawn from
the same truth: did its mean cost keep to the promise? Held-out costs come of five folds over the
whole history ("folds") or of a second half that was not trained on ("given").
"""

import argparse
import json
import math
import warnings
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "results" / "promises"
LEVELS = (0.8, 0.9, 0.95)
BLOCKS = 20
"""Held-out blocks, so the horizon is a twentieth of the rows that are held out."""
TESTED = 2000
"""Further blocks of a history: the distribution of realised costs, given the policy."""
CHUNK = 10


def newsvendor(histories, rows, features):
    """Cells of CHUNK histories each."""
    for first in range(0, histories, CHUNK):
        for n in rows:
            for d in features:
                cell = FOLDER / f"newsvendor-{n}-{d}-{first}.json"
                if not cell.exists():
                    _write(cell, [one_history(n, d, seed) for seed in range(first, first + CHUNK)])
                    print(cell.name, flush=True)


def one_history(n, d, seed):
    """Promises of one history, and what came of them."""
    import hedgerow as hr

    warnings.simplefilter("ignore")
    loss = hr.Newsvendor(0.6, 1.0)
    drawn = hr.datasets.make_newsvendor(n, d, random_state=seed)
    found = {}
    for way in ("folds", "given"):
        learned, held = (slice(None), slice(None)) if way == "folds" else _halves(n)
        policy = hr.RobustPolicy(loss, nominal=hr.EmpiricalNominal(), random_state=seed).fit(
            drawn.data[learned], drawn.target[learned]
        )
        X, y = drawn.data[held], drawn.target[held]
        horizon = len(y) // BLOCKS
        labels = np.arange(len(y)) // horizon
        costs = held_out(policy, X, y, labels, way)
        fresh = hr.datasets.make_newsvendor(
            TESTED * horizon, d, beta=drawn.beta, random_state=10**6 + seed
        )
        realised = policy.losses(fresh.data, fresh.target).reshape(-1, horizon).mean(axis=1)
        found[way] = {
            "horizon": horizon,
            "promises": promises(costs, horizon),
            "realised": float(realised[0]),
            "mean": float(realised.mean()),
            "quantiles": {str(q): float(np.quantile(realised, q)) for q in LEVELS},
            "kept_share": {
                method: {q: float(np.mean(realised <= p)) for q, p in by.items()}
                for method, by in promises(costs, horizon).items()
            },
        }
    return found


def held_out(policy, X, y, labels, way):
    """Costs of rows that were not seen."""
    from hedgerow.certify.held_out import held_out_costs

    return held_out_costs(policy, X, y, labels, way, 5)


def promises(costs, horizon, levels=LEVELS):
    """Promises of all methods at all levels."""
    from hedgerow.certify import conformal

    ordered = np.sort(costs.excess)
    found = {"blocks": {}, "bootstrap": {}, "concentration": {}}
    for level in levels:
        place = conformal.rank(len(ordered), level)
        bounds = {
            "blocks": ordered[place - 1] if place <= len(ordered) else math.inf,
            "bootstrap": conformal.bootstrap(costs.rows, level, horizon, 0),
            "concentration": conformal.concentration(costs.rows, level, horizon),
        }
        for method, bound in bounds.items():
            found[method][str(level)] = float(costs.nominal + bound)
    return found


def _halves(n):
    return slice(0, n // 2), slice(n // 2, n)


def _write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    temporary.write_text(json.dumps(content))
    temporary.rename(path)


def report_newsvendor():
    """Shares kept with their two standard errors, and how far promises are above what happens."""
    cells = {}
    for path in sorted(FOLDER.glob("newsvendor-*.json")):
        n, d = map(int, path.stem.split("-")[1:3])
        cells.setdefault((n, d), []).extend(json.loads(path.read_text()))
    for (n, d), found in sorted(cells.items()):
        for way in ("folds", "given"):
            horizon = found[0][way]["horizon"]
            quantile = np.mean([one[way]["quantiles"]["0.9"] for one in found])
            pooled = np.quantile([one[way]["realised"] for one in found], 0.9)
            for method in ("blocks", "bootstrap", "concentration"):
                words = []
                for level in LEVELS:
                    promised = np.array([one[way]["promises"][method][str(level)] for one in found])
                    realised = np.array([one[way]["realised"] for one in found])
                    kept = np.mean(realised <= promised)
                    floor = level - 2 * math.sqrt(level * (1 - level) / len(found))
                    mark = "" if kept >= floor else " (missed)"
                    expected = np.mean(
                        [one[way]["kept_share"][method][str(level)] for one in found]
                    )
                    words.append(f"{100 * kept:.1f} / {100 * expected:.1f}{mark}")
                at90 = np.mean([one[way]["promises"][method]["0.9"] for one in found])
                print(
                    f"| {n} | {d} | {way} | {horizon} | {method} | {len(found)} | "
                    + " | ".join(words)
                    + f" | {at90:.3f} | {quantile:.3f} | {pooled:.3f} | {at90 / pooled - 1:+.1%} |"
                )


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("newsvendor", "bakery", "curve", "panel", "report"))
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 400])
    parser.add_argument("--features", type=int, nargs="+", default=[5, 20])
    asked = parser.parse_args()
    if asked.part == "newsvendor":
        newsvendor(asked.histories, asked.rows, asked.features)
    elif asked.part == "bakery":
        from benchmarks.promised_months import bakery

        bakery(FOLDER)
    elif asked.part == "curve":
        from benchmarks.promised_curve import curve

        curve(FOLDER)
    elif asked.part == "panel":
        from benchmarks.promised_weeks import weeks

        weeks()
    else:
        from benchmarks.promised_curve import report_curve
        from benchmarks.promised_months import report

        report_newsvendor()
        report(FOLDER)
        report_curve(FOLDER)


if __name__ == "__main__":
    main()
