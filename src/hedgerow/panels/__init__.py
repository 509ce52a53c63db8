"""Panels: many series in one long table, learned from together or each on its own."""

from hedgerow.panels.panel_policy import PanelPolicy

__all__ = ["PanelPolicy"]
