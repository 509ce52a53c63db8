"""Progress of long work: a Rich bar on a terminal or in a notebook, plain lines everywhere else.

    with stages() as stage, stage("training") as report:
        report(done, total, "objective 1.23")

Work without stages of its own is one stage. Where there is no terminal, or no Rich, a line is
written now and then, so that a log shows that something is going on. Descriptions and notes are
text: no markup, and nothing that acts on a terminal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from hedgerow.describe.numbers import number
from hedgerow.describe.text import shown

BETWEEN_LINES = 60.0
"""Seconds between plain lines."""
PACE_OVER = 1800.0
"""Seconds that the time left is judged by: tasks may end minutes apart."""

Report = Callable[[int, int, str], None]
Stage = Callable[[str], AbstractContextManager[Report]]


@contextmanager
def stages(
    console: Any = None, *, keep: bool = False, pause: float | None = None
) -> Iterator[Stage]:
    """Yield what opens a stage of the work, shown in a line of its own; in turn, what to call.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where to show it; None: standard error.
    keep : bool
        Whether the lines stay when everything is done.
    pause : float, optional
        Seconds between plain lines; None: BETWEEN_LINES.
    """
    pause = BETWEEN_LINES if pause is None else pause
    try:
        from rich.console import Console
    except ImportError:
        yield _plain(lambda line: print(line, file=sys.stderr), pause)
        return
    console = console or Console(stderr=True, highlight=False)
    if not (console.is_terminal or console.is_jupyter):
        plainly: Any = {"soft_wrap": True, "markup": False, "emoji": False}
        yield _plain(lambda line: console.print(line, **plainly), pause)
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(finished_text="[green]✓" if keep else " "),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        TimeElapsedColumn() if keep else TimeRemainingColumn(elapsed_when_finished=True),
    )
    settings: Any = {"transient": not keep, "speed_estimate_period": PACE_OVER}
    with Progress(*columns, console=console, **settings) as bar:

        @contextmanager
        def stage(description: str) -> Iterator[Report]:
            task = bar.add_task(shown(description), total=None, note="")

            def report(done: int, total: int, note: str) -> None:
                bar.update(task, completed=done, total=total, note=shown(note))

            yield report
            total = bar.tasks[task].total or 1
            bar.update(task, completed=total, total=total)

        yield stage


def _plain(write: Callable[[str], None], pause: float) -> Stage:
    """Stages as lines, with some time between them."""
    said = [time.monotonic()]

    @contextmanager
    def stage(description: str) -> Iterator[Report]:
        def report(done: int, total: int, note: str) -> None:
            if time.monotonic() - said[0] >= pause:
                said[0] = time.monotonic()
                write(shown(f"{description}: {done} of {total} {note}".rstrip()))

        yield report

    return stage


@contextmanager
def reporter(verbose: Any, loss_unit: float) -> Iterator[Callable[..., Any] | None]:
    """Yield what the training loop should call between stretches of steps, or None.

    It is called with (steps done, steps in all, objective in working units, rule).
    """
    if callable(verbose):
        yield lambda done, total, objective, rule: verbose(done, total, objective * loss_unit)
    elif not verbose:
        yield None
    else:
        with stages(keep=True, pause=0.0) as stage, stage("training") as report:
            yield lambda done, total, objective, rule: report(
                done, total, objective_words(objective * loss_unit)
            )


def objective_words(objective: float) -> str:
    """The objective as it is reported during training."""
    return f"objective {number(objective)}"
