"""The command itself: what comes before any subcommand."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hedgerow._version import __version__
from hedgerow.cli.screen import show_tracebacks, shown_mistakes


class Commands(TyperGroup):
    """All commands; what they say of wrong options is text, too."""

    def make_context(self, *given: Any, **named: Any) -> Any:
        """Read what comes before the command."""
        with shown_mistakes():
            return super().make_context(*given, **named)

    def invoke(self, ctx: Any) -> Any:
        """Read the command's own options and run it."""
        with shown_mistakes():
            return super().invoke(ctx)


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learn decision rules from a table of history that hedge against the history being "
    "misleading.",
    epilog="Start with: hedgerow demo",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"hedgerow {__version__}")
        raise typer.Exit


@app.callback()
def hedgerow(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="HEDGEROW_DEBUG", help="Show tracebacks of errors.")
    ] = False,
) -> None:
    """Options that come before the command."""
    show_tracebacks(debug)
