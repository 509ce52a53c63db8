"""The command ``warm-up``: compile before there is anything to learn from."""

from __future__ import annotations

from typing import Annotated

import typer

from hedgerow.cli.app import app
from hedgerow.cli.screen import guarded, say


@app.command("warm-up")
def warm_up(
    features: Annotated[
        list[int] | None,
        typer.Option("--features", min=1, help="Columns that decisions depend on, as encoded."),
    ] = None,
    rows: Annotated[
        list[int] | None,
        typer.Option("--rows", min=1, help="Rows of history; histories of like size share all."),
    ] = None,
) -> None:
    """Compile what fit, decide and evaluate need, so that they need not wait for it.

    Programs are kept in the user's cache folder (HEDGEROW_CACHE names another one, or is "off").
    Shapes matter: say how many features and rows tables will have; both may be given repeatedly.
    """
    with guarded():
        from hedgerow import program_cache
        from hedgerow.cli.work import prepare
        from hedgerow.warming import warm_up as warmed

        prepare()
        folder = program_cache.in_use()
        if folder is None:
            say(
                "Nothing is kept: HEDGEROW_CACHE says so, or its folder cannot be written to. "
                "Programs that no other process finds need not be compiled."
            )
            raise typer.Exit(1)
        for width in features or [10]:
            for length in rows or [400]:
                count = warmed(width, length)
                say(f"{width} features, {length} rows: {count} programs, kept in {folder}")
