"""Watching a panel: the mean cost of all series, and which of them moved."""

import json

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from tests.panels.test_panel_policy import _features, _panel, _sales

FIRST, SECOND = pd.Timestamp("2024-04-01"), pd.Timestamp("2024-07-15")


@pytest.fixture(scope="module")
def sales():
    return _sales(days=300)


@pytest.fixture(scope="module")
def panel(sales):
    features = _features(calendar=("weekday",))
    return _panel("separate", features=features).fit(sales[sales["date"] < FIRST])


@pytest.fixture(scope="module")
def parts(sales):
    """Rows to compare with, and new ones."""
    old = sales[(sales["date"] >= FIRST) & (sales["date"] < SECOND)]
    return old, sales[sales["date"] >= SECOND]


@pytest.fixture(scope="module")
def bound(panel, parts):
    return hr.calibrate(panel, parts[0], level=0.9, horizon=7).promise


def test_new_rows_of_the_same_kind_are_quiet(panel, parts, bound):
    found = hr.watch(panel, parts[1], history=parts[0], bound=bound)
    made = panel.features.training(pd.concat(parts))
    made = made[made["date"] >= SECOND]
    daily = pd.Series(panel.losses(made)).groupby(made["date"].to_numpy()).mean()
    assert (found.status, found.unit) == ("quiet", "period")
    assert found.rows == len(daily) == made["date"].nunique()
    assert found.mean_cost == pytest.approx(daily.mean())
    assert "new periods" in str(found)
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["unit"] == "period"


def test_what_was_made_of_outcomes_and_of_the_calendar_is_not_compared(panel, parts, bound):
    found = hr.watch(panel, parts[1], history=parts[0], bound=bound)
    assert found.columns[:2] == ("promoted", "demand beyond decision")
    assert len(found.columns) == 2 + 6
    assert "store 1, item a" in found.columns


def test_the_series_that_moved_is_named(panel, parts, bound):
    new = parts[1].copy()
    new.loc[(new["store"] == 2) & (new["item"] == "a"), "demand"] *= 2
    found = hr.watch(panel, new, history=parts[0], bound=100 * bound)
    assert (found.status, found.exit_code) == ("moved", 3)
    assert found.moved[0] == "store 2, item a"
    assert found.to_frame()["name"][0] == "store 2, item a"


def test_costs_beyond_the_bound_are_an_alarm(panel, parts, bound):
    new = parts[1].assign(demand=1.6 * parts[1]["demand"])
    found = hr.watch(panel, new, history=parts[0], bound=bound)
    assert (found.status, found.exit_code) == ("beyond", 4)
    assert "ALARM at period" in str(found)


def test_a_column_that_is_known_ahead_may_move(panel, parts, bound):
    new = parts[1].assign(promoted=1)
    found = hr.watch(panel, new, history=parts[0], bound=100 * bound)
    assert "promoted" in found.moved
    quiet = hr.watch(panel, new, history=parts[0], bound=100 * bound, ignore="promoted")
    assert "promoted" not in quiet.moved


def test_rows_with_features_are_taken_as_they_are(panel, parts, bound):
    made = panel.features.training(pd.concat(parts))
    old, new = made[made["date"] < SECOND], made[made["date"] >= SECOND]
    one = hr.watch(panel, new, history=old, bound=bound)
    two = hr.watch(panel, parts[1], history=parts[0], bound=bound)
    np.testing.assert_allclose(one.shift_evidence, two.shift_evidence)
    assert str(one) == str(two)


@pytest.mark.slow
def test_new_series_are_said_not_to_be_watched(sales, parts):
    panel = _panel("pooled", features=_features()).fit(sales[sales["date"] < FIRST])
    new = parts[1].copy()
    new.loc[new["store"] == 3, "store"] = 9
    found = hr.watch(panel, new, history=parts[0], bound=1000.0)
    assert found.unwatched == ("store 9, item a", "store 9, item b")
    assert "2 series without history are not watched" in str(found)


def test_what_is_missing_is_said(panel, parts):
    with pytest.raises(ValueError, match=r"hedgerow\.calibrate"):
        hr.watch(panel, parts[1], history=parts[0])
    with pytest.raises(ValueError, match="give history="):
        hr.watch(panel, parts[1], bound=1.0)
    with pytest.raises(ValueError, match="no column 'rain' to ignore"):
        hr.watch(panel, parts[1], history=parts[0], bound=100.0, ignore="rain")
