"""What the command says: results on standard output, everything else on standard error.

A mistake is one red sentence and exit code 1, a warning one yellow sentence; tracebacks and file
names are for ``--debug``.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

EXPECTED = (ValueError, TypeError, OSError, ImportError)
"""What the package raises, with a sentence, when it is given something it cannot use."""

BETWEEN_LINES = 60.0
"""Seconds between lines of progress, where there is no terminal."""
PACE_OVER = 1800.0
"""Seconds that the time left is judged by: tasks may end minutes apart."""

_settings = {"debug": False}


def show_tracebacks(wanted: bool) -> None:
    """Whether mistakes are shown in full."""
    _settings["debug"] = wanted


def console(*, stderr: bool = False) -> Console:
    """Return a console on today's stdout or stderr (tests exchange them)."""
    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def say(sentence: str, style: str = "", *, stderr: bool = False) -> None:
    """Print one sentence; a terminal gets it wrapped between words, a log file in one line."""
    screen = console(stderr=stderr)
    screen.print(Text(sentence, style), soft_wrap=not screen.is_terminal)


@contextmanager
def guarded(interrupted: str = "Stopped; nothing was saved.") -> Iterator[None]:
    """Run a command's body: mistakes become one red sentence, warnings one yellow sentence each."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(
            f"Warning: {_one_line(message)}", "yellow", stderr=True
        )
        try:
            yield
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            say(interrupted, "yellow", stderr=True)
            raise typer.Exit(130) from None
        except Exception as error:
            if _settings["debug"]:
                raise
            say(_sentence(error), "bold red", stderr=True)
            raise typer.Exit(1) from None


@contextmanager
def progress(description: str) -> Iterator[Callable[[int, int, float], None]]:
    """Show a bar on standard error; yield what ``RobustPolicy(verbose=...)`` should call."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    screen = console(stderr=True)
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task(description, total=None, note="compiling")

        def report(done: int, total: int, objective: float) -> None:
            note = f"{done}/{total} steps, objective {objective:.4g}"
            if done == total:
                note = "robust value"
            bar.update(task, completed=done, total=total, note=note)

        yield report


def print_facts(facts: list[tuple[str, str]]) -> None:
    """Print name–value pairs in two columns."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(name, Text(value))
    console().print(table)


@contextmanager
def counting(description: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar over many tasks on standard error, with the time left; yield what to call.

    Where standard error is a file, a line a minute.
    """
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    screen = console(stderr=True)
    if not screen.is_terminal:
        said = [time.monotonic()]

        def say_now_and_then(done: int, total: int, note: str) -> None:
            if time.monotonic() - said[0] >= BETWEEN_LINES:
                said[0] = time.monotonic()
                screen.print(f"{description}: {done} of {total} {note}".rstrip())

        yield say_now_and_then
        return
    settings: Any = {"speed_estimate_period": PACE_OVER}
    with Progress(*columns, console=screen, transient=True, **settings) as bar:
        task = bar.add_task(description, total=None, note="")

        def report(done: int, total: int, note: str) -> None:
            bar.update(task, completed=done, total=total, note=note)

        yield report


def print_rows(headings: list[str], rows: list[list[str]], *, breaks: set[int]) -> None:
    """Print a table: texts to the left, figures to the right, a line before rows in ``breaks``."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    for i, heading in enumerate(headings):
        figures = all(_is_figure(row[i]) for row in rows)
        table.add_column(heading, justify="right" if figures else "left", no_wrap=True)
    for i, row in enumerate(rows):
        table.add_row(*row, end_section=i + 1 in breaks)
    console().print(table)


def _is_figure(text: str) -> bool:
    return not text.strip("–+-.0123456789 %")


def _sentence(error: Exception) -> str:
    message = _one_line(error)
    if isinstance(error, OSError) and error.strerror:
        message = f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    if not isinstance(error, EXPECTED):
        kind = type(error).__name__
        message = f"hedgerow failed unexpectedly ({kind}: {message}); --debug shows where."
    return message


def _one_line(message: Any) -> str:
    return " ".join(str(message).split())


def print_csv(text: str) -> None:
    """Write text to standard output as it is."""
    sys.stdout.write(text)
    sys.stdout.flush()
