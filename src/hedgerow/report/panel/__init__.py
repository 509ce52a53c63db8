"""Reports on panels: an overview over all series, the worst ones first, and some in detail.

subject (rows, dates, orders) → ways to decide → figures by series and by week → sentences → page
"""

from hedgerow.report.panel.write import write_panel_report

__all__ = ["write_panel_report"]
