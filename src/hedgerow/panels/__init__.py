"""Panels: many series in one long table, learned from together or each on its own."""

from hedgerow.panels.engine import Engine
from hedgerow.panels.panel_policy import PanelPolicy
from hedgerow.panels.partitions import decide_partitions, files_of, fit_partitions

__all__ = ["Engine", "PanelPolicy", "decide_partitions", "files_of", "fit_partitions"]
