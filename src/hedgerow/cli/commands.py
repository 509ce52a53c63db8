"""Every command, in the order in which ``--help`` lists them; other packages may add theirs."""

from importlib.metadata import entry_points

from hedgerow.cli import asking, learning
from hedgerow.cli.app import app

for _entry in entry_points(group="hedgerow.commands"):
    _entry.load()

__all__ = ["app", "asking", "learning"]
