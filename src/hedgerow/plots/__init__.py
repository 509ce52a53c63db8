"""Figures: what a policy decides and why, how training went, how bad it can get, how it fared.

Every function returns a matplotlib ``Figure`` and leaves matplotlib's settings, backend and windows
alone: nothing is shown, nothing global changes. ``save_figure`` writes PNG or PDF.
"""

try:
    import matplotlib  # noqa: F401 (whoever lacks it is told here, before any work)
except ImportError:
    raise ImportError(
        "Figures need matplotlib, which is not installed: pip install 'hedgerow[plots]'."
    ) from None

from hedgerow.plots.bars import importance, waterfall
from hedgerow.plots.policies import decision_curve, partial_dependence, training_curve
from hedgerow.plots.radii import radius_frontier
from hedgerow.plots.scatter import attribution_scatter
from hedgerow.plots.search_map import search_map
from hedgerow.plots.style import save_figure
from hedgerow.plots.transport import transport_plans
from hedgerow.plots.tree import tree
from hedgerow.plots.worst_cases import worst_cases

__all__ = [
    "attribution_scatter",
    "decision_curve",
    "importance",
    "partial_dependence",
    "radius_frontier",
    "save_figure",
    "search_map",
    "training_curve",
    "transport_plans",
    "tree",
    "waterfall",
    "worst_cases",
]
