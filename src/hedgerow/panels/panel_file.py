"""From what a file holds to a panel's policy: ``packing``, backwards, with every check."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.estimator import RobustPolicy
from hedgerow.fitting import Parts
from hedgerow.panels.described import check_each, read_facts
from hedgerow.panels.many import unpacked as unpacked_rules
from hedgerow.panels.panel_policy import PanelPolicy
from hedgerow.policy_file import unpacked
from hedgerow.policy_file.schema import UNITS, Wrong


def read_panel(
    arrays: dict[str, np.ndarray], about: dict[str, Any], parts: tuple[type, ...], loss: Any
) -> PanelPolicy:
    """Return the panel's policy that arrays and description tell of, or raise ``Wrong``."""
    facts, arrays, about = read_facts(arrays, about)
    told, panel = facts.told, facts.panel
    inner = unpacked(RobustPolicy, arrays, about, parts, loss)
    if list(getattr(inner, "feature_names_in_", ())) != facts.feature_names:
        raise Wrong("its columns make other features than those it was trained with")
    made = PanelPolicy(
        inner, told["by"], strategy=told["strategy"], features=facts.features, seeds=told["seeds"]
    )
    made.policy_ = None if facts.separate else inner
    made.rules_ = _rules(inner, facts.each, len(panel.keys)) if facts.separate else None
    made.factors_, made.scatter_, made.series_loss_ = facts.factors, facts.scatter, facts.loss
    made.left_out_, made.table_format_ = {}, inner.table_format_
    made.ranges_ = inner.ranges_
    made.panel_, made.outcome_name_ = panel, told["outcome"]
    return made


def _rules(inner: RobustPolicy, each: dict[str, np.ndarray], series: int) -> Any:
    """Rules of all series."""
    check_each(each, series, {name: np.shape(getattr(inner.units_, name)) for name in UNITS})
    return unpacked_rules(each, Parts.of(inner.loss, inner.ambiguity, inner.rule))
