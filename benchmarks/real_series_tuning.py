"""How training should grow with rows: forests, steps and batches on the bakery's tuning stores.

    python -m benchmarks.real_series_tuning [--stores 1 4 14] [--rows "20 × 2, 32 passes" ...]

Everything happens before 2018-05-01: two half-years, from 2017-05-01 and 2017-11-01 on, are decided
for from what was known before each. Costs are relative to the same weekday's quantile, means over
series and half-years. Of 1 and 4 stores several groups are taken. Prints one line per row.
"""

import argparse
import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import hedgerow as hr
from benchmarks.real_series import REHEARSED
from benchmarks.real_series_report import cost
from hedgerow_studies.trials import real_series
from hedgerow_studies.trials.series_policies import AUTO, grown_training
from hedgerow_studies.trials.series_rivals import weekday_quantile

GROUPS = {1: [[1], [5], [9], [12]], 4: [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]}
"""Places of stores among those for tuning; all of them are one group."""


def plain(trees: int, depth: int, steps: int, batch: int, temperature: float = 1.0):
    """Empirical risk with a fixed training."""
    rule = hr.SoftForest(trees=trees, depth=depth, temperature=temperature)
    return lambda rows: (rule, hr.ERM(), hr.NestedSGD(steps=steps, batch=batch, nodes=1))


def grown(trees: int = 20, penalty: float = math.inf, epsilon: float = 0.1, fading: bool = True):
    """About 32 passes over the rows; hedged the less, the more there are, if at all."""

    def parts(rows: int):
        trust = math.sqrt(max(rows, 1000) / 1000) if fading else 1.0
        training = grown_training(rows)
        rule = hr.SoftForest(trees=trees)
        if math.isinf(penalty):
            return rule, hr.ERM(), hr.NestedSGD(nodes=1, **training)
        model = hr.CausalSinkhorn(penalty * trust, epsilon / trust, **AUTO)
        return rule, model, hr.SCSC(nodes=1, **training)

    return parts


ROWS = {
    "20 × 2, 500 × 64": plain(20, 2, 500, 64),
    "20 × 2, 1000 × 64": plain(20, 2, 1000, 64),
    "20 × 2, 2000 × 64": plain(20, 2, 2000, 64),
    "20 × 2, 3000 × 64": plain(20, 2, 3000, 64),
    "20 × 2, 3000 × 256": plain(20, 2, 3000, 256),
    "20 × 2, 6000 × 256": plain(20, 2, 6000, 256),
    "40 × 3, 1000 × 64": plain(40, 3, 1000, 64),
    "40 × 3, 2000 × 64": plain(40, 3, 2000, 64),
    "40 × 4, 1000 × 64": plain(40, 4, 1000, 64),
    "40 × 4, 2000 × 64": plain(40, 4, 2000, 64),
    "40 × 4, 3000 × 64": plain(40, 4, 3000, 64),
    "40 × 4, 3000 × 256": plain(40, 4, 3000, 256),
    "20 × 2, 32 passes": grown(),
    "40 × 2, 32 passes": grown(40),
    "20 × 2, 32 passes, fading 10, 0.1": grown(20, 10.0),
    "20 × 2, 32 passes, fading 10, 0.03": grown(20, 10.0, 0.03),
}


def panels(stores: int, folder: Path) -> list[real_series.Panel]:
    """Return the rehearsals of all groups of so many stores."""
    whole = real_series.bakery(folder, tuning=True)
    known = sorted(whole.train["store"].unique())
    found = []
    for places in GROUPS.get(stores, [list(range(len(known)))]):
        names = {f"{known[place]}/" for place in places}
        group = whole.only([one for one in whole.series if one.startswith(tuple(names))])
        for begins in map(pd.Timestamp, REHEARSED):
            found.append(group.rehearsal(begins, begins + pd.DateOffset(months=6)))
    return found


def relative(panel: real_series.Panel, parts, stockout: float, seed: int) -> float:
    """Mean over series of the cost relative to the weekday quantile's."""
    made = real_series.tables(panel, pooled=True)
    rule, model, solver = parts(len(made.outcomes))
    policy = hr.RobustPolicy(
        hr.Newsvendor(1.0, stockout), model, rule, hr.EmpiricalNominal(), solver
    )
    policy.set_params(random_state=seed).fit(made.numbers[0].to_numpy(), made.outcomes)
    orders = np.maximum(np.ravel(policy.predict(made.numbers[1].to_numpy())), 0) * made.units[1]
    usual = weekday_quantile(panel, stockout / (1 + stockout), True, 0).orders
    demand = panel.test["demand"].to_numpy()
    costs = pd.DataFrame({"own": cost(orders, demand, stockout)})
    costs["usual"] = cost(usual, demand, stockout)
    means = costs.groupby(panel.test["series"].to_numpy()).mean()
    return float((means["own"] / means["usual"]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=real_series.DATA)
    parser.add_argument("--stores", nargs="+", type=int, default=[1, 4, 14], choices=(1, 4, 14))
    parser.add_argument("--stockout", type=float, default=3.0)
    parser.add_argument("--rows", nargs="+", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for stores in asked.stores:
        known = panels(stores, asked.data)
        rows = sorted({len(panel.train) for panel in known})
        print(f"\n{stores} stores, {rows[0]} to {rows[-1]} rows\n")
        for name in asked.rows:
            found = [relative(panel, ROWS[name], asked.stockout, asked.seed) for panel in known]
            print(f"| {name} | {np.mean(found):.4f} |", flush=True)


if __name__ == "__main__":
    main()
