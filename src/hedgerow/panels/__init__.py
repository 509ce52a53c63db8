"""Panels: many series in one long table, learned from together or each on its own."""

# ruff: noqa: F401 (the imports below tell type checkers what the names are)

from typing import TYPE_CHECKING

from hedgerow._lazy import lazy

if TYPE_CHECKING:
    from hedgerow.panels.engine import Engine
    from hedgerow.panels.panel_policy import PanelPolicy
    from hedgerow.panels.partitions import decide_partitions, files_of, fit_partitions

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "engine": "Engine",
        "panel_policy": "PanelPolicy",
        "partitions": "decide_partitions files_of fit_partitions",
    },
)
