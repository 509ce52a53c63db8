"""The demonstration: how many portions should a restaurant prepare tomorrow?

Real demand, split by time: the first three quarters of the days train, the rest test and are looked
at only to report. Three ways to decide are compared on the same days,

    the best fixed order, a forest that trusts its data (ERM), a forest that hedges (Causal Sinkhorn),

by what they seem to cost in training, by what they did cost afterwards, and by their robust value:
the worst average cost under distributions near the training data, the same ones for all three.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from hedgerow import dual, plots
from hedgerow.ambiguity import ERM, CausalSinkhorn
from hedgerow.datasets import load_restaurant
from hedgerow.estimator import RobustPolicy
from hedgerow.losses import Newsvendor
from hedgerow.nominal import NeighbourNominal
from hedgerow.rules import Constant
from hedgerow.solvers import default_solver
from hedgerow.tables import _pandas, write_table

if TYPE_CHECKING:
    from rich.console import Console

DISH, UNIT = "koefte", "€ a day"
HOLDING, STOCKOUT = 1.0, 3.0
TRAINING_SHARE = 0.75
NEIGHBOURS, PENALTY, EPSILON = 5, 5.0, 0.1
"""The library's default penalty and epsilon; 5, 10 or 20 neighbours differ little in time-series
cross-validation on the training days."""


@dataclass(frozen=True)
class Line:
    """One line of the table: costs a day in training and afterwards, and the robust value."""

    name: str
    in_sample: float
    out_of_sample: float
    robust_value: float


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

    started = time.perf_counter()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    console = console or Console(highlight=False)
    data = load_restaurant(DISH, as_frame=True)
    days = int(TRAINING_SHARE * len(data.target))
    X, Y, X_new, Y_new = data.data[:days], data.target[:days], data.data[days:], data.target[days:]
    console.print(
        f"How many portions of {DISH} should the kitchen prepare? Each one left over costs "
        f"{HOLDING:g} €, each one missing {STOCKOUT:g} €. Trained on {days} days from "
        f"{_day(data.dates[0])}, tested on the {len(Y_new)} days from {_day(data.dates[days])}.\n"
    )

    loss = Newsvendor(HOLDING, STOCKOUT)
    scales: dict[str, Any] = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}
    hedge = CausalSinkhorn(PENALTY, EPSILON, order=2, **scales)
    trusting = RobustPolicy(loss, ERM(), random_state=seed)
    robust = RobustPolicy(loss, hedge, nominal=NeighbourNominal(NEIGHBOURS), random_state=seed)
    with _progress(console) as task:
        for name, policy in (("forest that trusts", trusting), ("forest that hedges", robust)):
            if steps is not None:
                policy.solver = default_solver(policy.ambiguity).set_params(steps=steps)
            with task(f"training the {name}") as report:
                policy.set_params(verbose=report).fit(X, Y).set_params(verbose=False)
        fixed = _fixed(robust, X.shape[1])
        with task("comparing robust values"):
            values = [_value_under(robust, one) for one in (fixed, trusting)]
            values.append(robust.robust_value_.value)

        named = {
            "best fixed order": fixed,
            "forest, trusting its data (ERM)": trusting,
            "forest, hedged (Causal Sinkhorn)": robust,
        }
        lines = [
            Line(name, -one.score(X, Y), -one.score(X_new, Y_new), value)
            for (name, one), value in zip(named.items(), values, strict=True)
        ]
        with task("saving"):
            files = _save(folder, robust, trusting, data, days)
    _print_table(console, lines)
    for sentence in _sentences(lines):
        console.print(sentence)
    console.print(
        f"\nWritten to [bold]{folder}[/bold] in {time.perf_counter() - started:.0f} s: "
        + ", ".join(file.name for file in files)
        + "."
    )
    return Demonstration(lines, robust, files)


def _fixed(robust: RobustPolicy, features: int) -> RobustPolicy:
    """The best fixed order in training, as a policy in the robust policy's units."""
    fixed = RobustPolicy(robust.loss, ERM(), rule=Constant(), nominal=robust.nominal)
    for name in ("units_", "nominal_", "n_features_in_", "feature_names_in_", "n_outcomes_"):
        setattr(fixed, name, getattr(robust, name))
    fixed.n_decisions_, fixed._single_outcome = robust.n_decisions_, robust._single_outcome
    decision_set = robust.loss.decisions_for(1).in_units(robust.units_.z_unit)
    start = jax.numpy.asarray(robust.units_.constant / robust.units_.z_unit, jax.numpy.float32)
    fixed.rule_ = Constant().build(jax.random.key(0), features, decision_set, start)
    return fixed


def _value_under(robust: RobustPolicy, other: RobustPolicy) -> float:
    """Another policy's value under the robust policy's nominal and ambiguity model."""
    return dual.evaluate(
        other.rule_, robust.nominal_, other.units_, robust.loss, robust.ambiguity_, robust._key
    ).value


def _save(
    folder: Path, robust: RobustPolicy, trusting: RobustPolicy, data: Any, days: int
) -> list[Path]:
    """Write the policy, its decisions on the test days, and two figures."""
    X_new, Y_new = data.data[days:], data.target[days:]
    files = [folder / n for n in ("policy.hedgerow", "decisions.csv", "decision.png", "training.png")]
    robust.save(files[0])
    decisions = _pandas().DataFrame(
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
            title=f"What to prepare, by weekday (a missing portion costs {STOCKOUT / HOLDING:g}× a spare)",
        ),
        files[2],
    )
    plots.save_figure(
        plots.training_curve(robust, loss_label=UNIT, title="Training the hedged forest"), files[3]
    )
    return files


def _print_table(console: Console, lines: list[Line]) -> None:
    from rich.table import Table

    table = Table(title=f"Average cost, {UNIT}", title_justify="left", box=None, padding=(0, 2, 0, 0))
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
        f"The trusting forest promised {trusting.in_sample:.2f} and cost {trusting.out_of_sample:.2f}: "
        "it learned the training days by heart."
        if trusting.out_of_sample > 1.5 * trusting.in_sample
        else f"The trusting forest promised {trusting.in_sample:.2f} and cost "
        f"{trusting.out_of_sample:.2f}."
    )
    kept = hedged.out_of_sample <= hedged.robust_value
    yield (
        f"The hedged forest's robust value, {hedged.robust_value:.2f}, is the average cost it was "
        f"prepared to meet; the test days cost {hedged.out_of_sample:.2f}, "
        + ("within it." if kept else "which is more: these days moved further than it was hedged for.")
    )
    for other, words in ((trusting, "trusting forest"), (fixed, "fixed order")):
        change = hedged.out_of_sample / other.out_of_sample - 1
        if change < 0:
            yield f"Out of sample it cost {-change:.0%} less than the {words}."
        else:
            yield (
                f"Out of sample it cost {change:.0%} more than the {words}: hedging is insurance, and "
                "on these days it did not pay."
            )


@contextmanager
def _progress(console: Console) -> Iterator[Any]:
    """A live display with one line per stage; yields a context manager that runs a stage."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(finished_text="[green]✓"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as bar:

        @contextmanager
        def task(description: str) -> Iterator[Any]:
            stage = bar.add_task(description, total=None, note="")

            def report(done: int, total: int, objective: float) -> None:
                note = f"objective {objective:.2f}"
                bar.update(stage, completed=done, total=total, note=note)

            yield report
            total = bar.tasks[stage].total or 1
            bar.update(stage, completed=total, total=total)

        yield task
    console.print()


def _day(date: np.datetime64) -> str:
    return str(np.datetime_as_string(date, unit="D"))
