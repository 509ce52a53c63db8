import datetime
import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from hedgerow.data.columns import numeric_column
from hedgerow.data.encoder import TableEncoder
from hedgerow.data.table_files import read_table
from hedgerow.data.table_writing import write_table

TABLE = pd.DataFrame(
    {
        "rain": [0.5, 0.0, 2.0],
        "open": [True, False, True],
        "sky": ["sun", "rain", "sun"],
        "day": ["2015-11-07", "2016-02-29", "2015-12-31"],
        "demand": [3, 4, 5],
    }
)
FEATURES = TABLE.drop(columns="demand")


@pytest.fixture
def encoder():
    return TableEncoder().fit(FEATURES)


def test_every_kind_of_column_becomes_the_numbers_it_should(encoder):
    expected = {
        "rain": [0.5, 0.0, 2.0],
        "open": [1, 0, 1],
        "sky_rain": [0, 1, 0],
        "sky_sun": [1, 0, 1],
        "day_weekday": [5, 0, 3],  # a Saturday, a Monday, a Thursday
        "day_month": [11, 2, 12],
        "day_day_of_year": [311, 60, 365],
    }
    encoded = encoder.transform(FEATURES)
    assert list(encoded.columns) == list(expected) == list(encoder.get_feature_names_out())
    np.testing.assert_array_equal(encoded, np.transpose(list(expected.values())))
    assert encoded.dtypes.eq(np.float64).all()


@pytest.mark.parametrize(
    "days",
    [
        pd.to_datetime(TABLE.day),
        pd.to_datetime(TABLE.day).dt.tz_localize("Asia/Tokyo"),
        [datetime.date.fromisoformat(day) for day in TABLE.day],
        TABLE.day + "T23:30:00+09:00",
        TABLE.day + " 08:00",
    ],
    ids=["datetime", "with time zone", "date objects", "ISO with offset", "ISO with time"],
)
def test_dates_mean_the_same_however_they_are_stored(encoder, days):
    stored = FEATURES.assign(day=days)
    expected = encoder.transform(FEATURES)
    pd.testing.assert_frame_equal(encoder.transform(stored), expected)
    pd.testing.assert_frame_equal(TableEncoder().fit_transform(stored), expected)


def test_other_order_extra_columns_and_other_rows_change_nothing(encoder):
    shuffled = TABLE.assign(note="x")[["note", "day", "demand", "sky", "open", "rain"]]
    pd.testing.assert_frame_equal(encoder.transform(shuffled), encoder.transform(FEATURES))
    alone = encoder.transform(FEATURES.iloc[[1]])
    pd.testing.assert_frame_equal(alone, encoder.transform(FEATURES).iloc[[1]])


def test_the_specification_survives_json(encoder):
    plain = json.loads(json.dumps(encoder.to_json()))
    again = TableEncoder.from_json(plain)
    assert again.columns_ == encoder.columns_
    pd.testing.assert_frame_equal(again.transform(FEATURES), encoder.transform(FEATURES))
    for damaged in (None, {}, {"most_categories": 5, "columns": [{"name": "a"}]}):
        with pytest.raises(ValueError, match="description of columns is damaged"):
            TableEncoder.from_json(damaged)
    plain["columns"][0]["kind"] = "code"
    with pytest.raises(ValueError, match=r"damaged .*'code'"):
        TableEncoder.from_json(plain)


def test_numeric_codes_of_a_category_match_as_text_integer_and_float():
    encoder = TableEncoder().fit(pd.DataFrame({"shop": ["7", "12", "a"]}))
    for stored in (["7", "12"], [7, 12], [7.0, 12.0]):
        encoded = encoder.transform(pd.DataFrame({"shop": stored}))
        np.testing.assert_array_equal(encoded[["shop_7", "shop_12"]], np.eye(2))
    categorical = pd.DataFrame({"shop": pd.Categorical([3, 1, 3])})
    assert list(TableEncoder().fit_transform(categorical).columns) == ["shop_1", "shop_3"]


def test_is_a_scikit_learn_transformer(encoder):
    assert clone(TableEncoder(most_categories=3)).get_params() == {"most_categories": 3}
    assert list(encoder.feature_names_in_) == list(FEATURES.columns)
    assert encoder.n_features_in_ == 4
    with pytest.raises(NotFittedError):
        TableEncoder().transform(FEATURES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rain": [1.0, np.nan, np.nan]}, "'rain' has 2 missing values"),
        ({"sky": ["sun", None, "sun"]}, "'sky' has 1 missing value;"),
        ({"rain": [1.0, np.inf, 2.0]}, "'rain' has 1 infinite value"),
        ({"rain": ["1", "much", "2"]}, "'rain' must hold numbers, but one value is 'much'"),
        ({"rain": pd.to_datetime(TABLE.day)}, "'rain' must hold numbers, but it holds dates"),
        ({"sky": ["sun", "snow", "sun"]}, "'sky' holds 'snow', .*known values are rain, sun"),
        ({"day": ["2015-11-07", "soon", "2015-11-08"]}, "'day' must hold dates .*'soon'"),
        ({"day": ["2015-11-07", "2015-11-31", "2015-11-08"]}, "'day' must hold .*'2015-11-31'"),
    ],
)
def test_new_tables_that_do_not_fit_are_refused_by_column(encoder, change, message):
    with pytest.raises(ValueError, match=message):
        encoder.transform(FEATURES.assign(**change))


def test_missing_columns_are_named(encoder):
    with pytest.raises(ValueError, match=r"lacks the columns rain, sky, which .* it has open, day"):
        encoder.transform(FEATURES[["open", "day"]])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"id": [f"v{i}" for i in range(51)]}), "'id' holds text with 51 different"),
        (pd.DataFrame({"a": ["1.5"] * 30 + ["?"]}), r"numbers, except for 1 row: '\?' in row 31"),
        (pd.DataFrame({"a": [1, None]}), "'a' has 1 missing value"),
        (pd.DataFrame({"a": [1, "x"]}), "'a' holds mixed-integer values"),
        (pd.DataFrame({"a": pd.to_timedelta([1, 2])}), "'a' holds timedelta64 values"),
        (pd.DataFrame({"a": [1j, 2]}), "complex"),
        (pd.DataFrame({"a_x": [1, 2], "a": ["x", "y"]}), "both make a feature called 'a_x'"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "more than one column called 'a'"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame(index=[0, 1]), "no columns"),
    ],
)
def test_tables_that_cannot_be_encoded_are_refused_at_fit(table, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(table)


def test_arrays_and_bad_parameters_are_refused():
    with pytest.raises(TypeError, match="needs a pandas or polars DataFrame; got ndarray"):
        TableEncoder().fit(np.ones((2, 2)))
    with pytest.raises(ValueError, match="most_categories must be at least 1"):
        TableEncoder(most_categories=0).fit(FEATURES)


@pytest.mark.parametrize("suffix", ["csv", "CSV", "parquet", "pq"])
def test_tables_survive_a_round_trip(tmp_path, encoder, suffix):
    path = tmp_path / f"table.{suffix}"
    write_table(TABLE, path)
    again = read_table(path)
    assert list(again.columns) == list(TABLE.columns)
    pd.testing.assert_frame_equal(encoder.transform(again), encoder.transform(TABLE))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\n\n", "is empty"),
        ("a.csv", b"a,b\n", "has column names but no rows"),
        ("a.csv", b"a,b,a\n1,2,3\n", "more than one column called 'a'"),
        ("a.csv", b"a,,c\n1,2,3\n", "no name for column 2"),
        ("a.csv", b"a,b\n1,2,3\n4,5,6\n", "more fields than its first line"),
        ("a.csv", b"a,b\n1,2\n1,2,3,4\n", "cannot be read as CSV: .*line 3"),
        ("a.csv", b"a,b\n\x81,2\n", "is not UTF-8"),
        ("a.parquet", b"a,b\n1,2\n", "cannot be read as Parquet"),
        ("a.doc", b"a,b\n1,2\n", r"must end in \.csv, \.xlsx or \.parquet"),
    ],
)
def test_unreadable_files_get_one_sentence(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_table(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_absent_files_and_folders_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*none\.csv"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder, not a table"):
        read_table(tmp_path / "folder.csv")
    with pytest.raises(IsADirectoryError, match="give the name of a file"):
        write_table(TABLE, tmp_path / "folder.csv")
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        write_table(TABLE, tmp_path / "none" / "a.csv")


def test_a_byte_order_mark_is_not_part_of_the_first_name(tmp_path):
    path = tmp_path / "excel.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b\n1,2\n")
    assert list(read_table(path).columns) == ["a", "b"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    write_table(TABLE, path)
    before = path.read_bytes()

    def half(self, target, **_):
        target.write_text("rain,op")
        raise OSError("disk full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", half)
    with pytest.raises(OSError, match="disk full"):
        write_table(TABLE.assign(rain=0), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_numeric_column():
    np.testing.assert_array_equal(numeric_column(TABLE, "demand"), [3.0, 4.0, 5.0])
    with pytest.raises(ValueError, match="no column 'sales'; the table has rain, open"):
        numeric_column(TABLE, "sales")
    with pytest.raises(ValueError, match="'sky' must hold numbers, but one value is 'sun'"):
        numeric_column(TABLE, "sky")


def test_without_pandas_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'hedgerow\[cli\]'"):
        TableEncoder().fit(FEATURES)
