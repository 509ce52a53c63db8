"""Real series: nothing looks ahead, stores are split by rule, units are those of training."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hedgerow_studies.trials import real_series
from hedgerow_studies.trials.series_policies import grown_training
from hedgerow_studies.trials.series_rivals import in_time, weekday_quantile

DATA = Path(__file__).parents[4] / "shared" / "data"
needs_data = pytest.mark.skipif(
    not (DATA / real_series.BAKERY).exists(), reason=f"{DATA} has no {real_series.BAKERY}"
)


@pytest.fixture(scope="module")
def raw():
    """Two stores with two products, in the file's form, over 900 days."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2016-06-01", periods=900)
    parts = []
    for store, product, level in ((4, 101, 50), (4, 109, 5), (7, 101, 200), (7, 109, 0)):
        known = {name: rng.integers(0, 2, 900) for name in real_series.AGREED}
        sold = rng.poisson(level * (1 + 0.5 * (days.day_of_week == 5)))
        parts.append(
            pd.DataFrame(
                {"date": days, "store": store, "product": product, "demand": sold, **known}
            )
        )
    return pd.concat(parts).sample(frac=1, random_state=0)


def test_the_future_changes_no_feature_of_the_past(raw):
    before = real_series.bakery_panel(raw)
    day = pd.Timestamp("2018-02-01")
    changed = raw.copy()
    changed.loc[changed["date"] >= day, "demand"] *= 3
    after = real_series.bakery_panel(changed)
    # sales of a day are known a week later, so features of that week are still the old ones
    known = before.train["date"] < day + pd.Timedelta(days=7)
    features = before.train.columns.drop("demand")
    pd.testing.assert_frame_equal(
        before.train.loc[known, features], after.train.loc[known, features]
    )
    assert not before.train.loc[~known, "lag7"].equals(after.train.loc[~known, "lag7"])


def test_units_are_means_of_training_days_alone(raw):
    panel = real_series.bakery_panel(raw)
    made = real_series.tables(panel, pooled=True)
    means = pd.Series(made.outcomes).groupby(panel.train["series"]).mean()
    np.testing.assert_allclose(means, 1, rtol=1e-12)
    assert list(panel.series) == ["4/101", "4/109", "7/101"]  # the last sold nothing
    later = raw.copy()
    later.loc[later["date"] >= pd.Timestamp("2018-05-01"), "demand"] *= 5
    other = real_series.tables(real_series.bakery_panel(later), pooled=True)
    np.testing.assert_array_equal(made.units[1], other.units[1])
    assert (made.numbers[0].columns == made.numbers[1].columns).all()
    alone = real_series.tables(panel.only(["4/109"]), pooled=False)
    assert not any(str(name).startswith(("store", "product")) for name in alone.numbers[0])
    np.testing.assert_array_equal(alone.units[0], 1)


def test_a_rehearsal_stays_within_the_training_period(raw):
    panel = real_series.bakery_panel(raw)
    begins = pd.Timestamp("2017-11-01")
    rehearsed = panel.rehearsal(begins)
    assert rehearsed.train["date"].max() < begins == rehearsed.test["date"].min()
    assert rehearsed.test["date"].max() == panel.train["date"].max() < pd.Timestamp("2018-05-01")
    early, late = in_time(panel.train["date"].to_numpy())
    assert panel.train["date"][early].max() < panel.train["date"][late].min()
    assert len(early) + len(late) == len(panel.train)


def test_the_weekday_quantile_looks_at_recent_days_of_the_same_name(raw):
    panel = real_series.bakery_panel(raw).only(["4/101"])
    orders = weekday_quantile(panel, 0.75, False, 0).orders
    saturday = panel.test["date"].dt.day_of_week == 5
    sold = panel.train["demand"][panel.train["date"].dt.day_of_week == 5]
    np.testing.assert_allclose(orders[saturday], np.quantile(sold[-26:], 0.75))


def test_ten_stores_of_twenty_five_are_reported():
    assert real_series.reported(range(25)) == [2, 4, 7, 9, 12, 14, 17, 19, 22, 24]
    assert real_series.reported([9, 3, 3, 7, 5, 1]) == [5, 9]


def test_training_grows_with_rows_and_stays_as_it_is_on_few():
    usual = {"steps": 500, "batch": 64}
    assert grown_training(100) == grown_training(1000) == usual
    assert grown_training(4000) == {"steps": 2000, "batch": 64}
    assert grown_training(30_000) == {"steps": 3000, "batch": 320}


def test_dishes_are_split_as_in_the_documentation():
    panel = real_series.restaurant(["steak", "lamb"])
    assert list(panel.train.groupby("series").size()) == [573, 573]
    assert list(panel.test.groupby("series").size()) == [192, 192]


@needs_data
def test_the_bakery_as_it_is():
    tuned, judged = (real_series.bakery(DATA, tuning=tuning) for tuning in (True, False))
    stores = [sorted(panel.train["store"].unique()) for panel in (tuned, judged)]
    assert not set(stores[0]) & set(stores[1])
    assert stores[1] == [17, 21, 27, 29, 33, 36, 40, 46, 49, 71]
    assert (len(tuned.series), len(judged.series)) == (42, 30)
    assert judged.test["date"].min() == pd.Timestamp("2018-05-01")
    assert len(judged.test) == 30 * 365


@needs_data
def test_bikes_end_with_a_year_of_hours():
    panel = real_series.bikes(DATA, every=2)
    assert (len(panel.train), len(panel.test)) == (8760, 8761)
    hours = panel.test["date"].iloc[[0, -1]]
    assert hours.iloc[1] - hours.iloc[0] == pd.Timedelta(days=365)
    earlier = panel.test.set_index("date")
    now, week = earlier.loc["2018-09-20 08:00"], earlier.loc["2018-09-13 08:00"]
    assert now["lag168"] == week["demand"]
