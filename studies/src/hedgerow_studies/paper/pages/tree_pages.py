"""Pages of the studies of one tree: its routes, its importance, and one of its decisions.

One tree is one draw, in the paper and here; ``docs/results/interpretation.md`` has many.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from hedgerow import explain, plots
from hedgerow.explain import Attribution, Importance
from hedgerow.plots.style import style
from hedgerow_studies.paper import published
from hedgerow_studies.paper.market_study import WINDOW
from hedgerow_studies.paper.pages.study_page import (
    NOTHING,
    Headline,
    Page,
    Table,
    markdown_table,
    number,
    percent,
)
from hedgerow_studies.paper.tree_studies import (
    DECISION,
    EIG,
    LOSS,
    MASS,
    METHOD,
    OMEGA,
    OWN,
    SHAP,
    from_text,
    shown_inputs,
)

LEAST = 0.0005
"""Probability from which a route is listed."""


def routes(table: Table, name: str = "fig10") -> Page:
    """The tree, and how two inputs run through it."""
    policy = from_text(_text(table, "policy"))
    names = list(policy.feature_names_in_)
    contexts = np.array(json.loads(_text(table, "contexts")))
    first, inputs = names[0], shown_inputs(contexts)
    figure = plots.tree(
        policy,
        pd.DataFrame(contexts, columns=names),
        rows=list(inputs.values()),
        decisions=range(1, policy.n_decisions_),
        decision_names=_decisions(table),
        row_labels=[f"{first} at its {label}" for label in inputs],
    )
    found = table[table["what"] == "route"]
    rows, needed = [], []
    for (label, paper), part in zip(
        zip(inputs, published.ROUTES, strict=True),
        (found[found["label"] == label] for label in inputs),
        strict=True,
    ):
        chances = part.set_index("leaf")["value"].sort_values(ascending=False)
        needed.append(int(np.argmax(chances.cumsum().to_numpy() >= MASS)) + 1)
        rows.append([f"{first} at its {label}", _listed(chances.to_dict()), _listed(paper)])
    days = table[table["what"] == "routes needed"].sort_values("leaf")
    median = int(days["leaf"].iloc[int(np.argmax(days["value"].cumsum().to_numpy() >= 0.5))])
    few = float(days[days["leaf"] <= 2]["value"].sum())
    text = "\n".join(
        [
            _protocol(table) + " Grey lines are all days, coloured ones two inputs; leaves are "
            "counted from the top.\n",
            markdown_table(
                ["input", "leaves and their probabilities", "paper, two other inputs"], rows
            ),
            f"{100 * MASS:g} % of the probability takes {needed[0]} and {needed[1]} of the "
            f"{len(days)} routes for these inputs (paper: {len(published.ROUTES[0])} and "
            f"{len(published.ROUTES[1])}), {median} on the median day, and one or two on "
            f"{percent(100 * few)} of days.",
        ]
    )
    return Page({name: figure}, text)


def importance(table: Table, name: str = "fig11") -> Page:
    """What the tree looks at."""
    found = {label: _importance(table, label) for label in (OWN, LOSS, DECISION)}
    own = found[OWN]
    rows = [
        [own.names[j], *(percent(100 * float(one.values[j])) for one in found.values())]
        for j in own.ranked()
    ]
    loss, decision = (explain.correlation(own, found[label]) for label in (LOSS, DECISION))
    paper = published.TREE["importance"]
    text = "\n".join(
        [
            _protocol(table) + " Derivatives are per standard deviation of the feature.\n",
            markdown_table(["feature", *found], rows),
            markdown_table(
                [f"correlation of “{OWN}” with", "here", "paper"],
                [[LOSS, number(loss), number(paper)], [DECISION, number(decision), NOTHING]],
            ),
            f"The correlation with the permutation of the loss is {number(loss)}, "
            f"{_side(loss, paper)} the paper's {number(paper)}; with the change of the decision it "
            f"is {number(decision)}. They compare {len(own.names)} numbers, of one tree.",
        ]
    )
    headline = Headline("importance and permutation: correlation", number(loss), number(paper))
    return Page({name: plots.importance(found)}, text, (headline,))


def attribution(table: Table, name: str = "fig12") -> Page:
    """Why one decision comes out as it does."""
    found, shap = _attribution(table), _attributed(table, SHAP)
    names = _decisions(table)
    asset = 1 + int(np.argmax(np.abs(found.values[1:]).sum(axis=1)))
    weights = explain.correlation(found.values[1:], shap[1:])
    total = explain.correlation(found.total, shap.sum(axis=0))
    paper = published.TREE["attribution"]
    columns = [found.values[asset], shap[asset], found.total, shap.sum(axis=0)]
    rows = [
        [found.names[j], *(number(column[j], 4, sign=True) for column in columns)]
        for j in found.ranked(asset)
    ]
    constant = max(float(np.abs(values[1:].sum(axis=0)).max()) for values in (found.values, shap))
    text = "\n".join(
        [
            _protocol(table) + " Explained is what features add to the mean decision over "
            f"those days, for {names[asset]}, the weight that they move most.\n",
            markdown_table(
                ["feature", f"{EIG}: {names[asset]}", f"{SHAP}: {names[asset]}", f"{EIG}: Σ_k",
                 f"{SHAP}: Σ_k"],
                rows,
            ),
            markdown_table(
                [f"correlation of {EIG} and {SHAP}", "here", "paper"],
                [["all weights and features", number(weights), NOTHING],
                 ["Σ_k of all decisions", number(total), number(paper)]],
            ),
            f"Over Σ_k the correlation is {_side(total, paper)} the paper's, over all weights "
            f"{_side(weights, paper)} it. "
            f"{EIG} misses the decision's distance from the mean one by at most "
            f"{_value(table, 'completeness error'):.0e}. Over the weights attributions sum to 0 "
            f"(here at most {constant:.0e}), since weights sum to 1: the Σ_k that the paper draws "
            "explains the level z₀ and nothing else.",
        ]
    )  # fmt: skip
    ours = f"{number(total)} (weight by weight {number(weights)})"
    headline = Headline("attribution and SHAP, Σ_k: correlation", ours, number(paper))
    return Page({name: _three_panels(found, shap, names, asset)}, text, (headline,))


# --------------------------------------------------------------------------- from rows


def _text(table: Table, what: str) -> str:
    return str(table.loc[table["what"] == what, "text"].iloc[0])


def _value(table: Table, what: str) -> float:
    return float(table.loc[table["what"] == what, "value"].iloc[0])


def _decisions(table: Table) -> list[str]:
    return list(table.loc[table["what"] == "decision", "decision"])


def _importance(table: Table, label: str) -> Importance:
    part = table[(table["what"] == "importance") & (table["label"] == label)]
    errors = part["error"].to_numpy(float)
    known = None if np.isnan(errors).any() else errors
    return Importance(part["value"].to_numpy(float), tuple(part["feature"]), known)


def _attributed(table: Table, label: str) -> np.ndarray:
    """Values (decisions, features), in the order in which they were written."""
    part = table[(table["what"] == "attribution") & (table["label"] == label)]
    return part["value"].to_numpy(float).reshape(len(_decisions(table)), -1)


def _attribution(table: Table) -> Attribution:
    part = table[(table["what"] == "attribution") & (table["label"] == EIG)]
    ends: Any = table.pivot_table(index="decision", columns="what", values="value", sort=False)
    return Attribution(
        _attributed(table, EIG),
        ends["baseline"].to_numpy(),
        ends["decision"].to_numpy(),
        np.array(json.loads(_text(table, "contexts"))[-1]),
        _value(table, "completeness error"),
        tuple(part["feature"].unique()),
    )


# --------------------------------------------------------------------------- words and figures


def _protocol(table: Table) -> str:
    return (
        f"One tree of eight leaves, {METHOD} at ω = {OMEGA:g}, learned on the {WINDOW} trading "
        f"days before {_text(table, 'date')} ({_text(table, 'market')})."
    )


def _side(value: float, other: float) -> str:
    return "above" if value > other else "below"


def _listed(chances: dict[Any, float]) -> str:
    """Leaves with their probabilities, the likeliest first."""
    shown = [f"π{leaf:g}: {chance:.3f}" for leaf, chance in chances.items() if chance >= LEAST]
    return ", ".join(shown)


def _three_panels(found: Attribution, shap: np.ndarray, names: list[str], asset: int) -> Any:
    """One weight by both measures, and both for all weights."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(10.6, 5.6), layout="constrained")
    fig.set_layout_engine("constrained", wspace=0.05, hspace=0.05)
    with style():
        grid = fig.add_gridspec(2, 2, width_ratios=(1, 1.15))
        above, below = fig.add_subplot(grid[0, 0]), fig.add_subplot(grid[1, 0])
        right = fig.add_subplot(grid[:, 1])
    words: Any = {"decision_label": f"weight of {names[asset]}", "baseline_label": "mean weight"}
    plots.waterfall(found, asset, ax=above, title="integrated gradients", **words)
    plots.waterfall(found, asset, values=shap, ax=below, title="SHAP", **words)
    plots.attribution_scatter(
        found.values[1:], shap[1:], names=found.names, decision_names=names[1:], ax=right,
        title="all weights", top=4,
    )  # fmt: skip
    return fig
