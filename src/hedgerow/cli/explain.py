"""What ``hedgerow explain`` does: why one row's decision, or what the policy looks at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from rich.table import Table
from rich.text import Text

from hedgerow import explain
from hedgerow.cli.screen import console, print_facts, say
from hedgerow.cli.work import features_of
from hedgerow.data.encoder import TableEncoder
from hedgerow.data.table_files import read_table
from hedgerow.estimator import RobustPolicy, load
from hedgerow.rules.soft_forest import Forest

MOST_BACKGROUND = 2000
"""Rows that a decision is compared with; evenly spaced ones of a longer table."""
BAR = 22
NUDGE = 0.1


@dataclass(frozen=True)
class Plan:
    """What was asked; None leaves a choice to the library."""

    row: int | None
    background: Path | None
    decision: str | None
    top: int
    figure: Path | None


def run(path: Path, data: Path, plan: Plan) -> None:
    """Explain one decision, or the policy as a whole."""
    if plan.figure is not None:
        _check_figure(plan.figure)
    policy = load(path)
    table = read_table(data)
    X = features_of(policy, table)
    if plan.row is None:
        _whole(policy, X, path, data, plan)
    else:
        _one(policy, table, X, path, data, plan)


def _one(
    policy: RobustPolicy, table: pd.DataFrame, X: pd.DataFrame, path: Path, data: Path, plan: Plan
) -> None:
    """Why this row's decision."""
    row = plan.row or 0
    if not 1 <= row <= len(X):
        raise ValueError(f"There is no row {row}: {data} has {len(X):,} rows, and the first is 1.")
    others = X if plan.background is None else features_of(policy, read_table(plan.background))
    spaced = np.unique(np.linspace(0, len(others) - 1, MOST_BACKGROUND).astype(int))
    found = explain.attribute(policy, X.iloc[row - 1], others.iloc[spaced])
    found = found.grouped(_groups(policy))
    names = _decision_names(policy)
    chosen = _decision(plan.decision, names, found)
    where = plan.background or data
    print_facts(
        [
            ("policy", str(path)),
            ("row", f"{row:,} of {len(X):,} in {data}"),
            (names[chosen], f"{found.decision[chosen]:.4g}"),
            (
                "usually",
                f"{found.baseline[chosen]:.4g}, the mean over {len(spaced):,} rows of {where}",
            ),
        ]
    )
    say(
        "\nWhat sets it apart from the usual decision, by feature (adds up to "
        f"{found.decision[chosen] - found.baseline[chosen]:+.4g}):"
    )
    _print_parts(found, table.iloc[row - 1], chosen, plan.top)
    _print_stability(policy, X, row - 1, chosen)
    if plan.figure is not None:
        from hedgerow.plots import save_figure, waterfall

        row_of = table.iloc[row - 1]
        titles = (
            name if np.isfinite(value) else f"{name} = {row_of.get(name)}"
            for name, value in zip(found.names, found.context, strict=True)
        )
        save_figure(waterfall(replace(found, names=tuple(titles)), chosen), plan.figure)
        say(f"\nThe figure is in {plan.figure}.")


def _whole(policy: RobustPolicy, X: pd.DataFrame, path: Path, data: Path, plan: Plan) -> None:
    """What the policy looks at, and its rules in words."""
    found = explain.importance(policy, X).grouped(_groups(policy))
    print_facts([("policy", str(path)), ("rows", f"{len(X):,} of {data}")])
    say("\nWhat decisions depend on (share of the mean absolute slope, per standard deviation):")
    order, shares = found.ranked(), found.values
    rows = [(found.names[j], "", f"{shares[j]:.1%}", float(shares[j])) for j in order[: plan.top]]
    if len(order) > plan.top:
        rest = shares[order[plan.top :]].sum()
        rows.append((f"{len(order) - plan.top} others", "", f"{rest:.1%}", float(rest)))
    _print_bars(rows)
    say("\nThe policy in words:")
    phrases = {}
    if policy.columns_:
        phrases = TableEncoder.from_json(policy.columns_.get("encoder")).phrases()
    said = explain.words(policy, X, phrases=phrases, decision_names=_decision_names(policy))
    console().print(Text(f"\n{said}"))
    if plan.figure is not None:
        from hedgerow.plots import importance, save_figure

        save_figure(importance(found), plan.figure)
        say(f"\nThe figure is in {plan.figure}.")


def _print_parts(found: explain.Attribution, row: pd.Series, decision: int, top: int) -> None:
    order, values = found.ranked(decision), found.values[decision]
    rows = [
        (found.names[j], _shown(row.get(found.names[j])), f"{values[j]:+.3g}", float(values[j]))
        for j in order[:top]
    ]
    if len(order) > top:
        rest = values[order[top:]].sum()
        rows.append((f"{len(order) - top} others", "", f"{rest:+.3g}", float(rest)))
    _print_bars(rows)


def _print_bars(rows: list[tuple[str, str, str, float]]) -> None:
    """Name, value, figure and a bar, coloured as in the figures."""
    largest = max((abs(size) for *_, size in rows), default=0.0) or 1.0
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="ellipsis", no_wrap=True, max_width=34)
    table.add_column(justify="right", style="dim")
    table.add_column(justify="right")
    table.add_column(no_wrap=True)
    for name, value, figure, size in rows:
        bar = "█" * round(BAR * abs(size) / largest)
        table.add_row(
            Text(name), value, figure, Text(bar or "▏", "dark_orange3" if size >= 0 else "blue")
        )
    console().print(table)


def _print_stability(policy: RobustPolicy, X: pd.DataFrame, row: int, decision: int) -> None:
    """Routes and what is certain nearby."""
    certain = explain.certificate(policy, X.iloc[row], NUDGE)
    facts = []
    if isinstance(policy.rule_, Forest):
        routes = explain.routes(policy, X.iloc[[row]])
        needed, leaves = routes.needed()[0], routes.probabilities.shape[-1]
        facts.append(
            ("routes", f"{np.median(needed):g} of {leaves} carry 99 % of a tree (median of trees)")
        )
    facts.append(
        (
            "certain",
            f"between {certain.low[decision]:.4g} and {certain.high[decision]:.4g} if no feature "
            f"moves by more than {NUDGE:g} standard deviations",
        )
    )
    console().print()
    print_facts(facts)


def _decision(wanted: str | None, names: list[str], found: explain.Attribution) -> int:
    """Which decision to explain: the one named, or the one that is most unusual."""
    if wanted is None:
        return int(np.argmax(np.abs(found.decision - found.baseline)))
    if wanted not in names:
        raise ValueError(f"There is no decision {wanted!r}; there are {', '.join(names[:12])}.")
    return names.index(wanted)


def _decision_names(policy: RobustPolicy) -> list[str]:
    names = [str(name) for name in (policy.columns_ or {}).get("outcomes") or []]
    if policy.n_decisions_ == 1:
        return ["decision"]
    return (
        names
        if len(names) == policy.n_decisions_
        else [f"decision {k}" for k in range(policy.n_decisions_)]
    )


def _groups(policy: RobustPolicy) -> dict[str, list[str]]:
    """Features that came of one column of the table."""
    if not policy.columns_:
        return {}
    return TableEncoder.from_json(policy.columns_.get("encoder")).groups()


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, int | float | np.number) else str(value)


def _check_figure(path: Path) -> None:
    from hedgerow._files import check_target

    if path.suffix.lower() not in (".png", ".pdf"):
        raise ValueError(f"{path} must end in .png or .pdf, so that its format is known.")
    check_target(path)
