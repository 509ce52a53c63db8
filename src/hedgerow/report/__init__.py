"""Reports: one HTML page about a policy for the person who decides, alive without a network.

    hr.report(policy, X, Y, "report.html")

Python gathers the facts and writes the words; the page's script computes decisions, routes and
attributions for any input with the policy's own numbers (``report/page``). Of a panel, a page tells
of all series (``report/panel``).
"""

import sys

from hedgerow.report.calling import CallableReport, write_page
from hedgerow.report.panel import write_panel_report
from hedgerow.report.write import check_page_target, write_report

__all__ = ["check_page_target", "write_page", "write_panel_report", "write_report"]

sys.modules[__name__].__class__ = CallableReport
