"""The demonstration: how many portions a restaurant should prepare tomorrow.

Real demand, split by time: the first three quarters of the days train, the rest test and are looked
at only to report. Three ways to decide are compared on the same days,

    the best fixed order,
    a forest that trusts its data (ERM),
    a forest that hedges (Causal Sinkhorn),

by what they seem to cost in training, by what they did cost afterwards, and by their robust value:
the average cost under the worst distribution near the training data, less a charge for distance;
the same charge for all three.
Differences between policies come with their standard error over the test days, so that the output
claims no more than the days can show.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from hedgerow import plots
from hedgerow._progress import Report, objective_words, stages
from hedgerow.ambiguity import ERM, Problem
from hedgerow.certify.value import certify
from hedgerow.data.nominal import EmpiricalNominal
from hedgerow.data.table_files import write_table
from hedgerow.data.units import Units
from hedgerow.datasets import load_restaurant
from hedgerow.describe.numbers import number, percent
from hedgerow.describe.text import shown
from hedgerow.estimator import RobustPolicy
from hedgerow.fitting import default_ambiguity
from hedgerow.losses import Newsvendor
from hedgerow.report.costs import standard_error
from hedgerow.rules import Constant, FittedRule, Start
from hedgerow.solvers import default_solver

if TYPE_CHECKING:
    from rich.console import Console

DISH, UNIT = "steak", "€ a day"
HOLDING, STOCKOUT = 1.0, 3.0
TRAINING_SHARE = 0.75
LEFT_OUT = "month_"
"""Training sees each month once or twice, so these indicators are mostly noise: time-series
cross-validation on the training days alone preferred every policy without them."""


@dataclass(frozen=True)
class Line:
    """One line of the table: mean cost a day in training, cost of each test day, robust value."""

    name: str
    in_sample: float
    test_losses: np.ndarray
    robust_value: float

    @property
    def out_of_sample(self) -> float:
        """Mean cost of the test days."""
        return float(self.test_losses.mean())


@dataclass(frozen=True)
class Demonstration:
    """What ``run`` found and wrote."""

    lines: list[Line]
    policy: RobustPolicy
    files: list[Path]


def run(
    folder: str | os.PathLike[str] = "hedgerow-demo",
    *,
    seed: int = 0,
    steps: int | None = None,
    console: Console | None = None,
) -> Demonstration:
    """Train, compare, print, and save into ``folder``.

    Parameters
    ----------
    folder : path
        Made if need be. Gets policy.hedgerow, decisions.csv, decision.png and training.png.
    seed : int
        The same seed gives the same result.
    steps : int, optional
        Training steps; None: the library's default.
    console : rich.console.Console, optional
        Where to print; None: standard output.
    """
    from rich.console import Console
    from rich.text import Text

    started = time.perf_counter()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    console = console or Console(highlight=False)
    data = load_restaurant(DISH, as_frame=True)
    data.data = data.data.loc[:, ~data.data.columns.str.startswith(LEFT_OUT)]
    days = int(TRAINING_SHARE * len(data.target))
    X, Y, X_new, Y_new = data.data[:days], data.target[:days], data.data[days:], data.target[days:]
    hedge = default_ambiguity(days)
    console.print(
        f"How many portions of {DISH} should the kitchen prepare? Each one left over costs "
        f"{number(HOLDING)} €, each one missing {number(STOCKOUT)} €. Trained on {days} days from "
        f"{_day(data.dates[0])}, tested on the {len(Y_new)} days from {_day(data.dates[days])}. "
        f"Hedged with the default penalty {number(hedge.penalty, 3)} and epsilon "
        f"{number(hedge.epsilon)}, each day with what demand might have been there by "
        "what predictions were off. The trusting forest takes history as it was.\n"
    )

    loss = Newsvendor(HOLDING, STOCKOUT)
    trusting = RobustPolicy(loss, ERM(), nominal=EmpiricalNominal(), random_state=seed)
    robust = RobustPolicy(loss, hedge, random_state=seed)
    with stages(console, keep=True) as stage:
        for name, policy, model in (
            ("trusting", trusting, ERM()),
            ("hedged", robust, hedge),
        ):
            if steps is not None:
                policy.solver = default_solver(model).set_params(steps=steps)
            with stage(f"training the {name} forest") as report:
                policy.set_params(verbose=_told(report)).fit(X, Y).set_params(verbose=False)
        with stage("comparing robust values"):
            theirs = _value_under(robust, trusting.rule_, trusting.units_)
            own = robust.robust_value_.value  # which its file then holds
            lines = [_fixed_line(robust, trusting, Y, Y_new)] + [
                Line(name, -policy.score(X, Y), policy.losses(X_new, Y_new), value)
                for name, policy, value in (
                    ("forest, trusting its data (ERM)", trusting, theirs),
                    ("forest, hedged (Causal Sinkhorn)", robust, own),
                )
            ]
        with stage("saving"):
            files = _save(folder, robust, trusting, data, days)
    console.print()
    _print_table(console, lines)
    for sentence in _sentences(lines):
        console.print(f"• {sentence}")
    took, names = time.perf_counter() - started, ", ".join(file.name for file in files)
    console.print(
        Text.assemble("\nWritten to ", (shown(folder), "bold"), f" in {took:.0f} s: {names}.")
    )
    return Demonstration(lines, robust, files)


def _told(report: Report) -> Callable[[int, int, float], None]:
    """What training calls, as what a stage of the work is told."""
    return lambda done, total, objective: report(done, total, objective_words(objective))


def _fixed_line(robust: RobustPolicy, trusting: RobustPolicy, Y: Any, Y_new: Any) -> Line:
    """Costs of the fixed order that would have been best on the training days."""
    units = trusting.units_
    start = Start.of(units, robust.loss.decisions_for(1))
    rule = Constant().build(jax.random.key(0), start)
    in_sample, test_losses = (
        np.asarray(robust.loss(units.constant, demand.to_numpy()[:, None])) for demand in (Y, Y_new)
    )
    value = _value_under(robust, rule, units)
    return Line("best fixed order", float(in_sample.mean()), test_losses, value)


def _value_under(robust: RobustPolicy, rule: FittedRule, units: Units) -> float:
    """A rule's value under the robust policy's nominal and ambiguity model."""
    problem = Problem.of(robust.nominal_, units, robust.loss, robust.ambiguity_)
    return certify(problem, rule, robust._key).robust.value


def _save(
    folder: Path, robust: RobustPolicy, trusting: RobustPolicy, data: Any, days: int
) -> list[Path]:
    """Write the policy, its decisions on the test days, and two figures."""
    import pandas

    X_new, Y_new = data.data[days:], data.target[days:]
    files = [
        folder / n for n in ("policy.hedgerow", "decisions.csv", "decision.png", "training.png")
    ]
    robust.save(files[0])
    decisions = pandas.DataFrame(
        {
            "date": [_day(date) for date in data.dates[days:]],
            "decision": robust.predict(X_new).round(2),
            "demand": Y_new.to_numpy().astype(int),
            "loss": robust.losses(X_new, Y_new).round(2),
        }
    )
    write_table(decisions, files[1])
    plots.save_figure(
        plots.decision_curve(
            {"trusting": trusting, "hedged": robust},
            data.data[:days],
            "weekday",
            data.target[:days],
            kind="observed",
            feature_label="weekday",
            decision_label=f"portions of {DISH} a day",
            outcome_label="demand, training days",
            title="How many portions to prepare, by weekday",
        ),
        files[2],
    )
    plots.save_figure(
        plots.training_curve(robust, loss_label=UNIT, title="Training the hedged forest"), files[3]
    )
    return files


def _print_table(console: Console, lines: list[Line]) -> None:
    from rich.table import Table

    table = Table(
        title=f"Average cost, {UNIT}", title_justify="left", box=None, padding=(0, 2, 0, 0)
    )
    table.add_column("policy")
    for heading in ("in sample", "out of sample", "robust value"):
        table.add_column(heading, justify="right")
    best = min(line.out_of_sample for line in lines)
    for line in lines:
        numbers = [f"{v:.2f}" for v in (line.in_sample, line.out_of_sample, line.robust_value)]
        if line.out_of_sample == best:
            numbers[1] = f"[bold]{numbers[1]}[/bold]"
        table.add_row(line.name, *numbers)
    console.print(table)
    console.print()


def _sentences(lines: list[Line]) -> Iterator[str]:
    """Say what the numbers mean, whichever way they came out."""
    fixed, trusting, hedged = lines
    yield (
        f"The trusting forest seemed to cost {trusting.in_sample:.2f} in training and cost "
        f"{trusting.out_of_sample:.2f} afterwards ({_change(trusting)}); the hedged one "
        f"{hedged.in_sample:.2f} and {hedged.out_of_sample:.2f} ({_change(hedged)})."
    )
    kept = hedged.out_of_sample <= hedged.robust_value
    yield (
        f"The robust value of the hedged forest, {hedged.robust_value:.2f}, is its average cost in "
        "the worst case near the training days, less a charge for distance; the test days "
        + ("stayed below it." if kept else "cost more: they were worse than that.")
    )
    yield (
        f"Day by day it cost {_gap(hedged, trusting)} than the trusting forest, and "
        f"{_gap(hedged, fixed)} than the best fixed order."
    )


def _change(line: Line) -> str:
    return percent(line.out_of_sample / line.in_sample - 1, signed=True)


def _gap(hedged: Line, other: Line) -> str:
    """Difference day by day; within two standard errors it is said to be no more than chance."""
    gaps = hedged.test_losses - other.test_losses
    gap, error = float(gaps.mean()), standard_error(gaps)
    words = f"{abs(gap):.2f} ± {error:.2f} {'less' if gap < 0 else 'more'}"
    if abs(gap) <= 2 * error:
        return f"{words} (too little to tell from chance over {len(gaps)} days)"
    return words if gap < 0 else f"{words} (here hedging did not pay)"


def _day(date: np.datetime64) -> str:
    return str(np.datetime_as_string(date, unit="D"))
