"""Progress of a fit on the terminal: a Rich bar where Rich is installed, plain lines where not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Report = Callable[[int, int, float, Any], Any]


@contextmanager
def reporter(verbose: Any, loss_unit: float) -> Iterator[Report | None]:
    """Yield what the training loop should call between stretches of steps, or None."""
    if callable(verbose):
        yield lambda done, total, objective, rule: verbose(done, total, objective * loss_unit)
    elif not verbose:
        yield None
    else:
        try:
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        except ImportError:
            yield lambda done, total, objective, rule: print(
                f"step {done}/{total}  objective {objective * loss_unit:.6g}", file=sys.stderr
            )
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total} steps  objective {task.fields[objective]}"),
            TimeRemainingColumn(),
        )
        with Progress(*columns) as bar:
            task = bar.add_task("training", total=None, objective="–")
            yield lambda done, total, objective, rule: bar.update(
                task, completed=done, total=total, objective=f"{objective * loss_unit:.4g}"
            )
