"""What ``hedgerow explain`` does: why one row's decision, or what the policy looks at."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table

from hedgerow import explain
from hedgerow._files import check_target
from hedgerow._warnings import HedgerowWarning
from hedgerow.certify.value import robust_value
from hedgerow.cli.asking_options import ExplainRequest
from hedgerow.cli.explained import Explained
from hedgerow.cli.loading import load_stored
from hedgerow.cli.named_columns import features_of
from hedgerow.cli.panels.explaining import of_panel
from hedgerow.cli.reading import read
from hedgerow.cli.screen import console, ink, leave_gap, print_facts, say, say_lines
from hedgerow.describe.names import decision_names
from hedgerow.describe.numbers import listed, number, percent
from hedgerow.describe.parts import Missing
from hedgerow.estimator import RobustPolicy
from hedgerow.explain.lens import lens_of
from hedgerow.forecasts import ResidualNominal
from hedgerow.panels import PanelPolicy

MOST_BACKGROUND = 2000
"""Rows that a decision is compared with; evenly spaced ones of a longer table."""
BAR = 22
NUDGE = 0.1


def run(request: ExplainRequest) -> None:
    """Explain one decision, or the policy as a whole."""
    if request.figure is not None:
        _check_figure(request.figure, request.force)
    policy = load_stored(request.policy)
    table = read(request.data, request, policy)
    if request.row is not None and not 1 <= request.row <= len(table):
        raise ValueError(
            f"There is no row {request.row}: {request.data} has {len(table):,} rows, and the first "
            "is 1."
        )
    if isinstance(policy, PanelPolicy):
        asked = of_panel(policy, table, request)
    else:
        asked = _of_policy(policy, table, request)
    draw = _whole(asked, request) if request.row is None else _one(asked, request)
    if request.figure is not None:
        from hedgerow import plots

        plots.save_figure(draw(plots), request.figure)
        leave_gap()
        say(f"The figure is in {request.figure}.")


def _of_policy(policy: RobustPolicy, table: pd.DataFrame, request: ExplainRequest) -> Explained:
    """Rows of a table as a single policy sees them."""
    for name in ("history", "series"):
        if getattr(request, name) is not None:
            raise ValueError(
                f"--{name} is understood for panels; {request.policy} holds a policy of single "
                "rows."
            )
    X = features_of(policy, table)
    others = X
    if request.background is not None:
        others = features_of(policy, read(request.background, request, policy))
    return Explained(policy, X, others, table, policy.encoder_)


def _one(asked: Explained, request: ExplainRequest) -> Callable[[Any], Any]:
    """Why this row's decision; returns how ``plots`` draws it."""
    assert request.row is not None
    policy, place = asked.policy, asked.place(request.row)
    where = request.background or request.data
    others = asked.others
    spaced = np.unique(np.linspace(0, len(others) - 1, MOST_BACKGROUND).astype(int))
    found = explain.attribute(policy, asked.X.iloc[place], others.iloc[spaced])
    found = asked.in_units(found.grouped(asked.groups()), place)
    names, told = _names(policy), asked.shown.iloc[place]
    chosen = _decision(request.decision, names, found)
    usual = number(found.baseline[chosen])
    print_facts(
        [
            ("policy", str(request.policy)),
            ("row", f"{request.row:,} of {asked.rows:,} in {request.data}"),
            *asked.facts(place),
            (names[chosen], number(found.decision[chosen])),
            ("usually", f"{usual}, the mean over {len(spaced):,} rows of {where}{asked.usual}"),
        ]
    )
    leave_gap()
    say(
        "What sets it apart from the usual decision, by feature (adds up to "
        f"{number(found.decision[chosen] - found.baseline[chosen], signed=True)}):"
    )
    _print_bars(
        found.names,
        found.values[chosen],
        found.ranked(chosen)[: request.top],
        lambda part: number(part, 3, signed=True),
        {name: _shown(told.get(name)) for name in found.names},
    )
    _print_stability(asked, place, chosen)
    _print_at_worst(asked, place)
    titles = tuple(
        name if np.isfinite(value) else f"{name} = {_shown(told.get(name))}"
        for name, value in zip(found.names, found.context, strict=True)
    )
    return lambda plots: plots.waterfall(replace(found, names=titles), chosen)


def _whole(asked: Explained, request: ExplainRequest) -> Callable[[Any], Any]:
    """What the policy looks at, and its rules in words; returns how ``plots`` draws it."""
    policy, X = asked.policy, asked.X
    found = explain.importance(policy, X).grouped(asked.groups())
    print_facts(
        [
            ("policy", str(request.policy)),
            ("rows", f"{len(X):,} of {request.data}"),
            *asked.facts(None),
        ]
    )
    leave_gap()
    say("What decisions depend on (share of the mean absolute slope, per standard deviation):")
    _print_bars(found.names, found.values, found.ranked()[: request.top], percent, {})
    leave_gap()
    say("The policy in words:")
    if asked.remark:
        say(asked.remark)
    phrases = asked.encoder.phrases() if asked.encoder else None
    said = explain.words(policy, X, phrases=phrases)
    say_lines(f"\n{said}")
    return lambda plots: plots.importance(found)


def _print_bars(
    names: tuple[str, ...],
    sizes: np.ndarray,
    order: np.ndarray,
    written: Callable[[float], str],
    values: Mapping[str, str],
) -> None:
    """Name, value, figure and a bar, coloured as in the figures; what is not in ``order`` last."""
    lines: list[tuple[str, float]] = [(names[j], float(sizes[j])) for j in order]
    if len(order) < len(names):
        others = f"{len(names) - len(order)} others"
        lines.append((others, float(np.delete(sizes, order).sum())))
    largest = max(abs(size) for _, size in lines) or 1.0
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="ellipsis", no_wrap=True, max_width=34)
    table.add_column(justify="right", style="dim")
    table.add_column(justify="right")
    table.add_column(no_wrap=True)
    for name, size in lines:
        bar = "█" * round(BAR * abs(size) / largest)
        colour = "dark_orange3" if size >= 0 else "blue"
        table.add_row(name, values.get(name, ""), written(size), ink(bar or "▏", colour))
    console().print(table)


def _print_stability(asked: Explained, place: int, decision: int) -> None:
    """Routes and what is certain nearby."""
    facts, policy = [], asked.policy
    if lens_of(policy).trees is not None:
        routes = explain.routes(policy, asked.X.iloc[[place]])
        needed, leaves = routes.needed()[0], routes.probabilities.shape[-1]
        usual = f"{number(np.median(needed))} of {leaves}"
        facts.append(("routes", f"{usual} carry {percent(0.99)} of a tree (median of trees)"))
    facts.append(("certain", _certain(asked, place, decision)))
    leave_gap()
    print_facts(facts)


def _print_at_worst(asked: Explained, place: int) -> None:
    """How bad this decision can turn out, where the table says what happened on other rows."""
    policy, names = _telling(asked.policy), asked.policy.outcome_names_
    if asked.units is not None or not names or any(name not in asked.shown for name in names):
        return
    Y = asked.shown[names].to_numpy(float)
    known = np.array(np.isfinite(Y).all(axis=1))
    known[place] = False  # it is not known when deciding
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HedgerowWarning)
            found = robust_value(
                policy, asked.X[known], Y[known], at=asked.X.iloc[[place]], tolerance=1e-2
            )
    except ValueError as error:
        print_facts([("at worst", f"not known: {error}")])
        return
    usual = f"{number(found.nominal)} on average, by what the other rows of the table say"
    print_facts([("may cost", usual), ("at worst", f"{number(found.value)} within the hedge")])


def _telling(policy: Any) -> Any:
    """The policy with a nominal that says what may happen in a context, where none was asked for.

    Few rows would be taken as they are, which tells nothing of a context that is new.
    """
    if policy.nominal is not None:
        return policy
    telling = copy.copy(policy)  # the policy itself stays as it is
    telling.nominal = ResidualNominal()
    return telling


def _certain(asked: Explained, place: int, decision: int) -> str:
    """What the decision cannot leave nearby, or why that is not known."""
    try:
        found = explain.certificate(asked.policy, asked.X.iloc[place], NUDGE)
    except Missing as missing:
        return f"nothing: {missing}"
    ends = (asked.unit(place) * end[decision] for end in (found.low, found.high))
    low, high = (number(end) for end in ends)
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


def _shown(value: object) -> str:
    if isinstance(value, int | float | np.number):
        return number(float(value))
    return str(value).removesuffix(" 00:00:00")  # a date without a time of day


def _check_figure(path: Path, force: bool) -> None:
    if path.suffix.lower() not in (".png", ".pdf"):
        raise ValueError(f"{path} must end in .png or .pdf, so that its format is known.")
    check_target(path, overwrite=force)
