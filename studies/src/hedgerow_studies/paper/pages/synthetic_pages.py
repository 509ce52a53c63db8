"""Pages of the synthetic studies: box plots of rules and models, maps of parameters, a fitted rule.

Prescriptiveness is 1 − (H − H*)/(H₀ − H*), the share of a baseline's excess over the oracle that
was saved, in percent. Two baselines are named, both on the same draw: ERM trained to convergence,
and ERM stopped early by cross-validation. The published P refers to an ERM of its own, which
``as_published_pages`` has; nothing here is divided by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hedgerow.plots.style import COLOURS, GREY, INK, style
from hedgerow_studies.paper import published
from hedgerow_studies.paper.pages.charts import LOWEST, draw_boxes, draw_published, heat_maps
from hedgerow_studies.paper.pages.study_page import (
    Headline,
    Page,
    Table,
    markdown_table,
    number,
    percent,
)
from hedgerow_studies.paper.synthetic_models import MODELS, TUNED
from hedgerow_studies.paper.synthetic_studies import MAPPED, ORDERS
from hedgerow_studies.paper.synthetic_training import CONVERGED, EARLY, as_published

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLACE = ["rows", "features", "seed"]
BASELINES = (CONVERGED, EARLY)


def prescriptiveness(table: Table, problem: str) -> Table:
    """Rows of hedged methods with one more column per baseline: percent of its excess saved."""
    table = table.assign(excess=table["loss"] - table["oracle"])
    by = [*PLACE, *(["rule"] if "rule" in table else [])]
    own = table.pivot_table(index=by, columns="method", values="excess")
    hedged = table[table["method"].isin(MODELS)].copy()
    places = pd.MultiIndex.from_frame(hedged[by])
    for name in (CONVERGED, EARLY):
        hedged[name] = 100 * (1 - hedged["excess"].to_numpy() / own[name].loc[places].to_numpy())
    return hedged


def rules(table: Table, problem: str, name: str) -> Page:
    """Forests and networks at every size."""
    found = prescriptiveness(table, problem)
    headings = ["order", "rule", *(f"P against {b}" for b in BASELINES), "published P"]
    rows, headlines = [], []
    for (method, rule), part in found.groupby(["method", "rule"], sort=False):
        cells = part.groupby(["rows", "features"])[list(BASELINES)].mean().mean()
        printed = percent(published.average(problem, str(method), str(rule)))
        rows.append([str(method)[0], str(rule), *(percent(cells[b]) for b in BASELINES), printed])
        headlines.append(_headline(f"{method}, {rule}", cells, printed))
    forests, networks = (
        found[found["rule"] == rule]["excess"].mean() for rule in ("forest", "network")
    )
    ahead = "below" if forests < networks else "not below"
    text = "\n".join(
        [
            _protocol(table, problem),
            markdown_table(headings, rows),
            f"\nHedged forests lose {number(forests)} more than the oracle on average, {ahead} "
            f"hedged networks ({number(networks)}); parameters were chosen with forests and serve "
            f"both. {_released(problem)}\n",
            _as_published(table, problem),
            _beside(problem),
            _losses(table, problem),
        ]
    )
    return Page({name: _rule_boxes(found, problem)}, text, tuple(headlines))


def models(table: Table, problem: str, name: str) -> Page:
    """What to hedge against."""
    found = prescriptiveness(table, problem)
    rows, headlines = [], []
    known = [method for method in MODELS if method in set(found["method"])]
    for method in known:
        part = found[found["method"] == method]
        cells = part.groupby(["rows", "features"])[list(BASELINES)].mean().mean()
        tuned = TUNED[problem][method]
        epsilon = "–" if tuned.epsilon is None else f"{tuned.epsilon:g}"
        sizes = set(zip(part["rows"], part["features"], strict=True))
        printed = percent(published.model_average(problem, method, sizes))
        rows.append(
            [method, f"{tuned.penalty:g}", epsilon, str(tuned.steps),
             number(part["excess"].mean(), 4), *(percent(cells[b]) for b in BASELINES), printed]
        )  # fmt: skip
        headlines.append(_headline(method, cells, printed))
    causal, plain = (
        found[found["method"] == m]["loss"].to_numpy() for m in ("2-Causal-SDRO", "2-SDRO")
    )
    gap = float(np.max(np.abs(causal - plain)))
    vacuous = (
        "Causal-SDRO and SDRO are the same digit by digit: no context occurs twice, so there is "
        "nothing for the adversary to be blind to."
        if gap == 0
        else f"Causal-SDRO and SDRO differ by up to {gap:.2g}."
    )
    headings = ["model", "penalty", "epsilon", "steps", "excess",
                *(f"P against {b}" for b in BASELINES), "published P"]  # fmt: skip
    text = "\n".join(
        [_protocol(table, problem), markdown_table(headings, rows),
         f"\n{vacuous} {_two_tables(problem)}\n", _losses(table)]
    )  # fmt: skip
    return Page({name: _model_boxes(found)}, text, tuple(headlines))


def parameters(table: Table, problem: str, name: str) -> Page:
    """Penalties and epsilons."""
    rows, features = MAPPED[problem]
    losses: Any = table.groupby("method", sort=False)["loss"].mean()
    oracle = float(table["oracle"].mean())
    maps, framed, lines, edges = {}, {}, [], []
    for method in ORDERS:
        bases = [float(losses[b]) for b in BASELINES]
        part = table[table["method"] == method]
        mean = part.groupby(["epsilon", "penalty"])["loss"].mean()
        maps[method] = mean.unstack("penalty")
        edges.append(_edge(method, maps[method], float(losses[EARLY])))
        tuned = TUNED[problem][method]
        framed[method] = tuned.penalty, tuned.epsilon
        places = {"best": mean.idxmin(), "as tuned": framed[method][::-1], "worst": mean.idxmax()}
        for which, place in places.items():
            if place in mean.index:
                shares = (100 * (1 - (mean[place] - oracle) / (base - oracle)) for base in bases)
                lines.append(
                    [method, which, f"{place[1]:g}", f"{place[0]:g}", number(mean[place]),
                     *map(percent, shares)]
                )  # fmt: skip
    printed = " and ".join(
        "{} and {:g} for {}".format(f"{penalty:g}", epsilon or 0.0, method)
        for method, (penalty, epsilon) in ((m, published.TUNED[problem][m]) for m in ORDERS)
    )
    text = "\n".join(
        [
            f"N = {rows}, {features} features, {table['seed'].nunique()} draws. Mean losses: "
            f"oracle {number(oracle)}, {CONVERGED} {number(losses[CONVERGED])}, {EARLY} "
            f"{number(losses[EARLY])}. P: percent of a baseline's excess over the oracle that was "
            "saved, from mean losses. Penalty and epsilon are in units that the data set (scales "
            f'"auto"); the published ones are in raw units ({printed}). Framed: as tuned, on other '
            "draws.\n",
            markdown_table(
                ["model", "which", "penalty", "epsilon", "loss",
                 *(f"P against {b}" for b in BASELINES)],
                lines,
            ),
            "\nThe best was found with the test data in view, so it is not what a user gets. "
            + " ".join(edges),
        ]
    )  # fmt: skip
    return Page({name: heat_maps(maps, "mean loss", framed=framed)}, text)


def _edge(method: str, losses: Table, early: float) -> str:
    """Whether the best penalty lies inside of the grid, and what the most hedging there costs."""
    of_penalty = losses.min(axis=0)
    best, most = of_penalty.idxmin(), of_penalty.index.max()
    gained = number(early - of_penalty.min(), 4, sign=True)
    if best < most:
        gap = number(of_penalty[most] - of_penalty[best], 4)
        where = f"lies inside the grid, at {best:g}; {most:g} loses {gap} more"
    else:
        where = f"is the largest of the grid, {most:g}: there is no interior optimum"
    return f"{method}: the best penalty {where}. Its loss is {gained} below that of {EARLY}."


def fitted(table: Table, name: str) -> Page:
    """Decisions along the index."""
    rows = []
    for (count, rule), part in table.groupby(["rows", "rule"]):
        gap = (part["decision"] - part["oracle"]).to_numpy()
        above = float((part["decision"] > part["signal"]).mean())
        rows.append(
            [str(count), str(rule), number(np.sqrt(np.mean(gap**2))),
             number(gap.mean(), sign=True), f"{100 * above:.0f} %"]
        )  # fmt: skip
    headings = ["N", "rule", "root mean square distance to the oracle's order", "mean",
                "orders above the conditional mean"]  # fmt: skip
    text = (
        "2-Causal-SDRO, 10 features, 300 test contexts, sorted by the index βᵀx that demand "
        "depends on.\n\n" + markdown_table(headings, rows)
    )
    return Page({name: _curves(table)}, text)


def _headline(what: str, shares: Table, printed: str) -> Headline:
    """Prescriptiveness against the fair baseline, and against the one trained long."""
    ours = f"{percent(shares[EARLY])} ({percent(shares[CONVERGED])} of {CONVERGED})"
    return Headline(f"{what}: P against {EARLY}", ours, f"{printed} of its own ERM")


def _protocol(table: Table, problem: str) -> str:
    kind = "substitution costs as printed, " if problem == "inventory" else ""
    long = table[table["method"] == CONVERGED]
    settled = int((long["status"] == "converged").sum())
    return (
        f"{problem.capitalize()}, {kind}draws of truth and data: {table['seed'].nunique()} a size; "
        "losses are exact expectations over the noise. Parameters are one set per model, chosen on "
        "other draws. P: percent of a baseline's excess over the oracle that was saved, per draw, "
        f"averaged over draws and sizes. Baselines: {CONVERGED}, the same rule trained for long, "
        f"whose objective "
        f"had settled to 0.1 % in {settled} of {len(long)} trainings; {EARLY}, after as many steps "
        "as five folds choose.\n"
    )


def _released(problem: str) -> str:
    """Where the released tables and the text differ."""
    pairs = [
        (published.tables_average(problem, m, "forest"), published.average(problem, m, "forest"))
        for m in ORDERS
    ]
    if all(round(table - text, 1) == 0 for table, text in pairs):
        return ""
    means = " and ".join(percent(table) for table, _ in pairs)
    return f"The published P is the text's; the released tables' means for forests are {means}."


def _two_tables(problem: str) -> str:
    """That the published P of models and of rules do not have one baseline."""
    rows, features = 400, 5
    rule = published.rule_losses(problem, 1, rows, features, "forest").saved
    model = published.MODEL_SAVED[problem][rows, features][0]
    return (
        "The published P is the mean over the same sizes. It refers to an ERM of its own, whose "
        f"losses are not known: 1-Causal-SDRO with forests at {rows} × {features} has "
        f"{percent(model)} in the published comparison of models and {percent(rule)} in that of "
        "rules."
    )


def _as_published(table: Table, problem: str) -> str:
    """What comes of the published parameters, where they can be used, exactly minimised."""
    said = []
    for method in ORDERS:
        part = table[table["method"] == as_published(method)]
        own = table[(table["method"] == method) & (table["rule"] == "forest")]
        if not len(part):
            continue
        asked, epsilon = published.TUNED[problem][method]
        used = part["penalty"].iloc[0]
        admissible = (
            f"penalty {asked:g}, epsilon {epsilon:g}"
            if used == asked
            else f"penalty {asked:g}, where the robust value is infinite; the nearest admissible "
            f"one, {used:.3g}, epsilon {epsilon:g}"
        )
        excess = (part["loss"] - part["oracle"]).mean()
        said.append(
            f"{method} at the published {admissible}: {excess:.3f} more than the oracle "
            f"({(own['loss'] - own['oracle']).mean():.3f} with our parameters)"
        )
    return f"Forests at the published parameters. {'; '.join(said)}.\n" if said else ""


def _beside(problem: str) -> str:
    """What stands beside our losses."""
    if problem == "inventory":
        return (
            "Mean losses by size. The published ones are of another problem, whose first demand "
            "falls where the others rise: they stand beside reruns of it in the study "
            "inventory.\n"
        )
    return (
        "Mean losses by size, ours and, in the last columns, those published (of other draws, and "
        f"of a truth whose oracle is said to lose {published.ORACLE[problem]:g} at every size):\n"
    )


def _losses(table: Table, problem: str | None = None) -> str:
    """Mean losses by size and method, beside the oracle's and those published of a problem."""
    table = table.assign(rule=table.get("rule", "forest"))
    place = ["rows", "features", "rule"]
    wide = table.pivot_table(index=place, columns="method", values="loss", sort=False).sort_index()
    oracle = table.groupby(place)["oracle"].mean()
    headings = ["N × d_x", "rule", "oracle", *wide.columns]
    beside = problem == "newsvendor"
    headings += [f"paper: {what}" for what in ("ERM", *ORDERS)] if beside else []
    rows = []
    for n, d, rule in wide.index:
        row = [f"{n} × {d}", rule, number(oracle[n, d, rule]), *map(number, wide.loc[(n, d, rule)])]
        if beside:
            known = [published.rule_losses("newsvendor", order, n, d, rule) for order in (1, 2)]
            erm = sum(one.erm for one in known) / len(known)
            row += map(number, (erm, *(one.hedged for one in known)))
        rows.append(row)
    return markdown_table(headings, rows)


def _rule_boxes(found: Table, problem: str) -> Figure:
    """One panel per order and number of rows; boxes by features, forests beside networks."""
    counts, widths = sorted(found["rows"].unique()), sorted(found["features"].unique())
    with style():
        from matplotlib.figure import Figure

        fig = Figure(figsize=(2.2 * max(len(counts), 2) + 0.6, 4.6), layout="constrained")
        axes: Any = fig.subplots(2, len(counts), sharex=True, sharey=True, squeeze=False)
        for row, method in enumerate(ORDERS):
            for column, count in enumerate(counts):
                ax = axes[row, column]
                part = found[(found["method"] == method) & (found["rows"] == count)]
                for shift, rule in enumerate(("forest", "network")):
                    groups = [
                        part[(part["features"] == d) & (part["rule"] == rule)][CONVERGED].clip(
                            LOWEST
                        )
                        for d in widths
                    ]
                    places = np.arange(len(widths)) + (shift - 0.5) * 0.36
                    draw_boxes(ax, groups, places, COLOURS[shift], rule, 0.3)
                    means = [
                        published.rule_losses(problem, row + 1, count, d, rule).saved
                        for d in widths
                    ]
                    draw_published(ax, places, np.maximum(means, LOWEST), labelled=shift == 1)
                ax.axhline(0, color=GREY, linewidth=0.8)
                ax.set_xticks(np.arange(len(widths)), [str(d) for d in widths])
                if row == 0:
                    ax.set_title(f"N = {count}")
            axes[row, 0].set_ylabel(f"{method}\nP against\n{CONVERGED}, %")
        fig.supxlabel("features", fontsize=10)
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def _model_boxes(found: Table) -> Figure:
    """Panels of sizes: all rows at one width and all widths at one number of rows, as published."""
    sizes = sorted(set(zip(found["rows"], found["features"], strict=True)))
    panels = [[size for size in sizes if size[1] == 20], [s for s in sizes if s[0] == 400]]
    panels = panels if all(len(panel) > 1 for panel in panels) else [sizes]
    with style():
        from matplotlib.figure import Figure

        fig = Figure(figsize=(7.4, 2.9 * len(panels) + 0.4), layout="constrained")
        axes: Any = fig.subplots(len(panels), 1, sharey=True, squeeze=False)[:, 0]
        for ax, panel in zip(axes, panels, strict=True):
            for place, method in enumerate(MODELS):
                own = found[found["method"] == method]
                groups = [
                    own[(own["rows"] == n) & (own["features"] == d)][CONVERGED].clip(LOWEST)
                    for n, d in panel
                ]
                places = np.arange(len(panel)) + (place - 3) * 0.12
                colour, hatch = _model_look(method)
                draw_boxes(ax, groups, places, colour, method, 0.1, hatch)
            ax.axhline(0, color=GREY, linewidth=0.8)
            ax.set_xticks(np.arange(len(panel)), [f"{n} × {d}" for n, d in panel])
            ax.set_ylabel(f"P against\n{CONVERGED}, %")
        axes[-1].set_xlabel("rows × features")
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return fig


def _model_look(method: str) -> tuple[str, str]:
    kinds = {"Causal-SDRO": 0, "SDRO": 1, "Causal-WDRO": 2}
    colour = COLOURS[kinds.get(method[2:], 3)]
    return colour, "////" if method.startswith("1-") else ""


def _curves(table: Table) -> Figure:
    counts = sorted(table["rows"].unique())
    with style():
        from matplotlib.figure import Figure

        fig = Figure(figsize=(max(3.6 * len(counts), 5.6) + 0.4, 3.6), layout="constrained")
        axes: Any = fig.subplots(1, len(counts), sharey=True, squeeze=False)[0]
        for ax, count in zip(axes, counts, strict=True):
            part = table[table["rows"] == count]
            for colour, (rule, rows) in zip(
                (COLOURS[1], COLOURS[2]), part.groupby("rule"), strict=False
            ):
                ax.plot(rows["index"], rows["decision"], ".", color=colour, ms=3, label=rule)
            truth = part[part["rule"] == part["rule"].iloc[0]]
            ax.plot(truth["index"], truth["oracle"], color=INK, lw=1.2, label="oracle's order")
            ax.plot(
                truth["index"], truth["signal"], "--", color=COLOURS[0], lw=1.2, label="mean demand"
            )
            ax.set_title(f"N = {count}")
            ax.set_xlabel("index βᵀx")
        axes[0].set_ylabel("order")
        handles = axes[0].get_legend_handles_labels()
        fig.legend(*handles, loc="outside upper center", ncols=4, markerscale=2)
    return fig
