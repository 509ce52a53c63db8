"""Censored demand: what a planner loses who takes sales of sold-out days for demand.

    python -m benchmarks.censoring

The paper's newsvendor at 400 × 10, of which a share of rows is cut off by stock: random levels that
know nothing of the context. The same policy is learned from demand in full, with ``censored=``,
from sales as if they were demand, and without the rows that sold out. The excess is that of the
exact expected loss over the best orders of all; docs/censoring.md holds the table.
"""

import sys
import warnings

import numpy as np
from scipy.optimize import brentq

import hedgerow as hr
from hedgerow.datasets import expected_newsvendor_loss, make_newsvendor, oracle_newsvendor_loss

ROWS, FEATURES, TEST = 400, 10, 20_000
SHARES, SEEDS = (0.2, 0.4, 0.6), range(2000, 2004)
LOSS = hr.Newsvendor(holding=0.6, stockout=1.0)
AUTO = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}
NOMINALS = {
    "EmpiricalNominal": hr.EmpiricalNominal(),
    "ResidualNominal": hr.ResidualNominal(),
}
WAYS = ("in full", "censored=", "ignored", "dropped")


def sold(demand, share, seed):
    """Sales, and where stock cut them off: so that about this share of rows is."""
    noise = np.random.default_rng(seed).lognormal(0.0, 0.5, len(demand))
    level = brentq(lambda level: np.mean(demand > level * noise) - share, 1e-3, 1e3, xtol=1e-3)
    return np.minimum(demand, level * noise), demand > level * noise


def excesses(seed, share, nominal, ambiguity=None, ways=WAYS):
    """{way: excess over the oracle} of one draw."""
    train = make_newsvendor(ROWS, FEATURES, random_state=seed)
    test = make_newsvendor(TEST, FEATURES, beta=train.beta, random_state=seed + 100)
    least = oracle_newsvendor_loss(test.signal, LOSS.holding, LOSS.stockout).mean()
    X, (sales, censored) = train.data, sold(train.target, share, seed)
    data = {
        "in full": (X, train.target),
        "censored=": (X, sales, None, censored),
        "ignored": (X, sales),
        "dropped": (X[~censored], sales[~censored]),
    }
    found = {}
    for way in ways:
        policy = hr.RobustPolicy(LOSS, ambiguity, nominal=nominal, random_state=0)
        orders = policy.fit(*data[way]).predict(test.data)
        loss = expected_newsvendor_loss(orders, test.signal, LOSS.holding, LOSS.stockout).mean()
        found[way] = loss - least
    return found


def main(names):
    """Print the table."""
    warnings.simplefilter("ignore")
    print(f"| nominal | censored | {' | '.join(WAYS)} |")
    print("|---|---:|" + "---:|" * len(WAYS))
    for name in names or NOMINALS:
        for share in SHARES:
            draws = [excesses(seed, share, NOMINALS[name]) for seed in SEEDS]
            means = [np.mean([draw[way] for draw in draws]) for way in WAYS]
            print(f"| {name} | {share:.0%} | {' | '.join(f'{m:.4f}' for m in means)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
