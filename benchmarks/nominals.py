"""What a distribution in every context rests on and brings: means, residuals, hedges.

    python -m benchmarks.nominals [--sizes 200x5 400x10 ...] [--draws 2]
    python -m benchmarks.nominals --problem inventory --sizes 200x5 400x10 800x20

The paper's newsvendor, or means and policies for its inventory; seeds 2000 and up, which no table
of results uses.

means      squared error of regressors against the true conditional mean, in variances of that mean
residuals  excess over the oracle's loss of an unhedged forest, by whether the means at training
           contexts are those of the model of all rows, or of a model that has not seen the row
hedges     excess, and loss in the worst of eight worlds, of the default forest by nominal and model
policies   excess for the inventory of the default policy by rule and by what predicts its means
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold

import hedgerow as hr
from hedgerow.forecasts import residual
from hedgerow.forecasts.cross_fitting import Crossed, splits_of
from hedgerow_studies.trials.contenders import AUTO, Built
from hedgerow_studies.trials.inventory_trial import InventoryDraw
from hedgerow_studies.trials.newsvendor_trial import AS_TRAINED, NewsvendorDraw

SIZES = ("50x5", "100x10", "200x5", "200x50", "400x10", "400x50", "1000x20")
REGRESSORS = {
    "forest": hr.ForestRegressor,
    "index": hr.IndexRegressor,
    "log-linear": hr.LogLinearRegressor,
    "stacked": hr.StackedRegressor,
    "boosting": HistGradientBoostingRegressor,
}
TOGETHER = {
    "forest": hr.ForestRegressor,
    "forest, temperature 4": partial(hr.ForestRegressor, hr.SoftForest(temperature=4)),
    "index of each": hr.IndexRegressor,
    "index, shared": partial(hr.IndexRegressor, shared=True),
    "log-linear, each": hr.LogLinearRegressor,
    "log-linear, shared": partial(hr.LogLinearRegressor, shared=True),
    "stacked": hr.StackedRegressor,
    "stacked, as before": partial(hr.StackedRegressor, [hr.ForestRegressor(), hr.IndexRegressor()]),
}
"""Of several outcomes."""
MODELS = {
    "not hedged": hr.ERM(),
    **{
        f"penalty {penalty:g}, epsilon {epsilon:g}": hr.CausalSinkhorn(penalty, epsilon, **AUTO)
        for penalty, epsilon in ((30, 0.01), (10, 0.01), (10, 0.1), (3, 0.01))
    },
    "default": None,
}


def means(draw):
    """Relative squared error of each regressor."""
    truth = draw.test.conditional_mean
    for name, kind in (REGRESSORS if truth.ndim == 1 else TOGETHER).items():
        found = kind().fit(draw.train.data, draw.train.target).predict(draw.test.data)
        yield name, np.mean(np.mean((found - truth) ** 2, axis=0) / truth.var(axis=0))


def residuals(draw):
    """Excess by where the means at training contexts come from."""
    X, Y = draw.train.data, draw.train.target[:, None]
    fit = residual.cross_fit
    found = fit(hr.StackedRegressor(), X, Y, np.ones(len(X)), splits_of(5, X))
    sources = {
        "means of all rows": found,
        "means of other rows": Crossed(found.held_out, found.held_out),
    }
    try:
        for name, crossed in sources.items():
            residual.cross_fit = lambda *_, crossed=crossed: crossed
            nominal = hr.ResidualNominal(scale="constant", folds=KFold(5))  # rows in this order
            yield name, judged(draw, hr.ERM(), Built(nominal.build(X, Y, np.ones(len(X)))))[0]
    finally:
        residual.cross_fit = fit


def hedges(draw):
    """Excess and worst loss by nominal and model."""
    X, Y = draw.train.data, draw.train.target[:, None]
    for label, nominal in (("rows", hr.EmpiricalNominal()), ("residuals", hr.ResidualNominal())):
        built = Built(nominal.build(X, Y, np.ones(len(X))))
        for name, model in MODELS.items():
            excess, worst = judged(draw, model, built)
            yield f"{label}, {name}", excess
            yield f"{label}, {name}: worst world", worst


def policies(draw):
    """Excess for the inventory, hedged as by default unless said otherwise."""
    X, Y = draw.train.data, draw.train.target
    changes = {
        "default": {},
        "means stacked as before": {
            "nominal": hr.ResidualNominal(TOGETHER["stacked, as before"]())
        },
        "not hedged": {"ambiguity": hr.ERM()},
        "temperature 4": {"rule": hr.SoftForest(temperature=4)},
        "rows as they are": {"nominal": hr.EmpiricalNominal()},
    }
    for name, parts in changes.items():
        policy = hr.RobustPolicy(draw.loss, **parts, random_state=0).fit(X, Y)
        yield name, draw.mean_loss(policy.predict) - draw.oracle()


PROBLEMS = {
    "newsvendor": (NewsvendorDraw, 20_000, (means, residuals, hedges)),
    "inventory": (InventoryDraw, 4_000, (means, policies)),
}


def judged(draw, model, nominal):
    """Excess over the oracle and loss in the worst world, of the default forest."""
    policy = hr.RobustPolicy(draw.loss, model, nominal=nominal, random_state=0)
    worlds = draw.judge(policy.fit(draw.train.data, draw.train.target).predict)
    return worlds[AS_TRAINED]["mean"] - draw.oracle(), max(w["mean"] for w in worlds.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=list(SIZES))
    parser.add_argument("--problem", choices=PROBLEMS, default="newsvendor")
    parser.add_argument("--kinds", nargs="+", help="means, residuals, ...; default: all there are")
    parser.add_argument("--draws", type=int, default=2)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    problem, tests, kinds = PROBLEMS[asked.problem]
    for kind in kinds:
        if asked.kinds and kind.__name__ not in asked.kinds:
            continue
        found, begun = {}, time.perf_counter()
        for size in asked.sizes:
            rows, features = map(int, size.split("x"))
            for seed in range(2000, 2000 + asked.draws):
                draw = problem(rows, features, seed, test_rows=tests)
                for name, value in kind(draw):
                    found.setdefault(name, {}).setdefault(size, []).append(value)
        print(f"\n| {kind.__name__} | " + " | ".join(asked.sizes) + " |")
        print("|---|" + "---:|" * len(asked.sizes))
        for name, cells in found.items():
            print(f"| {name} | " + " | ".join(f"{np.mean(v):.4f}" for v in cells.values()) + " |")
        print(f"\n({asked.draws} draws a size, {time.perf_counter() - begun:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
