"""Rivals on real series: what a practitioner would take for the quantile of demand.

    weekday quantile     b/(b+h) quantile of the last 26 outcomes of the same weekday (and hour)
    LightGBM             boosted trees on the pinball loss; leaves and rounds chosen
    boosting             scikit-learn's ``HistGradientBoostingRegressor``, likewise
    quantile forest      ``quantile-forest``; leaf size and features per split chosen
    EBM                  explainable boosting of the mean, times or plus the quantile of what it was
                         off by on later days; interpret 0.7 has no pinball objective

Whatever is chosen is chosen in the order of time: learn from the first three quarters of the
training days, judge by the pinball loss on the last quarter, then learn from all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from hedgerow_studies.trials.real_series import Panel, Table, Tables, tables

HELD_BACK = 0.25
"""Share of the training days, at their end, that choices are judged by."""
SAME_WEEKDAYS = 26
LEAVES, ROUNDS, RATE = (4, 8, 31), (25, 50, 100, 200, 400, 800), 0.05
HISTOGRAM_LEAVES, HISTOGRAM_ROUNDS = (8,), ROUNDS[:-1]
"""Of scikit-learn's boosting, which takes several times as long."""
LEAF_SIZES, FEATURE_SHARES, TREES = (5, 20), (0.33, 1.0), 100
EBM: dict[str, Any] = {"outer_bags": 2, "interactions": 5, "max_rounds": 1000}


class Ordered(NamedTuple):
    """What a method orders in the test period, in units of demand, and what it had chosen."""

    orders: np.ndarray
    chosen: str = ""


Method = Callable[[Panel, float, bool, int], Ordered]
"""(panel, level of the quantile, whether the panel is pooled into one table, seed) → orders."""


def weekday_quantile(panel: Panel, level: float, pooled: bool, seed: int) -> Ordered:
    """Look at the same hours of the same weekdays, series by series; pooling means nothing here."""
    del pooled, seed
    keys = ["series", "weekday of", "hour of"]
    train, test = (
        part.assign(**{keys[1]: part["date"].dt.day_of_week, keys[2]: part["date"].dt.hour})
        for part in (panel.train, panel.test)
    )
    recent: Any = train.groupby(keys)["demand"].apply(
        lambda sold: np.quantile(sold.to_numpy()[-SAME_WEEKDAYS:], level)
    )
    found = test[keys].merge(recent.rename("order").reset_index(), how="left", on=keys)
    return Ordered(found["order"].to_numpy(float))


def lightgbm(panel: Panel, level: float, pooled: bool, seed: int) -> Ordered:
    """Boosted trees; categories as such."""
    from lightgbm import LGBMRegressor

    def fit(X: Table, y: np.ndarray, leaves: int, rounds: int) -> Any:
        model: Any = LGBMRegressor(
            objective="quantile",
            alpha=level,
            n_estimators=rounds,
            learning_rate=RATE,
            num_leaves=leaves,
            min_child_samples=20,
            subsample=0.8,
            subsample_freq=1,
            colsample_bytree=0.8,
            n_jobs=1,
            random_state=seed,
            verbose=-1,
        )
        return model.fit(X, y)

    def stages(model: Any, X: Table) -> list[np.ndarray]:
        return [model.predict(X, num_iteration=rounds) for rounds in ROUNDS]

    return _boosted(panel, level, pooled, fit, stages, (LEAVES, ROUNDS))


def boosting(panel: Panel, level: float, pooled: bool, seed: int) -> Ordered:
    """Boosted trees of scikit-learn."""

    def fit(X: Table, y: np.ndarray, leaves: int, rounds: int) -> Any:
        model = HistGradientBoostingRegressor(
            loss="quantile",
            quantile=level,
            learning_rate=RATE,
            max_iter=rounds,
            max_leaf_nodes=leaves,
            early_stopping=False,  # pyright: ignore[reportArgumentType]
            random_state=seed,
        )
        return model.fit(X, y)

    def stages(model: Any, X: Table) -> list[np.ndarray]:
        found = enumerate(model.staged_predict(X), start=1)
        return [guess for rounds, guess in found if rounds in HISTOGRAM_ROUNDS]

    return _boosted(panel, level, pooled, fit, stages, (HISTOGRAM_LEAVES, HISTOGRAM_ROUNDS))


def quantile_forest(panel: Panel, level: float, pooled: bool, seed: int) -> Ordered:
    """Quantiles of the outcomes that share leaves with a context (Meinshausen 2006)."""
    from quantile_forest import RandomForestQuantileRegressor

    made = tables(panel, pooled)
    X, X_test = (part.to_numpy() for part in made.numbers)

    def fit(rows: Any, size: int, share: float) -> Any:
        forest: Any = RandomForestQuantileRegressor
        model = forest(
            n_estimators=TREES,
            min_samples_leaf=size,
            max_features=share,
            max_samples_leaf=None,
            n_jobs=1,
            random_state=seed,
        )
        return model.fit(X[rows], made.outcomes[rows])

    early, late = in_time(made.dates)
    losses = {
        (size, share): _pinball(
            fit(early, size, share).predict(X[late], quantiles=[level]), made.outcomes[late], level
        )
        for size in LEAF_SIZES
        for share in FEATURE_SHARES
    }
    size, share = min(losses, key=lambda pair: losses[pair])
    orders = fit(np.arange(len(X)), size, share).predict(X_test, quantiles=[level])
    return Ordered(_in_demand(orders, made), f"leaves of {size}, {share:.0%} of the features")


def explainable_boosting(panel: Panel, level: float, pooled: bool, seed: int) -> Ordered:
    """Explainable boosting of the mean, and the quantile of its errors on later days."""
    from interpret.glassbox import ExplainableBoostingRegressor

    made = tables(panel, pooled)
    X, X_test = made.names

    def fit(rows: np.ndarray) -> Any:
        model: Any = ExplainableBoostingRegressor(**EBM, n_jobs=1, random_state=seed)
        return model.fit(X.iloc[rows], made.outcomes[rows])

    early, late = in_time(made.dates)
    outcome = made.outcomes[late]
    guess = np.maximum(fit(early).predict(X.iloc[late]), 0)
    some = guess > 0.01 * outcome.mean()
    factor = float(np.quantile(outcome[some] / guess[some], level))
    extra = float(np.quantile(outcome - guess, level))
    mean = np.maximum(fit(np.arange(len(X))).predict(X_test), 0)
    if _pinball(guess * factor, outcome, level) < _pinball(guess + extra, outcome, level):
        return Ordered(_in_demand(mean * factor, made), f"mean × {factor:.2f}")
    return Ordered(_in_demand(mean + extra, made), f"mean + {extra:.2f}")


RIVALS: dict[str, Method] = {
    "weekday quantile": weekday_quantile,
    "LightGBM": lightgbm,
    "boosting": boosting,
    "quantile forest": quantile_forest,
    "EBM": explainable_boosting,
}


def in_time(dates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the first days and of the last quarter of the days."""
    days = np.unique(dates)
    begins = days[int((1 - HELD_BACK) * len(days))]
    return np.flatnonzero(dates < begins), np.flatnonzero(dates >= begins)


def _boosted(
    panel: Panel,
    level: float,
    pooled: bool,
    fit: Callable[[Table, np.ndarray, int, int], Any],
    stages: Callable[[Any, Table], list[np.ndarray]],
    sizes: tuple[tuple[int, ...], tuple[int, ...]],
) -> Ordered:
    """Choose leaves and rounds on the last quarter, and learn from all."""
    made = tables(panel, pooled)
    X, X_test = made.names
    early, late = in_time(made.dates)
    with threadpool_limits(1, user_api="openmp"):
        losses = {}
        for leaves in sizes[0]:
            model = fit(X.iloc[early], made.outcomes[early], leaves, sizes[1][-1])
            for rounds, guess in zip(sizes[1], stages(model, X.iloc[late]), strict=True):
                losses[leaves, rounds] = _pinball(guess, made.outcomes[late], level)
        leaves, rounds = min(losses, key=lambda pair: losses[pair])
        orders = fit(X, made.outcomes, leaves, rounds).predict(X_test)
    return Ordered(_in_demand(orders, made), f"{rounds} rounds of {leaves} leaves")


def _in_demand(orders: np.ndarray, made: Tables) -> np.ndarray:
    """Orders in units of demand; none is negative."""
    return np.maximum(np.ravel(orders), 0) * made.units[1]


def _pinball(guess: np.ndarray, outcome: np.ndarray, level: float) -> float:
    gap = outcome - np.maximum(np.ravel(guess), 0)
    return float(np.mean(np.maximum(level * gap, (level - 1) * gap)))
