"""Every dish of the restaurant, split by time, against what a practitioner would use.

    python -m benchmarks.restaurant [--dishes steak ...]

The first 75 % of the days train, the rest test (192 days); holding 1, stock-out 3; weekday,
holidays and weather as features. Everybody's settings are chosen on five folds of the training days; hedgerow's
are penalty, epsilon, nominal, rule and steps, once more on folds in the order of time. Prints mean
costs a day, and the difference to hedgerow with its standard error over the test days.
"""

import argparse
import math
import warnings

import numpy as np
from sklearn.model_selection import TimeSeriesSplit

import hedgerow as hr
from hedgerow.datasets import load_restaurant
from hedgerow_studies.trials import contenders
from hedgerow_studies.trials.real_series import LEFT_OUT, TRAINING_SHARE

DISHES = ("calamari", "fish", "shrimp", "chicken", "koefte", "lamb", "steak")
SEARCH = {
    "penalties": (3.0, 10.0, 30.0, 100.0, math.inf),
    "epsilons": (0.03, 0.1, 0.3),
    "nominals": [hr.EmpiricalNominal(), hr.NeighbourNominal(10)],
    "rules": [hr.SoftForest(), hr.SoftForest(depth=4, gates="random")],
}
IN_TIME = "hedgerow, folds in time"
FIXED = "best fixed order"


def costs(dish: str) -> tuple[dict[str, np.ndarray], dict]:
    """Cost of every test day by method, and what was chosen for hedgerow."""
    data = load_restaurant(dish, as_frame=True)
    X = data.data.loc[:, ~data.data.columns.str.startswith(LEFT_OUT)].to_numpy(float)
    y = data.target.to_numpy(float)
    days = int(TRAINING_SHARE * len(y))
    loss = hr.Newsvendor(holding=1.0, stockout=3.0)
    fitted = contenders.searched(loss, X[:days], y[:days], 0, **SEARCH)
    in_time = hr.RobustPolicyCV(loss, **SEARCH, cv=TimeSeriesSplit(5), random_state=0)
    fitted[IN_TIME] = in_time.fit(X[:days], y[:days])
    for fit in (contenders.default, *contenders.BASELINES.values()):
        fitted |= fit(loss, X[:days], y[:days], 0)
    decided = {name: estimator.predict(X[days:]) for name, estimator in fitted.items()}
    level = contenders.critical_levels(loss)
    decided[FIXED] = np.full(len(y) - days, np.quantile(y[:days], level, method="inverted_cdf"))
    policy = fitted[contenders.CHOSEN]
    chosen = policy.ambiguity, policy.nominal, policy.rule, len(policy.history_)
    return {
        name: np.asarray(loss(np.maximum(z, 0), y[days:])) for name, z in decided.items()
    }, chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dishes", nargs="+", default=list(DISHES), choices=DISHES)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {}
    for dish in asked.dishes:
        found[dish], chosen = costs(dish)
        print(dish, *chosen, flush=True)
    names = list(found[asked.dishes[0]])
    print("\n| method | " + " | ".join(asked.dishes) + " | mean |")
    print("|---|" + "---:|" * (len(asked.dishes) + 1))
    for name in names:
        means = [found[dish][name].mean() for dish in asked.dishes]
        print(f"| {name} | " + " | ".join(f"{m:.2f}" for m in (*means, np.mean(means))) + " |")
    print(
        f"\nDifference to {contenders.CHOSEN!r}, mean over dishes and days, with standard error\n"
    )
    for name in names:
        gap = np.mean([found[d][name] - found[d][contenders.CHOSEN] for d in asked.dishes], axis=0)
        print(f"| {name} | {gap.mean():+.3f} ± {gap.std(ddof=1) / math.sqrt(len(gap)):.3f} |")


if __name__ == "__main__":
    main()
