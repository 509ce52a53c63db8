"""Tables of ``benchmarks.real_series``: costs relative to the same weekday's quantile, by week.

A series' cost is divided by that of its weekday quantile over the same test days, so that large
series do not decide alone; totals, where they do, stand beside. Differences are paired: day by day
on the same series, averaged over all series and days of a week, with a 95 % interval over weeks.
Only what is finished on all series is compared: means over some of them are means of other series.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t

from hedgerow_studies.trials.series_policies import CAUSALITY, POLICIES
from hedgerow_studies.trials.series_rivals import RIVALS, weekday_quantile

Found = list[tuple[dict[str, Any], dict[str, Any]]]
WORLDS = {"as it was": 1.0, "demand +25 %": 1.25, "demand −25 %": 0.75}


def report(found: Found, panel_of: Callable[[dict], Any], causality: bool) -> None:
    """Print everything that the finished cells say."""
    if not found:
        print("nothing is finished yet")
        return
    costs = pd.concat([days(cell, value, panel_of(cell)) for cell, value in found])
    for (panel, stockout), part in costs.groupby(["panel", "stockout"], sort=False):
        print(f"\n### {panel}, 1 : {stockout:g}\n")
        whole, lacking = finished(part)
        if len(whole):
            (_adversaries if causality else _methods)(whole)
        for line in lacking:
            print(f"\nNot compared: {line}.")
    print()
    for cell, value in found:
        if cell["series"] is None and value["chosen"]:
            print(
                f"- {cell['panel']}, 1 : {cell['stockout']:g}, {cell['method']}, "
                f"{cell.get('rehearsal', '')}: {value['chosen']}"
            )


def days(cell: dict[str, Any], value: dict[str, Any], panel: Any) -> pd.DataFrame:
    """Costs of one cell day by day, in every world, also relative to the weekday quantile's."""
    if cell["series"] is not None:
        panel = panel.only([cell["series"]])
    stockout, demand = cell["stockout"], panel.test["demand"].to_numpy(float)
    usual = weekday_quantile(panel, stockout / (1 + stockout), False, 0).orders
    table = panel.test[["series", "date"]].assign(
        panel=cell["panel"],
        stockout=stockout,
        method=cell["method"],
        pooled=cell["series"] is None,
        rehearsal=cell.get("rehearsal", ""),
        usual=cost(usual, demand, stockout),
    )
    for world, factor in WORLDS.items():
        table[world] = cost(np.array(value["orders"]), factor * demand, stockout)
    scale = table.groupby("series")["usual"].transform("mean")
    return table.assign(**{f"relative, {world}": table[world] / scale for world in WORLDS})


def finished(costs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return what was computed on all series, and sentences about what was not."""
    counted = ["rehearsal", "series"]
    everything = len(costs[counted].drop_duplicates())
    have = costs[["method", "pooled", *counted]].drop_duplicates()
    have = have.groupby(["method", "pooled"]).size()
    lacking = have[have < everything]
    kept = ~costs.set_index(["method", "pooled"]).index.isin(lacking.index)
    ways = {False: "per series", True: "pooled"}
    return costs[kept], [
        f"{method}, {ways[pooled]}, finished on {count} of {everything} series"
        for (method, pooled), count in lacking.items()
    ]


def cost(orders: np.ndarray, demand: np.ndarray, stockout: float) -> np.ndarray:
    """Holding costs 1."""
    return np.where(orders >= demand, orders - demand, stockout * (demand - orders))


def weekly(costs: pd.DataFrame, column: str) -> pd.Series:
    """Means over the series and days of each week."""
    return costs.groupby(costs["date"].dt.to_period("W"))[column].mean()


def interval(gap: pd.Series) -> str:
    """Mean of weekly differences with a 95 % interval."""
    half = t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / np.sqrt(len(gap))
    return f"{gap.mean():+.3f} ± {half:.3f}"


def _methods(costs: pd.DataFrame) -> None:
    """Relative and total costs, per series and pooled, and differences to the best rival."""
    measured = "relative, as it was"
    ways = {False: "per series", True: "pooled"}
    present = [way for way in ways if (costs["pooled"] == way).any()]
    by = costs.groupby(["pooled", "method", "rehearsal", "series"])
    each = by[[measured, "as it was"]].mean().groupby(["pooled", "method"]).mean()
    best = {}
    for way in present:
        rivals = [m for m in RIVALS if (way, m) in each.index]
        if rivals:
            best[way] = min(rivals, key=lambda m, way=way: each.loc[(way, m), measured])
    heads = [f"{ways[w]} | total | to {best.get(w, 'no rival')}, by week" for w in present]
    print("| method | " + " | ".join(heads) + " |")
    print("|---|" + "---:|" * (3 * len(present)))
    for method in [*POLICIES, *RIVALS]:
        if not any((way, method) in each.index for way in present):
            continue
        row = []
        for way in present:
            if (way, method) not in each.index:
                row += ["", "", ""]
                continue
            relative, total = each.loc[(way, method)]
            row += [f"{relative:.3f}", f"{total:.2f}", _gap(costs, way, method, best.get(way))]
        print(f"| {method} | " + " | ".join(row) + " |")


def _gap(costs: pd.DataFrame, way: bool, method: str, rival: str | None) -> str:
    if rival is None or method == rival:
        return ""
    mine, other = (
        weekly(costs[(costs["pooled"] == way) & (costs["method"] == one)], "relative, as it was")
        for one in (method, rival)
    )
    return interval(mine - other)


def _adversaries(costs: pd.DataFrame) -> None:
    """Causal and plain at equal penalties, as it was and shifted."""
    print("| method | " + " | ".join(WORLDS) + " |\n|---|" + "---:|" * len(WORLDS))
    columns = [f"relative, {world}" for world in WORLDS]
    each = costs.groupby(["method", "series"])[columns].mean().groupby("method").mean()
    for method in CAUSALITY:
        if method in each.index:
            print(f"| {method} | " + " | ".join(f"{v:.3f}" for v in each.loc[method]) + " |")
    for method in CAUSALITY:
        other = method.replace("causal", "plain")
        if other == method or not {method, other} <= set(each.index):
            continue
        gaps = []
        for column in columns:
            one, two = (weekly(costs[costs["method"] == m], column) for m in (method, other))
            gaps.append(interval(one - two))
        print(f"| {method} minus {other} | " + " | ".join(gaps) + " |")
