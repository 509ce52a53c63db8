"""The paper's portfolio table on real returns, beside the figures it printed.

    python -m benchmarks.portfolio --returns FILE --covariates FILE --out FOLDER [--jobs 2]

Decisions of 2021-01 to 2022-12, ω = 1, 3, 5, 7, 9; parameters from 2019 and 2020
(``benchmarks.portfolio_tuning``). Resumable; writes the tables of docs/results/portfolio.md to
standard output and the figures to the folder.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from hedgerow import plots
from hedgerow.metrics import cvar, prescriptiveness, sharpe
from hedgerow_studies.paper.published import PORTFOLIO
from hedgerow_studies.portfolio import (
    METHODS,
    Backtest,
    Horizon,
    Market,
    monthly,
    read_market,
    table,
    tracks,
    wealth,
)

HORIZON = Horizon("2021-01", "2022-12")
OMEGAS = (1.0, 3.0, 5.0, 7.0, 9.0)
LEFT_OUT = {("Causal-WDRO", "two-layer")}
"""Its value is infinite: far from the data a network holds a single asset, which needs a larger
penalty than there is. Ascents run away and trainings diverge (benchmarks.portfolio_training)."""
COLUMNS = ("loss", "sharpe", "mean", "std", "cvar")


def figures(values) -> str:
    return " | ".join("–" if pd.isna(value) else f"{value:.3f}" for value in values)


def table_one(summary: pd.DataFrame) -> None:
    """Ours, and the paper's where it has a row."""
    print("| ω | method | loss | Sharpe | mean | std | CVaR | turnover | paper: loss | Sharpe | "
          "mean | std | CVaR |")  # fmt: skip
    print("|---|---|" + "---:|" * 11)
    for omega, rows in summary[summary["rule"] != "two-layer"].groupby("omega"):
        for _, row in rows.iterrows():
            printed = PORTFOLIO[omega].get(row["method"], (np.nan,) * 5)
            ours = figures([*row[list(COLUMNS)], row["turnover"]])
            print(f"| {omega:g} | {row['method']} | {ours} | {figures(printed)} |")


def networks(summary: pd.DataFrame) -> None:
    """The same for two-layer networks, which the paper's table does not have."""
    rows = summary[summary["rule"] == "two-layer"]
    if rows.empty:
        return
    print("\n| ω | method | loss | Sharpe | mean | std | CVaR | turnover |")
    print("|---|---|" + "---:|" * 6)
    for _, row in rows.sort_values("omega", kind="stable").iterrows():
        ours = figures([*row[list(COLUMNS)], row["turnover"]])
        print(f"| {row['omega']:g} | {row['method']} | {ours} |")


def closed(summary: pd.DataFrame) -> None:
    """Prescriptiveness averaged over ω, per method and rule."""
    against = [name for name in summary.columns if name.startswith("P against")]
    means = summary.groupby(["rule", "method"], sort=False)[["loss", *against]].mean()
    print("\n| rule | method | mean loss | " + " | ".join(against) + " |")
    print("|---|---|" + "---:|" * (1 + len(against)))
    for (rule, method), row in means.iterrows():
        shares = ["–" if pd.isna(row[name]) else f"{100 * row[name]:.1f} %" for name in against]
        print(f"| {rule or '–'} | {method} | {row['loss']:.3f} | {' | '.join(shares)} |")


def closed_by_month(by_month: pd.DataFrame) -> None:
    """Prescriptiveness of single months, averaged: a mean in which calm months count as much."""
    losses = by_month[by_month["rule"] != "two-layer"]
    losses = losses.pivot_table(index=["omega", "date"], columns="method", values="loss")
    gaps = losses.sub(losses["PT"], axis=0)
    for baseline in ("CMV", "CMV-early"):
        shares = 100 * (1 - gaps.div(gaps[baseline], axis=0)).mean()
        each = ", ".join(f"{name} {share:.1f}" for name, share in shares.items())
        print(f"mean of monthly prescriptiveness against {baseline}, %: {each}")


def published() -> None:
    """Prescriptiveness that the paper's own table implies, against its CMV row."""
    for method in ("MV", "1-Causal-SDRO", "2-Causal-SDRO"):
        shares = [
            prescriptiveness(rows[method][0], rows["CMV"][0], rows["PT"][0])
            for rows in PORTFOLIO.values()
        ]
        each = ", ".join(f"{100 * share:.1f}" for share in shares)
        print(f"paper, {method} against CMV by its own table: {each}; mean "
              f"{100 * np.mean(shares):.1f} %")  # fmt: skip


def paired(by_month: pd.DataFrame, baselines=("CMV-early", "MV")) -> None:
    """Differences of losses month by month, averaged over ω, with standard errors over months."""
    losses = by_month.set_index(["rule", "method", "omega", "date"])["loss"].sort_index()
    print("\n| rule | method | " + " | ".join(f"loss less that of {b}" for b in baselines) + " |")
    print("|---|---|" + "---:|" * len(baselines))
    learned = by_month[by_month["rule"] != ""]
    for (rule, method), _ in learned.groupby(["rule", "method"], sort=False):
        cells = []
        for baseline in baselines:
            other = losses["" if baseline == "MV" else rule, baseline]
            cells.append(mean_gap(losses[rule, method] - other))
        print(f"| {rule} | {method} | {' | '.join(cells)} |")
    if {"forest", "two-layer"} <= set(learned["rule"]):
        gaps = (losses["two-layer"] - losses["forest"]).dropna()
        each = [f"{method} {mean_gap(part)}" for method, part in gaps.groupby("method")]
        print(f"\nloss of networks less that of forests: {', '.join(each)}")


def mean_gap(gaps: pd.Series) -> str:
    """Mean over ω and months, and its standard error over months."""
    gap = gaps.dropna().groupby("date").mean().to_numpy()
    return f"{gap.mean():+.3f} ± {gap.std(ddof=1) / np.sqrt(len(gap)):.3f}"


def redraws(market: Market, draws: int = 40) -> None:
    """Equal weights under other draws of the monthly pools: how far chance reaches."""
    rows = []
    for seed in range(draws):
        held = [window.held.mean(axis=1) for window in replace(HORIZON, seed=seed).windows(market)]
        each = [(sharpe(r), r.mean(), r.std(), cvar(r)) for r in held]
        rows.append(np.mean(each, axis=0))
    print(f"\nequal weights under {draws} draws of the pools: Sharpe, mean, std, CVaR")
    for name, value in (("mean", np.mean), ("std", np.std), ("max", np.max)):
        print(f"  {name:4} {np.round(value(rows, axis=0), 3)}")


def seconds(folder: Path) -> None:
    """How long choices took, as the cells remember."""
    rows = []
    for path in folder.glob("*.json"):
        stored = json.loads(path.read_text())
        rows.append((stored["cell"]["rule"], stored["cell"]["method"], stored["result"]["seconds"]))
    spent = pd.DataFrame(rows, columns=["rule", "method", "seconds"])
    spent = spent.groupby(["rule", "method"], sort=False)["seconds"].agg(["median", "sum", "count"])
    print(f"\n{spent.round(2).to_string()}\nall: {spent['sum'].sum() / 60:.1f} minutes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--returns", required=True)
    parser.add_argument("--covariates", required=True)
    parser.add_argument("--out", type=Path, default=Path("portfolio-results"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rule", choices=("forest", "two-layer"), nargs="*", default=["forest"])
    asked = parser.parse_args()
    market = read_market(asked.returns, asked.covariates)
    outcomes = []
    for rule in asked.rule:
        methods = tuple(m for m in METHODS if (m, rule) not in LEFT_OUT)
        study = Backtest(HORIZON, methods, (rule,), OMEGAS)
        found = study.run(market, asked.out / "cells", jobs=asked.jobs)
        outcomes += [o for o in found if o.task.rule or rule == asked.rule[0]]
    summary = table(outcomes, market)
    table_one(summary)
    networks(summary)
    closed(summary)
    print()
    closed_by_month(monthly(outcomes))
    published()
    paired(monthly(outcomes))
    redraws(market)
    seconds(asked.out / "cells")
    daily = tracks([o for o in outcomes if o.task.rule != "two-layer"], market)[5.0]
    shown = daily.drop(columns=[key for key in daily.columns if key[0] in ("PT", "SDRO")])
    labels = [key[0] for key in shown.columns]
    fig = wealth(shown.set_axis(labels, axis=1), title="Each choice held to the next, ω = 5")
    plots.save_figure(fig, asked.out / "wealth.png")


if __name__ == "__main__":
    main()
