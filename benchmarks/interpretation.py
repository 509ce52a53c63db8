"""Do a tree's own explanations agree with the usual ones? The paper's Figures 10 to 12, many times.

    python -m benchmarks.interpretation
    python -m benchmarks.interpretation --returns FILE --covariates FILE [--images docs/images]

The first measures speed only: what the features of a default forest count over 10,000 rows of 20
features, and the attribution of one decision against 1000 rows, beside SHAP.

The second also trains one soft tree of depth 3 (eight leaves) on mean–variance with ω = 5, on the
500 trading days before every second month of 2021 and 2022, with three seeds, as the backtest does
(docs/portfolio.md): by empirical risk (CMV, 4000 steps, and stopped after 300) and hedged
(2-Causal-SDRO). For every tree:

1. How many of the eight routes carry 99 % of an input's probability.
2. C̄, the shares of ``explain.importance``, against permutation importance: of the loss (20 shuffles
   of each feature over the window), and of the decision, E‖f(x) − f(x with j shuffled)‖₁. To see
   where loss and decision part, also of the loss without the tenth of days with the highest VIX.
3. Integrated gradients (EIG) against exact SHAP values, for the day of the decision and four days
   spread over the window, both against all 500 days: for the weights over all pairs of asset and
   feature, and for Σ_k of all decisions, which the paper draws. Weights sum to 1, so that this sum
   explains the level z₀ and nothing else.

Correlations are Pearson's. ``--temperature`` repeats it with softer or crisper gates; ``--images``
draws the first month's hedged tree of seed 0, whatever its numbers are.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import hedgerow as hr
from benchmarks.timing import seconds
from hedgerow import explain
from hedgerow.plots.style import style
from hedgerow_studies.paper import market_study
from hedgerow_studies.paper.market_study import Files
from hedgerow_studies.paper.pages.tree_pages import attribution, importance, routes
from hedgerow_studies.paper.tree_studies import (
    MASS,
    SHUFFLES,
    TreeAttribution,
    decision_change,
    hedged_tree,
    shap_values,
    soft_tree,
)
from hedgerow_studies.portfolio import Horizon, Market, Window
from hedgerow_studies.portfolio.selection import AS_TUNED, LONG

STEPS = {"CMV": LONG, "CMV-300": 300}
METHODS = (*STEPS, "2-Causal-SDRO")
MONTHS, EVERY = ("2021-01", "2022-12"), 2
SEEDS, DAYS, CALM = 3, 4, 0.9
DPI = 120
EXACT = 1e-5
"""Error of the integrals, relative to the decisions: far below any gap between EIG and SHAP."""


def trained(method: str, window: Window, names: tuple, seed: int, temperature: float):
    """One soft tree, trained as the backtest trains its forests."""
    if method not in STEPS:
        return hedged_tree(window, names, seed, temperature)
    solver = hr.NestedSGD(steps=STEPS[method], batch=64, **AS_TUNED)
    return soft_tree(window, names, hr.ERM(), None, solver, seed, temperature)


def attributions(policy: hr.RobustPolicy, window: Window) -> tuple[np.ndarray, np.ndarray]:
    """EIG and exact SHAP values (days, decisions, features), of the decision and of days before."""
    X = window.contexts
    days = np.vstack([window.today, X[np.linspace(0, len(X) - 1, DAYS).astype(int)]])
    gradients = [explain.attribute(policy, day, X, tolerance=EXACT).values for day in days]
    return np.array(gradients), shap_values(policy, days, X)


def measured(policy: hr.RobustPolicy, window: Window) -> dict[str, np.ndarray]:
    """Everything that is reported of one tree."""
    X = pd.DataFrame(window.contexts, columns=list(policy.feature_names_in_))
    Y, routes = window.outcomes, explain.routes(policy, X)
    calm = (X["VIX"] <= X["VIX"].quantile(CALM)).to_numpy()
    shuffled = explain.permutation_importance(policy, X, Y, n_repeats=SHUFFLES)
    gradients, shap = attributions(policy, window)
    return {
        "routes": routes.needed(MASS)[:, 0],
        "first route": routes.probabilities[:, 0].max(axis=1),
        "own": explain.importance(policy, X).values,
        "own, calm": explain.importance(policy, X[calm]).values,
        "loss": shuffled.values,
        "loss, error": shuffled.errors / shuffled.scores.clip(0).sum(),
        "loss, calm": explain.permutation_importance(
            policy, X[calm], Y[calm], n_repeats=SHUFFLES
        ).values,
        "change": decision_change(policy, X).values,
        "weights": np.array([gradients[:, 1:], shap[:, 1:]]),
        "sum": np.array([gradients.sum(axis=1), shap.sum(axis=1)]),
    }


def spread(values: list[float] | np.ndarray) -> str:
    """Median, quartiles and range."""
    low, first, middle, third, high = np.nanquantile(values, [0, 0.25, 0.5, 0.75, 1])
    return f"{middle:6.3f}   [{first:6.3f}, {third:6.3f}]   ({low:6.3f} to {high:6.3f})"


def report(method: str, temperature: float, trees: list[dict[str, np.ndarray]]) -> None:
    """Print medians, quartiles and ranges over trees."""

    def line(name: str, values: list[float] | np.ndarray) -> None:
        print(f"  {name:46} {spread(values)}")

    print(
        f"\n{method}, temperature {temperature:g}, {len(trees)} trees: median [quartiles] (range)"
    )
    needed = np.concatenate([one["routes"] for one in trees])
    line("routes for 99 % of an input", needed)
    line("probability of its first route", np.concatenate([one["first route"] for one in trees]))
    print(f"  {'inputs with at most two routes':46} {np.mean(needed <= 2):6.1%}")
    for first, second in (
        ("own", "loss"),
        ("own", "change"),
        ("change", "loss"),
        ("own, calm", "loss, calm"),
    ):
        found = [explain.correlation(one[first], one[second]) for one in trees]
        line(f"correlation: {first} – {second}", found)
    line("largest less smallest share of C", [np.ptp(one["own"]) for one in trees])
    line("errors of the loss' shares", np.concatenate([one["loss, error"] for one in trees]))
    for key in ("own", "change", "loss", "loss, calm"):
        shares = np.mean([one[key] for one in trees], axis=0)
        print(f"  {f'mean shares, {key}':46} {'  '.join(f'{share:.3f}' for share in shares)}")
    for key in ("weights", "sum"):
        days = [explain.correlation(*pair) for one in trees for pair in one[key].swapaxes(0, 1)]
        line(f"EIG – SHAP, {key}, day by day", days)
        line(f"EIG – SHAP, {key}, a tree's days", [explain.correlation(*one[key]) for one in trees])
    constant = max(np.abs(one["weights"].sum(axis=2)).max() for one in trees)
    print(f"  sum over the weights of EIG or SHAP: at most {constant:.0e}", flush=True)


def study(market: Market, methods: list[str], temperatures: list[float]) -> None:
    """Train and measure all trees."""
    windows = Horizon(*MONTHS).windows(market)[::EVERY]
    for temperature in temperatures:
        for method in methods:
            trees = [
                measured(trained(method, window, market.features, seed, temperature), window)
                for seed in range(SEEDS)
                for window in windows
            ]
            report(method, temperature, trees)


def draw(files: Files, folder: Path) -> None:
    """The three figures, for the first month's hedged tree of seed 0."""
    tree = TreeAttribution("fig12", files)
    table = pd.DataFrame([row for cell in tree.cells("full") for row in tree.run(cell)])
    for name, page in (("tree", routes), ("importance", importance), ("attribution", attribution)):
        with style():
            page(table, name).figures[name].savefig(folder / f"{name}.png", dpi=DPI)


def speed() -> None:
    """Times of a default forest's explanations, warm."""
    draws = np.random.default_rng(0)
    X = draws.normal(size=(10_000, 20))
    Y = 10 + X[:, 0] - X[:, 1] + draws.normal(size=10_000)
    solver = hr.NestedSGD(steps=500)
    policy = hr.RobustPolicy(hr.Newsvendor(1.0, 2.0), hr.ERM(), solver=solver, random_state=0)
    policy.fit(X[:1000], Y[:1000])
    background = X[:1000]
    tasks = {
        "importance, 10,000 rows x 20 features": lambda: explain.importance(policy, X),
        "EIG of one row against 1000": lambda: explain.attribute(policy, X[-1], background),
        "SHAP of the same row, by permutations": lambda: shap_values(policy, X[-1:], background),
    }
    times = {}
    print("A default forest, medians of 7 runs after a first one")
    for name, task in tasks.items():
        task()
        times[name] = seconds(task, 7)
        print(f"  {name:40} {times[name]:8.3f} s", flush=True)
    _, gradients, shap = times.values()
    print(f"  EIG takes {gradients / shap:.2f} of SHAP's time")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--returns", help="daily returns, one column per asset")
    parser.add_argument("--covariates", help="closing levels, one column per covariate")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--temperature", type=float, nargs="+", default=[1.0])
    parser.add_argument("--images", type=Path, help="folder for the figures")
    given = parser.parse_args()
    if (given.returns is None) != (given.covariates is None):
        parser.error("--returns and --covariates go together")
    warnings.simplefilter("ignore")  # contexts that occur once are what is studied here
    speed()
    if given.returns is None:
        print("The study of portfolios needs --returns FILE and --covariates FILE; left out.")
    else:
        files = Files(given.returns, given.covariates)
        if given.images:
            draw(files, given.images)
        study(market_study.market(files), given.methods, given.temperature)
