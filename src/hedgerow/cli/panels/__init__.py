"""What the commands do with panels: many series in one table, one policy for all."""

from hedgerow.cli.panels.deciding import decide
from hedgerow.cli.panels.evaluating import evaluate
from hedgerow.cli.panels.learning import fit
from hedgerow.cli.panels.partitioned import decide_folder

__all__ = ["decide", "decide_folder", "evaluate", "fit"]
