"""What the commands do with panels: many series in one table, one policy for all."""

# ruff: noqa: F401 (the imports below tell type checkers what the names are)

from typing import TYPE_CHECKING

from hedgerow._lazy import lazy

if TYPE_CHECKING:
    from hedgerow.cli.panels.deciding import decide
    from hedgerow.cli.panels.evaluating import evaluate
    from hedgerow.cli.panels.learning import fit
    from hedgerow.cli.panels.partitioned import decide_folder

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "deciding": "decide",
        "evaluating": "evaluate",
        "learning": "fit",
        "partitioned": "decide_folder",
    },
)
