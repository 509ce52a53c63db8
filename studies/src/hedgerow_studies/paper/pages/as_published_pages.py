"""Pages of the paper as published: rerun losses beside the printed ones, and what differences cost.

Two columns are kept apart: *as published*, which is what the authors' code does on draws of our own
(and the printed Algorithm 1), and *hedgerow*. P is against the empirical risk rerun by their recipe
on the same draw, each value clipped below at −100 %, as theirs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hedgerow.plots.style import COLOURS, INK, style
from hedgerow_studies.paper import published
from hedgerow_studies.paper.as_published.portfolios import CMV, HEDGEROW
from hedgerow_studies.paper.as_published.portfolios import RELEASED as PORTFOLIO_RELEASED
from hedgerow_studies.paper.as_published.studies import (
    ALL_PAIRS,
    ERM,
    METHODS,
    PRINTED,
    RELEASED,
    UNMOVED,
)
from hedgerow_studies.paper.as_published.studies import HEDGEROW as DEFAULTS
from hedgerow_studies.paper.pages.charts import LOWEST, box_panels
from hedgerow_studies.paper.pages.study_page import (
    Headline,
    Page,
    Table,
    markdown_table,
    number,
    percent,
)

SCORES = {"loss": "exact", "loss_as_released": "as released"}
ORDERS: dict[str, int | None] = {ERM: None, ALL_PAIRS: None, RELEASED[1]: 1, RELEASED[2]: 2}
PLACE = ["rows", "features"]
NEAR = 2.0
"""Standard errors within which two means agree."""


# --------------------------------------------------------------------------- synthetic problems


def synthetic(table: Table, problem: str, name: str) -> Page:
    """Every size, beside the released tables."""
    scores = list(SCORES)[: 2 if problem == "newsvendor" else 1]
    counted = [
        [rule, method, called, *agreement(table, problem, method, score, rule)]
        for rule in _rules(table)
        for method in ORDERS
        for score, called in SCORES.items()
        if score in scores and not _of(table, method, rule).empty
    ]
    shares = saved(table)
    averages = _averages(table, shares, problem)
    text = "\n".join(
        [
            _protocol(table, problem),
            f"Sizes at which the rerun mean lies within {NEAR:g} standard errors of the published "
            "one, the errors of both taken together:\n",
            markdown_table(
                ["rule", "method", "scored", "sizes that agree", "of",
                 "mean of rerun less published"],
                counted,
            ),
            "Prescriptiveness, averaged over sizes (the same sizes for the published figure):\n",
            markdown_table(
                ["rule", "method", "draws a size", "P, exact oracle", "P, their oracle",
                 "published P"],
                averages,
            ),
            _lowest(shares) + "\n",
            "Losses, mean ± standard error over draws; forests:\n",
            _losses(table, problem),
            *_networks(table, problem),
        ]
    )  # fmt: skip
    headlines = tuple(
        Headline(f"{method}, {rule}: sizes within {NEAR:g} SE ({called})", f"{ours} of {of}", "")
        for rule, method, called, ours, of, _ in counted
        if rule == "forest"
    )
    headlines += tuple(
        Headline(f"{method}, {rule}: P against {ERM}", exact, printed)
        for rule, method, _, exact, _, printed in averages
    )
    return Page({name: _scatter(table, problem)}, text, headlines)


def agreement(
    table: Table, problem: str, method: str, score: str, rule: str = "forest"
) -> tuple[str, str, str]:
    """At how many sizes a rerun mean agrees with the published one, of how many, and the bias.

    A size with a single draw has no standard error to compare with, and is not counted.
    """
    near, counted, gaps = 0, 0, []
    for (rows, features), part in _of(table, method, rule).groupby(PLACE):
        ours, printed = mean_of(part[score]), _printed(problem, method, rows, features, rule)
        gap = ours.value - printed.value
        near += bool(abs(gap) <= NEAR * math.hypot(ours.error, printed.error))
        counted += not math.isnan(ours.error)
        gaps.append(gap)
    return str(near), str(counted), number(float(np.mean(gaps)), sign=True)


def mean_of(values: Any) -> published.Mean:
    """Mean and standard error; that of a single draw is not known."""
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return published.Mean(float(values.mean()), float(error))


def saved(table: Table) -> Table:
    """Rows of everything but the baseline, with P against it under both oracles."""
    by = [*PLACE, "seed", "rule"]
    base = table[table["method"] == ERM].set_index(by)
    against = base[list(SCORES)].add_suffix("_base")
    rows = table[~table["method"].isin((ERM, ALL_PAIRS))].join(against, on=by)
    pairs = {"P": "loss", "P_theirs": "loss_as_released"}
    oracles = {"P": "oracle", "P_theirs": "oracle_as_released"}
    for column, score in pairs.items():
        least = rows[oracles[column]]
        share = 100 * (1 - (rows[score] - least) / (rows[f"{score}_base"] - least))
        rows[column] = share.clip(LOWEST)
    return rows


def _averages(table: Table, shares: Table, problem: str) -> list[list[str]]:
    found = []
    for rule in _rules(table):
        for method in METHODS:
            part = shares[(shares["method"] == method) & (shares["rule"] == rule)]
            part = part.dropna(subset=["P"])
            if part.empty:
                continue
            means = part.groupby(PLACE)[["P", "P_theirs"]].mean()
            order = ORDERS.get(method)
            printed = math.nan
            if order is not None:
                printed = float(
                    np.mean([
                        published.rule_losses(problem, order, n, d, rule).saved
                        for n, d in means.index
                    ])
                )  # fmt: skip
            drawn = part.groupby(PLACE)["seed"].nunique()
            few, most = drawn.min(), drawn.max()
            found.append(
                [rule, method, str(most) if few == most else f"{few} to {most}",
                 percent(means["P"].mean()), percent(means["P_theirs"].mean()), percent(printed)]
            )  # fmt: skip
    return found


def _lowest(shares: Table) -> str:
    """How others stand beside the released trainer of order 2, on the draws that both have."""
    said = []
    for method in (DEFAULTS, UNMOVED, PRINTED):
        pair = _paired(shares, method, RELEASED[2])
        if pair.empty:
            continue
        gap = pair[f"loss_{method}"] - pair["loss"]
        mean, share = mean_of(gap), pair[f"excess_{method}"].mean() / pair["excess"].mean()
        said.append(
            f"- {method}: {_said(mean, sign=True)}, lower in "
            f"{int((gap < 0).sum())} of {len(gap)} draws, {100 * share:.0f} % of the excess over "
            "the exact oracle"
        )
    if not said:
        return ""
    return f"Loss less that of {RELEASED[2]}, forests, on the same draws:\n\n" + "\n".join(said)


def _paired(shares: Table, method: str, other: str) -> Table:
    """Losses and excesses of two methods on the draws that both have."""
    forests = shares[shares["rule"] == "forest"]
    forests = forests.assign(excess=forests["loss"] - forests["oracle"])
    columns, by = ["loss", "excess"], [*PLACE, "seed"]
    one, two = (forests[forests["method"] == m].set_index(by)[columns] for m in (other, method))
    return one.join(two.add_suffix(f"_{method}"), how="inner")


def _losses(table: Table, problem: str) -> str:
    forests = table[table["rule"] == "forest"]
    known = [method for method in METHODS if method in set(forests["method"])]
    headings = ["N × d_x", "oracle", "their oracle", *known]
    headings += ["published: ERM", *(f"published: {order}-Causal-SDRO" for order in (1, 2))]
    rows = []
    for (n, d), part in forests.groupby(PLACE):
        row = [f"{n} × {d}", number(part["oracle"].mean())]
        row.append(number(part["oracle_as_released"].mean()))
        row += [_with_error(part[part["method"] == method]["loss"]) for method in known]
        row += _published_losses(problem, n, d, "forest")
        rows.append(row)
    return markdown_table(headings, rows)


def _published_losses(problem: str, rows: Any, features: Any, rule: str) -> list[str]:
    means = [published.mean_loss(problem, o, int(rows), int(features), rule) for o in (None, 1, 2)]
    return [f"{number(mean.value)} ± {number(mean.error)}" for mean in means]


def _networks(table: Table, problem: str) -> list[str]:
    part = table[table["rule"] == "network"]
    if part.empty:
        return []
    known = [method for method in METHODS if method in set(part["method"])]
    rows = [
        [f"{n} × {d}", *(_with_error(own[own["method"] == method]["loss"]) for method in known),
         *_published_losses(problem, n, d, "network")]
        for (n, d), own in part.groupby(PLACE)
    ]  # fmt: skip
    headings = [*known, "published: ERM", *(f"published: {o}-Causal-SDRO" for o in (1, 2))]
    return ["Networks:\n", markdown_table(["N × d_x", *headings], rows)]


def _with_error(values: Any) -> str:
    if values.empty:
        return "–"
    return _said(mean_of(values))


def _said(mean: published.Mean, *, sign: bool = False) -> str:
    """A mean, with its standard error where that is known."""
    value = number(mean.value, sign=sign)
    return value if math.isnan(mean.error) else f"{value} ± {number(mean.error)}"


def _printed(problem: str, method: str, rows: Any, features: Any, rule: str) -> published.Mean:
    return published.mean_loss(problem, ORDERS[method], int(rows), int(features), rule)


def _of(table: Table, method: str, rule: str) -> Table:
    return table[(table["method"] == method) & (table["rule"] == rule)]


def _rules(table: Table) -> list[str]:
    return [rule for rule in ("forest", "network") if rule in set(table["rule"])]


def _protocol(table: Table, problem: str) -> str:
    own = {
        "newsvendor": "Pairs are drawn again while demand is not positive. Losses are exact "
        "expectations over the noise; *as released* is the softplus of sharpness 5 that the "
        "released code trains on and scores by.",
        "inventory": "Printed costs; the first demand is exponential by rate, the others Gamma by "
        "scale. Losses are means over drawn demands, a stock below 0 counting as 1, as released.",
    }[problem]
    pairs = infinite = ""
    if problem == "newsvendor":
        pairs = (
            f"; *{ALL_PAIRS}*: every decision against every demand of its batch, as the shapes in "
            "the released line have it"
        )
        infinite = ", order 1 at 0.6, where the robust value is infinite"
    return (
        f"{problem.capitalize()}, {len(table.groupby(PLACE))} sizes, the paper's depth and random "
        f"gates, contexts standardised by the training rows. {own} *{ERM}*: the released recipe, "
        f"Adam at 0.05, 300 passes, each decision against its own demand{pairs}. *Causal-SDRO as "
        "released*: what the authors' public trainer does at the published penalty and epsilon"
        f"{infinite}. *{UNMOVED}*: the same trainer with pairs where they are, so that nothing is "
        f"hedged. *{PRINTED}*: the printed algorithm by the library, as many steps, by Adam. "
        f"*{DEFAULTS}*: `RobustPolicy(loss)`.\n"
    )


def _scatter(table: Table, problem: str) -> Any:
    """Rerun against published mean losses, with two standard errors either way."""
    from matplotlib.figure import Figure

    with style():
        known = [method for method in ORDERS if not _of(table, method, "forest").empty]
        fig = Figure(figsize=(2.2 * len(known) + 0.8, 2.8), layout="constrained")
        axes: Any = fig.subplots(1, len(known), squeeze=False)[0]
        for ax, method in zip(axes, known, strict=True):
            part = _of(table, method, "forest")
            pairs = [
                (_printed(problem, method, n, d, "forest"), mean_of(own["loss"]))
                for (n, d), own in part.groupby(PLACE)
            ]
            across, up = ([pair[side].value for pair in pairs] for side in (0, 1))
            errors = [np.nan_to_num([NEAR * pair[side].error for pair in pairs]) for side in (0, 1)]
            ax.errorbar(
                across, up, xerr=errors[0], yerr=errors[1], fmt="o", ms=3.5, lw=0.8,
                color=COLOURS[0],
            )  # fmt: skip
            ends = min(across + up), max(across + up)
            ax.plot(ends, ends, color=INK, lw=0.8)
            ax.set_title(method, fontsize=7.5)
            ax.set_xlabel("published")
        axes[0].set_ylabel("rerun")
    return fig


# --------------------------------------------------------------------------- differences


def differences(table: Table, name: str) -> Page:
    """What each difference is worth."""
    draws = table.groupby(["problem", *PLACE, "variant"])["seed"].nunique()
    count = draws.min() if draws.min() == draws.max() else f"{draws.min()} to {draws.max()}"
    text = [
        f"Mean loss ± standard error over {count} draws, scored exactly; forests. Each row changes "
        "one thing of the released code, or of the printed algorithm as the library runs it.\n"
    ]
    for problem, part in table.groupby("problem", sort=False):
        text += [f"{str(problem).capitalize()}:\n", _variants(part, str(problem))]
    return Page({}, "\n".join(text))


def _variants(table: Table, problem: str) -> str:
    pairs = zip(table["rows"], table["features"], strict=True)
    sizes = sorted({(int(n), int(d)) for n, d in pairs})
    rows = []
    for variant, part in table.groupby("variant", sort=False):
        own = [part[(part["rows"] == n) & (part["features"] == d)] for n, d in sizes]
        rows.append([str(variant), *(_with_error(one["loss"]) for one in own)])
    orders = {"ERM": None, "2-Causal-SDRO": 2, "1-Causal-SDRO": 1}
    for kind, order in orders.items():
        means = [published.mean_loss(problem, order, n, d) for n, d in sizes]
        said = (f"{number(mean.value)} ± {number(mean.error)}" for mean in means)
        rows.append([f"{kind}: published", *said])
    return markdown_table(["variant", *(f"{n} × {d}" for n, d in sizes)], rows)


# --------------------------------------------------------------------------- portfolios


def portfolios(table: Table, name: str) -> Page:
    """The released protocol."""
    columns = ["loss", "sharpe", "mean", "std", "cvar"]
    means: Any = table.groupby(["omega", "method", "rule"], sort=False)[columns].mean()
    rows = [
        [f"{omega:g}", method, rule or "–", *map(number, means.loc[omega, method, rule])]
        for omega, method, rule in sorted(means.index, key=lambda key: key[0])
    ]
    clipped = _by_date(table)
    summary = []
    for rule in _rules(clipped):
        for methods, printed in (
            (tuple(PORTFOLIO_RELEASED.values()), published.PORTFOLIO_AVERAGES[rule]),
            (tuple(HEDGEROW.values()), math.nan),
        ):
            part = clipped[clipped["method"].isin(methods) & (clipped["rule"] == rule)]
            if part.empty:
                continue
            pools = part.groupby("pool")["P"].mean()
            share = 100 * float((part["P"] <= LOWEST).mean())
            summary.append(
                [rule, " and ".join(sorted(set(part["method"]))), str(len(part)),
                 _share_with_error(part), percent(part["P"].median()),
                 ", ".join(percent(value) for value in pools), percent(share), percent(printed)]
            )  # fmt: skip
    even = table[table["method"] == "EW"].groupby("pool")["sharpe"].mean()
    text = "\n".join(
        [
            f"{table['day'].nunique()} dates from {min(table['day'])} to {max(table['day'])}, "
            f"{table['pool'].nunique()} pool(s) of 50 of our 394 stocks, each kept for all dates; "
            "730 rows of history, 60 days held; P per date against the rerun CMV, clipped below at "
            "−100 %.\n",
            markdown_table(
                ["rule", "methods", "values", "mean P ± error over dates", "median P",
                 "mean P by pool", "clipped",
                 "published mean P"],
                summary,
            ),
            f"Equal weights: Sharpe ratio {', '.join(number(v) for v in even)} by pool; published "
            "1.163.\n",
            "Means over dates and pools:\n",
            markdown_table(["ω", "method", "rule", "loss", "Sharpe", "mean", "std", "CVaR"], rows),
        ]
    )  # fmt: skip
    headlines = tuple(
        Headline(f"{row[1]}, {row[0]}: mean P by the released protocol", row[3], row[7])
        for row in summary
    )
    return Page({} if clipped.empty else {name: _boxes(clipped)}, text, headlines)


def _share_with_error(part: Table) -> str:
    """Mean P; its standard error over pools and dates, whose ω and orders go together."""
    mean = mean_of(part.groupby(["pool", "date"])["P"].mean())
    return f"{number(part['P'].mean(), 1)} ± {number(mean.error, 1)} %"


def _by_date(table: Table) -> Table:
    """P of every learned portfolio, date by date."""
    place = ["pool", "omega", "date"]
    best = table[table["method"] == "PT"].set_index(place)["loss"].rename("best")
    base = table[table["method"] == CMV].set_index([*place, "rule"])["loss"].rename("base")
    learned = (*PORTFOLIO_RELEASED.values(), *HEDGEROW.values())
    rows = table[table["method"].isin(learned)].join(best, on=place)
    rows = rows.join(base, on=[*place, "rule"])
    share = 100 * (1 - (rows["loss"] - rows["best"]) / (rows["base"] - rows["best"]))
    return rows.assign(P=share.clip(LOWEST)).dropna(subset=["P"])


def _boxes(found: Table) -> Any:
    looks = {
        method: (COLOURS[i % len(COLOURS)], method.replace("-Causal-SDRO, as", ","))
        for i, method in enumerate(dict.fromkeys(found["method"]))
    }

    def printed(_: str, method: str, omega: float) -> float:
        if not method.endswith("as released"):
            return math.nan
        return published.PORTFOLIO_SAVED[int(method[0]), "forest"][published.OMEGAS.index(omega)]

    forests = found[found["rule"] == "forest"].rename(columns={"P": CMV})
    return box_panels({"": forests}, [CMV], "method", looks, printed, width=0.2)
