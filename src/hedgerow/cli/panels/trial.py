"""A panel put to the test: what was decided on every row of a table with outcomes, by whom.

    this policy         what it would have decided, knowing what was known by then
    weekday quantile    the b/(b+h) quantile of the last 26 known outcomes of the weekday
    as last week        the last of them
    a column            what was ordered until now

A row's features are made of the history and of the earlier rows of the test itself, as they would
have been known. Where a week has no days (months, numbered periods) the two in the middle are a
quantile of the last 26 outcomes of all, and the last one. All of them know what the policy knew: a
decision that covers several periods is compared with outcomes summed over as many, which are known
``lead + review - 1`` periods after they begin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from hedgerow.baselines import same_weekday_quantile, seasonal_naive
from hedgerow.cli.asking_options import EvaluateRequest, WatchRequest
from hedgerow.cli.panels.tables import (
    all_series,
    check_costs,
    check_rows,
    history_of,
    joined,
    refuse_without_history,
    rows_of,
    ticks_of,
    told_of,
    told_of_both,
)
from hedgerow.data import TimeFeatures
from hedgerow.data.columns import numeric_column
from hedgerow.metrics import InventorySummary, inventory_summary
from hedgerow.panels import PanelPolicy
from hedgerow.panels.series import SeriesKeys

LAST = 26
"""Outcomes that a quantile is taken of."""
POLICY = "this policy"
WEEKDAY_QUANTILE, LAST_WEEK = "weekday quantile", "as last week"
QUANTILE, LAST_TIME = "recent quantile", "as last time"
SPOKEN = {
    WEEKDAY_QUANTILE: "the same-weekday quantile",
    LAST_WEEK: "ordering as last week",
    QUANTILE: f"a quantile of the last {LAST} outcomes",
    LAST_TIME: "ordering as last time",
}
"""Those who decide, as a sentence names them."""


@dataclass(frozen=True)
class Trial:
    """Rows with outcomes, and the orders of everybody who decided on them.

    Attributes
    ----------
    table : the rows, with features and all columns of the test
    orders : by name, the policy's first; NaN where somebody knew nothing yet
    times : of the rows, or None
    keys, places : their series
    left_out : rows of the test without a complete outcome, or too early to decide on
    """

    table: pd.DataFrame
    outcomes: Float[np.ndarray, " rows"]
    orders: dict[str, Float[np.ndarray, " rows"]]
    holding: Float[np.ndarray, " rows"]
    stockout: Float[np.ndarray, " rows"]
    times: np.ndarray | None
    keys: SeriesKeys
    places: Int[np.ndarray, " rows"]
    left_out: int

    @property
    def everybody(self) -> np.ndarray:
        """Rows on which everybody knew what to order."""
        return np.isfinite(np.sum(list(self.orders.values()), axis=0))

    def where(self, rows: np.ndarray) -> Trial:
        """The same on some of the rows."""
        return replace(
            self,
            table=self.table[rows],
            outcomes=self.outcomes[rows],
            orders={name: orders[rows] for name, orders in self.orders.items()},
            holding=self.holding[rows],
            stockout=self.stockout[rows],
            times=None if self.times is None else self.times[rows],
            places=self.places[rows],
        )

    def summary(self, name: str) -> InventorySummary:
        """Somebody's figures, by series (places among ``keys``) and in total."""
        costs = self.holding, self.stockout
        return inventory_summary(self.orders[name], self.outcomes, *costs, self.places)

    def costs(self, name: str) -> Float[np.ndarray, " rows"]:
        """What somebody's orders cost on each row."""
        over = self.orders[name] - self.outcomes
        return self.holding * np.maximum(over, 0) + self.stockout * np.maximum(-over, 0)


def put_to_the_test(panel: PanelPolicy, table: pd.DataFrame, request: EvaluateRequest) -> Trial:
    """Decide on every row of a test, as if its future were not known."""
    history = history_of(panel, request)
    check_rows(panel, table, request.test)
    check_costs(panel, table, request.test)
    name = outcome_name(panel, request)
    if name not in table.columns:
        raise ValueError(
            f"{request.test} has no column {name!r} with what then happened; name it with "
            "--outcome."
        )
    if request.against_column is not None:
        numeric_column(table, request.against_column)
    features = panel.features
    if features is None or (history is None and set(features.feature_names) <= {*table.columns}):
        made, known = table, None
    else:
        refuse_without_history(panel, table, history, request.test)
        assert history is not None
        table = table.rename(columns={name: features.outcome})
        paths = request.history or request.test, request.test
        with told_of_both(features, history, table, paths):
            made, known = _with_features(panel, features, history, table)
        name = features.outcome
    with told_of(request.test):
        outcomes = numeric_column(made, name)
        orders = {POLICY: panel.predict(made)}
        holding, stockout = panel.unit_costs(made)
    times = None
    if features is not None:
        times = features.time_step.times(ticks_of(features, made))
        if known is not None:
            orders |= _baselines(panel, features, known, made, stockout / (holding + stockout))
    if request.against_column is not None:
        orders[request.against_column] = made[request.against_column].to_numpy(np.float64)
    keys = SeriesKeys.of(made, panel.by)
    left_out = max(len(table) - len(made), 0)
    return Trial(
        made, outcomes, orders, holding, stockout, times, keys, keys.places(made), left_out
    )


def outcome_name(panel: PanelPolicy, request: EvaluateRequest | WatchRequest) -> str:
    """The column with outcomes: the one given, or that of training."""
    if request.outcomes is not None and len(request.outcomes) > 1:
        raise ValueError(f"A panel has one --outcome; got {len(request.outcomes)}.")
    name = request.outcomes[0] if request.outcomes else panel.outcome_name_
    if name is None:
        raise ValueError(f"{request.policy} holds no name of its outcome; give --outcome.")
    return name


def _with_features(
    panel: PanelPolicy, features: TimeFeatures, history: pd.DataFrame, table: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of a test with features, and the outcomes of all rows that there are.

    A row that is in both tables is one of the test.
    """
    keys = all_series(panel.by, history, table)
    of_test, of_history = (rows_of(features, keys, each) for each in (table, history))
    both = joined(features, history, table)
    lacking = "drop" if panel.rules_ is not None else "missing"
    made = features.training(both, short=lacking)
    index = rows_of(features, keys, made)
    dates: Any = pd.Series(of_test.get_level_values(1))
    begins = dates.groupby(of_test.get_level_values(0)).min()
    first = begins.reindex(index.get_level_values(0)).to_numpy(np.float64, na_value=np.inf)
    rows = ~index.isin(of_history.difference(of_test)) & (index.get_level_values(1) >= first)
    tested: Any = made[rows].reset_index(drop=True)
    at = of_test.get_indexer(index[rows])  # −1: a gap that was filled
    for name in table.columns:
        if name not in tested.columns:
            tested[name] = table[name].take(np.maximum(at, 0)).where(at >= 0).array
    return tested, made


def _baselines(
    panel: PanelPolicy,
    features: TimeFeatures,
    known: pd.DataFrame,
    made: pd.DataFrame,
    level: np.ndarray,
) -> dict[str, np.ndarray]:
    """What others would have ordered who know what the policy knew."""
    step, wait = features.time_step, features.lead + features.review - 1
    keys = SeriesKeys.of(known, panel.by)
    origin = int(ticks_of(features, known).min())
    a_day = 1 if step.week is None else step.week // 7
    named = WEEKDAY_QUANTILE, LAST_WEEK
    stretch = 1
    if step.week is None or step.week % 7:  # no days of the week: every period is like any other
        named, stretch, a_day = (QUANTILE, LAST_TIME), 7, 1

    def placed(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        periods = stretch * ((ticks_of(features, table) - origin) // step.width)
        groups = np.column_stack([keys.places(table), periods % a_day])
        return groups, periods // a_day

    past = (*placed(known), known[features.outcome].to_numpy(np.float64))
    lead = -(-stretch * wait // a_day)  # of one time of day, so many whole days before
    return {
        named[0]: same_weekday_quantile(past, placed(made), level, LAST, lead),
        named[1]: seasonal_naive(past, placed(made), 7, lead),
    }
