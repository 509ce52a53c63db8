"""What rounding by cost is worth: store-item sales in packs, one year of test.

`python -m benchmarks.lots store_item.csv.gz` reads a table with the columns date, store, item and
sales (five years, 2013 to 2017). Decisions are a same-weekday quantile, as it is and moved to the
right level on 2016; errors are those of 2016, by series; costs are those of 2017.
"""

import sys
import time

import numpy as np
import pandas as pd

import hedgerow as hr

HOLDING, STOCKOUT = 1.0, 3.0
LEVEL = STOCKOUT / (HOLDING + STOCKOUT)


def errors_by_series(decisions, demand, series, earlier, kind):
    """Quantiles of the earlier rows' errors, one row per series."""
    rows = [earlier & (series == one) for one in range(series.max() + 1)]
    return np.stack(
        [hr.lots.error_quantiles(decisions[each], demand[each], kind=kind) for each in rows]
    )


def ways_to_round(size, decisions, differences, ratios):
    """Orders by every way there is to make packs of decisions, and the rounding cost foretold."""
    lots, costs = hr.Lots(size), (HOLDING, STOCKOUT)
    by_differences = lots.place(decisions, differences, *costs)
    return by_differences.mean_rounding_cost, {
        "every amount": decisions,
        "ratios": lots.place(decisions, ratios, *costs, kind="multiplicative").orders,
        "differences": by_differences.orders,
        "nearest": size * np.round(decisions / size),
        "certain": lots.place(decisions, 0.0, *costs).orders,
        "up": size * np.ceil(decisions / size),
        "errors alone": lots.best_orders(decisions[:, None] + differences, *costs).orders,
    }


def main(path):
    table = pd.read_csv(path, parse_dates=["date"])
    asked = table[table["date"] >= "2016-01-01"]
    history = (table[["store", "item"]], table["date"], table["sales"])
    began = time.perf_counter()
    quantiles = hr.baselines.same_weekday_quantile(
        history, (asked[["store", "item"]], asked["date"]), LEVEL
    )
    print(f"baseline for {len(asked)} rows: {time.perf_counter() - began:.1f} s")
    series = asked.groupby(["store", "item"]).ngroup().to_numpy()
    demand = asked["sales"].to_numpy(dtype=float)
    earlier = (asked["date"] < "2017-01-01").to_numpy()
    spread = errors_by_series(quantiles, demand, series, earlier, "additive")
    moved = quantiles + np.quantile(spread, LEVEL, axis=1)[series]
    for name, decisions in (("as it is", quantiles), ("moved", moved)):
        differences, ratios = (
            errors_by_series(decisions, demand, series, earlier, kind)[series[~earlier]]
            for kind in ("additive", "multiplicative")
        )
        for size in (12, 24, 48):
            foretold, ways = ways_to_round(size, decisions[~earlier], differences, ratios)
            costs = ", ".join(
                f"{way} {np.mean(hr.Newsvendor(HOLDING, STOCKOUT)(orders, demand[~earlier])):.3f}"
                for way, orders in ways.items()
            )
            print(f"{name}, packs of {size}: {costs}; rounding cost foretold {foretold:.3f}")


if __name__ == "__main__":
    main(sys.argv[1])
