"""Bad rows: what a few typos in the history do to decisions on clean data.

    python -m benchmarks.contamination

Two in a hundred outcomes, or all features of two in a hundred rows, are multiplied by 1000, and the
loss on clean data is divided by that of the same method trained on clean data. hedgerow with its
defaults, hedged and not, beside quantile gradient boosting (LightGBM where it is installed, else
scikit-learn's). Nothing is tuned. docs/results/reliability.md holds the table.
"""

import warnings

import numpy as np

import hedgerow as hr
from hedgerow.datasets import (
    expected_newsvendor_loss,
    load_restaurant,
    make_inventory,
    make_newsvendor,
    paper_inventory_costs,
)

SHARE, FACTOR = 0.02, 1000.0
DRAWS, TEST = 3, 20_000
HOLDING, STOCKOUT = 0.6, 1.0
SPOILS = ("clean", "outcomes", "contexts")


def spoilt(X, Y, what, seed=0):
    """The history with typos, as a copy."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(X), max(1, round(SHARE * len(X))), replace=False)
    X, Y = X.copy(), Y.copy()
    if what == "outcomes":
        Y[rows] *= FACTOR
    elif what == "contexts":
        X[rows] *= FACTOR
    return X, Y


def newsvendor(seed):
    """The paper's newsvendor at 400 × 10: history, loss, and the exact loss of decisions."""
    train = make_newsvendor(400, 10, random_state=seed)
    test = make_newsvendor(TEST, 10, beta=train.beta, random_state=seed + 100)

    def judge(decide):
        orders = decide(test.data).ravel()
        return expected_newsvendor_loss(orders, test.signal, HOLDING, STOCKOUT).mean()

    return train.data, train.target, hr.Newsvendor(HOLDING, STOCKOUT), [0.625], judge


def inventory(seed):
    """The paper's inventory at 400 × 5, costs as printed."""
    train = make_inventory(400, 5, random_state=seed)
    test = make_inventory(TEST, 5, beta=train.beta, random_state=seed + 100)
    costs = paper_inventory_costs()
    loss = hr.InventorySubstitution(costs.holding, costs.stockout, costs.substitution)
    levels = costs.stockout / (costs.holding + costs.stockout)
    return train.data, train.target, loss, levels, lambda decide: _mean(loss, decide, test)


def restaurant(seed):
    """Two dishes of the restaurant: the first three quarters are history."""
    data = load_restaurant(("steak", "koefte")[seed % 2])
    X, y = np.asarray(data.data, float), np.asarray(data.target, float).ravel()
    loss, cut = hr.Newsvendor(1.0, 3.0), 573

    def judge(decide):
        return float(np.mean(loss(decide(X[cut:]).ravel(), y[cut:])))

    return X[:cut], y[:cut], loss, [0.75], judge


def _mean(loss, decide, test):
    return float(np.mean(loss(decide(test.data), test.target)))


def boosting(levels):
    """Fit a quantile regression per outcome; returns what decides."""

    def fit(X, Y):
        Y = Y.reshape(len(X), -1)
        models = [_quantile(level).fit(X, y) for level, y in zip(levels, Y.T, strict=True)]
        return lambda new: np.maximum([model.predict(new) for model in models], 0.0).T

    return fit


def _quantile(level):
    try:
        from lightgbm import LGBMRegressor
    except ImportError:
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(loss="quantile", quantile=level, random_state=0)
    return LGBMRegressor(objective="quantile", alpha=level, random_state=0, verbose=-1)


def policy(loss, ambiguity):
    """Fit with hedgerow's defaults; returns what decides."""

    def fit(X, Y):
        return hr.RobustPolicy(loss, ambiguity, random_state=0).fit(X, Y).predict

    return fit


def losses(problem, seed, spoils=SPOILS, others=True):
    """{method: {spoil: loss on clean data}} of one draw."""
    X, Y, loss, levels, judge = problem(seed)
    methods = {"hedged": policy(loss, None), "not hedged": policy(loss, hr.ERM())}
    if others:
        methods["boosting"] = boosting(levels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            name: {what: judge(fit(*spoilt(X, Y, what, seed))) for what in spoils}
            for name, fit in methods.items()
        }


def main():
    """Print the table."""
    print("| problem | method | clean loss | outcomes × 1000 | contexts × 1000 |")
    print("|---|---|---:|---:|---:|")
    for problem in (newsvendor, inventory, restaurant):
        draws = [losses(problem, seed) for seed in range(2 if problem is restaurant else DRAWS)]
        for name in draws[0]:
            clean, *bad = (np.array([draw[name][what] for draw in draws]) for what in SPOILS)
            worst = " | ".join(f"{100 * (one / clean - 1).mean():+.1f} %" for one in bad)
            print(f"| {problem.__name__} | {name} | {clean.mean():.4g} | {worst} |", flush=True)


if __name__ == "__main__":
    main()
