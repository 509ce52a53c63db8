"""What a panel's policy does with new rows: tables in, decisions out, whatever it is made of.

    table (and history) ──► features ──► rows as rules see them ──► decisions × scale × factor

All of this needs pandas, and nothing that learns: ``PanelPolicy`` and what has only been read
(``hedgerow.stored``) have it in common, and differ in who decides on contexts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow._frames import require_pandas
from hedgerow._warnings import OutsideWarning
from hedgerow.data.ranges import far_outside, names_outside, outside_words
from hedgerow.describe.numbers import counted, listed
from hedgerow.panels.series import STATUSES

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.data import TimeFeatures
    from hedgerow.panels.scaled_rows import Panel
    from hedgerow.plain import PlainPolicy

POOLED, REFINED, SEPARATE = STRATEGIES = ("pooled", "refined", "separate")
BLOCK = 64
"""Rows of one series that are decided at once: there are few of each."""


class PanelDecisions:
    """Decisions of a panel's policy, its attributes being there."""

    by: Sequence[str]
    features: TimeFeatures | None
    panel_: Panel
    factors_: np.ndarray | None
    ranges_: np.ndarray | None
    series_loss_: np.ndarray

    def predict(self, table: pd.DataFrame, history: pd.DataFrame | None = None) -> np.ndarray:
        """Decide for every row, (rows,).

        With ``features`` the rows say series, time and what is known by then, and ``history`` holds
        recent outcomes, as far back as features look (``TimeFeatures.reach``).
        """
        made = self.features_for(table, history)
        self.check_costs(made)
        if self.ranges_ is not None:
            told = outside_words(*self._far_outside(made))
            if told is not None:
                warnings.warn(told, OutsideWarning, stacklevel=2)
        return self._decide(made)

    def outside(
        self, table: pd.DataFrame, history: pd.DataFrame | None = None
    ) -> list[tuple[str, ...]]:
        """Return, row by row, the features that are far outside of what was trained on.

        As ``RobustPolicy.outside``; with one rule for all series, features that are counted like
        outcomes are in shares of a row's level.
        """
        made = self.features_for(table, history)
        if self.ranges_ is None:
            raise ValueError(
                "The panel does not know where its training rows lay: its file was written by an "
                "earlier version, or it was learned from a folder; fit and save it again."
            )
        return names_outside(*self._far_outside(made))

    def features_for(
        self, table: pd.DataFrame, history: pd.DataFrame | None = None
    ) -> pd.DataFrame:
        """Return the table with the features that decisions are made by."""
        self._check_fitted()
        if self.features is None:
            return table
        if history is None:
            missing = [name for name in self.features.feature_names if name not in table.columns]
            if missing:
                raise ValueError(
                    f"The table lacks {listed(missing)}; hand over recent rows as `history`, from "
                    "which they are made."
                )
            return table
        self.refuse_twice(table)
        if self._separate:
            self._refuse_new(table)
        # what a new series lacks is filled in; each with a rule of its own has to have it
        lacking = "refuse" if self._separate else "missing"
        return self.features.upcoming(history, table, short=lacking)

    def check_costs(self, table: pd.DataFrame) -> None:
        """Say which row has costs that make no sense, the first being 1."""
        raise NotImplementedError

    @property
    def series_(self) -> pd.DataFrame:
        """One row for each series."""
        self._check_fitted()
        panel = self.panel_
        table = require_pandas().DataFrame(list(panel.keys.values), columns=list(panel.keys.by))
        table["rows"] = panel.facts.rows
        table["scale"] = panel.facts.scale
        table["status"] = [STATUSES[status] for status in panel.facts.status]
        if self.factors_ is not None:
            table["factor"] = self.factors_
        table["loss"] = self.series_loss_
        return table

    # ------------------------------------------------------------------ who decides

    @property
    def _separate(self) -> bool:
        """Whether each series has a rule of its own."""
        raise NotImplementedError

    def _check_fitted(self) -> None:
        """Refuse what has not been fitted."""

    def _pooled(self, contexts: pd.DataFrame) -> np.ndarray:
        """What the rule of all series decides, in shares of scales."""
        raise NotImplementedError

    def _each(self, contexts: np.ndarray, places: np.ndarray) -> np.ndarray:
        """What rules of series with these places decide."""
        raise NotImplementedError

    # ------------------------------------------------------------------ on which rows

    def _decide(self, table: pd.DataFrame) -> np.ndarray:
        if self._separate:
            self._refuse_new(table)
            places = self.panel_.keys.places(table)
            return self._each(self.panel_.plain(table).to_numpy(np.float64), places)
        rows = self.panel_.rows(table)
        decisions = self._pooled_decisions(rows.contexts, rows.scale)
        if self.factors_ is not None:
            factors = np.where(rows.places >= 0, self.factors_[rows.places], 1.0)
            decisions = decisions * factors
        return decisions

    def _pooled_decisions(self, contexts: pd.DataFrame, scale: np.ndarray) -> np.ndarray:
        return self._pooled(contexts) * scale

    def refuse_twice(self, table: pd.DataFrame) -> None:
        """Two rows of one series and time would be two orders for one day."""
        features = self.features
        if features is None or any(n not in table.columns for n in (*self.by, features.time)):
            return  # what is not there is said where features are made
        keys = self.panel_.keys.of(table, self.by)
        times: Any = table[features.time]
        places, ticks = keys.places(table), features.time_step.ticks(times)
        again = np.flatnonzero(
            require_pandas().MultiIndex.from_arrays([places, ticks]).duplicated()
        )
        if len(again):
            row = int(again[0])
            first = int(np.argmax((places == places[row]) & (ticks == ticks[row])))
            which = keys.words(keys.values[places[row]])
            raise ValueError(
                f"Rows {first + 1:,} and {row + 1:,} are both of {which}, "
                f"{features.time_step.shown(ticks[row])}: that would be ordered twice; keep one of "
                "them."
            )

    def _refuse_new(self, table: pd.DataFrame) -> None:
        """Rules of single series decide for no others."""
        keys = self.panel_.keys
        new = keys.places(table) < 0
        if np.any(new):
            first = table.iloc[[int(np.argmax(new))]]
            words = keys.words(type(keys).of(first, keys.by).values[0])
            raise ValueError(
                f"{counted(int(new.sum()), 'row')} of series without history, the first one "
                f"{words}: each series has a rule of its own here; strategy='pooled' decides for "
                "new ones."
            )

    def _far_outside(self, table: pd.DataFrame) -> tuple[np.ndarray, list[str]]:
        """Which features of these rows are far outside, and what all features are called."""
        assert self.ranges_ is not None
        seen = self.panel_.plain(table) if self._separate else self.panel_.rows(table).contexts
        return far_outside(self.ranges_, seen.to_numpy(np.float64)), list(map(str, seen.columns))


def decide_each(
    policy_at: Callable[[int], PlainPolicy | None],
    fixed: np.ndarray,
    contexts: np.ndarray,
    places: np.ndarray,
) -> np.ndarray:
    """Decide for rows of given series, each by its own policy, (rows,).

    ``fixed`` are decisions of series that always have the same, and NaN of all others.
    """
    decisions = fixed[places]
    order = np.argsort(places, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(places[order])) + 1):
        if np.isnan(decisions[rows[0]]):
            own: Any = policy_at(int(places[rows[0]]))
            decisions[rows] = own.decide(contexts[rows], BLOCK)[:, 0]
    return decisions
