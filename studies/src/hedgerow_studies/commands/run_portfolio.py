"""What ``hedgerow portfolio`` does: read a market, run the backtest, write tables and figures."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from hedgerow._files import whole_file
from hedgerow.cli.screen import counting, print_facts, print_rows
from hedgerow.data.table_writing import write_table
from hedgerow.plots import save_figure
from hedgerow_studies.portfolio import (
    USUAL,
    Backtest,
    Horizon,
    Market,
    diverged,
    held,
    latest_months,
    monthly,
    read_market,
    sp500_market,
    table,
    tracks,
    wealth,
    weights,
)

POOL = 50
FIGURES = {
    "loss": ("loss", 3),
    "sharpe": ("Sharpe", 2),
    "mean": ("mean", 3),
    "std": ("std", 3),
    "cvar": ("CVaR", 3),
    "turnover": ("turn", 2),
}
"""What is shown of each row: its heading and number of decimals."""
CLOSED = {"P against CMV": "P", "P against CMV-early": "P early"}


@dataclass(frozen=True)
class Plan:
    """What was asked for; None and empty lists leave a choice to the command."""

    returns: Path | None
    covariates: Path | None
    percent: bool
    prices: bool
    methods: list[str]
    rules: list[str]
    omegas: list[str]
    risk: str
    start: str | None
    end: str | None
    window: int
    holding: int
    pool: int | None
    seed: int
    jobs: int


def run(plan: Plan, out: Path) -> None:
    """Run the backtest and write what came of it."""
    market = _market(plan)
    study = Backtest(
        horizon=_horizon(plan, market),
        methods=tuple(plan.methods) or USUAL,
        rules=tuple(plan.rules) or ("forest",),
        return_weights=tuple(_number(text) for text in plan.omegas) or (5.0,),
        risk=plan.risk,
        seed=plan.seed,
    )
    with warnings.catch_warnings(), counting("choosing") as progress:
        warnings.simplefilter("ignore", ConvergenceWarning)  # said below the table instead
        outcomes = study.run(market, out / "cells", jobs=plan.jobs, progress=progress)
    summary, trouble = table(outcomes, market), diverged(outcomes)
    daily = tracks(outcomes, market)
    holdings = weights(outcomes, market)
    write_table(summary, out / "table.csv")
    write_table(monthly(outcomes), out / "monthly.csv")
    write_table(holdings, out / "weights.csv")
    flat = daily.set_axis([_name(*key) for key in daily.columns], axis=1)
    write_table(flat.rename_axis("date").reset_index(), out / "daily.csv")
    with whole_file(out / "table.md") as temporary:
        temporary.write_text(markdown(summary, trouble), encoding="utf-8")
    drawn = _draw(daily, holdings, out)
    _print(summary)
    horizon = study.horizon
    pool = "all assets" if horizon.pool is None else f"{horizon.pool} assets drawn each month"
    print_facts(
        [
            ("market", f"{len(market.assets)} assets, {len(market.dates):,} days, "
             f"{market.dates[0]} to {market.dates[-1]}"),
            ("decisions", f"{horizon.start} to {horizon.end}, {pool}; {horizon.window} days to "
             f"learn from, {horizon.holding} to be judged by"),
            ("figures", "averages over months; returns in percent a day; CVaR of the worst 5 %; "
             "P: gap to hindsight (PT) closed against CMV, or CMV stopped early"),
            *([("warning", trouble)] if trouble else []),
            ("written", f"table, monthly, daily, weights and {drawn} figures in {out}"),
        ]
    )  # fmt: skip


def markdown(summary: pd.DataFrame, trouble: str = "") -> str:
    """The table for a page of text, and below it a sentence on what went wrong, if anything did."""
    headings, rows, _ = _rows(summary)
    lines = [headings, ["---"] * len(headings), *rows]
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"{text}\n{trouble}\n" if trouble else text


def _market(plan: Plan) -> Market:
    if plan.returns is None or plan.covariates is None:
        return sp500_market()
    return read_market(plan.returns, plan.covariates, percent=plan.percent, prices=plan.prices)


def _horizon(plan: Plan, market: Market) -> Horizon:
    """The horizon that was asked for, completed from the market's last months."""
    start, end = plan.start, plan.end
    if start is None or end is None:
        first, last = latest_months(market, plan.window, plan.holding, until=end)
        start, end = start or first, end or last
    pool = plan.pool
    if pool is None and len(market.assets) > POOL:
        pool = POOL
    return Horizon(start, end, plan.window, plan.holding, pool, plan.seed)


def _draw(daily: Any, holdings: Any, out: Path) -> int:
    """Wealth for each ω; what was held by each method for the middle one. Return how many."""
    count = 0
    omegas = list(daily.columns.get_level_values(0).unique())
    for omega in omegas:
        shown = daily[omega]
        shown = shown[[key for key in shown.columns if key[0] != "PT"]]
        if not shown.columns.empty:
            labels = [" ".join(part for part in key if part not in ("", "forest")) for key in shown]
            fig = wealth(
                shown.set_axis(labels, axis=1),
                title=f"Wealth, each choice held to the next, ω = {omega:g}",
            )
            save_figure(fig, out / f"wealth-{omega:g}.png")
            count += 1
    omega = sorted(omegas)[len(omegas) // 2]
    chosen = holdings[(holdings.omega == omega) & ~holdings.method.isin(("PT", "EW"))]
    for (method, rule), part in chosen.groupby(["method", "rule"], sort=False):
        fig = held(part, title=_name(omega, method, rule))
        save_figure(fig, out / f"weights-{omega:g}-{method}{'-' + rule if rule else ''}.png")
        count += 1
    return count


def _print(summary: pd.DataFrame) -> None:
    headings, rows, breaks = _rows(summary)
    print_rows(headings, rows, breaks=breaks)


def _rows(summary: Any) -> tuple[list[str], list[list[str]], set[int]]:
    """Headings, rows as texts, and before which rows a new ω begins."""
    several = summary["rule"][summary["rule"] != ""].nunique() > 1
    closed = {name: short for name, short in CLOSED.items() if summary[name].notna().any()}
    shown = [heading for heading, _ in FIGURES.values()]
    headings = ["ω", "method", *(["rule"] if several else []), *shown, *closed.values()]
    rows, breaks = [], set()
    for i, (_, row) in enumerate(summary.sort_values("omega", kind="stable").iterrows()):
        rows.append(
            [
                f"{row['omega']:g}",
                str(row["method"]),
                *([str(row["rule"])] if several else []),
                *(_figure(row[name], digits) for name, (_, digits) in FIGURES.items()),
                *(_percent(row[name]) for name in closed),
            ]
        )  # fmt: skip
        if i and rows[-1][0] != rows[-2][0]:
            breaks.add(i)
    return headings, rows, breaks


def _figure(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.1f}%"


def _name(omega: float, method: str, rule: str) -> str:
    return " ".join(part for part in (method, rule, f"ω={omega:g}") if part)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--omega takes numbers such as 1,3,5; got {text!r}.") from None
