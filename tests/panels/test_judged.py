"""Promises of panels: blocks of time across all series, in the costs' own unit."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from tests.panels.test_panel_policy import _features, _panel, _sales

BEGIN = pd.Timestamp("2024-04-01")
DAYS = 220


@pytest.fixture(scope="module")
def sales():
    return _sales(days=DAYS)


@pytest.fixture(scope="module")
def panel(sales):
    return _panel("pooled", features=_features()).fit(sales[sales["date"] < BEGIN])


@pytest.fixture(scope="module")
def unseen(sales):
    made = _features().training(sales)
    return made[made["date"] >= BEGIN]


def test_the_promise_is_an_order_statistic_of_weeks_of_all_series(panel, unseen):
    found = hr.calibrate(panel, unseen, level=0.8, horizon=7)
    cost = pd.Series(panel.losses(unseen), index=unseen.index)
    days = (unseen["date"].max() - unseen["date"]).dt.days
    weeks = cost.groupby(days // 7).mean()[days.groupby(days // 7).nunique() == 7]
    place = int(np.ceil(0.8 * (len(weeks) + 1)))
    assert found.promise == pytest.approx(np.sort(weeks)[place - 1])
    assert (found.blocks, found.horizon, found.unit) == (len(weeks), 7, "period")
    assert found.nominal == pytest.approx(
        np.average(panel.series_["loss"], weights=panel.series_["rows"])
    )
    assert "a row over the next 7 periods" in str(found)
    assert set(found.to_frame()["periods"]) == {7}
    assert found.promise_at(0.5) < found.promise < found.promise_at(0.9)


def test_series_in_another_order_change_nothing(panel, unseen):
    shuffled = unseen.sample(frac=1, random_state=0)
    for asked in ({"horizon": 7}, {"horizon": 10, "method": "bootstrap"}):
        one, two = (hr.calibrate(panel, rows, level=0.8, **asked) for rows in (unseen, shuffled))
        assert one.promise == pytest.approx(two.promise)


def test_rows_without_features_have_them_made(panel, sales, unseen):
    reach = pd.Timedelta(days=_features().reach)
    bare = sales[sales["date"] >= BEGIN - reach]
    found = hr.calibrate(panel, bare, level=0.8, horizon=7)
    assert found.promise == hr.calibrate(panel, unseen, level=0.8, horizon=7).promise


def test_labels_are_blocks_of_time(panel, unseen):
    months = unseen["date"].dt.to_period("M")
    found = hr.calibrate(panel, unseen, level=0.6, blocks=months)
    assert [str(label) for label in found.labels] == sorted(map(str, months.unique()))
    assert list(found.sizes[:2]) == [30, 31]
    with pytest.raises(ValueError, match="no label for 3 rows, the first of them row 0"):
        hr.calibrate(panel, unseen, level=0.6, blocks=[None] * 3 + ["m"] * (len(unseen) - 3))


@pytest.mark.slow
def test_panels_learned_on_what_was_before_judge_what_came_next(panel, sales):
    found = hr.calibrate(panel, sales, level=0.8, horizon=7, held_out="rolling", folds=3)
    other = _panel("pooled", features=_features())
    last = sales["date"].max() - pd.Timedelta(days=7 * (found.blocks // 3) - 1)
    other.fit(sales[sales["date"] < last])
    made = _features().training(sales)
    week = made[made["date"] > sales["date"].max() - pd.Timedelta(days=7)]
    expected = np.average(other.series_["loss"], weights=other.series_["rows"])
    assert found.costs[-1] == pytest.approx(other.losses(week).mean(), rel=1e-6)
    assert found.excess[-1] == pytest.approx(other.losses(week).mean() - expected, rel=1e-6)
    assert "approximate" in found.guarantee


def test_what_a_panel_cannot_promise_is_said(panel, sales, unseen):
    with pytest.raises(ValueError, match="rolling"):
        hr.calibrate(panel, sales, level=0.8, horizon=7, held_out="folds")
    with pytest.raises(ValueError, match="without features"):
        hr.calibrate(panel, unseen, level=0.8, horizon=7, held_out="rolling")
    with pytest.raises(ValueError, match="needs 99 held-out blocks of 7 periods"):
        hr.calibrate(panel, unseen, level=0.99, horizon=7)
    with pytest.raises(ValueError, match="no radius"):
        hr.calibrate(panel, unseen, ambiguity=hr.KL(1.0))
    with pytest.raises(TypeError, match="DataFrame"):
        hr.calibrate(panel, [[1.0]])
    with pytest.raises(TypeError, match=r"policy_for\(series\)"):
        hr.robust_value(panel, unseen, unseen["demand"])
    with pytest.raises(TypeError, match=r"policy_for\(series\)"):
        hr.radius_menu(panel, unseen, unseen["demand"])


def test_rows_of_training_and_typos_are_told_once(panel, sales, unseen):
    with pytest.warns(hr.SeenRowsWarning):
        hr.calibrate(panel, sales[sales["date"] < BEGIN], level=0.8, horizon=7)
    odd = unseen.copy()
    odd.iloc[5, odd.columns.get_loc("demand")] *= 1000
    with pytest.warns(hr.OutlierWarning, match="demand looks like a typo") as told:
        hr.calibrate(panel, odd, level=0.8, horizon=7)
    assert len([one for one in told if one.category is hr.OutlierWarning]) == 1


@pytest.mark.slow
def test_without_a_column_of_time_blocks_are_labels(sales):
    made = _features().training(sales)
    past = (made["date"] < BEGIN).to_numpy()
    weeks = made["date"].dt.isocalendar().week.to_numpy()
    plain = made.drop(columns=["date"])
    scaled = ["demand_lag_7", "demand_rolling_14", "demand_same_weekday_3"]
    panel = _panel("pooled", scaled=scaled, levels=["demand_level"]).fit(plain[past], "demand")
    found = hr.calibrate(panel, plain[~past], level=0.8, blocks=weeks[~past])
    cost = pd.Series(panel.losses(plain[~past])).groupby(weeks[~past]).mean()
    np.testing.assert_allclose(found.costs, cost)
    with pytest.raises(ValueError, match="blocks="):
        hr.calibrate(panel, plain[~past], level=0.8, horizon=7)


def test_radii_that_a_panel_cannot_train_at_are_refused(sales):
    for strategy, radius, words in (
        ("separate", 0.1, "at a penalty, and KL has radius=0.1"),
        ("separate", "auto", "at a penalty, and KL has radius='auto'"),
        ("pooled", "calibrated", r"hedgerow\.calibrate\(panel, …\)"),
    ):
        policy = hr.RobustPolicy(hr.Newsvendor(1, 3), hr.KL(radius=radius), random_state=0)
        panel = hr.PanelPolicy(policy, ("store", "item"), strategy=strategy, features=_features())
        with pytest.raises(ValueError, match=words):
            panel.fit(sales)
