"""Single bakery series by nominal and penalty: on tuning stores, within the training period.

    python -m benchmarks.series_nominals [--first 0] [--every 7] [--data FOLDER]

Two half-years of every seventh tuning series, from ``first`` on, decided for from what was known
before each. Costs are relative to the same weekday's quantile, means over series and half-years.
Members of a stack are fitted once and shared by all nominals. √N is the root of the rows.
"""

import argparse
import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor

import hedgerow as hr
from benchmarks.real_series import REHEARSED
from benchmarks.real_series_report import cost
from hedgerow.forecasts.cross_fitted import CrossFitted
from hedgerow.forecasts.cross_fitting import Crossed, counted_rows, cross_fit, splits_of
from hedgerow_studies.trials import real_series
from hedgerow_studies.trials.contenders import AUTO, Built
from hedgerow_studies.trials.series_rivals import weekday_quantile

MEMBERS = {
    "forest": hr.ForestRegressor(),
    "index": hr.IndexRegressor(),
    "log-linear": hr.LogLinearRegressor(),
    "stumps": HistGradientBoostingRegressor(
        max_iter=150,
        learning_rate=0.06,
        max_leaf_nodes=2,
        min_samples_leaf=10,
        early_stopping=False,
    ),
    "extra trees": ExtraTreesRegressor(100, min_samples_leaf=3, max_features=0.5, random_state=0),
}
BEFORE, NOW = ("forest", "index"), ("forest", "index", "log-linear")
NOMINALS = {
    "rows as they are": None,
    "residuals, forest and index": (BEFORE, None),
    "residuals, with log-linear": (NOW, None),
    "the same, nearest quarter": (NOW, 4),
    "the same, nearest eighth": (NOW, 8),
    "residuals, with stumps": ((*NOW, "stumps"), None),
    "residuals, with extra trees": ((*NOW, "extra trees"), None),
}
"""Members of the stack, and of how many rows one gives its residual."""


class Known(CrossFitted):
    """A member that was fitted before."""

    crossed: Crossed

    def cross_fit(self, X, Y, weights, splits):
        return self.crossed

    def means(self, X):
        raise NotImplementedError


def models(rows):
    """What is hedged against."""
    penalties = {"10": 10.0, "√N": math.sqrt(rows), "3√N": 3 * math.sqrt(rows)}
    made = {name: hr.CausalSinkhorn(penalty, 0.01, **AUTO) for name, penalty in penalties.items()}
    return {"not hedged": hr.ERM(), **made}


def relative(panel):
    """Nominal, model and stock-out cost → cost relative to the weekday quantile's."""
    made = real_series.tables(panel, pooled=False)
    numbers, test = (part.to_numpy() for part in made.numbers)
    X, Y, weights = counted_rows(5, numbers, made.outcomes[:, None], np.ones(len(numbers)))
    splits, demand = splits_of(5, X), panel.test["demand"].to_numpy()
    fitted = {name: cross_fit(one, X, Y, weights, splits) for name, one in MEMBERS.items()}
    for label, parts in NOMINALS.items():
        nominal = hr.EmpiricalNominal()
        if parts is not None:
            members, share = parts
            stack = hr.StackedRegressor([Known(fitted[name]) for name in members])
            near = None if share is None else len(X) // share
            nominal = Built(hr.ResidualNominal(stack, neighbours=near).build(X, Y, weights))
        for name, model in models(len(X)).items():
            for stockout in (3.0, 9.0):
                policy = hr.RobustPolicy(
                    hr.Newsvendor(1.0, stockout), model, nominal=nominal, random_state=0
                )
                orders = np.maximum(np.ravel(policy.fit(X, Y[:, 0]).predict(test)), 0)
                usual = weekday_quantile(panel, stockout / (1 + stockout), True, 0).orders
                own, other = (cost(z, demand, stockout).mean() for z in (orders, usual))
                yield (label, name, stockout), own / other


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=real_series.DATA)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--every", type=int, default=7)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    whole, found, count = real_series.bakery(asked.data, tuning=True), {}, 0
    for series in whole.series[asked.first :: asked.every]:
        for begins in map(pd.Timestamp, REHEARSED):
            panel = whole.only([series]).rehearsal(begins, begins + pd.DateOffset(months=6))
            if panel.series:  # it had opened
                count += 1
                for key, value in relative(panel):
                    found.setdefault(key, []).append(value)
    columns = [(name, stockout) for stockout in (3.0, 9.0) for name in models(100)]
    print(f"{count} half-years\n")
    print("| | " + " | ".join(f"{name}, 1 : {stockout:g}" for name, stockout in columns) + " |")
    print("|---|" + "---:|" * len(columns))
    for label in NOMINALS:
        cells = [f"{np.mean(found[label, *column]):.3f}" for column in columns]
        print(f"| {label} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
