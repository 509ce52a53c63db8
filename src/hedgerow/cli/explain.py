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
from hedgerow.data.table_files import read_table
from hedgerow.describe.names import decision_names
from hedgerow.describe.numbers import listed, number, percent
from hedgerow.describe.parts import Missing
from hedgerow.estimator import RobustPolicy, load
from hedgerow.explain.lens import lens_of

MOST_BACKGROUND = 2000
"""Rows that a decision is compared with; evenly spaced ones of a longer table."""
BAR = 22
NUDGE = 0.1


@dataclass(frozen=True)
class ExplainRequest:
    """What was asked; None leaves a choice to the library."""

    row: int | None
    background: Path | None
    decision: str | None
    top: int
    figure: Path | None


def run(path: Path, data: Path, request: ExplainRequest) -> None:
    """Explain one decision, or the policy as a whole."""
    if request.figure is not None:
        _check_figure(request.figure)
    policy = load(path)
    table = read_table(data)
    X = features_of(policy, table)
    if request.row is None:
        _whole(policy, X, path, data, request)
    else:
        _one(policy, table, X, path, data, request)


def _one(
    policy: RobustPolicy,
    table: pd.DataFrame,
    X: pd.DataFrame,
    path: Path,
    data: Path,
    request: ExplainRequest,
) -> None:
    """Why this row's decision."""
    row = request.row or 0
    if not 1 <= row <= len(X):
        raise ValueError(f"There is no row {row}: {data} has {len(X):,} rows, and the first is 1.")
    others = (
        X if request.background is None else features_of(policy, read_table(request.background))
    )
    spaced = np.unique(np.linspace(0, len(others) - 1, MOST_BACKGROUND).astype(int))
    found = explain.attribute(policy, X.iloc[row - 1], others.iloc[spaced])
    found = found.grouped(_groups(policy))
    names = _names(policy)
    chosen = _decision(request.decision, names, found)
    where = request.background or data
    print_facts(
        [
            ("policy", str(path)),
            ("row", f"{row:,} of {len(X):,} in {data}"),
            (names[chosen], number(found.decision[chosen])),
            (
                "usually",
                f"{number(found.baseline[chosen])}, the mean over {len(spaced):,} rows of {where}",
            ),
        ]
    )
    say(
        "\nWhat sets it apart from the usual decision, by feature (adds up to "
        f"{number(found.decision[chosen] - found.baseline[chosen], signed=True)}):"
    )
    _print_parts(found, table.iloc[row - 1], chosen, request.top)
    _print_stability(policy, X, row - 1, chosen)
    if request.figure is not None:
        from hedgerow.plots import save_figure, waterfall

        row_of = table.iloc[row - 1]
        titles = (
            name if np.isfinite(value) else f"{name} = {row_of.get(name)}"
            for name, value in zip(found.names, found.context, strict=True)
        )
        save_figure(waterfall(replace(found, names=tuple(titles)), chosen), request.figure)
        say(f"\nThe figure is in {request.figure}.")


def _whole(
    policy: RobustPolicy, X: pd.DataFrame, path: Path, data: Path, request: ExplainRequest
) -> None:
    """What the policy looks at, and its rules in words."""
    found = explain.importance(policy, X).grouped(_groups(policy))
    print_facts([("policy", str(path)), ("rows", f"{len(X):,} of {data}")])
    say("\nWhat decisions depend on (share of the mean absolute slope, per standard deviation):")
    order, shares = found.ranked(), found.values
    rows = [
        (found.names[j], "", percent(float(shares[j])), float(shares[j]))
        for j in order[: request.top]
    ]
    if len(order) > request.top:
        rest = float(shares[order[request.top :]].sum())
        rows.append((f"{len(order) - request.top} others", "", percent(rest), rest))
    _print_bars(rows)
    say("\nThe policy in words:")
    said = explain.words(policy, X, phrases=policy.encoder_.phrases() if policy.encoder_ else None)
    console().print(Text(f"\n{said}"))
    if request.figure is not None:
        from hedgerow.plots import importance, save_figure

        save_figure(importance(found), request.figure)
        say(f"\nThe figure is in {request.figure}.")


def _print_parts(found: explain.Attribution, row: pd.Series, decision: int, top: int) -> None:
    order, values = found.ranked(decision), found.values[decision]
    rows = [
        (
            found.names[j],
            _shown(row.get(found.names[j])),
            number(values[j], 3, signed=True),
            float(values[j]),
        )
        for j in order[:top]
    ]
    if len(order) > top:
        rest = float(values[order[top:]].sum())
        rows.append((f"{len(order) - top} others", "", number(rest, 3, signed=True), rest))
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
    facts = []
    if lens_of(policy).trees is not None:
        routes = explain.routes(policy, X.iloc[[row]])
        needed, leaves = routes.needed()[0], routes.probabilities.shape[-1]
        facts.append(
            (
                "routes",
                f"{number(np.median(needed))} of {leaves} carry {percent(0.99)} of a tree (median "
                "of trees)",
            )
        )
    facts.append(("certain", _certain(policy, X.iloc[row], decision)))
    console().print()
    print_facts(facts)


def _certain(policy: RobustPolicy, row: pd.Series, decision: int) -> str:
    """What the decision cannot leave nearby, or why that is not known."""
    try:
        found = explain.certificate(policy, row, NUDGE)
    except Missing as missing:
        return f"nothing: {missing}"
    low, high = number(found.low[decision]), number(found.high[decision])
    return (
        f"between {low} and {high} if no feature moves by more than {number(NUDGE)} standard "
        "deviations"
    )


def _decision(wanted: str | None, names: list[str], found: explain.Attribution) -> int:
    """Which decision to explain: the one named, or the one that is most unusual."""
    if wanted is None:
        return int(np.argmax(np.abs(found.decision - found.baseline)))
    if wanted not in names:
        raise ValueError(f"There is no decision {wanted!r}; there are {listed(names)}.")
    return names.index(wanted)


def _names(policy: RobustPolicy) -> list[str]:
    """What decisions are asked for by; the only one is just that."""
    return ["decision"] if policy.n_decisions_ == 1 else decision_names(policy)


def _groups(policy: RobustPolicy) -> dict[str, list[str]]:
    """Features that came of one column of the table."""
    return policy.encoder_.groups() if policy.encoder_ else {}


def _shown(value: object) -> str:
    return number(float(value)) if isinstance(value, int | float | np.number) else str(value)


def _check_figure(path: Path) -> None:
    from hedgerow._files import check_target

    if path.suffix.lower() not in (".png", ".pdf"):
        raise ValueError(f"{path} must end in .png or .pdf, so that its format is known.")
    check_target(path)
