"""Out-of-sample quality on the paper's newsvendor, with nothing tuned to the instances.

For several sizes, five draws of β and 10⁵ test contexts each; losses are averaged over the noise
exactly. Beside hedgerow's defaults: the same forest on the empirical risk (which is stopped at the
same number of steps), a deep forest trained long on it, the best fixed order, scikit-learn's
quantile gradient boosting, and the oracle.
"""

import warnings

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

import hedgerow as hr
from hedgerow.datasets import (
    expected_newsvendor_loss,
    make_newsvendor,
    oracle_newsvendor_decision,
)

HOLDING, STOCKOUT = 0.6, 1.0
SIZES = ((200, 5), (200, 20), (400, 10), (1000, 20), (4000, 10))
DRAWS, TEST = 5, 100_000
LOSS = hr.Newsvendor(HOLDING, STOCKOUT)
LEVEL = STOCKOUT / (STOCKOUT + HOLDING)


def candidates():
    """Name → an unfitted estimator."""
    long = hr.NestedSGD(steps=4000)
    return {
        "hedged": hr.RobustPolicy(LOSS, random_state=0),
        "hedged, 5 neighbours": hr.RobustPolicy(
            LOSS, nominal=hr.NeighbourNominal(5), random_state=0
        ),
        "ERM": hr.RobustPolicy(LOSS, hr.ERM(), random_state=0),
        "ERM, deep and long": hr.RobustPolicy(
            LOSS, hr.ERM(), hr.SoftForest(depth=5), solver=long, random_state=0
        ),
        "quantile boosting": GradientBoostingRegressor(
            loss="quantile", alpha=LEVEL, random_state=0
        ),
    }


def losses(rows, features, seed):
    """Out-of-sample loss of every candidate on one draw."""
    train = make_newsvendor(rows, features, random_state=seed)
    test = make_newsvendor(TEST, features, beta=train.beta, random_state=seed + 100)

    def score(decisions):
        return expected_newsvendor_loss(decisions, test.signal, HOLDING, STOCKOUT).mean()

    found = {
        name: score(candidate.fit(train.data, train.target).predict(test.data))
        for name, candidate in candidates().items()
    }
    found["best fixed order"] = score(np.full(TEST, np.quantile(train.target, LEVEL)))
    found["oracle"] = score(oracle_newsvendor_decision(test.signal, HOLDING, STOCKOUT))
    return found


def main():
    warnings.simplefilter("ignore", UserWarning)
    table = {}
    for size in SIZES:
        draws = [losses(*size, seed) for seed in range(DRAWS)]
        table[size] = {name: [draw[name] for draw in draws] for name in draws[0]}
    print(f"mean out-of-sample loss over {DRAWS} draws of β (standard error)\n")
    print(f"| {'N × d_x':<21} |" + "".join(f" {n} × {d} |" for n, d in SIZES))
    print("|---|" + "---|" * len(SIZES))
    for name in table[SIZES[0]]:
        cells = [
            f" {np.mean(v[name]):.3f} ({np.std(v[name], ddof=1) / np.sqrt(DRAWS):.3f}) |"
            for v in table.values()
        ]
        print(f"| {name:<21} |" + "".join(cells))


if __name__ == "__main__":
    main()
