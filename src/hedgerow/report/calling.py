"""``hr.report(policy, X, Y)``: a page about whatever was fitted.

``hr.report`` is a package, and importing anything of it makes it one again, so the package itself
can be called.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import Any

from hedgerow.panels import PanelPolicy
from hedgerow.report.panel import write_panel_report
from hedgerow.report.write import check_page_target, write_report


class CallableReport(ModuleType):
    """The package ``hedgerow.report``, which can be called."""

    check_page_target = staticmethod(check_page_target)
    write_panel_report = staticmethod(write_panel_report)
    write_report = staticmethod(write_report)

    def __call__(
        self,
        policy: Any,
        X: Any,
        Y: Any = None,
        path: str | os.PathLike[str] = "report.html",
        **settings: Any,
    ) -> Path:
        """Write a report, as ``hedgerow.report.write_page`` does."""
        return write_page(policy, X, Y, path, **settings)


def write_page(
    policy: Any,
    X: Any,
    Y: Any = None,
    path: str | os.PathLike[str] = "report.html",
    **settings: Any,
) -> Path:
    """Write the page about a policy, a pipeline or a panel; ``hr.report(…)`` does the same.

    Parameters
    ----------
    policy : RobustPolicy, Pipeline or PanelPolicy
        What was fitted.
    X : array or table
        Rows to report on; of a panel the table with its outcomes.
    Y : (rows,) or (rows, outcomes)
        What then happened; of a panel None, since its table holds it.
    path : path
        File to write, ending in .html; one that is there is replaced.
    **settings
        As for ``write_report`` and ``write_panel_report``: title, unit, loss_unit, against, …

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load_restaurant("steak", as_frame=True)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(1, 3), random_state=0)
    >>> policy.fit(data.data[:500], data.target[:500])  # doctest: +SKIP
    >>> hr.report(policy, data.data[500:], data.target[500:], unit="portions")  # doctest: +SKIP
    """
    if isinstance(policy, PanelPolicy):
        if Y is not None:
            raise TypeError(
                "The table of a panel holds its outcomes: leave Y out, and name the file with "
                "path=."
            )
        return write_panel_report(policy, X, path, **settings)
    if Y is None:
        raise TypeError("Y is missing: a report compares decisions with what then happened.")
    return write_report(policy, X, Y, path, **settings)
