"""The bakery panel: one policy for thirty series against what a practitioner would train instead.

    python -m benchmarks.panels [--refit monthly] [--out FOLDER]   # ten reported stores, one year
    python -m benchmarks.panels --rehearsal                        # tuning stores, training period

Everybody decides tomorrow's order from the same features (``FEATURES``: calendar, what is known
ahead, past sales up to yesterday), learns before 2018-05-01 and is judged on the year after. Rivals
choose their settings on the last quarter of their training days (``series_rivals``), and are run
with outcomes in two units, both reported: each series' mean, and the recent level that
``PanelPolicy`` divides by.

Results go to FOLDER cell by cell; a run that was stopped goes on where it was; ``--report`` prints
what is there.
"""

import argparse
import hashlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t

import hedgerow as hr
from benchmarks.real_series import REHEARSED, STOCKOUTS
from benchmarks.real_series_report import cost, weekly
from hedgerow.panels.scaled_rows import Layout
from hedgerow.panels.scaled_rows import Panel as PanelRows
from hedgerow_studies.cells import Cells
from hedgerow_studies.running import Engine, compute
from hedgerow_studies.trials.real_series import AGREED, Panel, reported
from hedgerow_studies.trials.series_rivals import RIVALS
from hedgerow_studies.versions import versions

BY = ("store", "product")
FEATURES = hr.TimeFeatures(
    time="date",
    outcome="demand",
    by=BY,
    known=AGREED,
    lags=(1, 7, 14, 21),
    rolling=(7, 28),
    same_weekday=(4,),
    level=28,
    calendar=("weekday", "season"),
)
LEVELS = ("demand_same_weekday_4", "demand_level")
"""What ``PanelPolicy`` divides by with these features."""
BEGINS = pd.Timestamp("2018-05-01")
FLAGS = tuple(name for name in AGREED if name.startswith(("is_", "promotion_")))
EFFECT, DOUBT, MOST = "_effect", 4.0, 4.0
"""Ending of columns with effects; rows that count for the mean effect; most a row counts for."""


@cache
def panel_of(begins: str | None) -> Panel:
    """Return the ten stores' panel; with a date, the tuning stores' half-year that begins there."""
    sales = hr.datasets.load_bakery()
    sales = sales[sales["store"].isin(reported(sales["store"])) == (begins is None)]
    table = FEATURES.training(sales)
    series = table["store"].astype(str) + "/" + table["product"].astype(str)
    table = table.assign(series=series).sort_values(["series", "date"])
    start, ends = BEGINS, None
    if begins is not None:
        start = pd.Timestamp(begins)
        ends = start + pd.DateOffset(months=6)
        table = table[table["date"] < BEGINS]
    whole = Panel(
        table,
        table[:0],
        categories=("date_weekday",),
        past=tuple(FEATURES.outcome_features),
        identities=BY,
    )
    return whole.rehearsal(start, ends)


# --------------------------------------------------------------------------------- methods


def hedgerow(strategy: str, effects: bool = False) -> Callable[[Panel, float], np.ndarray]:
    """``PanelPolicy`` with nothing set but its strategy."""

    def orders(panel: Panel, stockout: float) -> np.ndarray:
        return decided(panel, stockout, effects, strategy=strategy)

    return orders


def decided(
    panel: Panel,
    stockout: float,
    effects: bool = False,
    levels: tuple[str, ...] = LEVELS,
    parts: dict[str, Any] | None = None,
    **settings: Any,
) -> np.ndarray:
    """Orders of a ``PanelPolicy``, which knows store and product, as rivals do."""
    if effects:
        panel = with_effects(panel)
    policy = hr.RobustPolicy(hr.Newsvendor(1, stockout), random_state=0, **(parts or {}))
    learned = hr.PanelPolicy(policy, BY, scaled=panel.past, levels=levels, **settings)
    train, test = (_known(part) for part in (panel.train, panel.test))
    return np.maximum(learned.fit(train, panel.train["demand"]).predict(test), 0)


def with_effects(panel: Panel) -> Panel:
    """The panel with what holidays and promotions do to each series, as columns.

        effect of a flag on series g  =  (Σ y/scale + DOUBT·m) / (n + DOUBT) − 1,

    over the n training rows of g on which the flag is up, m being the mean over all series; 0 on
    rows on which it is down.
    """
    units = _units(panel)
    sold = np.minimum(panel.train["demand"].to_numpy(float) / units[0], MOST)
    parts = [panel.train.copy(), panel.test.copy()]
    for flag in FLAGS:
        up = (panel.train[flag] > 0).to_numpy()
        shares = pd.Series(sold[up]).groupby(panel.train["series"].to_numpy()[up])
        mean = float(sold[up].mean()) if up.any() else 1.0
        effect = (shares.sum() + DOUBT * mean) / (shares.size() + DOUBT) - 1
        for part in parts:
            known = part["series"].map(effect).fillna(mean - 1).to_numpy(float)
            part[flag + EFFECT] = np.where(part[flag] > 0, known, 0.0)
    return replace(panel, train=parts[0], test=parts[1])


def rival(
    name: str, pooled: bool, levelled: bool, effects: bool = False
) -> Callable[[Panel, float], np.ndarray]:
    """A rival on the same features, with outcomes in units of series' means or recent levels."""

    def orders(panel: Panel, stockout: float) -> np.ndarray:
        units = np.ones(len(panel.test))
        plain = [FEATURES.level_name, *(() if pooled else BY)]
        if effects:
            panel = with_effects(panel)
        if levelled:
            panel, units = _in_levels(panel)
        panel = replace(
            panel, train=panel.train.drop(columns=plain), test=panel.test.drop(columns=plain)
        )
        if not pooled:
            panel = replace(panel, identities=())
            each = [
                RIVALS[name](panel.only([s]), _level(stockout), False, 0).orders
                for s in panel.series
            ]
            return np.concatenate(each) * units
        return RIVALS[name](panel, _level(stockout), True, 0).orders * units

    return orders


METHODS = {
    "hedgerow, pooled": hedgerow("pooled"),
    "hedgerow, refined": hedgerow("refined"),
    "hedgerow, pooled, with effects": hedgerow("pooled", effects=True),
    "weekday quantile": rival("weekday quantile", True, False),
    "LightGBM pooled, means": rival("LightGBM", True, False),
    "LightGBM pooled, levels": rival("LightGBM", True, True),
    "LightGBM pooled, levels, with effects": rival("LightGBM", True, True, effects=True),
    "LightGBM per series": rival("LightGBM", False, False),
    "boosting pooled, means": rival("boosting", True, False),
    "boosting pooled, levels": rival("boosting", True, True),
    "quantile forest pooled, means": rival("quantile forest", True, False),
    "quantile forest pooled, levels": rival("quantile forest", True, True),
    "EBM pooled, means": rival("EBM", True, False),
    "EBM pooled, levels": rival("EBM", True, True),
}
OURS = tuple(name for name in METHODS if name.startswith("hedgerow"))


def _known(table: pd.DataFrame) -> pd.DataFrame:
    """Columns for a ``PanelPolicy``."""
    return table.drop(columns=["series", "date", "demand"])


def _level(stockout: float) -> float:
    return stockout / (1 + stockout)


def _units(panel: Panel) -> list[np.ndarray]:
    """The recent level of each row, in both periods."""
    layout = Layout(BY, panel.past, LEVELS)
    rows = PanelRows.learn(layout, _known(panel.train), panel.train["demand"].to_numpy(float))
    return [np.maximum(rows.rows(_known(part)).scale, 1e-9) for part in (panel.train, panel.test)]


def _in_levels(panel: Panel) -> tuple[Panel, np.ndarray]:
    """The panel in units of each row's recent level, and these units in the test period."""
    units, counted = _units(panel), ["demand", *panel.past]
    train, test = (
        part.assign(**{name: part[name] / unit for name in counted})
        for part, unit in zip((panel.train, panel.test), units, strict=True)
    )
    return replace(panel, train=train, test=test), units[1]


# --------------------------------------------------------------------------------- running


def refitted(method: Callable[[Panel, float], np.ndarray], panel: Panel, stockout: float):
    """Orders of a method that learns anew on the first of every month of the test period."""
    orders = np.full(len(panel.test), np.nan)
    both = pd.concat([panel.train, panel.test])
    months = panel.test["date"].dt.to_period("M")
    for month in sorted(months.unique()):
        now = (months == month).to_numpy()
        until = both[both["date"] < month.start_time].sort_values(["series", "date"])
        part = replace(
            panel, train=until.reset_index(drop=True), test=panel.test[now].reset_index(drop=True)
        )
        orders[now] = method(part, stockout)
    return orders


@dataclass(frozen=True)
class Orders:
    """Orders of one method for all series of a panel."""

    name: str = "panels"

    def depends(self):
        return {"features": FEATURES.to_json(), **versions("real_series")}

    def run(self, cell):
        warnings.simplefilter("ignore")
        panel, method = panel_of(cell.get("rehearsal")), METHODS[cell["method"]]
        run = refitted if cell.get("refit") else (lambda chosen, *rest: chosen(*rest))
        return np.round(run(method, panel, cell["stockout"]), 4).tolist()

    def label(self, cell):
        return " ".join(str(value) for value in cell.values())


def cells_of(asked) -> list[dict]:
    """What is to be computed; hedgerow's own cells know the code that they came from."""
    ours = {"code": _code()}
    return [
        {"method": method, "stockout": stockout}
        | (ours if method in OURS else {})
        | ({"rehearsal": begin} if begin else {})
        | ({"refit": asked.refit} if asked.refit else {})
        for begin in (REHEARSED if asked.rehearsal else (None,))
        for stockout in asked.stockouts
        for method in asked.methods or METHODS
    ]


def _code() -> str:
    files = sorted((Path(hr.__file__).parent / "panels").glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


# --------------------------------------------------------------------------------- report


def report(found: list[tuple[dict, list[float]]]) -> None:
    """Print a table for each ratio of costs: totals, relative costs, and the gap to the best."""
    costs = pd.concat([_days(cell, orders) for cell, orders in found])
    for stockout, part in costs.groupby("stockout"):
        print(f"\n### 1 : {stockout:g}\n")
        total = part.groupby("method")["cost"].mean()
        rivals = total[[name for name in total.index if name not in OURS]]
        means = rivals[[name for name in rivals.index if "levels" not in name]]
        bests = [some.idxmin() if len(some) else None for some in (rivals, means)]
        print("| method | total | relative | to the best rival, by week | to the best in means |")
        print("|---|---:|---:|---:|---:|")
        each = part.groupby(["method", "rehearsal", "series"])[["cost", "usual"]].mean()
        relative = (each["cost"] / each["usual"]).groupby("method").mean()
        for method in [name for name in METHODS if name in total.index]:
            gaps = ["" if best in (None, method) else _gap(part, method, best) for best in bests]
            row = (f"{total[method]:.2f}", f"{relative[method]:.3f}", *gaps)
            print(f"| {method} | {' | '.join(row)} |")


def _days(cell: dict, orders: list[float]) -> pd.DataFrame:
    panel = panel_of(cell.get("rehearsal"))
    demand, stockout = panel.test["demand"].to_numpy(float), cell["stockout"]
    usual = METHODS["weekday quantile"](panel, stockout)
    return panel.test[["series", "date"]].assign(
        method=cell["method"],
        stockout=stockout,
        rehearsal=cell.get("rehearsal", ""),
        cost=cost(np.array(orders), demand, stockout),
        usual=cost(usual, demand, stockout),
    )


def _gap(costs: pd.DataFrame, method: str, other: str) -> str:
    """How much more a method costs, in percent of the other, with a 95 % interval over weeks."""
    mine, others = (weekly(costs[costs["method"] == name], "cost") for name in (method, other))
    gap = 100 * (mine - others) / others.mean()
    half = t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / np.sqrt(len(gap))
    return f"{gap.mean():+.1f} ± {half:.1f} %"


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("panel-results"))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS))
    parser.add_argument("--stockouts", nargs="+", type=float, default=list(STOCKOUTS))
    parser.add_argument("--rehearsal", action="store_true", help="tuning stores, training period")
    parser.add_argument("--refit", choices=["monthly"], help="learn anew every month")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--report", action="store_true", help="only print what is there")
    asked = parser.parse_args(given)
    work, listed = Orders(), cells_of(asked)
    if not asked.report:
        wanted = [(work, cell) for cell in listed]
        compute(wanted, asked.out, Engine(jobs=asked.jobs), lambda *done: print(*done, flush=True))
    kept = Cells(asked.out, work.depends())
    found = [(cell, kept.get(cell)) for cell in listed]
    finished = [(cell, result["value"]) for cell, result in found if result is not None]
    if finished:
        report(finished)
    else:
        print("nothing is finished yet")


if __name__ == "__main__":
    main()
