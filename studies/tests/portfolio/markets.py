"""A small made-up market, as tables and as a ``Market``."""

import numpy as np
import pandas as pd

from hedgerow_studies.portfolio import make_market


def tables(days=160, assets=5, features=2, seed=0):
    """Daily returns as fractions, and covariates that begin a day earlier and carry a signal."""
    rng = np.random.default_rng(seed)
    dates = pd.bdate_range("2019-12-31", periods=days + 1)
    levels = pd.DataFrame(
        rng.normal(size=(days + 1, features)).cumsum(axis=0),
        index=dates,
        columns=[f"level {i}" for i in range(features)],
    )
    signal = 0.002 * np.tanh(levels.to_numpy()[:-1, :1])
    daily = signal + rng.normal(0.0005, 0.01, (days, assets)) * np.linspace(0.5, 1.5, assets)
    returns = pd.DataFrame(daily, index=dates[1:], columns=[f"A{i}" for i in range(assets)])
    return returns, levels


def market(**changes):
    return make_market(*tables(**changes))
