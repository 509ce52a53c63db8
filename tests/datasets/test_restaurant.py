"""The loader returns the file's days, features and dishes, under names that stay put."""

import sys

import numpy as np
import pytest

from hedgerow.datasets import load_restaurant

DISHES = ["calamari", "fish", "shrimp", "chicken", "koefte", "lamb", "steak"]
WEATHER = [
    "is_holiday",
    "is_closed",
    "weekend",
    "wind",
    "clouds",
    "rain",
    "sunshine",
    "temperature",
]
WEEKDAYS = [f"weekday_{day}" for day in ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")]
MONTHS = [
    f"month_{month}"
    for month in (
        "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
    )
]  # fmt: skip


@pytest.fixture(scope="module")
def restaurant():
    return load_restaurant()


def column(bunch, name):
    return bunch.data[:, bunch.feature_names.index(name)]


def test_shapes_types_and_names(restaurant):
    assert restaurant.data.shape == (765, 27)
    assert restaurant.target.shape == (765, 7)
    assert restaurant.data.dtype == restaurant.target.dtype == np.float64
    assert restaurant.feature_names == WEATHER + WEEKDAYS + MONTHS
    assert restaurant.target_names == DISHES
    assert np.all(np.isfinite(restaurant.data))
    assert "ddop" in restaurant.DESCR


def test_first_row(restaurant):
    # 2013-10-04,FRI,OCT,2013,0,0,0,1.9,7.7,0.1,150,15.9,6,6,12,40,23,50,36
    weekday = [0, 0, 0, 0, 1, 0, 0]
    month = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]
    np.testing.assert_array_equal(
        restaurant.data[0], [0, 0, 0, 1.9, 7.7, 0.1, 150, 15.9, *weekday, *month]
    )
    np.testing.assert_array_equal(restaurant.target[0], [6, 6, 12, 40, 23, 50, 36])


def test_dates_are_consecutive_days(restaurant):
    assert restaurant.dates.dtype == np.dtype("datetime64[D]")
    expected = np.arange("2013-10-04", "2015-11-08", dtype="datetime64[D]")
    np.testing.assert_array_equal(restaurant.dates, expected)


def test_one_hot_columns_agree_with_the_calendar(restaurant):
    weekdays = restaurant.data[:, len(WEATHER) : len(WEATHER) + 7]
    months = restaurant.data[:, len(WEATHER) + 7 :]
    np.testing.assert_array_equal(weekdays.sum(axis=1), 1)
    np.testing.assert_array_equal(months.sum(axis=1), 1)
    # Day 0 of datetime64 is a Thursday.
    true_weekday = (restaurant.dates.astype(int) + 3) % 7
    wrong = restaurant.dates[np.argmax(weekdays, axis=1) != true_weekday]
    assert wrong.astype(str).tolist() == ["2014-12-31"]  # mislabelled at the source, as DESCR says
    true_month = restaurant.dates.astype("datetime64[M]").astype(int) % 12
    np.testing.assert_array_equal(np.argmax(months, axis=1), true_month)


def test_nothing_is_sold_on_closed_days_only(restaurant):
    closed = column(restaurant, "is_closed") == 1
    assert closed.sum() == 5
    np.testing.assert_array_equal(restaurant.target.sum(axis=1) == 0, closed)


def test_one_dish_is_one_dimensional(restaurant):
    lamb = load_restaurant("lamb")
    assert lamb.target.shape == (765,)
    assert lamb.target_names == ["lamb"]
    np.testing.assert_array_equal(lamb.target, restaurant.target[:, DISHES.index("lamb")])


def test_a_list_of_dishes_keeps_its_order(restaurant):
    some = load_restaurant(["steak", "fish"])
    assert some.target_names == ["steak", "fish"]
    np.testing.assert_array_equal(some.target, restaurant.target[:, [6, 1]])
    assert load_restaurant(["fish"]).target.shape == (765, 1)


@pytest.mark.parametrize("dishes", ["pizza", ["lamb", "pizza"]])
def test_an_unknown_dish_is_refused_with_the_known_ones(dishes):
    with pytest.raises(ValueError, match=r"\['pizza'\].*calamari, fish, shrimp.*steak"):
        load_restaurant(dishes)


@pytest.mark.parametrize("dishes", [[], ["lamb", "lamb"]])
def test_no_dish_or_a_repeated_one_is_refused(dishes):
    with pytest.raises(ValueError, match="at least one dish, and each only once"):
        load_restaurant(dishes)


def test_a_number_is_refused():
    with pytest.raises(TypeError, match="got 3"):
        load_restaurant(3)


def test_as_frame_holds_the_same_values(restaurant):
    pandas = pytest.importorskip("pandas")
    framed = load_restaurant(as_frame=True)
    np.testing.assert_array_equal(framed.data.to_numpy(), restaurant.data)
    np.testing.assert_array_equal(framed.target.to_numpy(), restaurant.target)
    assert list(framed.data.columns) == restaurant.feature_names
    assert list(framed.target.columns) == DISHES
    assert framed.data.index.equals(framed.target.index)
    assert framed.data.index[0] == pandas.Timestamp("2013-10-04")

    lamb = load_restaurant("lamb", as_frame=True).target
    assert isinstance(lamb, pandas.Series)
    assert lamb.name == "lamb"
    assert isinstance(load_restaurant(["lamb"], as_frame=True).target, pandas.DataFrame)


def test_as_frame_without_pandas_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"hedgerow\[cli\]"):
        load_restaurant(as_frame=True)


def test_numpy_is_enough_by_default(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert load_restaurant().data.shape == (765, 27)
