"""PanelPolicy: one policy for many series, the planner's table in and decisions out.

pooled      one rule on all rows, outcomes divided by their series' scale     (``rows``)
refined     the pooled rule, times a shrunken factor for each series          (``refining``)
separate    one rule for each series, many of them in one program             (``separate``)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hedgerow import _checks
from hedgerow.data import TimeFeatures
from hedgerow.data.encoder import numeric_column
from hedgerow.data.table_files import require_pandas
from hedgerow.describe.numbers import counted, listed
from hedgerow.estimator import RobustPolicy
from hedgerow.panels.engine import Engine
from hedgerow.panels.many import learn_many, policy_of
from hedgerow.panels.packing import packed_panel
from hedgerow.panels.pooled import SEEDS, learn_pooled
from hedgerow.panels.refining import refine
from hedgerow.panels.rows import CODES, Layout, Panel
from hedgerow.panels.separate import OneSeries
from hedgerow.panels.series import STATUSES
from hedgerow.policy_file import storage

if TYPE_CHECKING:
    import pandas as pd

POOLED, REFINED, SEPARATE = STRATEGIES = ("pooled", "refined", "separate")


class PanelPolicy(BaseEstimator):
    """Decisions for many series: stores × items, each with its own level, all from one table.

    Parameters
    ----------
    policy : RobustPolicy
        What to learn: its loss and, where given, ambiguity model, rule, nominal and solver.
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

    Attributes
    ----------
    policy_ : RobustPolicy or None
        The pooled policy, on contexts and outcomes divided by their scale; None for "separate".
    series_ : DataFrame
        One row for each series: group columns, rows, scale, status and mean loss in training.
    panel_ : Panel
        What turns tables into rows.

    Examples
    --------
    >>> import hedgerow as hr
    >>> sales = hr.datasets.load_bakery()
    >>> sales = sales[(sales["store"] <= 3) & (sales["date"] < "2017-01-01")]
    >>> groups = ("store", "product")
    >>> features = hr.TimeFeatures("date", "demand", by=groups, lags=(7,), rolling=(28,))
    >>> panel = hr.PanelPolicy(
    ...     hr.RobustPolicy(hr.Newsvendor(1, 3), random_state=0), by=groups, features=features
    ... ).fit(sales)
    """

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

    def fit(
        self, table: pd.DataFrame, y: Any = None, sample_weight: Any = None, censored: Any = None
    ) -> Self:
        """Learn from a long table, rows of each series in the order of time.

        ``y`` (rows,) are the outcomes, or the name of their column; with ``features``, which know
        it, None. Weights and censored rows, as in ``RobustPolicy.fit``, are understood without
        ``features`` only: those make new rows.
        """
        _checks.one_of("strategy", self.strategy, STRATEGIES)
        _checks.instance("policy", self.policy, RobustPolicy, "a hedgerow.RobustPolicy")
        table, outcomes, layout = self._read(table, y)
        if self.features is not None and (sample_weight is not None or censored is not None):
            raise ValueError(
                "Weights and censored rows are understood without `features`, which make new rows; "
                "make the features first with TimeFeatures.training and pass that table."
            )
        weights = _checks.weights(sample_weight, len(table))
        panel = Panel.learn(layout, table, outcomes)
        censored = _checks.censored(censored, outcomes[:, None], weights)
        learn = self._learn_each if self.strategy == SEPARATE else self._learn_pooled
        learn(panel, table, outcomes, weights, censored)
        self.panel_ = panel
        self.outcome_name_ = y if isinstance(y, str) else getattr(self.features, "outcome", None)
        return self

    def predict(self, table: pd.DataFrame, history: pd.DataFrame | None = None) -> np.ndarray:
        """Decide for every row, (rows,).

        With ``features`` the rows say series, time and what is known by then, and ``history`` holds
        recent outcomes, as far back as features look (``TimeFeatures.reach``).
        """
        check_is_fitted(self, "panel_")
        return self._decide(self.features_for(table, history))

    def features_for(
        self, table: pd.DataFrame, history: pd.DataFrame | None = None
    ) -> pd.DataFrame:
        """Return the table with the features that decisions are made by."""
        check_is_fitted(self, "panel_")
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
        # what a new series lacks is filled in; each with a rule of its own has to have it
        lacking = "refuse" if self.rules_ is not None else "missing"
        return self.features.upcoming(history, table, short=lacking)

    def losses(self, table: pd.DataFrame, y: Any = None) -> np.ndarray:
        """Return what the decisions cost on each row of a table with features and outcomes."""
        check_is_fitted(self, "panel_")
        outcomes = self._outcomes(table, y)
        return self._costs(table, outcomes)(self._decide(table)[:, None])

    def score(self, table: pd.DataFrame, y: Any = None) -> float:
        """Return minus the mean loss: larger is better."""
        return -float(np.mean(self.losses(table, y)))

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

    @property
    def series_(self) -> pd.DataFrame:
        """One row for each series."""
        check_is_fitted(self, "panel_")
        panel = self.panel_
        table = require_pandas().DataFrame(list(panel.keys.values), columns=list(panel.keys.by))
        table["rows"] = panel.facts.rows
        table["scale"] = panel.facts.scale
        table["status"] = [STATUSES[status] for status in panel.facts.status]
        if self.factors_ is not None:
            table["factor"] = self.factors_
        table["loss"] = self.series_loss_
        return table

    # ------------------------------------------------------------------ learning

    def _read(self, table: Any, y: Any) -> tuple[pd.DataFrame, np.ndarray, Layout]:
        """The table to learn from, its outcomes, and which column is what."""
        by = tuple(self.by)
        if not by or any(not isinstance(name, str) for name in by):
            raise ValueError(f"by must name one or more group columns; got {self.by!r}.")
        if self.features is None:
            if y is None:
                raise ValueError("fit needs y, the outcomes or the name of their column.")
            outcomes = self._outcomes(table, y)
            apart = (y,) if isinstance(y, str) else ()
            return table, outcomes, Layout(by, tuple(self.scaled), tuple(self.levels), apart)
        _checks.instance("features", self.features, TimeFeatures, "a hedgerow.TimeFeatures")
        if tuple(self.features.by) != by:
            raise ValueError(
                f"by is {listed(by)}, but features are made by {listed(self.features.by)}."
            )
        if y is not None:
            raise ValueError(f"With features, outcomes are the column {self.features.outcome!r}.")
        made = self.features.training(table)
        if not len(made):
            raise ValueError("No series has enough history to make features of a single row.")
        outcomes = numeric_column(made, self.features.outcome)
        scaled = (*self.features.outcome_features, *self.scaled)
        levels = tuple(self.levels) or _levels(self.features)
        apart = (self.features.time, self.features.outcome)
        return made, outcomes, Layout(by, scaled, levels, apart)

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
        if not used.any():
            raise ValueError("Every outcome of every series is 0: there is nothing to learn.")
        pooled = learn_pooled(
            self.policy,
            rows.contexts[used],
            outcomes[used] / rows.scale[used],
            weights[used],
            None if censored is None else censored[used],
            _checks.count("seeds", self.seeds),
            (*CODES, *panel.layout.levels),
        )
        self.policy_, self.rules_, self.factors_ = pooled, None, None
        decisions = self._pooled_decisions(rows.contexts, rows.scale)[:, None]
        costs = self._costs(table, outcomes)
        if self.strategy == REFINED:
            found = refine(decisions, costs, rows.places, len(panel.keys), weights)
            self.factors_, self.doubt_ = found
            decisions = decisions * found.factors[rows.places, None]
        paid = np.bincount(rows.places, costs(decisions), minlength=len(panel.keys))
        self.series_loss_ = paid / np.maximum(panel.facts.rows, 1)

    def _learn_each(
        self,
        panel: Panel,
        table: pd.DataFrame,
        outcomes: np.ndarray,
        weights: np.ndarray,
        censored: np.ndarray | None,
    ) -> None:
        places = panel.keys.places(table)
        contexts = panel.plain(table).to_numpy(np.float64)
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
        self.rules_ = learn_many(self.policy, several, engine, self.store)
        self.policy_, self.factors_ = None, None
        self.series_loss_ = self.rules_.loss

    # ------------------------------------------------------------------ deciding

    def _decide(self, table: pd.DataFrame) -> np.ndarray:
        panel = self.panel_
        if self.rules_ is not None:
            places = panel.keys.places(table)
            if np.any(places < 0):
                first = table.iloc[[int(np.argmax(places < 0))]]
                words = panel.keys.words(type(panel.keys).of(first, panel.keys.by).values[0])
                raise ValueError(
                    f"{counted(int(np.sum(places < 0)), 'row')} of series without history, the "
                    f"first one {words}: each series has a rule of its own here; strategy='pooled' "
                    "decides for new ones."
                )
            return self.rules_.decide(panel.plain(table).to_numpy(np.float64), places)[:, 0]
        rows = panel.rows(table)
        decisions = self._pooled_decisions(rows.contexts, rows.scale)
        if self.factors_ is not None:
            factors = np.where(rows.places >= 0, self.factors_[rows.places], 1.0)
            decisions = decisions * factors
        return decisions

    def _pooled_decisions(self, contexts: pd.DataFrame, scale: np.ndarray) -> np.ndarray:
        assert self.policy_ is not None
        return self.policy_.predict(contexts) * scale

    def _outcomes(self, table: Any, y: Any) -> np.ndarray:
        name = self.outcome_name_ if y is None and hasattr(self, "outcome_name_") else y
        if isinstance(name, str):
            return numeric_column(table, name)
        if name is None:
            raise ValueError("Hand over the outcomes, or the name of their column, as y.")
        found = _checks.outcomes(_checks.numeric("y", name))
        if found.shape != (len(table), 1):
            raise ValueError(
                f"y must hold one outcome for each of the {len(table):,} rows; got {found.shape}."
            )
        return found[:, 0]

    def _costs(self, table: pd.DataFrame, outcomes: np.ndarray) -> Any:
        loss = self.policy.loss
        return lambda decisions: np.asarray(loss(decisions, outcomes[:, None]), np.float64)


def _levels(features: TimeFeatures) -> tuple[str, ...]:
    """The longest same-weekday mean, and the level: what there is of them."""
    weekdays = [f"{features.outcome}_same_weekday_{max(features.same_weekday)}"] * bool(
        features.same_weekday
    )
    return (*weekdays, *([features.level_name] if features.level_name else []))
