"""Time features against a reading of their definition, row by row; and never a look ahead."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr

pd = pytest.importorskip("pandas")


def panel(series=3, periods=60, seed=0, freq="D"):
    """Series of different lengths that begin on different days, with a known column."""
    rng = np.random.default_rng(seed)
    parts = []
    for s in range(series):
        n = periods - 7 * s
        parts.append(
            pd.DataFrame(
                {
                    "store": s % 2,
                    "item": f"i{s}",
                    "date": pd.date_range("2020-01-01", periods=n, freq=freq)
                    + pd.Timedelta(days=s),
                    "demand": rng.normal(10, 3, n),
                    "holiday": rng.integers(0, 2, n),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def features(**changed):
    chosen = {
        **dict(time="date", outcome="demand", by=("store", "item"), known=("holiday",)),
        **dict(lags=(7, 14), rolling=(5, 28), same_weekday=(3,), level=28, floor=0.1),
    }
    return hr.TimeFeatures(**chosen | changed)


def by_definition(table, f, unit="D"):
    """Every feature and the outcome by dictionary, as the module's first lines define them."""
    made = []
    for key, group in table.groupby(list(f.by)):
        known = dict(zip(group["date"], group["demand"], strict=True))
        known = {date: y for date, y in known.items() if not np.isnan(y)}

        def back(date, periods):
            return date - pd.Timedelta(periods, unit=unit)

        def outcome(date, known=known):
            return sum(known.get(back(date, -i), np.nan) for i in range(f.review))

        def mean(date, size, known=known):
            return [known.get(back(date, f.lead + i), np.nan) for i in range(size)]

        week = {"D": 7, "h": 168}[unit]
        first = int(np.ceil((f.lead + f.review - 1) / week))
        take = np.nanmean if f.gaps == "missing" else np.mean
        for _, row in group.iterrows():
            d = row["date"]
            made.append(
                [*key, d]
                + [outcome(back(d, lag)) for lag in f.lags]
                + [f.review * take(mean(d, size)) for size in f.rolling]
                + [
                    take([outcome(back(d, week * (first + j))) for j in range(k)])
                    for k in f.same_weekday
                ]
                + [max(f.review * np.nanmean(mean(d, f.level)), f.floor) if f.level else 0.0]
                + [outcome(d)]
            )
    level = [f.level_name] if f.level else ["none"]
    names = [*f.by, "date", *f.outcome_features, *level, "demand"]
    return pd.DataFrame(made, columns=names).dropna().reset_index(drop=True)


@pytest.mark.parametrize("lead", [1, 3, 10])
@pytest.mark.parametrize("review", [1, 2, 7])
def test_training_rows_are_those_of_the_definition(lead, review):
    table = panel()
    f = features(lead=lead, review=review, lags=(lead + review - 1, 17))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing, in the oracle
        expected = by_definition(table, f)
    made = f.training(table)
    assert len(expected) > 20
    assert list(made.columns) == [
        *("store", "item", "date", "holiday", "date_weekday", "date_month", "date_day_of_year"),
        *f.outcome_features,
        *("demand_level", "demand"),
    ]
    assert f.feature_names == list(made.columns)[3:-2]
    assert f.column_names == list(made.columns)[:-1]
    for name in expected.columns:
        if expected[name].dtype == float:
            np.testing.assert_allclose(made[name], expected[name], rtol=1e-12)
        else:
            assert made[name].tolist() == expected[name].tolist()


def test_hours_of_the_same_weekday_are_a_week_apart():
    table = panel(series=2, periods=24 * 30, freq="h")
    f = features(step="h", lags=(24,), rolling=(12,), same_weekday=(2,), lead=6, level=None)
    expected = by_definition(table, f, unit="h")
    made = f.training(table)
    np.testing.assert_allclose(made[f.outcome_features], expected[f.outcome_features], rtol=1e-12)
    assert made["date"].tolist() == expected["date"].tolist()
    assert made["date_hour"].tolist() == made["date"].dt.hour.tolist()


def test_missing_periods_are_left_out_of_means_and_their_rows_left_out():
    table = panel()
    table = table.drop(index=[20, 21, 75]).reset_index(drop=True)
    table.loc[40, "demand"] = np.nan
    f = features(gaps="missing", lags=(7,), rolling=(5,), same_weekday=(3,), review=2, lead=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = by_definition(table, f)
    made = f.training(table)
    assert made["date"].tolist() == expected["date"].tolist()
    names = [*f.outcome_features, "demand_level", "demand"]
    np.testing.assert_allclose(made[names], expected[names], rtol=1e-12)


def test_filled_gaps_are_rows_with_outcome_zero():
    full = panel()
    full.loc[[20, 21, 75], "demand"] = 0.0
    sparse = full.drop(index=[20, 21, 75])
    f = features(gaps="fill", known=())
    pd.testing.assert_frame_equal(f.training(sparse), f.training(full))
    overview = f.overview(sparse)
    assert overview["absent"].tolist() == [2, 0, 1]  # sorted by store: i0, i2, i1
    with pytest.raises(ValueError, match=r"store=0 item=i0 for 2020-01-2\d.* no holiday; add such"):
        features(gaps="fill", lags=(), rolling=(), same_weekday=()).training(sparse)


# --------------------------------------------------------------------------- looking ahead


LEADS = st.integers(1, 9)
REVIEWS = st.integers(1, 8)


@settings(max_examples=40, deadline=None)
@given(LEADS, REVIEWS, st.sampled_from(["refuse", "fill", "missing"]), st.integers(0, 10**6))
def test_what_happens_after_the_decision_changes_no_feature(lead, review, gaps, seed):
    rng = np.random.default_rng(seed)
    table = panel(seed=seed)
    if gaps != "refuse":
        table = table.drop(index=rng.choice(len(table), 8, replace=False))
    f = features(lead=lead, review=review, gaps=gaps, lags=(lead + review - 1, 20), known=())
    before = f.training(table, short="missing")
    d = table["date"].iloc[int(rng.integers(len(table)))]
    future = table["date"] > d - pd.Timedelta(days=lead)
    spoilt = table.assign(demand=table["demand"].where(~future, rng.normal(500, 99, len(table))))
    after = f.training(spoilt, short="missing")
    names = [*f.feature_names, "demand_level"]
    earlier = before["date"] <= d
    pd.testing.assert_frame_equal(
        before.loc[earlier, names], after.loc[earlier, names], check_exact=True
    )
    # ... and it is seen at last, or this test could not fail
    if (before["date"] > d + pd.Timedelta(days=20)).any():
        assert not before[names].equals(after[names])


@settings(max_examples=40, deadline=None)
@given(LEADS, REVIEWS, st.sampled_from(["refuse", "fill", "missing"]), st.integers(0, 10**6))
def test_upcoming_rows_are_to_the_last_digit_those_of_training(lead, review, gaps, seed):
    """From all of the past, and from no more of it than ``reach`` says."""
    rng = np.random.default_rng(seed)
    table = panel(seed=seed)
    if gaps != "refuse":
        inner = table.index[(table.index % 11) != 0]
        table = table.drop(index=rng.choice(inner, 8, replace=False))
    f = features(lead=lead, review=review, gaps=gaps, lags=(lead + review - 1,), rolling=(6,))
    f = f if gaps != "fill" else features(gaps=gaps, lead=lead, review=review, lags=(20,), known=())
    made = f.training(table)
    d = made["date"].iloc[int(rng.integers(len(made)))]
    expected = made[made["date"] == d].drop(columns="demand").reset_index(drop=True)
    wanted = expected[["store", "item", "date", *f.known]].sample(frac=1, random_state=seed)
    decided = d - pd.Timedelta(days=lead)
    past = table[table["date"] <= decided]
    if gaps == "fill":  # a row that says how far the table knows
        past = pd.concat([past, table.head(1).assign(date=decided, item="other", demand=1.0)])
    upcoming = f.upcoming(past, wanted)
    assert upcoming.index.equals(wanted.index)
    assert list(upcoming.columns) == f.column_names
    pd.testing.assert_frame_equal(upcoming.sort_index(), expected, check_exact=True)
    if gaps != "fill":
        recent = past[past["date"] >= d - pd.Timedelta(days=f.reach)]
        pd.testing.assert_frame_equal(f.upcoming(recent, wanted), upcoming, check_exact=True)
    # later outcomes in the history are not looked at
    if gaps == "refuse":
        later = f.upcoming(table.assign(demand=table["demand"]), wanted)
        pd.testing.assert_frame_equal(later, upcoming, check_exact=True)


def test_reach_is_as_far_as_features_look_and_no_farther():
    table = panel(series=1, periods=80)
    for chosen in ({"lags": (30,)}, {"rolling": (30,)}, {"same_weekday": (4,)}, {"level": 30}):
        f = hr.TimeFeatures("date", "demand", calendar=False, lead=3, review=2, **chosen)
        d = table["date"].iloc[-5]
        names = [name for name in f.column_names if name != "date"]
        base = f.upcoming(table, pd.DataFrame({"date": [d]}))[names].to_numpy()
        for periods, seen in ((f.reach, True), (f.reach + 1, False)):
            spoilt = table.copy()
            spoilt.loc[spoilt["date"] == d - pd.Timedelta(days=periods), "demand"] += 1000
            again = f.upcoming(spoilt, pd.DataFrame({"date": [d]}))[names].to_numpy()
            assert (again != base).any() == seen, chosen


# --------------------------------------------------------------------------- tables in and out


def test_order_of_rows_index_and_types_of_ids_do_not_matter():
    table = panel()
    f = features()
    made = f.training(table)
    shuffled = table.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(f.training(shuffled), made)
    assert made.index.equals(pd.RangeIndex(len(made)))
    texts = table.assign(date=table["date"].dt.strftime("%Y-%m-%d"))
    pd.testing.assert_frame_equal(f.training(texts), made)
    categories = table.astype({"item": "category"})
    assert f.training(categories)["demand_lag_7"].equals(made["demand_lag_7"])
    # a store called 0 in one file and "0" in the other is one store
    wanted = pd.DataFrame({"store": ["0"], "item": ["i0"], "date": ["2020-03-01"], "holiday": [1]})
    assert f.upcoming(table, wanted)["demand_lag_7"].notna().all()


def test_columns_to_keep_are_carried_along_and_others_are_not():
    table = panel().assign(order=np.arange(159.0), secret=1.0)
    f = features()
    made = f.training(table, keep="order")
    assert list(made.columns) == [*f.column_names, "order", "demand"]
    joined = made.merge(table, on=["store", "item", "date"], suffixes=("", "_then"))
    assert (joined["order"] == joined["order_then"]).all()
    assert (joined["holiday"] == joined["holiday_then"]).all()
    with pytest.raises(ValueError, match="not among the features anyway; got 'holiday'"):
        f.training(table, keep=["holiday"])
    with pytest.raises(ValueError, match="The table lacks the column costs; it has store"):
        f.training(table, keep=["costs"])


def test_overview_counts_every_row_once():
    table = panel()
    f = features(review=3, lags=(9,), rolling=(28,), same_weekday=())
    overview = f.overview(table)
    counts = overview[["usable", "waiting", "unfinished"]].to_numpy()
    assert counts.sum() == len(table)
    assert overview["usable"].sum() == len(f.training(table))
    assert (overview["unfinished"] == 2).all()
    assert (overview["waiting"] == 28).all()
    assert overview["first"].tolist() == table.groupby(["store", "item"])["date"].min().tolist()


def test_the_level_is_there_from_the_first_outcome_on_and_never_below_the_floor():
    table = pd.DataFrame({"t": range(8), "y": [0.0, 0, 8, 0, 0, 0, 0, 0]})
    f = hr.TimeFeatures("t", "y", level=3, floor=0.5, step=1, review=2)
    level = f.training(table, short="missing")["y_level"]
    expected = [np.nan, 0.5, 0.5, 2 * 8 / 3, 2 * 8 / 3, 2 * 8 / 3, 0.5]
    np.testing.assert_allclose(level, expected)
    assert f.training(table)["t"].tolist() == list(range(1, 7))


def test_new_series_have_features_that_are_missing_if_told():
    table = panel()
    f = features()
    wanted = pd.DataFrame(
        {"store": [0, 9], "item": ["i0", "new"], "date": ["2020-03-01"] * 2, "holiday": [0, 1]}
    )
    with pytest.raises(
        ValueError, match=r"for 1 of the wanted series \(store=9 item=new\).*28 per"
    ):
        f.upcoming(table, wanted)
    made = f.upcoming(table, wanted, short="missing")
    built = made[[*f.outcome_features, "demand_level"]]
    assert built.iloc[0].notna().all()
    assert built.iloc[1].isna().all()
    assert made["holiday"].tolist() == [0, 1]


def test_calendars_agree_with_pandas():
    table = panel(series=1, periods=800)
    f = features(calendar=("weekday", "month", "day_of_year", "season"))
    made = f.training(table)
    dates = made["date"].dt
    assert made["date_weekday"].astype(str).tolist() == [name[:3] for name in dates.day_name()]
    assert made["date_month"].tolist() == dates.month.tolist()
    assert made["date_day_of_year"].tolist() == dates.day_of_year.tolist()
    length = np.where(dates.is_leap_year, 366, 365)
    angle = 2 * np.pi * (dates.day_of_year - 1) / length
    np.testing.assert_allclose(made["date_season_sin"], np.sin(angle), atol=1e-12)
    np.testing.assert_allclose(made["date_season_cos"], np.cos(angle), atol=1e-12)


@pytest.mark.parametrize(
    ("step", "dates", "parts"),
    [
        ("W", pd.date_range("2020-01-06", periods=9, freq="7D"), ["month", "day_of_year"]),
        ("M", pd.date_range("2020-01-01", periods=9, freq="MS"), ["month"]),
        ("15min", pd.date_range("2020-01-01", periods=9, freq="15min"), ["weekday", "hour"]),
        (3, np.arange(-6, 21, 3), []),
        (1, np.arange(2.0, 11.0), []),
    ],
)
def test_any_step_between_periods(step, dates, parts):
    table = pd.DataFrame({"date": dates, "y": np.arange(9.0)})
    f = hr.TimeFeatures("date", "y", lags=(2,), step=step)
    made = f.training(table)
    assert made["y_lag_2"].tolist() == list(range(7))
    assert list(made["date"]) == list(table["date"])[2:]
    assert [name for name in made if name.startswith("date_")][: len(parts)] == [
        f"date_{part}" for part in parts
    ]


def test_clock_times_with_and_without_zones_are_those_of_the_place():
    clock = [f"2020-01-01T{hour:02d}:30:00+01:00" for hour in range(5)]
    table = pd.DataFrame({"at": clock, "y": np.arange(5.0)})
    f = hr.TimeFeatures("at", "y", lags=(1,), step="h")
    made = f.training(table)
    assert made["at_hour"].tolist() == [1.5, 2.5, 3.5, 4.5]
    zoned = pd.date_range("2020-01-01 00:30", periods=5, freq="h", tz="Europe/Berlin")
    pd.testing.assert_frame_equal(f.training(table.assign(at=zoned)), made)


def test_the_encoder_takes_what_comes_out():
    table = panel()
    f = features()
    made = f.training(table)
    encoder = hr.TableEncoder().fit(made[f.feature_names])
    numbers = encoder.transform(f.upcoming(table, made[["store", "item", "date", "holiday"]]))
    assert "date_weekday_Sat" in numbers
    assert np.isfinite(numbers.to_numpy()).all()


# --------------------------------------------------------------------------- settings


def test_settings_go_to_json_and_back():
    for f in (features(), features(calendar=("season",), gaps="fill", floor=2, level=None)):
        text = json.dumps(f.to_json())
        again = hr.TimeFeatures.from_json(json.loads(text))
        assert again == f
        assert json.dumps(again.to_json()) == text
        pd.testing.assert_frame_equal(again.training(panel()), f.training(panel()))
    assert hr.TimeFeatures("t", "y", by="shop", lags=3, step=1).to_json()["lags"] == [3]


@pytest.mark.parametrize(
    "changed",
    [
        *({"lags": 7}, {"lags": [7.0]}, {"lags": [True]}, {"lags": [[7]]}, {"lags": {"7": 1}}),
        *({"lags": [10**9]}, {"lags": list(range(7, 200))}, {"lags": [7, 7]}, {"lead": "1"}),
        *({"lead": True}, {"lead": 0}, {"lead": None}, {"by": "store"}, {"by": [1]}, {"by": [""]}),
        *({"time": 3}, {"time": ["date"]}, {"time": "store"}, {"outcome": None}, {"level": 1.5}),
        *({"floor": 0}, {"floor": float("nan")}, {"floor": "1"}, {"step": "fortnight"}),
        *({"step": 0}, {"step": True}, {"step": None}, {"step": [1]}, {"gaps": "guess"}),
        *({"gaps": []}, {"calendar": ["moon"]}, {"calendar": None}, {"calendar": [[]]}),
        *({"extra": 1}, {"known": ["demand_level"]}, {"known": {}}),
    ],
)
def test_what_a_file_may_not_hold(changed):
    with pytest.raises(ValueError, match="stored description of time features is damaged"):
        hr.TimeFeatures.from_json(features().to_json() | changed)


@pytest.mark.parametrize("plain", [None, [], "x", 3, {}, {"time": "date", "outcome": "y"}])
def test_a_file_must_hold_every_entry(plain):
    with pytest.raises(ValueError, match=r"damaged \(it must have the entries by, calendar"):
        hr.TimeFeatures.from_json(plain)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"lead": 8}, r"A lag of 7 is not known yet .*: the lead is 8 periods, .* at least 8\."),
        ({"review": 8}, r"lead is 1 period and an outcome takes 8, so lags must be at least 8\."),
        ({"step": "W"}, "same_weekday needs a step of which a week has several"),
        ({"step": "5D"}, "same_weekday needs a step of which a week has several"),
        ({"step": "day"}, "step must be one of 'min', 'h', 'D'.*got 'day'"),
        ({"step": 1, "same_weekday": (), "calendar": ("month",)}, "some of nothing with step=1"),
        ({"calendar": ("hour",)}, "some of weekday, month, day_of_year, season.*got 'hour'"),
        ({"known": ("demand",)}, "Two columns would be called 'demand'"),
        ({"gaps": "skip"}, "gaps must be one of 'refuse', 'fill', 'missing'"),
        ({"lags": (7, 7)}, "at most 100 different numbers of periods, got 7, 7"),
        ({"by": ("store", "store")}, "by must name each only once"),
    ],
)
def test_settings_that_make_no_sense(changed, sentence):
    with pytest.raises(ValueError, match=sentence):
        features(**changed)
