"""PanelPolicy: tables in, decisions out, files in between."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow import fitting
from hedgerow.fitting import pose
from hedgerow.panels.pooled import learn_pooled, mean_of_fits

LOSS = hr.Newsvendor(1.0, 3.0)
BY = ("store", "item")


def _sales(days=120, stores=3, items=2, seed=0):
    rng = np.random.default_rng(seed)
    dates = pd.date_range("2024-01-01", periods=days)
    week = 1 + 0.4 * np.sin(2 * np.pi * dates.day_of_week.to_numpy() / 7)
    parts = []
    for store in range(1, stores + 1):
        for item in "ab"[:items]:
            level = 10.0 ** rng.uniform(0.5, 2.5)
            promoted = rng.integers(0, 2, days)
            demand = level * week * (1 + 0.5 * promoted) * rng.gamma(20, 1 / 20, days)
            part = {"store": store, "item": item, "date": dates, "promoted": promoted}
            parts.append(pd.DataFrame(part | {"demand": demand}))
    return pd.concat(parts, ignore_index=True)


def _features(**changes):
    settings = {"known": ("promoted",), "lags": (7,), "rolling": (14,), "same_weekday": (3,)}
    return hr.TimeFeatures("date", "demand", by=BY, **(settings | {"level": 14} | changes))


def _panel(strategy="pooled", **settings):
    policy = hr.RobustPolicy(
        LOSS, hr.ERM(), rule=hr.SoftForest(trees=5), solver=hr.NestedSGD(steps=300), random_state=0
    )
    return hr.PanelPolicy(policy, BY, strategy=strategy, **settings)


@pytest.fixture(scope="module")
def sales():
    return _sales()


@pytest.fixture(scope="module", params=["pooled", "refined", "separate"])
def fitted(request, sales):
    return _panel(request.param, features=_features()).fit(sales)


def test_decisions_follow_the_size_of_every_series(fitted, sales):
    made = _features().training(sales)
    orders = fitted.predict(made)
    by_series = made.assign(order=orders).groupby(list(BY))[["order", "demand"]].mean()
    ratio = by_series["order"] / by_series["demand"]
    assert ratio.between(0.95, 1.5).all()
    naive = made.groupby(list(BY))["demand"].transform(lambda y: y.quantile(0.75))
    assert fitted.losses(made).mean() < 0.7 * np.mean(LOSS(naive.to_numpy(), made["demand"]))


def test_upcoming_rows_are_decided_as_if_they_had_been_history(fitted, sales):
    split = pd.Timestamp("2024-04-01")
    made = _features().training(sales)
    first_day = made[made["date"] == split]
    wanted = sales[sales["date"] == split].drop(columns="demand")
    found = fitted.predict(wanted, history=sales[sales["date"] < split])
    assert np.allclose(found, fitted.predict(first_day), rtol=1e-12)


def test_a_file_decides_alike(fitted, sales, tmp_path):
    fitted.save(tmp_path / "panel.hedgerow")
    again = hr.load(tmp_path / "panel.hedgerow")
    made = _features().training(sales)
    assert np.array_equal(again.predict(made), fitted.predict(made))
    pd.testing.assert_frame_equal(again.series_, fitted.series_)
    assert again.features == fitted.features


def test_damaged_files_end_in_one_sentence(fitted, tmp_path):
    path = tmp_path / "panel.hedgerow"
    fitted.save(path)
    arrays, about = hr.policy_file.storage.read(path)
    spoilt = []
    for name in [name for name in arrays if name.startswith(("series.", "each."))][:12]:
        spoilt.append(({k: v for k, v in arrays.items() if k != name}, about))
        spoilt.append((arrays | {name: arrays[name][:-1]}, about))
    for name in about["panel"]:
        panel = {k: v for k, v in about["panel"].items() if k != name}
        spoilt.append((arrays, about | {"panel": panel}))
        spoilt.append((arrays, about | {"panel": about["panel"] | {name: 7.5}}))
    for wrong, told in spoilt:
        hr.policy_file.storage.write(path, wrong, told)
        with pytest.raises(hr.PolicyFileError):
            hr.load(path)


@pytest.mark.slow
def test_units_of_a_series_do_not_matter(sales):
    """One store that counts in dozens: its orders are in dozens, nobody else's change."""
    features = _features(floor=1e-9)
    plain = _panel(features=features).fit(sales)
    dozens = sales.copy()
    dozens.loc[dozens["store"] == 2, "demand"] /= 12
    other = _panel(features=features).fit(dozens)
    made, made_dozens = features.training(sales), features.training(dozens)
    factor = np.where(made["store"] == 2, 1 / 12, 1.0)
    expected = plain.predict(made) * factor
    # the code for a series' size is told of the change, and nothing else is
    assert np.mean(np.abs(other.predict(made_dozens) / expected - 1)) < 0.05


def test_a_new_series_gets_the_pooled_rule_and_its_relatives_scale(sales):
    panel = _panel(features=_features()).fit(sales)
    wanted = pd.DataFrame(
        {"store": [9, 9], "item": ["a", "b"], "date": pd.Timestamp("2024-04-30"), "promoted": 0}
    )
    orders = panel.predict(wanted, history=sales)
    scales = panel.series_.groupby("item")["scale"].median()
    assert np.all(np.abs(np.log(orders / scales.to_numpy())) < 0.7)
    separate = _panel("separate", features=_features()).fit(sales)
    made = _features().training(sales).assign(store=9)
    with pytest.raises(ValueError, match=r"series without history, the first one store 9, item a"):
        separate.predict(made)


def test_series_that_never_sold_get_nothing_and_do_not_disturb(sales):
    zero = sales[sales["store"] == 1].assign(store=7, demand=0.0)
    panel = _panel(features=_features()).fit(pd.concat([sales, zero]))
    status = panel.series_.set_index(list(BY))["status"]
    assert status.loc["7"].tolist() == ["zero", "zero"]
    made = _features().training(zero)
    assert np.all(panel.predict(made) <= 1.5)  # the level's floor is one unit


def test_plain_tables_without_time(sales):
    table = sales.assign(past=sales.groupby(list(BY))["demand"].shift(7)).dropna()
    table = table.drop(columns="date").reset_index(drop=True)
    panel = _panel(scaled=("past",)).fit(table, "demand")
    other = _panel(scaled=("past",)).fit(table.drop(columns="demand"), table["demand"])
    assert np.array_equal(panel.predict(table), other.predict(table))
    assert -panel.score(table) == pytest.approx(panel.losses(table).mean())


def test_a_mean_of_forests_decides_like_the_mean(sales):
    features = _features()
    made = features.training(sales)
    three = _panel(features=features, seeds=3).fit(sales)
    rows = three.panel_.rows(made)
    assert three.policy_.rule_.leaves.shape[0] == 15
    single = []
    for seed in range(3):
        one = _panel(features=features, seeds=1)
        one.policy.set_params(random_state=seed)
        single.append(one.fit(sales).policy_.predict(rows.contexts))
    assert np.allclose(three.policy_.predict(rows.contexts), np.mean(single, axis=0), rtol=1e-5)
    assert np.isfinite(three.policy_.robust_value_.value)


def test_a_policy_of_one_series_can_be_asked_everything(sales):
    panel = _panel("separate", features=_features()).fit(sales)
    own = panel.policy_for((2, "b"))
    made = _features().training(sales)
    made = made[(made["store"] == 2) & (made["item"] == "b")]
    x = panel.panel_.plain(made)
    assert np.allclose(own.predict(x), panel.predict(made), rtol=1e-6)
    assert hr.robust_value(own, x, made["demand"]).value > 0
    assert hr.explain.attribute(own, x.iloc[0], x).completeness_error < 1e-4


@pytest.mark.parametrize(
    ("settings", "asked", "sentence"),
    [
        ({"strategy": "all"}, {"y": "demand"}, "strategy must be one of"),
        ({}, {}, "fit needs y"),
        ({}, {"y": "sales"}, "no column 'sales'"),
        ({"features": 3}, {}, "features must be"),
        ({"seeds": 0}, {"y": "demand"}, "seeds must be"),
    ],
)
def test_mistakes_are_named(sales, settings, asked, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        _panel(**settings).fit(sales, **asked)


def test_group_columns_are_several(sales):
    panel = hr.PanelPolicy(hr.RobustPolicy(LOSS), by="store")
    with pytest.raises(
        ValueError, match=r"by must be a tuple of group columns, such as \('store',"
    ):
        panel.fit(sales, "demand")


@pytest.mark.parametrize("strategy", ["pooled", "separate"])
def test_nothing_but_zeros_teaches_nothing(sales, strategy):
    panel = _panel(strategy, features=_features())
    with pytest.raises(ValueError, match="Every outcome of every series is 0"):
        panel.fit(sales.assign(demand=0.0))


def test_a_day_is_ordered_for_once(fitted, sales):
    wanted = sales[sales["date"] == "2024-04-29"].drop(columns="demand").assign(date="2024-04-30")
    twice = pd.concat([wanted, wanted.iloc[[1]]])
    with pytest.raises(ValueError, match="Rows 2 and 7 are both of store 1, item b, 2024-04-30: "):
        fitted.predict(twice, history=sales[sales["date"] < "2024-04-30"])


def test_features_by_other_groups_are_refused(sales):
    features = hr.TimeFeatures("date", "demand", by=("store",), lags=(7,))
    with pytest.raises(ValueError, match="by is store, item, but features are made by store"):
        _panel(features=features).fit(sales)


def test_rows_without_features_say_what_to_hand_over(sales):
    panel = _panel(features=_features()).fit(sales)
    with pytest.raises(ValueError, match=r"lacks .*demand_lag_7.* as `history`"):
        panel.predict(sales)


def test_features_without_same_weekdays_have_a_level(sales):
    panel = _panel(features=_features(same_weekday=()), seeds=1).fit(sales)
    assert panel.panel_.layout.levels == ("demand_level",)


def test_a_series_that_begins_to_sell_is_decided_for_as_a_new_one(sales):
    """Zeros in training, then sales like those of store 2: orders near those of store 2."""
    item_a = sales[sales["item"] == "a"]
    like = item_a[item_a["store"] == 2].assign(store=8)
    before = like["date"] < "2024-03-01"
    asleep = like.assign(demand=np.where(before, 0.0, like["demand"]))
    table = pd.concat([sales, asleep], ignore_index=True)
    panel = _panel(features=_features()).fit(table[table["date"] < "2024-03-01"])
    assert panel.series_.set_index(list(BY)).loc[("8", "a"), "status"] == "zero"
    made = _features().training(table)
    made = made[(made["date"] >= "2024-04-05") & (made["item"] == "a")]
    orders = made.assign(order=panel.predict(made)).groupby("store")["order"].mean()
    assert 0.8 < orders[8] / orders[2] < 1.25


def test_a_rule_may_tell_stores_apart(sales):
    """Store 1 sells twice as much on promoted days, store 2 half: no other column says so."""
    other = sales[sales["store"] < 3].copy()
    factor = np.where(other["store"] == 1, 2.0, 0.5)
    other["demand"] *= np.where(other["promoted"] == 1, factor, 1.0)
    features = _features(lags=(), rolling=(), same_weekday=())
    panel = _panel(features=features, seeds=1).fit(other)
    assert {"store_1", "store_2", "item_a", "item_b"} < set(panel.policy_.feature_names_in_)
    made = features.training(other)
    ratio = {
        store: panel.predict(rows.assign(promoted=1)).mean()
        / panel.predict(rows.assign(promoted=0)).mean()
        for store, rows in made.groupby("store")
    }
    assert ratio[1] > 1.5 * ratio[2]
    unseen = panel.panel_.rows(made.assign(store=9)).contexts
    assert np.all(unseen[["store_1", "store_2"]] == 0.5)


def test_many_ids_are_three_numbers(sales):
    one = sales[(sales["store"] == 1) & (sales["item"] == "a")].iloc[:40]
    many = pd.concat([one.assign(store=store) for store in range(60)])
    panel = _panel(features=_features(lags=(), rolling=()), seeds=1).fit(many)
    assert panel.panel_.codes == ["series_size", "series_spread", "series_zeros"]


def test_beginnings_share_one_reading_of_the_history(monkeypatch):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"])
    y = 20 + 5 * X["a"].to_numpy() + rng.gamma(4.0, 1.0, 120)
    policy = hr.RobustPolicy(hr.Newsvendor(1, 3), hr.ERM(), random_state=4)
    each = mean_of_fits(policy, 120, lambda own: own.fit(X, y), 3)
    posed = []
    monkeypatch.setattr(fitting, "pose", lambda *given: posed.append(pose(*given)) or posed[-1])
    together = learn_pooled(policy, X, y, np.ones(120), None, 3)
    assert len(posed) == 1
    assert np.array_equal(together.predict(X), each.predict(X))
