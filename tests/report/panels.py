"""Small panels to report on: a few stores and items, and policies that were hardly trained."""

import numpy as np
import pandas as pd

import hedgerow as hr

BY = ("store", "item")
LOSS = hr.Newsvendor(1.0, 3.0)


def sales(days=140, stores=("1", "2", "3"), items=("a", "b"), seed=0):
    rng = np.random.default_rng(seed)
    dates = pd.date_range("2024-01-03", periods=days)
    week = 1 + 0.4 * np.sin(2 * np.pi * dates.day_of_week.to_numpy() / 7)
    parts = []
    for store in stores:
        for item in items:
            level = 10.0 ** rng.uniform(0.7, 2.0)
            promoted = rng.integers(0, 2, days)
            demand = level * week * (1 + 0.5 * promoted) * rng.gamma(20, 1 / 20, days)
            part = {"store": store, "item": item, "date": dates, "promoted": promoted}
            parts.append(pd.DataFrame(part | {"demand": demand.round(1)}))
    table = pd.concat(parts, ignore_index=True)
    return table.assign(current=(table["demand"].mean() * rng.uniform(0.5, 1.5, len(table))))


def features(**changes):
    settings = {"known": ("promoted",), "lags": (7,), "same_weekday": (3,), "level": 14}
    return hr.TimeFeatures("date", "demand", by=BY, **(settings | changes))


def panel(strategy="pooled", loss=LOSS, **settings):
    policy = hr.RobustPolicy(
        loss,
        hr.ERM(),
        rule=hr.SoftForest(trees=3, depth=2),
        solver=hr.NestedSGD(steps=60),
        random_state=0,
    )
    return hr.PanelPolicy(policy, BY, strategy=strategy, seeds=1, **settings)


def split(table, when="2024-04-01"):
    earlier = table["date"] < when
    return table[earlier], table[~earlier]
