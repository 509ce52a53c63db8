"""Every command, in the order in which ``--help`` lists them."""

from hedgerow.cli import learning, asking, studies  # noqa: I001 (the order is that of --help)
from hedgerow.cli.app import app

__all__ = ["app", "asking", "learning", "studies"]
