"""Typos in a panel's outcomes: found in their own series only, named, moved or refused."""

import warnings

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.panels.typos import mended

DAYS = pd.date_range("2024-01-01", periods=60)
LEVELS = {"kiosk": 8.0, "market": 9000.0}


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    shops = [
        pd.DataFrame(
            {"shop": shop, "day": DAYS, "sold": rng.poisson(level, len(DAYS)).astype(float)}
        )
        for shop, level in LEVELS.items()
    ]
    return pd.concat(shops, ignore_index=True)


def look(table, outliers="warn"):
    return mended(table, table["sold"].to_numpy(), "sold", ("shop", "day"), ("shop",), outliers)


def test_what_is_usual_elsewhere_is_a_typo_here(table):
    table.loc[10, "sold"] = 9000.0  # an ordinary day of the market
    with pytest.warns(hr.OutlierWarning, match=r"shop kiosk, day 2024-01-11") as told:
        kept = look(table)
    assert np.array_equal(kept, table["sold"])
    assert "1 value of sold looks like a typo: 9,000 in row 11" in str(told[0].message)


def test_clipped_values_stay_in_their_series(table):
    table.loc[[10, 70], "sold"] = [9000.0, 9e6]
    with pytest.warns(hr.OutlierWarning, match="Clipped to that range"):
        moved = look(table, "clip")
    for shop, rows in table.groupby("shop").groups.items():
        others = rows.difference([10, 70])
        assert moved[rows].max() <= table["sold"][others].max(), shop
    untouched = np.setdiff1d(np.arange(len(table)), [10, 70])
    assert np.array_equal(moved[untouched], table["sold"][untouched])


def test_nothing_is_said_of_ordinary_days_gaps_and_short_series(table):
    short = pd.DataFrame({"shop": "new", "day": DAYS[:5], "sold": [1.0, 2, 1, 9000, 1]})
    table.loc[3, "sold"] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        look(pd.concat([table, short], ignore_index=True))


def test_a_panel_refuses_typos_if_asked_to(table):
    table.loc[10, "sold"] *= 1000
    features = hr.TimeFeatures("day", "sold", by=("shop",), lags=(1,), level=7)
    policy = hr.RobustPolicy(hr.Newsvendor(1, 3), hr.ERM(), outliers="error")
    with pytest.raises(
        ValueError, match=r"row 11 \(shop kiosk, day 2024-01-11\).*Correct or remove"
    ):
        hr.PanelPolicy(policy, ("shop",), features=features).fit(table)
    with pytest.raises(ValueError, match="1 value of sold looks like a typo"):
        hr.PanelPolicy(policy, ("shop",)).fit(table[["shop", "sold"]], "sold")
