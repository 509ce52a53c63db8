"""Every command, in the order in which ``--help`` lists them; other packages may add theirs.

A package adds a command by an entry point of the group ``hedgerow.commands``: its name is that of
the command, its value a function whose signature Typer reads and whose docstring is the help. A
command whose package is missing or broken is listed all the same and says in one sentence why it
cannot be used; no other command suffers from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

import typer
from rich.markup import escape

# The order of the next two is that of --help.
from hedgerow.cli import learning

# isort: split
from hedgerow.cli import asking

# isort: split
from hedgerow.cli import warming
from hedgerow.cli.app import app
from hedgerow.cli.screen import guarded
from hedgerow.describe.text import shown

__all__ = ["add_commands", "app", "asking", "learning", "warming"]

GROUP = "hedgerow.commands"
ELSEWHERE = {"portfolio": "hedgerow-studies", "reproduce": "hedgerow-studies"}
"""Commands that other packages of this project add, with what to install for them."""


def add_commands(app: typer.Typer, found: Iterable[EntryPoint]) -> None:
    """Add the commands of other packages: those that were found, and those that are known.

    A command that is there already stays as it is.
    """
    own = {info.name or getattr(info.callback, "__name__", "") for info in app.registered_commands}
    entries = {entry.name: entry for entry in found if entry.name not in own}
    for name in dict.fromkeys((*ELSEWHERE, *sorted(entries))):
        if name not in entries:
            package = ELSEWHERE[name]
            _excuse(app, name, f"hedgerow {name} comes with {package}: pip install {package}.")
            continue
        try:
            command = entries[name].load()
            trial = typer.Typer()
            trial.command()(command)
            typer.main.get_command(trial)  # a signature that Typer cannot read is found out here
        except Exception as error:
            _excuse(app, name, _broken(entries[name], error), error)
        else:
            # Typer keeps the lines of a docstring, so paragraphs are made one line each
            paragraphs = (command.__doc__ or "").split("\n\n")
            app.command(name, help="\n\n".join(" ".join(p.split()) for p in paragraphs))(command)


def _excuse(app: typer.Typer, name: str, sentence: str, error: Exception | None = None) -> None:
    """Add a command that says why it cannot be used, whatever it is called with."""

    def excuse() -> None:
        with guarded():
            raise ImportError(sentence) from error

    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(name, help=escape(shown(sentence)), context_settings=anything)(excuse)


def _broken(entry: EntryPoint, error: Exception) -> str:
    package = entry.dist.name if entry.dist else entry.module
    why = " ".join(f"{type(error).__name__}: {error}".split())
    return (
        f"hedgerow {entry.name} cannot be used, because {package}, which adds it, fails to load "
        f"({why}): install it again, or remove it."
    )


add_commands(app, entry_points(group=GROUP))
