"""Pages of the studies without training: transport plans and worst-case distributions."""

from __future__ import annotations

from typing import Any

from hedgerow.plots import transport_plans, worst_cases
from hedgerow.transport.examples import example_measures
from hedgerow_studies.paper.distribution_studies import CELLS, MODELS, ROWS, oracle_policy
from hedgerow_studies.paper.pages.study_page import Page, Table, markdown_table, number


def plans(table: Table, name: str) -> Page:
    """What a causal plan may not do."""
    rows = [
        ["causal" if row["causal"] else "plain", f"{row['epsilon']:g}",
         number(row["transport_cost"]), number(row["x_given_low"], sign=True),
         number(row["x_given_high"], sign=True), f"{row['causality_error']:.1e}"]
        for row in table.to_dict("records")
    ]  # fmt: skip
    headings = ["plan", "ε", "transport cost", "mean x given ŷ = −1.5", "given ŷ = 1.5",
                "causality error"]  # fmt: skip
    text = (
        "Without causality the context is sent where its outcome suits it; a causal plan has to "
        "send it before the outcome is known, so the mean of x is the same for both outcomes. The "
        "causality error is how far a plan depends on what it may not know.\n\n"
        + markdown_table(headings, rows)
    )
    figure = transport_plans(*example_measures(int(table["points"].iloc[0])))
    return Page({name: figure}, text)


def worst(table: Table, name: str) -> Page:
    """Where the adversaries go."""
    policy, X, Y = oracle_policy()
    caption = (
        f"p = 2, λ = 0.5, ε = 0.05. The {ROWS} covariates are quantised to {CELLS} cells: with one "
        "outcome per context, (a) and (b) would be the same distribution."
    )
    labels: Any = {
        "feature_label": "covariate",
        "outcome_label": "demand",
        "decision_label": "order",
    }
    figure = worst_cases(policy, X, Y, MODELS, caption=caption, **labels)
    rows = [
        [row["model"], f"{row['nominal_loss']:.3f}", f"{row['worst_loss']:.3f}",
         f"{row['x_std']:.2f}", f"{row['y_std']:.2f}"]
        for row in table.to_dict("records")
    ]  # fmt: skip
    headings = ["model", "loss on the data", "expected loss in the worst case",
                "standard deviation of x", "of y"]  # fmt: skip
    loss = table.set_index("model")["worst_loss"]
    lower = "lower" if loss["Causal-SDRO"] < loss["SDRO"] else "not lower"
    text = (
        "The oracle's rule for one covariate, and the distributions that are worst for it. The "
        f"causal worst case costs {loss['Causal-SDRO']:.3f}, {lower} than the plain one's "
        f"{loss['SDRO']:.3f}. Causal-WDRO and KL-DRO put their mass on single points.\n\n"
        + markdown_table(headings, rows)
    )
    return Page({name: figure}, text)
