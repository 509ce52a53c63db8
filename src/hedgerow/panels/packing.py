"""What a file holds of a panel's policy.

    arrays         those of the pooled policy, or of every series' rule (``each.``), what is known
                   of the series (``series.``), how outcomes scatter around decisions, and costs
    description    that of the pooled policy, or of the first series', and an entry "panel"

Everything is checked as in files of single policies, before anything is built.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow._version import __version__
from hedgerow.panels.described import COSTS, EACH, SCATTER, SERIES
from hedgerow.panels.many import packed as packed_rules
from hedgerow.panels.many import policy_of
from hedgerow.policy_file import packed
from hedgerow.policy_file.storage import PANEL


def packed_panel(panel: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return arrays and description of a fitted ``PanelPolicy``."""
    rules, encoder = panel.rules_, panel.panel_.encoder
    inner = panel.policy_ if rules is None else policy_of(rules, 0, panel.policy, encoder)
    arrays, about = packed(inner)
    if panel.ranges_ is not None:
        arrays["ranges"] = panel.ranges_
    about["table_format"] = panel.table_format_
    facts = panel.panel_.facts.arrays() | {"loss": panel.series_loss_}
    if panel.factors_ is not None:
        facts["factor"] = panel.factors_
    arrays |= {f"{SERIES}{name}": np.asarray(values) for name, values in facts.items()}
    arrays[SCATTER] = panel.scatter_
    if panel.panel_.costs is not None:
        arrays[COSTS] = panel.panel_.costs.values
    if rules is not None:
        arrays |= {f"{EACH}{name}": values for name, values in packed_rules(rules).items()}
    told = {
        "strategy": panel.strategy,
        "features": None if panel.features is None else panel.features.to_json(),
        "outcome": panel.outcome_name_,
        "seeds": int(panel.seeds),
        **panel.panel_.to_json(),
    }
    return arrays, {"hedgerow": __version__, **about, PANEL: told}
