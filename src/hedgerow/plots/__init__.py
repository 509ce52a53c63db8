"""Figures: what a policy decides, how training went, how bad it can get, how portfolios fared.

Every function returns a matplotlib ``Figure`` and leaves matplotlib's settings, backend and windows
alone: nothing is shown, nothing global changes. ``save_figure`` writes PNG or PDF.
"""

from hedgerow.plots.policies import decision_curve, training_curve
from hedgerow.plots.portfolio import held, wealth
from hedgerow.plots.style import save_figure
from hedgerow.plots.transport import transport_plans
from hedgerow.plots.worst_cases import worst_cases

__all__ = [
    "decision_curve",
    "held",
    "save_figure",
    "training_curve",
    "transport_plans",
    "wealth",
    "worst_cases",
]
