"""PanelPolicy: one policy for many series, the planner's table in and decisions out.

pooled      one rule on all rows, outcomes divided by their series' scale     (``scaled_rows``)
refined     the pooled rule, times a shrunken factor for each series          (``refining``)
separate    one rule for each series, many of them in one program             (``separate``)

Here is learning, and what is asked of losses; how new rows are decided stands in ``deciding``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from hedgerow import _checks, _row_checks, placing
from hedgerow.data import TimeFeatures, spreads
from hedgerow.data.ranges import ranges_of
from hedgerow.estimator import RobustPolicy
from hedgerow.losses import Loss, located, named_columns
from hedgerow.lots import Lots, PlacedOrders
from hedgerow.panels.deciding import (
    POOLED,
    REFINED,
    SEPARATE,
    STRATEGIES,
    PanelDecisions,
    decide_each,
)
from hedgerow.panels.engine import Engine
from hedgerow.panels.judged import Asked, HeldOut, held_out_blocks
from hedgerow.panels.many import learn_many, policy_of
from hedgerow.panels.order_errors import scatter_of
from hedgerow.panels.packing import packed_panel
from hedgerow.panels.pooled import SEEDS, learn_pooled
from hedgerow.panels.reading import Reader, check_costs, loss_of_rows, outcomes_of
from hedgerow.panels.refining import refine
from hedgerow.panels.scaled_rows import Panel
from hedgerow.panels.separate import OneSeries, SeparateRules
from hedgerow.panels.sound import sound_rows
from hedgerow.policy_file import storage

if TYPE_CHECKING:
    import pandas as pd

REFUSE, LEAVE_OUT = BAD_SERIES = ("refuse", "leave out")


class PanelPolicy(PanelDecisions, BaseEstimator):
    """Decisions for many series: stores × items, each with its own level, all from one table.

    Parameters
    ----------
    policy : RobustPolicy
        What to learn: its loss and, where given, ambiguity model, rule, nominal and solver. Costs
        that differ are columns of the table, or of ``costs``: ``Newsvendor(Column("holding"), 3)``.
    by : sequence of str
        Group columns: a series is one combination of their values.
    strategy : {"pooled", "refined", "separate"}
        One rule for all series, outcomes divided by each series' scale; the same with a factor for
        each series, as far as its own history supports it; or one rule for each series. Series
        without history of their own have the pooled rule, so "separate" refuses them.
    features : TimeFeatures or None
        How lags, means and calendar features are made of a table with dates. None: the table's
        columns are the features.
    scaled : sequence of str
        Columns counted like outcomes (past sales, say), to be divided by the scale as well; those
        that ``features`` makes of outcomes are, without being named.
    levels : sequence of str
        Columns with a row's recent level, which its outcome is divided by: one, or that of its
        weekday and that of all days. None given: the longest same-weekday mean and the level that
        ``features`` makes, or else the series' mean.
    seeds : int
        Pooled rules from so many beginnings are averaged, if the rule has a mean (forests have).
    n_jobs : int or None
        Processes for "separate", as joblib understands it; None: this one.
    store : path or None
        Folder in which rules of single series are kept as they are learned, so that a run that was
        killed goes on where it was.
    engine : {"local", "dask"} or None
        Where "separate" is learned: in processes of this machine (None), or on a Dask cluster.
    scheduler : str or None
        Address of that cluster's scheduler, such as "tcp://10.0.0.5:8786"; None: with "dask", a
        cluster of ``n_jobs`` processes is started here.
    costs : DataFrame or None
        Costs by group: some or all of the group columns, and columns that the loss reads.
    bad_series : {"refuse", "leave out"}
        What to do about series that cannot be read (an outcome is missing, a date is there twice,
        a cost is negative): refuse the table, or learn from the others (``left_out_``).

    Attributes
    ----------
    policy_ : RobustPolicy or None
        The pooled policy, on contexts and outcomes divided by their scale; None for "separate".
    series_ : DataFrame
        One row for each series: group columns, rows, scale, status and mean loss in training.
    left_out_ : dict
        What is wrong with series that were left out, by series; rows are counted within them.
    panel_ : Panel
        What turns tables into rows.

    Examples
    --------
    >>> import hedgerow as hr
    >>> sales = hr.datasets.load_bakery()
    >>> sales = sales[(sales["store"] <= 5) & (sales["date"] < "2017-01-01")]
    >>> groups = ("store", "product")
    >>> features = hr.TimeFeatures("date", "demand", by=groups, lags=(7,), rolling=(28,))
    >>> panel = hr.PanelPolicy(
    ...     hr.RobustPolicy(hr.Newsvendor(1, 3), random_state=0), by=groups, features=features
    ... ).fit(sales)
    """

    table_format_: dict | None = None
    ranges_: np.ndarray | None = None
    policy_: RobustPolicy | None
    rules_: SeparateRules | None

    def __init__(
        self,
        policy: RobustPolicy,
        by: Sequence[str],
        *,
        strategy: str = POOLED,
        features: TimeFeatures | None = None,
        scaled: Sequence[str] = (),
        levels: Sequence[str] = (),
        seeds: int = SEEDS,
        n_jobs: int | None = None,
        store: str | os.PathLike[str] | None = None,
        engine: str | None = None,
        scheduler: str | None = None,
        costs: pd.DataFrame | None = None,
        bad_series: str = REFUSE,
    ) -> None:
        self.policy = policy
        self.by = by
        self.strategy = strategy
        self.features = features
        self.scaled = scaled
        self.levels = levels
        self.seeds = seeds
        self.n_jobs = n_jobs
        self.store = store
        self.engine = engine
        self.scheduler = scheduler
        self.costs = costs
        self.bad_series = bad_series

    def fit(
        self, table: pd.DataFrame, y: Any = None, sample_weight: Any = None, censored: Any = None
    ) -> Self:
        """Learn from a long table, rows of each series in the order of time.

        ``y`` (rows,) are the outcomes, or the name of their column; with ``features``, which know
        it, None. Weights and censored rows, as in ``RobustPolicy.fit``, are understood without
        ``features`` only: those make new rows.
        """
        _checks.one_of("strategy", self.strategy, STRATEGIES)
        _checks.one_of("bad_series", self.bad_series, BAD_SERIES)
        _checks.instance("policy", self.policy, RobustPolicy, "a hedgerow.RobustPolicy")
        if self.features is not None and (sample_weight is not None or censored is not None):
            raise ValueError(
                "Weights and censored rows are understood without `features`, which make new rows; "
                "make the features first with TimeFeatures.training and pass that table."
            )
        reader = Reader.of(
            self.policy.loss, self.by, self.features, self.scaled, self.levels, self.costs
        )
        self.left_out_: dict[str, str] = {}
        weights = _row_checks.weights(sample_weight, len(table))
        if self.bad_series == LEAVE_OUT:
            kept, self.left_out_ = sound_rows(table, y, reader)
            y = y if y is None or isinstance(y, str) else np.asarray(y)[kept]
            table, weights = table.iloc[np.flatnonzero(kept)], weights[kept]
            censored = None if censored is None else np.asarray(censored)[kept]
        table, outcomes, layout = reader.read(table, y, self.policy.outliers)
        weights = weights if self.features is None else np.ones(len(table))
        if not np.any(outcomes):
            raise ValueError("Every outcome of every series is 0: there is nothing to learn.")
        panel = Panel.learn(layout, table, outcomes, reader.costs)
        censored = _row_checks.censored(censored, outcomes[:, None], weights)
        learn = self._learn_each if self.strategy == SEPARATE else self._learn_pooled
        learn(panel, table, outcomes, weights, censored)
        self.panel_ = panel
        self.outcome_name_ = y if isinstance(y, str) else getattr(self.features, "outcome", None)
        return self

    def place(
        self,
        table: pd.DataFrame,
        lots: Lots,
        history: pd.DataFrame | None = None,
        *,
        on_hand: Any = None,
        mode: str = "carry-over",
    ) -> PlacedOrders:
        """Decide, and turn decisions into orders that can be placed, as ``Lots.place`` does.

        Demand is taken to scatter around decisions as it did in training, series by series.
        """
        made = self.features_for(table, history)
        self.check_costs(made)
        decisions = self._decide(made)[:, None]
        places = self.panel_.keys.places(made)
        errors = self.scatter_[places] * self._scale(made, places)[:, None]
        return placing.place(self.loss_on(made), decisions, errors, lots, on_hand, mode)

    def losses(self, table: pd.DataFrame, y: Any = None) -> np.ndarray:
        """Return what the decisions cost on each row of a table with features and outcomes."""
        check_is_fitted(self, "panel_")
        name = self.outcome_name_ if y is None else y
        if name is None:
            raise ValueError("Hand over the outcomes, or the name of their column, as y.")
        outcomes = outcomes_of(table, name)[:, None]
        return np.asarray(self.loss_on(table)(self._decide(table)[:, None], outcomes), np.float64)

    def loss_on(self, table: pd.DataFrame) -> Loss:
        """Return the loss of rows with features: what it reads from columns is in place."""
        check_is_fitted(self, "panel_")
        self.check_costs(table)
        return self._loss_on(self.panel_, table)

    def unit_costs(self, table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Return what a unit left over and a unit missing cost on each row, (rows,) each."""
        costs = self.loss_on(table).unit_costs()
        if costs is None:
            raise ValueError(
                f"{type(self.policy.loss).__name__} does not say what a unit left over and a unit "
                "missing cost; a loss of your own offers unit_costs()."
            )
        holding, stockout = (np.broadcast_to(np.ravel(cost), len(table)) for cost in costs)
        return holding, stockout

    def score(self, table: pd.DataFrame, y: Any = None) -> float:
        """Return minus the mean loss: larger is better."""
        return -float(np.mean(self.losses(table, y)))

    def held_out_blocks(self, table: pd.DataFrame, y: Any, asked: Asked) -> HeldOut:
        """Return what blocks of time cost that it had not seen, for ``hedgerow.calibrate``."""
        check_is_fitted(self, "panel_")
        return held_out_blocks(self, table, y, asked)

    def policy_for(self, key: Any) -> RobustPolicy:
        """Return the policy of one series, named by its values in the group columns.

        For "separate" it is in the data's units; else it is the pooled policy, whose contexts and
        outcomes are divided by their scale (``panel_.rows``).
        """
        check_is_fitted(self, "panel_")
        place = self.panel_.keys.place(key)
        if self.policy_ is not None:
            return self.policy_
        assert self.rules_ is not None
        return policy_of(self.rules_, place, self.policy, self.panel_.encoder)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole panel to one file that ``hedgerow.load`` reads."""
        check_is_fitted(self, "panel_")
        storage.write(path, *packed_panel(self))

    # ------------------------------------------------------------------ learning

    def _learn_pooled(
        self,
        panel: Panel,
        table: pd.DataFrame,
        outcomes: np.ndarray,
        weights: np.ndarray,
        censored: np.ndarray | None,
    ) -> None:
        rows = panel.rows(table)
        used = rows.scale > 0
        pooled = learn_pooled(
            self.policy,
            rows.contexts[used],
            outcomes[used] / rows.scale[used],
            weights[used],
            None if censored is None else censored[used],
            _checks.count("seeds", self.seeds),
            (*panel.codes, *panel.layout.levels, *panel.layout.scaled, *self._cost_columns()),
        )
        self.policy_, self.rules_, self.factors_ = pooled, None, None
        self.ranges_ = pooled.ranges_
        decisions = self._pooled_decisions(rows.contexts, rows.scale)[:, None]
        loss = self._loss_on(panel, table)

        def costs(decisions: np.ndarray) -> np.ndarray:
            return np.asarray(loss(decisions, outcomes[:, None]), np.float64)

        if self.strategy == REFINED:
            found = refine(decisions, costs, rows.places, len(panel.keys), weights)
            self.factors_, self.doubt_ = found
            decisions = decisions * found.factors[rows.places, None]
        paid = np.bincount(rows.places, costs(decisions), minlength=len(panel.keys))
        self.series_loss_ = paid / np.maximum(panel.facts.rows, 1)
        self.scatter_ = scatter_of(
            decisions[:, 0], outcomes, rows.scale, rows.places, len(panel.keys)
        )

    def _learn_each(
        self,
        panel: Panel,
        table: pd.DataFrame,
        outcomes: np.ndarray,
        weights: np.ndarray,
        censored: np.ndarray | None,
    ) -> None:
        places = panel.keys.places(table)
        plain = panel.plain(table)
        contexts = plain.to_numpy(np.float64)
        order = np.argsort(places, kind="stable")
        cuts = np.cumsum(panel.facts.rows)[:-1]
        several = [
            OneSeries(
                contexts[rows],
                outcomes[rows, None],
                weights[rows],
                None if censored is None else censored[rows],
            )
            for rows in np.split(order, cuts)
        ]
        engine = Engine(self.engine, self.n_jobs, self.scheduler)
        policy: Any = clone(self.policy)
        names, features = list(plain.columns), plain.shape[1]
        policy.set_params(loss=located(policy.loss, names, features))
        if policy.ambiguity is not None:
            policy.set_params(ambiguity=policy.ambiguity.located(names, features))
        self.rules_ = learn_many(policy, several, engine, self.store)
        self.policy_, self.factors_ = None, None
        ordinary = spreads.ordinary_ends(contexts, weights)
        self.ranges_ = ranges_of(contexts, ordinary.low, ordinary.high)
        self.series_loss_ = self.rules_.loss
        made = self.rules_.decide(contexts, places)[:, 0]
        scale = panel.usual(table, places)
        self.scatter_ = scatter_of(made, outcomes, scale, places, len(panel.keys))

    # ------------------------------------------------------------------ deciding

    @property
    def _separate(self) -> bool:
        return self.rules_ is not None

    def _check_fitted(self) -> None:
        check_is_fitted(self, "panel_")

    def check_costs(self, table: pd.DataFrame) -> None:
        """Say which row has costs that make no sense, the first being 1."""
        check_costs(self.policy.loss, self.panel_.costs, table)

    def _pooled(self, contexts: pd.DataFrame) -> np.ndarray:
        assert self.policy_ is not None
        return self.policy_._decided(self.policy_.contexts(contexts))

    def _each(self, contexts: np.ndarray, places: np.ndarray) -> np.ndarray:
        rules = self.rules_
        assert rules is not None
        if rules.plain_of(0) is None:
            return rules.decide(contexts, places)[:, 0]
        fixed = np.where(rules.constant, rules.units["constant"][:, 0], np.nan)
        return decide_each(rules.plain_of, fixed, contexts, places)

    def _scale(self, table: pd.DataFrame, places: np.ndarray) -> np.ndarray:
        """What errors of these rows are counted in."""
        panel = self.panel_
        return panel.usual(table, places) if self.policy_ is None else panel.rows(table).scale

    def _loss_on(self, panel: Panel, table: pd.DataFrame) -> Loss:
        loss = self.policy.loss
        if not self._cost_columns():
            return loss
        plain = panel.plain(table)
        return loss_of_rows(loss, plain.to_numpy(np.float64), list(plain.columns))

    def _cost_columns(self) -> list[str]:
        """Columns that the loss reads."""
        return [str(name) for _, each in named_columns(self.policy.loss) for name in each.columns]
