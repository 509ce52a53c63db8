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

import numpy as np
import pandas as pd
from scipy.stats import t

import hedgerow as hr
from benchmarks.real_series import REHEARSED, STOCKOUTS
from benchmarks.real_series_report import cost, weekly
from hedgerow.panels.rows import Layout
from hedgerow.panels.rows import Panel as PanelRows
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


def hedgerow(strategy: str) -> Callable[[Panel, float], np.ndarray]:
    """``PanelPolicy`` with nothing set but its strategy."""

    def orders(panel: Panel, stockout: float) -> np.ndarray:
        policy = hr.RobustPolicy(hr.Newsvendor(1, stockout), random_state=0)
        learned = hr.PanelPolicy(
            policy,
            BY,
            strategy=strategy,
            scaled=panel.past,
            levels=LEVELS,
        ).fit(_known(panel.train), panel.train["demand"])
        return learned.predict(_known(panel.test))

    return orders


def rival(name: str, pooled: bool, levelled: bool) -> Callable[[Panel, float], np.ndarray]:
    """A rival on the same features, with outcomes in units of series' means or recent levels."""

    def orders(panel: Panel, stockout: float) -> np.ndarray:
        units = np.ones(len(panel.test))
        plain = [FEATURES.level_name, *(() if pooled else BY)]
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
    "weekday quantile": rival("weekday quantile", True, False),
    "LightGBM pooled, means": rival("LightGBM", True, False),
    "LightGBM pooled, levels": rival("LightGBM", True, True),
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
    return table.drop(columns=["series", "date", "demand"])


def _level(stockout: float) -> float:
    return stockout / (1 + stockout)


def _in_levels(panel: Panel) -> tuple[Panel, np.ndarray]:
    """The panel in units of each row's recent level, and these units in the test period."""
    layout = Layout(BY, panel.past, LEVELS)
    rows = PanelRows.learn(layout, _known(panel.train), panel.train["demand"].to_numpy(float))
    parts, units = [], np.empty(0)
    for part in (panel.train, panel.test):
        units = np.maximum(rows.rows(_known(part)).scale, 1e-9)
        counted = ["demand", *panel.past]
        parts.append(part.assign(**{name: part[name] / units for name in counted}))
    return replace(panel, train=parts[0], test=parts[1]), units


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
        print("| method | total | relative | total against the best rival, by week |")
        print("|---|---:|---:|---:|")
        each = part.groupby(["method", "rehearsal", "series"])[["cost", "usual"]].mean()
        relative = (each["cost"] / each["usual"]).groupby("method").mean()
        best = rivals.idxmin() if len(rivals) else None
        for method in [name for name in METHODS if name in total.index]:
            gap = "" if best in (None, method) else _gap(part, method, best)
            print(f"| {method} | {total[method]:.2f} | {relative[method]:.3f} | {gap} |")


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
