"""What the command says: results on standard output, everything else on standard error.

A mistake is one red sentence and exit code 1, a warning one yellow sentence; tracebacks and file
names are for ``--debug``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hedgerow._progress import Report, objective_words, stages

EXPECTED = (ValueError, TypeError, OSError, ImportError)
"""What the package raises, with a sentence, when it is given something it cannot use."""

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
def counting(description: str) -> Iterator[Report]:
    """Show how far many tasks have come, on standard error; yield what to call."""
    with stages(console(stderr=True)) as stage, stage(description) as report:
        yield report


@contextmanager
def progress(description: str) -> Iterator[Callable[[int, int, float], None]]:
    """Show training on standard error; yield what ``RobustPolicy(verbose=...)`` should call."""
    with counting(description) as report:

        def trained(done: int, total: int, objective: float) -> None:
            report(done, total, "robust value" if done == total else objective_words(objective))

        yield trained


def print_facts(facts: list[tuple[str, str]]) -> None:
    """Print name–value pairs in two columns."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(name, Text(value))
    console().print(table)


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
    return not text.strip("–−+-.,0123456789 \u00a0%<>∞")


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
