"""Causal against plain hedging where every context has a distribution of outcomes.

    python -m benchmarks.causality [--sizes 200x10 400x10 ...] [--draws 5] [--figure FILE.png]

The paper's newsvendor; one ResidualNominal per draw, shared by all. CausalSinkhorn and Sinkhorn are
trained at the same penalties, epsilon 0.01, all scales "auto", with the default forest; nothing is
chosen. Seeds 0 and up. Printed are

- the excess over the oracle if nothing changes, at equal penalty;
- the excess at equal protection: of the cheapest causal hedge that loses no more in the worst world
  than the plain one at each penalty;
- each at its own best.

The figure is the frontier: what a hedge costs against what it saves in the worst of eight worlds.
"""

import argparse
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import hedgerow as hr
from hedgerow_studies.trials.contenders import AUTO, Built
from hedgerow_studies.trials.newsvendor_trial import AS_TRAINED, NewsvendorDraw

SIZES = ("200x10", "400x10", "400x20", "1000x20")
PENALTIES = (1.0, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
EPSILON = 0.01
KINDS = {"causal": hr.CausalSinkhorn, "plain": hr.Sinkhorn}


def curves(rows, features, seed):
    """Excess and worst-world loss: unhedged (2,), and by kind (penalties, 2)."""
    draw = NewsvendorDraw(rows, features, seed)
    X, y = draw.train.data, draw.train.target
    nominal = Built(hr.ResidualNominal().build(X, y[:, None], np.ones(rows)))

    def judged(model):
        policy = hr.RobustPolicy(draw.loss, model, nominal=nominal, random_state=seed)
        worlds = draw.judge(policy.fit(X, y).predict)
        worst = max(world["mean"] for world in worlds.values())
        return worlds[AS_TRAINED]["mean"] - draw.oracle(), worst

    found = {
        name: np.array([judged(kind(penalty, EPSILON, **AUTO)) for penalty in PENALTIES])
        for name, kind in KINDS.items()
    }
    return np.array(judged(hr.ERM())), found


def at_protection(curve, worst):
    """Least excess on a curve (penalties, 2) among points that lose no more in the worst world."""
    return curve[curve[:, 1] <= worst, 0].min(initial=np.inf)


def report(size, unhedged, found):
    """Tables of one size; arrays have a leading axis of draws."""
    gaps = found["plain"][..., 0] - found["causal"][..., 0]
    draws = len(gaps)
    means = {name: curve.mean(axis=0) for name, curve in found.items()}
    print(f"\n{size}, {draws} draws; unhedged: excess {unhedged[:, 0].mean():.4f}, worst world "
          f"{unhedged[:, 1].mean():.4f}\n")  # fmt: skip
    print("| penalty | causal: excess | worst world | plain: excess | worst world | "
          "plain less causal ± SE | causal, as protected |")  # fmt: skip
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for i, penalty in enumerate(PENALTIES):
        error = gaps[:, i].std(ddof=1) / np.sqrt(draws) if draws > 1 else np.nan
        equal = at_protection(means["causal"], means["plain"][i, 1])
        cells = [f"{value:.4f}" for name in KINDS for value in means[name][i]]
        shown = f"{equal:.4f}" if np.isfinite(equal) else "none"
        apart = f"{gaps[:, i].mean():+.4f} ± {error:.4f}"
        print(f"| {penalty:g} | {' | '.join(cells)} | {apart} | {shown} |")
    best = {name: curve[:, 0].min() for name, curve in means.items()}
    print(
        f"\nEach at its own best penalty: causal {best['causal']:.4f}, plain {best['plain']:.4f}."
    )


def draw_frontiers(results, path):
    """One panel per size."""
    figure, axes = plt.subplots(1, len(results), figsize=(3.6 * len(results), 3.6), squeeze=False)
    for axis, (size, (unhedged, found)) in zip(axes[0], results.items(), strict=True):
        for name, colour in (("causal", "#2f6f4f"), ("plain", "#b5651d")):
            curve = found[name].mean(axis=0)
            axis.plot(*curve.T, "o-", color=colour, label=f"{name} Sinkhorn", markersize=4)
            for penalty, point in zip(PENALTIES, curve, strict=True):
                if penalty in (1.0, 3.0, 10.0):
                    axis.annotate(f"{penalty:g}", point, textcoords="offset points",
                                  xytext=(5, 4), fontsize=8, color=colour)  # fmt: skip
        axis.plot(*unhedged.mean(axis=0), "k*", markersize=10, label="not hedged")
        rows, features = size.split("x")
        axis.set_title(f"{rows} rows, {features} features", fontsize=10)
        axis.set_xlabel("excess if nothing changes")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("loss in the worst world")
    axes[0, 0].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=list(SIZES))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {}
    for size in asked.sizes:
        rows, features = map(int, size.split("x"))
        several = [curves(rows, features, seed) for seed in range(asked.draws)]
        found = {name: np.stack([one[name] for _, one in several]) for name in KINDS}
        results[size] = np.stack([unhedged for unhedged, _ in several]), found
        report(size, *results[size])
    if asked.figure:
        draw_frontiers(results, asked.figure)


if __name__ == "__main__":
    main()
