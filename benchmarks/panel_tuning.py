"""How a pooled policy should be trained: forests, steps, seeds, units and codes, on tuning rows.

    python -m benchmarks.panel_tuning [bakery dishes items] [--rows "20 × 3, 6 seeds" ...]

bakery    tuning stores, two half-years before 2018-05-01, as in ``benchmarks.panels --rehearsal``
dishes    seven dishes of the restaurant: learn from 400 days, decide for the next 173; the 192 that
          ``benchmarks.real_series`` reports are not touched
items     three stores × twenty items of store_item.csv.gz, learn from two years, decide for half a
          year: series that are all alike, so that nothing is to be had from telling them apart

Costs are totals, relative to those of the same weekday's quantile.
"""

import argparse
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hedgerow as hr
from benchmarks.panels import BY, LEVELS, REHEARSED, decided, panel_of
from benchmarks.real_series_report import cost
from hedgerow.solvers import default_solver
from hedgerow_studies.trials import real_series
from hedgerow_studies.trials.series_rivals import weekday_quantile

DISHES, ITEMS, BAKERY = "dishes", "items", "bakery"
AUTO: dict[str, Any] = dict.fromkeys(("x_scale", "y_scale", "loss_scale"), "auto")


def forest(trees: int, depth: int, passes: float = 1.0, hedge: float | None = None, **rule: Any):
    """A forest, trained for so many times the usual passes, for the rows there are."""

    def parts(rows: int) -> dict[str, Any]:
        model = hr.ERM() if hedge is None else hr.CausalSinkhorn(hedge, 0.01, **AUTO)
        solver = default_solver(model, rows)
        solver = solver.set_params(steps=max(500, int(passes * solver.steps)))
        made = hr.SoftForest(trees=trees, depth=depth, **rule)
        return {"ambiguity": model, "rule": made, "solver": solver}

    return parts


def network(rows: int) -> dict[str, Any]:
    """A small network in the forest's place."""
    solver = default_solver(hr.ERM(), rows)
    return {"ambiguity": hr.ERM(), "rule": hr.TwoLayer(64), "solver": solver}


def default(rows: int) -> dict[str, Any]:
    """What ``PanelPolicy`` does by itself."""
    del rows
    return {}


ROWS: dict[str, tuple[Any, dict[str, Any]]] = {
    "as it is": (default, {}),
    "20 × 2, half the passes, 3 seeds": (forest(20, 2, 0.5), {}),
    "20 × 2, 1 seed": (forest(20, 2), {"seeds": 1}),
    "20 × 2, 3 seeds": (forest(20, 2), {"seeds": 3}),
    "20 × 2, 6 seeds": (forest(20, 2), {"seeds": 6}),
    "20 × 3, half the passes, 6 seeds": (forest(20, 3, 0.5), {"seeds": 6}),
    "20 × 3, 6 seeds": (forest(20, 3), {"seeds": 6}),
    "20 × 3, 6 seeds, with effects": (forest(20, 3), {"seeds": 6, "effects": True}),
    "20 × 3, 6 seeds, hedged": (forest(20, 3, hedge=100.0), {"seeds": 6}),
    "20 × 3, 6 seeds, divided by the level": (forest(20, 3), {"seeds": 6, "levels": LEVELS[1:]}),
    "20 × 3, 6 seeds, divided by the series' mean": (forest(20, 3), {"seeds": 6, "levels": ()}),
    "20 × 3, 6 seeds, refined": (forest(20, 3), {"seeds": 6, "strategy": "refined"}),
    "20 × 3, 12 seeds": (forest(20, 3), {"seeds": 12}),
    "40 × 4, half the passes, 4 seeds": (forest(40, 4, 0.5), {"seeds": 4}),
    "20 × 3, 6 seeds, random gates": (forest(20, 3, gates="random"), {"seeds": 6}),
    "network of 64, 1 seed": (network, {"seeds": 1}),
}


@cache
def panels(name: str, folder: str) -> list[real_series.Panel]:
    """Panels to rehearse on."""
    if name == BAKERY:
        return [panel_of(begins) for begins in REHEARSED]
    if name == DISHES:
        known = real_series.restaurant()
        days = np.sort(known.train["date"].unique())
        part = known.rehearsal(pd.Timestamp(days[400]))
        return [_grouped(part, "dish")]
    return [_items(Path(folder))]


def _grouped(panel: real_series.Panel, name: str) -> real_series.Panel:
    """The panel with the group columns of ``decided``."""
    parts = [
        part.assign(store=part[name], product="all").drop(columns=[name])
        for part in (panel.train, panel.test)
    ]
    return real_series.Panel(*parts, panel.categories, panel.past, BY)


def _items(folder: Path) -> real_series.Panel:
    sales = pd.read_csv(folder / "store_item.csv.gz", parse_dates=["date"])
    names = [name for name in sales if name not in ("date", "store", "item")]
    sales = sales.rename(columns={"item": "product", names[-1]: "demand"})
    sales = sales[(sales["store"] <= 3) & (sales["product"] <= 20)]
    sales = sales[(sales["date"] >= "2014-11-01") & (sales["date"] < "2017-07-01")]
    features = hr.TimeFeatures(
        "date",
        "demand",
        by=BY,
        lags=(1, 7, 14, 21),
        rolling=(7, 28),
        same_weekday=(4,),
        level=28,
        calendar=("weekday", "season"),
    )
    table = features.training(sales)
    table["series"] = table["store"].astype(str) + "/" + table["product"].astype(str)
    table = table.sort_values(["series", "date"]).reset_index(drop=True)
    whole = real_series.Panel(table, table[:0], (), tuple(features.outcome_features), BY)
    return whole.rehearsal(pd.Timestamp("2017-01-01"))


def relative(panel: real_series.Panel, name: str, stockout: float) -> float:
    """Total cost of a row, relative to that of the weekday quantile."""
    make, settings = ROWS[name]
    if not panel.past:  # no level to divide by
        settings = {**settings, "levels": ()}
    orders = decided(panel, stockout, parts=make(len(panel.train)), **settings)
    usual = weekday_quantile(panel, stockout / (1 + stockout), False, 0).orders
    demand = panel.test["demand"].to_numpy(float)
    return float(cost(orders, demand, stockout).sum() / cost(usual, demand, stockout).sum())


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("panels", nargs="*", default=[BAKERY, DISHES, ITEMS])
    parser.add_argument("--rows", nargs="+", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--stockouts", nargs="+", type=float, default=[3.0, 9.0])
    parser.add_argument("--data", default=str(real_series.DATA))
    asked = parser.parse_args(given)
    warnings.simplefilter("ignore")
    for panel in asked.panels:
        for stockout in asked.stockouts:
            print(f"\n{panel}, 1 : {stockout:g}\n", flush=True)
            for name in asked.rows:
                found = [relative(part, name, stockout) for part in panels(panel, asked.data)]
                each = " ".join(f"{value:.4f}" for value in found)
                print(f"| {name} | {np.mean(found):.4f} | {each} |", flush=True)


if __name__ == "__main__":
    main()
