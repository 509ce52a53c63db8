"""What the command says: results on standard output, everything else on standard error.

A mistake is one red sentence and exit code 1, a warning one yellow sentence; tracebacks and file
names are for ``--debug``.

Names come from tables and files, so text is text (``describe.text``): a console takes no string for
markup, and shows what would act on a terminal. Styles are given beside a text, by ``ink``.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
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
from hedgerow.describe.text import shown

EXPECTED = (ValueError, TypeError, OSError, ImportError)
"""What the package raises, with a sentence, when it is given something it cannot use."""

_settings = {"debug": False}


def show_tracebacks(wanted: bool) -> None:
    """Whether mistakes are shown in full."""
    _settings["debug"] = wanted


class PlainConsole(Console):
    """A console on which every string is text and nothing else, wherever Rich is handed it."""

    def render_str(self, text: str, **settings: Any) -> Text:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Make a string what is printed."""
        settings["markup"] = settings["emoji"] = False
        return super().render_str(shown(text), **settings)


def console(*, stderr: bool = False) -> Console:
    """Return a console on today's stdout or stderr (tests exchange them)."""
    return PlainConsole(stderr=stderr, highlight=False, soft_wrap=False)


def ink(text: str, style: str = "", *, keep: str = "") -> Text:
    """A text in a style; characters that act are shown, except for those in ``keep``."""
    return Text(shown(text, keep), style)


def say(sentence: str, style: str = "", *, stderr: bool = False) -> None:
    """Print one sentence; a terminal gets it wrapped between words, a log file in one line."""
    screen = console(stderr=stderr)
    screen.print(ink(sentence, style), soft_wrap=not screen.is_terminal)


def say_lines(text: str) -> None:
    """Print a text of several lines."""
    console().print(ink(text, keep="\n"))


def leave_gap() -> None:
    """Print an empty line."""
    console().print()


def _telling_once() -> Callable[..., None]:
    """What shows warnings: each sentence once."""
    told: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        sentence = _one_line(message)
        if sentence not in told:
            told.add(sentence)
            say(f"Warning: {sentence}", "yellow", stderr=True)

    return show


class Terminated(BaseException):
    """The process was asked to end (SIGTERM)."""


@contextmanager
def guarded(interrupted: str = "Stopped; nothing was saved.") -> Iterator[None]:
    """Run a command's body: mistakes become one red sentence, warnings one yellow sentence each.

    What was said once is not said again, though several trainings may have come upon it.
    Being interrupted or asked to end is one sentence, too.
    """
    with warnings.catch_warnings(), _asked_to_end():
        warnings.showwarning = _telling_once()
        try:
            yield
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            say(interrupted, "yellow", stderr=True)
            raise typer.Exit(130) from None
        except Terminated:
            say("Asked to end; nothing was saved.", "yellow", stderr=True)
            raise typer.Exit(143) from None
        except Exception as error:
            if _settings["debug"]:
                raise
            say(_sentence(error), "bold red", stderr=True)
            raise typer.Exit(1) from None


@contextmanager
def _asked_to_end() -> Iterator[None]:
    """Make SIGTERM an exception, so that whatever is open is closed and half-written files go."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: Any) -> None:
        raise Terminated

    before, hook = signal.signal(signal.SIGTERM, end), sys.unraisablehook
    sys.unraisablehook = lambda lost: _send_again(lost.exc_type) or hook(lost)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGTERM, before)


def _send_again(lost: type[BaseException] | None) -> bool:
    """Send a signal again that arrived in a callback (JAX's at garbage collection) and was lost."""
    number = {Terminated: signal.SIGTERM, KeyboardInterrupt: signal.SIGINT}.get(lost)
    if number is not None:
        threading.Timer(0.05, os.kill, (os.getpid(), number)).start()
    return number is not None


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
        table.add_row(name, value)
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
    """Write text to standard output as it is, in UTF-8; a terminal shows what would act on it."""
    if sys.stdout.isatty():
        sys.stdout.write(shown(text, keep="\n"))
    else:
        sys.stdout.buffer.write(text.encode())
    sys.stdout.flush()


@contextmanager
def shown_mistakes() -> Iterator[None]:
    """Show what would act in the messages of Typer, which quote what was typed."""
    try:
        yield
    except Exception as error:
        message = getattr(error, "message", None)  # its exceptions moved from Click to Typer
        if isinstance(message, str):
            error.message = shown(message)  # pyright: ignore[reportAttributeAccessIssue]
        raise
