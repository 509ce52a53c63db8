"""A panel's policy that was read: it decides with pandas and NumPy alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow import _row_checks
from hedgerow.data.columns import numeric_column
from hedgerow.panels.deciding import PanelDecisions, decide_each
from hedgerow.panels.described import PanelFacts, check_each, read_facts
from hedgerow.policy_file.deciding import UNREADABLE, plain_of_series, plain_policy
from hedgerow.policy_file.row_costs import fair_costs, reads_columns
from hedgerow.policy_file.schema import RULE, UNITS
from hedgerow.stored.becoming import Becoming

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.plain import PlainPolicy


def stored_panel(
    path: str | os.PathLike[str], arrays: dict[str, np.ndarray], about: dict[str, Any]
) -> StoredPanel | None:
    """Return the panel's policy that a file holds; None if it is not known, or not right."""
    try:
        facts, rest, told = read_facts(arrays, about)
        plain = plain_policy(rest, told)
        if plain is None or told["feature_names"] != facts.feature_names:
            return None
        if not told["single_outcome"] or len(plain.unit) != 1:
            return None
        if facts.separate:
            like = {name: rest[f"units.{name}"].shape for name in UNITS}
            check_each(facts.each, len(facts.panel.keys), like)
    except UNREADABLE:
        return None
    return StoredPanel(path, arrays, about, facts, plain, rest.get("ranges"))


class StoredPanel(PanelDecisions, Becoming):
    """A ``PanelPolicy`` to be, which already decides."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        arrays: dict[str, np.ndarray],
        about: dict[str, Any],
        facts: PanelFacts,
        plain: PlainPolicy,
        ranges: np.ndarray | None,
    ) -> None:
        Becoming.__init__(
            self,
            *(path, arrays, about),
            _plain_form=plain,
            _rules={n: a for n, a in facts.each.items() if n.startswith((RULE, "units."))},
            _constant=facts.each.get("constant"),
            by=facts.told["by"],
            strategy=facts.told["strategy"],
            seeds=facts.told["seeds"],
            features=facts.features,
            panel_=facts.panel,
            factors_=facts.factors,
            scatter_=facts.scatter,
            series_loss_=facts.loss,
            outcome_name_=facts.told["outcome"],
            table_format_=about.get("table_format"),
            ranges_=ranges,
            left_out_={},
        )

    def check_costs(self, table: pd.DataFrame) -> None:
        """Say which row has costs that make no sense, the first being 1."""
        loss, costs = self._file[2]["policy"]["loss"], self.panel_.costs
        if not reads_columns(loss):
            return
        try:
            priced = table if costs is None else costs.attached(table)
            fair = fair_costs(loss, lambda name: numeric_column(priced, name))
        except ValueError:
            fair = False
        if not fair:  # the loss says what is wrong
            self._become().check_costs(table)

    @property
    def _separate(self) -> bool:
        return self._constant is not None

    def _pooled(self, contexts: pd.DataFrame) -> np.ndarray:
        found = _row_checks.contexts(contexts.to_numpy(np.float64))
        return self._plain_form.decide(found)[:, 0]

    def _each(self, contexts: np.ndarray, places: np.ndarray) -> np.ndarray:
        about, rules = self._file[2], self._rules
        fixed = np.where(self._constant, rules["units.constant"][:, 0], np.nan)
        known = {place: plain_of_series(rules, about, place) for place in np.unique(places)}
        if any(known[place] is None and np.isnan(fixed[place]) for place in known):
            return self._become()._each(contexts, places)
        return decide_each(known.__getitem__, fixed, contexts, places)

    @staticmethod
    def _to_be() -> type:
        from hedgerow.panels import PanelPolicy

        return PanelPolicy
