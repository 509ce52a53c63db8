"""The command `hedgerow`: from a table to a policy file, and from a policy file to decisions.

Only ``main`` lives here, so that a missing extra costs a sentence and not a traceback.
"""

from __future__ import annotations

import sys

NEEDED = ("rich", "typer")


def main() -> None:
    """Run the command line."""
    try:
        from hedgerow.cli.commands import app

        app(prog_name="hedgerow")
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        sys.exit(
            f"The hedgerow command needs {error.name}, which is not installed: "
            "pip install 'hedgerow[cli]'."
        )
    except KeyboardInterrupt:  # while a command is imported; once at work it says so itself
        print("Stopped before anything was done.", file=sys.stderr)
        sys.exit(130)
