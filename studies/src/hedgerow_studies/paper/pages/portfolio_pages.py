"""Pages of the portfolio studies: methods on average, rules, models, and a map of parameters.

Prescriptiveness is 1 − (H − H*)/(H₀ − H*), the share of a baseline's excess over hindsight (PT)
that was saved, in percent. Two baselines are named, both on the same data: the same rule trained
long on the empirical risk (CMV), and stopped early (CMV-early). The published P refers to a CMV of
its own, on other stocks and dates; nothing here is divided by it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from hedgerow_studies.paper import published
from hedgerow_studies.paper.market_study import HOLDING, WINDOW
from hedgerow_studies.paper.pages.charts import box_panels, heat_maps
from hedgerow_studies.paper.pages.study_page import (
    NOTHING,
    Headline,
    Page,
    Table,
    markdown_table,
    number,
    percent,
)
from hedgerow_studies.paper.portfolio_studies import (
    ABLATED,
    BASELINES,
    CONSTANT,
    MAPPED,
    MODELS,
    ORACLE,
    ORDERS,
    RULES,
)
from hedgerow_studies.portfolio.backtest_figures import LINES
from hedgerow_studies.portfolio.selection import parameters_for

FIGURES = {"loss": "loss", "sharpe": "Sharpe", "mean": "mean", "std": "std", "cvar": "CVaR"}
CALLED = {"forest": "forest", "two-layer": "network"}
"""Rules as the published figures are filed under."""
PRINTED = {"SDRO": "2-SDRO", "Causal-WDRO": "2-Causal-WDRO"}
"""Models whose order the paper names."""


# --------------------------------------------------------------------------- pages


def averages(table: Table, name: str = "table1") -> Page:
    """Methods, averaged over months, beside the paper's table."""
    means: Any = table.groupby(["omega", "method"], sort=False)[list(FIGURES)].mean()
    rows = []
    for omega, method in sorted(means.index, key=lambda key: key[0]):
        printed = published.PORTFOLIO[omega].get(method, (math.nan,) * len(FIGURES))
        ours = means.loc[(omega, method)]
        rows.append([f"{omega:g}", method, *map(number, ours), *map(number, printed)])
    headings = [*FIGURES.values(), *(f"paper: {heading}" for heading in FIGURES.values())]
    found = saved(table)
    omegas = sorted(found["omega"].unique())
    sharpe = means["sharpe"].groupby("method").mean().drop(ORACLE)
    summed = [_summed(found, method, omegas) for method in found["method"].unique()]
    text = "\n".join(
        [
            protocol(table) + "\n",
            markdown_table(["ω", "method", *headings], rows),
            f"Averaged over ω = {_listed(omegas)}:\n",
            markdown_table(
                ["method", "loss", "published loss", *(f"P against {b}" for b in BASELINES),
                 "published P", "P that the published losses imply"],
                summed,
            ),
            _against(table, found),
            f"Hindsight aside, the highest Sharpe ratio is that of {sharpe.idxmax()} "
            f"({number(sharpe.max(), 2)} on average over ω).",
        ]
    )  # fmt: skip
    headlines = []
    for method, loss, printed, share, *_, reported, implied in summed:
        headlines.append(Headline(f"{method}: mean loss over ω", loss, printed))
        said = f"{reported} ({implied} by its own losses)"
        headlines.append(Headline(f"{method}: P against CMV, from mean losses", share, said))
    return Page({}, text, tuple(headlines))


def rules(table: Table, name: str = "fig9") -> Page:
    """Forests and networks."""
    found, compared = saved(table), (ORACLE, *BASELINES)
    hedged = table[table["method"].isin(ORDERS)]
    by_omega, on_average = [], []
    for row in found.to_dict("records"):
        key = int(row["method"][0]), CALLED[row["rule"]]
        printed = published.PORTFOLIO_SAVED[key][published.OMEGAS.index(row["omega"])]
        by_omega.append(
            [CALLED[row["rule"]], row["method"], f"{row['omega']:g}", number(row["loss"]),
             *(number(row[f"loss of {b}"]) for b in compared),
             *(percent(row[b]) for b in BASELINES), percent(printed)]
        )  # fmt: skip
    for rule, part in found.groupby("rule", sort=False):
        average = published.PORTFOLIO_AVERAGES[CALLED[str(rule)]]
        on_average.append(
            [CALLED[str(rule)], number(part["loss"].mean()),
             *(percent(part[b].mean()) for b in BASELINES), percent(average)]
        )  # fmt: skip
    headlines = (
        Headline(
            f"hedged {row[0]}s: P against CMV, from mean losses",
            f"{row[2]} ({row[3]} of CMV-early)",
            f"{row[4]}, by another rule",
        )
        for row in on_average
    )
    shares = [*(f"P against {b}" for b in BASELINES), "published P"]
    text = "\n".join(
        [
            protocol(table) + "\n",
            "Averaged over orders and ω (the published average is over both orders and five ω):\n",
            markdown_table(["hedged rule", "loss", *shares], on_average),
            "Month by month the loss of hedged networks less that of hedged forests is "
            f"{_gap(*(hedged[hedged['rule'] == rule] for rule in reversed(RULES)))}.\n",
            markdown_table(
                [
                    "rule",
                    "method",
                    "ω",
                    "loss",
                    *(f"of {b}" for b in (ORACLE, *BASELINES)),
                    *shares,
                ],
                by_omega,
            ),
        ]
    )
    return Page({name: _rule_boxes(monthly_saved(table))}, text, tuple(headlines))


def models(table: Table, name: str = "fig16") -> Page:
    """What to hedge against."""
    found = saved(table)
    omegas = sorted(found["omega"].unique())
    rows, printed = [], {}
    for method, part in found.groupby("method", sort=False):
        place = published.MODELS.index(PRINTED.get(str(method), str(method)))
        each = [published.MODEL_SAVED["portfolio"][omega][place] for omega in omegas]
        printed[method] = float(np.mean(each))
        rows.append(
            [str(method), number(part["loss"].mean()),
             *(percent(part[b].mean()) for b in BASELINES), percent(printed[method])]
        )  # fmt: skip
    wide = table.pivot_table(index="omega", columns="method", values="loss", sort=False)
    least: Any = found.groupby("method")["loss"].mean()
    text = "\n".join(
        [
            protocol(table) + "\n",
            f"Forests, averaged over ω = {_listed(omegas)}:\n",
            markdown_table(
                ["model", "loss", *(f"P against {b}" for b in BASELINES), "published P"], rows
            ),
            f"{' and '.join(_least(least))} lose least; the highest published P is that of "
            f"{max(printed, key=lambda method: printed[method])}. {_causality(table)}\n",
            _against(table, found),
            "Mean losses by ω:\n",
            markdown_table(
                ["ω", *map(str, wide.columns)],
                [[f"{omega:g}", *map(number, row)] for omega, row in wide.sort_index().iterrows()],
            ),
        ]
    )
    headlines = (
        Headline(f"{row[0]}: P against CMV", f"{row[2]} ({row[3]} of CMV-early)", row[4])
        for row in rows
    )
    return Page({name: _model_boxes(monthly_saved(table))}, text, tuple(headlines))


def parameters(table: Table, name: str = "fig14") -> Page:
    """Penalties and epsilons at one ω."""
    means: Any = table.groupby("method", sort=False)["loss"].mean()
    best = float(means[ORACLE])
    bases = {b: float(means.get(b, math.nan)) for b in BASELINES}
    maps, framed, rows = {}, {}, []
    for method in [order for order in ORDERS if order in means]:
        grid = table[table["method"] == method].pivot_table(
            index="epsilon", columns="penalty", values="loss", aggfunc=_mean_if_all, dropna=False
        )
        maps[method], found = grid, grid.stack().dropna()
        chosen = parameters_for(method)
        framed[method] = chosen.penalty, chosen.epsilon
        places = {"least": found.idxmin(), "as tuned": framed[method][::-1], "most": found.idxmax()}
        for what, place in places.items():
            if place in found.index:
                loss = float(found[place])
                shares = [_share(loss, base, best) for base in bases.values()]
                rows.append(
                    [method, what, f"{place[1]:g}", f"{place[0]:g}", number(loss),
                     *map(percent, shares), *_published_pair(method)]
                )  # fmt: skip
    lost = np.concatenate([grid.to_numpy().ravel() for grid in maps.values()])
    known = lost[np.isfinite(lost)]
    below = f"{np.sum(known < bases['CMV-early'])} of {len(known)} pairs lose less than CMV-early"
    infinite = len(lost) - len(known)
    text = "\n".join(
        [
            protocol(table) + "\n",
            f"Forests at ω = {MAPPED:g}; hindsight loses {number(best)}, "
            + ", ".join(f"{b} {number(loss)}" for b, loss in bases.items())
            + '. Penalty and epsilon are in units that the data set (scales "auto"), the published '
            "ones in raw units. Framed: as tuned.\n",
            markdown_table(
                ["model", "which", "penalty", "epsilon", "loss",
                 *(f"P against {b}" for b in BASELINES), "published loss", "at penalty", "epsilon"],
                rows,
            ),
            f"Losses lie between {number(known.min())} and {number(known.max())}; {below}"
            + (f"; for {infinite} the value is infinite in some month" if infinite else "")
            + ". The least was found with the days held in view, so it is not what a user gets.",
        ]
    )  # fmt: skip
    label = f"mean loss, ω = {MAPPED:g}"
    return Page({name: heat_maps(maps, label, framed=framed)}, text)


def ablations(table: Table, name: str = "ablations") -> Page:
    """One hedged model with context and without."""
    by_month: Any = table.assign(called=table["rule"].where(table["rule"] != "", table["method"]))
    by_month = by_month.pivot_table(index="month", columns="called", values="loss")
    rows = []
    for rule in [rule for rule in (*ABLATED, "MV") if rule in by_month]:
        gap = by_month[rule] - by_month[ABLATED[-1]]
        error = gap.std(ddof=1) / math.sqrt(len(gap)) if len(gap) > 1 else 0.0
        said = f"{number(gap.mean(), sign=True)} ± {number(error)}"
        rows.append([rule, number(by_month[rule].mean()), said])
    model = "2-Causal-SDRO"
    text = "\n".join(
        [
            protocol(table) + "\n",
            f"{model} at ω = {MAPPED:g}, the same parameters for every rule; MV is the best fixed "
            "portfolio of the window, not hedged. Differences month by month, with standard "
            "errors:\n",
            markdown_table(["rule", "loss", f"less that of the hedged {CONSTANT}"], rows),
        ]
    )
    return Page({}, text)


# --------------------------------------------------------------------------- what is counted


def saved(table: Table) -> Table:
    """Hedged methods by ω and rule: losses averaged over months, and percent saved of them."""
    means: Any = table.groupby(["omega", "rule", "method"], sort=False)["loss"].mean()
    rows = []
    for (omega, rule, method), loss in means.items():
        if method not in MODELS:
            continue
        best = means[omega, "", ORACLE]
        base = {b: float(means.get((omega, rule, b), math.nan)) for b in BASELINES}
        row = {"omega": omega, "rule": rule, "method": method, "loss": loss}
        row |= {b: _share(loss, baseline, best) for b, baseline in base.items()}
        row |= {f"loss of {b}": value for b, value in {ORACLE: best, **base}.items()}
        rows.append(row)
    return pd.DataFrame(rows)


def monthly_saved(table: Table) -> Table:
    """Hedged methods month by month, with one column of percent saved for each baseline."""
    place = ["omega", "month", "rule"]
    best: Any = table[table["method"] == ORACLE].set_index(["omega", "month"])["loss"]
    hedged = table[table["method"].isin(MODELS)].copy()
    least = best.reindex(pd.MultiIndex.from_frame(hedged[place[:2]])).to_numpy()
    for baseline in BASELINES:
        base: Any = table[table["method"] == baseline].set_index(place)["loss"]
        worse = base.reindex(pd.MultiIndex.from_frame(hedged[place])).to_numpy()
        hedged[baseline] = 100 * (1 - (hedged["loss"] - least) / (worse - least))
    return hedged


def _share(loss: float, baseline: float, best: float) -> float:
    """Percent of a baseline's excess that was saved; NaN where there is none."""
    return 100 * (1 - (loss - best) / (baseline - best)) if baseline > best else math.nan


def _mean_if_all(losses: pd.Series) -> float:
    """Mean over months; NaN if one of them is infinite."""
    return float(losses.mean(skipna=False))


# --------------------------------------------------------------------------- what is said


def protocol(table: Table) -> str:
    """What was done, in two sentences."""
    dates, pool = sorted(table["date"].unique()), int(table["pool"].iloc[0])
    months = f"{len(dates)} months from {dates[0]} to {dates[-1]}" if len(dates) > 1 else dates[0]
    return (
        f"Decisions of {months} among {pool} assets ({table['market'].iloc[0]}), learned from "
        f"{WINDOW} trading days and held for {HOLDING}. The loss is the variance less ω times "
        "the mean of daily returns in percent; PT is the best portfolio in hindsight, CMV the "
        "empirical risk trained long, CMV-early the same stopped early. P: percent of a baseline's "
        "excess over PT that was saved, from mean losses. The paper's own 399 stocks are not "
        "public, so gaps among our figures say more than gaps to the published ones."
    )


def _summed(found: Table, method: str, omegas: list[float]) -> list[str]:
    """One method over all ω, beside what the paper says of the same ω."""
    part = found[found["method"] == method]
    rows = [published.PORTFOLIO[omega] for omega in omegas]
    said = published.PORTFOLIO_SAVED[int(method[0]), "forest"]
    reported = [said[published.OMEGAS.index(omega)] for omega in omegas]
    implied = [_share(row[method][0], row["CMV"][0], row[ORACLE][0]) for row in rows]
    return [
        method, number(part["loss"].mean()), number(float(np.mean([r[method][0] for r in rows]))),
        *(percent(part[b].mean()) for b in BASELINES),
        percent(float(np.mean(reported))), percent(float(np.mean(implied))),
    ]  # fmt: skip


def _against(table: Table, found: Table) -> str:
    """Losses less those of the baselines that were run, and at how many ω they are lower."""
    known = [b for b in BASELINES if not found[b].isna().all()]
    rows = []
    for method, part in found.groupby("method", sort=False):
        row = [str(method)]
        for baseline in known:
            lower = int((part["loss"] < part[f"loss of {baseline}"]).sum())
            pair = (table[table["method"] == name] for name in (method, baseline))
            row += [_gap(*pair), f"{lower} of {len(part)}"]
        rows.append(row)
    headings = [h for b in known for h in (f"loss less that of {b}", "ω where lower")]
    return (
        "Month by month, averaged over ω, with standard errors over months:\n\n"
        + markdown_table(["method", *headings], rows)
    )


def _gap(first: Table, second: Table) -> str:
    """Mean difference of losses, with its standard error over months."""
    gap: Any = first.groupby("month")["loss"].mean() - second.groupby("month")["loss"].mean()
    mean = number(gap.mean(), sign=True)
    return mean if len(gap) < 2 else f"{mean} ± {number(gap.std(ddof=1) / math.sqrt(len(gap)))}"


def _least(losses: pd.Series) -> list[str]:
    """The two methods that lose least, with their losses."""
    return [f"{method} ({number(loss)})" for method, loss in losses.nsmallest(2).items()]


def _causality(table: Table) -> str:
    """Whether the causal and the plain model differ."""
    by = ["omega", "month"]
    sides = [table[table["method"] == method] for method in ("2-Causal-SDRO", "SDRO")]
    if any(side.empty for side in sides):
        return ""
    one, two = (side.set_index(by)["loss"] for side in sides)
    gap = float((one - two).abs().max())
    if gap == 0:
        return (
            "2-Causal-SDRO and SDRO are the same digit by digit: no context occurs twice, so there "
            "is nothing for the adversary to be blind to."
        )
    return f"2-Causal-SDRO and SDRO differ by up to {gap:.2g} in a month."


def _published_pair(method: str) -> list[str]:
    """The published loss at the mapped ω, and what it was trained with."""
    penalty, epsilon = published.PORTFOLIO_TUNED[method][published.OMEGAS.index(MAPPED)]
    loss = published.PORTFOLIO[MAPPED][method][0]
    return [number(loss), f"{penalty:g}", NOTHING if epsilon is None else f"{epsilon:g}"]


def _listed(omegas: list[float]) -> str:
    return ", ".join(f"{omega:g}" for omega in omegas)


# --------------------------------------------------------------------------- what is drawn


def _rule_boxes(found: Table) -> Any:
    """A row of panels per order, a column per baseline; forests beside networks."""
    looks = {rule: (LINES[i], CALLED[rule]) for i, rule in enumerate(RULES)}

    def printed(method: str, rule: str, omega: float) -> float:
        row = published.PORTFOLIO_SAVED[int(method[0]), CALLED[rule]]
        return row[published.OMEGAS.index(omega)]

    rows = [order for order in ORDERS if order in set(found["method"])]
    parts = {order: found[found["method"] == order] for order in rows}
    return box_panels(parts, BASELINES, "rule", looks, printed, width=0.3)


def _model_boxes(found: Table) -> Any:
    """A column of panels per baseline; five models side by side."""
    shown = [method for method in MODELS if method in set(found["method"])]
    looks = {method: (LINES[MODELS.index(method)], method) for method in shown}

    def printed(_: str, method: str, omega: float) -> float:
        place = published.MODELS.index(PRINTED.get(method, method))
        return published.MODEL_SAVED["portfolio"][omega][place]

    return box_panels({"": found}, BASELINES, "method", looks, printed, width=0.13)
