"""Tables as people have them: what a file decides is read and said; what it leaves open, asked."""

import datetime

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.data import table_sizes
from hedgerow.data.encoder import TableEncoder
from hedgerow.data.table_files import read_formatted
from hedgerow.data.table_format import TableFormat
from hedgerow.data.table_writing import csv_text, write_table

GERMAN = "store;date;sold;price\n1;20.11.2026;12;1.234,50\n1;01.12.2026;10,5;3,20\n"


@pytest.fixture
def read(tmp_path):
    def read(content, name="a.csv", **asked):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return hr.data.read_table(path, **asked)

    return read


def said(table):
    return table.attrs.get("read_as")


def test_a_german_export_is_read_and_said(read):
    table = read(GERMAN.encode("cp1252"))
    np.testing.assert_array_equal(table["sold"], [12, 10.5])
    np.testing.assert_array_equal(table["price"], [1234.5, 3.2])
    assert list(table["date"]) == [pd.Timestamp(2026, 11, 20), pd.Timestamp(2026, 12, 1)]
    assert said(table) == (
        "Read with ';' between columns, ',' as decimal mark, '.' between thousands, and dates as "
        "day.month.year."
    )


def test_plain_tables_are_read_as_ever_and_nothing_is_said(read):
    table = read("a,b,c\n1.234,x,2026-01-02\n2.5,y,2026-03-04\n")
    assert said(table) is None
    np.testing.assert_array_equal(table["a"], [1.234, 2.5])
    assert table["c"][0] == "2026-01-02"


@pytest.mark.parametrize("sign", [";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_separators_and_encodings(read, sign, encoding):
    text = "día;été\n1;0,5\n2;ü\n".replace(";", sign)
    table = read(text.encode(encoding))
    assert list(table.columns) == ["día", "été"]
    assert list(table["été"]) == ["0,5", "ü"]


def test_a_separator_that_two_signs_could_be_is_asked_for(read):
    text = "a,b;c\n1,5;2\n2,5;3\n"
    with pytest.raises(ValueError, match="with commas or with semicolons between columns; say"):
        read(text)
    assert list(read(text, separator=";").columns) == ["a,b", "c"]
    assert list(read(text, separator=",").columns) == ["a", "b;c"]


def test_spreadsheets_say_their_separator_and_end_lines_with_it(read):
    assert list(read("sep=;\na;b\n1;2\n").columns) == ["a", "b"]
    assert list(read("a;b;\n1;2;\n3;4;\n").columns) == ["a", "b"]
    with pytest.raises(ValueError, match="no name for column 3"):
        read("a;b;\n1;2;5\n3;4;\n")


EITHER = "a;b\n1.234;x\n2.500;y\n"


def test_a_number_that_is_two_is_never_guessed(read):
    with pytest.raises(ValueError, match=r"'1\.234' in row 1, which is 1234 or 1\.234"):
        read(EITHER)
    np.testing.assert_array_equal(read(EITHER, decimal=",")["a"], [1234, 2500])
    np.testing.assert_array_equal(read(EITHER, decimal=".")["a"], [1.234, 2.5])
    with pytest.raises(ValueError, match=r"'1,234' in row 1, which is 1234 or 1\.234"):
        read('a,b\n"1,234",x\n2,y\n')


@pytest.mark.parametrize(
    ("other", "first"), [("0.5", 1.234), ("0,5", 1234), ("1.234.567", 1234), ("1,234.5", 1.234)]
)
def test_one_value_anywhere_decides_for_the_file(read, other, first):
    if other == "1,234.5":
        with pytest.raises(ValueError, match="a slip"):
            read(f"a;b\n1,234;x\n2;y\n{other};z\n")
        return
    table = read(f"a;b\n1.234;1\n2;{other}\n")
    assert table["a"][0] == first


@pytest.mark.parametrize("text", ["1.234,5", "1'234,5", "1 234,5", "1\u00a0234,5", "1\u202f234,5"])
def test_thousands(read, text):
    table = read(f"a;b\n{text};x\n−7;y\n")
    np.testing.assert_array_equal(table["a"], [1234.5, -7])
    assert "between thousands" in said(table)


def test_marks_that_contradict_each_other_are_named_with_their_rows(read):
    with pytest.raises(ValueError, match=r"'b' holds '10,5' in row 2.*'a' holds '0\.5' in row 1"):
        read("a;b\n0.5;1\n0.7;10,5\n")
    with pytest.raises(ValueError, match=r"holds '0\.5' in row 1, which is no number with ','"):
        read("a;b\n0.5;1\n0.7;2\n", decimal=",")


def test_a_lone_group_among_decimals_may_be_a_slip(read):
    text = 'a,b\n12.5,x\n"10,000",y\n'
    with pytest.raises(ValueError, match=r"'10,000' in row 2, which is 10000 .*: a slip\?"):
        read(text)
    np.testing.assert_array_equal(read(text, decimal=".")["a"], [12.5, 10000])


def test_names_stay_names(read):
    table = read("code;size;n\n1.2.3;10,5;1\nA,5;tall;2\n10 kg;small;3\n7;wide;4\n")
    assert list(table["code"]) == ["1.2.3", "A,5", "10 kg", "7"]
    assert table["size"][0] == "10,5"


def test_text_in_a_column_of_numbers_is_named_with_its_row(read):
    rows = "".join(f"{i},5;x\n" for i in range(30))
    table = read(f"a;b\n{rows}?;y\n")
    with pytest.raises(ValueError, match=r"except for 1 row: '\?' in row 31"):
        TableEncoder().fit(table)


def test_true_and_false_and_gaps(read):
    table = read("a;b;c\ntrue;1,5;\nfalse;;\n")
    assert table["a"].dtype == bool
    assert np.isnan(table["b"][1])
    assert table["c"].isna().all()


@pytest.mark.parametrize(
    ("text", "days", "words"),
    [
        ("13.01.2026 02.01.2026", (13, 2), "day.month.year"),
        ("1/13/2026 1/2/2026", (13, 2), "month/day/year"),
        ("13-01-2026 02-01-2026", (13, 2), "day.month.year"),
        ("2026/01/13 2026/01/02", (13, 2), "year/month/day"),
    ],
)
def test_orders_of_dates(read, text, days, words):
    table = read("d,x\n" + "".join(f"{day},1\n" for day in text.split()))
    assert [day.day for day in table["d"]] == list(days)
    assert words in said(table)


def test_a_day_that_is_two_is_never_guessed(read):
    text = "d,x\n03.04.2026,1\n05.06.2026,2\n"
    with pytest.raises(ValueError, match=r"'03\.04\.2026' in row 1, .*2026-04-03 or 2026-03-04"):
        read(text)
    assert read(text, dates="day-first")["d"][0] == pd.Timestamp(2026, 4, 3)
    assert read(text, dates="month-first")["d"][0] == pd.Timestamp(2026, 3, 4)
    with pytest.raises(ValueError, match="no date like 2015-11-07"):
        read(text, dates="iso")
    assert read("d,x\n05.05.2026,1\n", dates=None)["d"][0] == pd.Timestamp(2026, 5, 5)


@pytest.mark.parametrize(
    ("days", "message"),
    [
        (["13.01.2026", "01.13.2026"], "in several orders"),
        (["13.01.2026", "2026-01-14"], "writes dates in several ways"),
        (["13.01.2026", "14/01/2026"], "writes dates in several ways"),
        (["13.01.2026", "31.02.2026"], r"'31\.02\.2026' in row 2 is no day that exists"),
        (["13.01.2026 25:00", "14.01.2026 10:00"], "no day that exists"),
    ],
)
def test_dates_that_do_not_go_together(read, days, message):
    with pytest.raises(ValueError, match=message):
        read("d,x\n" + "".join(f"{day},1\n" for day in days))


def test_an_order_that_the_dates_deny(read):
    with pytest.raises(ValueError, match="no date as month/day/year; leave dates='month-first'"):
        read("d,x\n13.01.2026,1\n", dates="month-first")


def test_times_of_day(read):
    table = read("d,x\n11/20/2026 8:30 PM,1\n1/2/2026 12:05 AM,2\n")
    assert list(table["d"]) == [
        pd.Timestamp(2026, 11, 20, 20, 30),
        pd.Timestamp(2026, 1, 2, 0, 5),
    ]


def test_what_is_remembered_decides_what_a_file_leaves_open(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("d;x\n03.04.2026;1.234\n")
    before = TableFormat(decimal=",", dates="day-first")
    table, found = read_formatted(path, remembered=before)
    assert table["d"][0] == pd.Timestamp(2026, 4, 3)
    assert table["x"][0] == 1234
    assert found.unlike(before) is None
    path.write_text("d;x\n03/14/2026;0.5\n")
    table, found = read_formatted(path, remembered=before)
    assert table["x"][0] == 0.5
    assert found.unlike(before) == (
        "Note that the decimal mark is '.' here and was ',' in training and the order of dates is "
        "month/day/year here and was day.month.year in training."
    )


def test_the_fifth_of_may_is_no_change_of_order(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("d,x\n05/05/2026,1\n")
    before = TableFormat(dates="month-first")
    table, found = read_formatted(path, remembered=before)
    assert table["d"][0] == pd.Timestamp(2026, 5, 5)
    assert found.unlike(before) is None


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"separator": ":"}, "separator must be one of"),
        ({"decimal": ";"}, "decimal must be"),
        ({"dates": "backwards"}, "dates must be one of"),
        ({"encoding": "utf-99"}, "encoding must be one"),
        ({"sheet": "a"}, "has no sheets"),
    ],
)
def test_what_cannot_be_asked_for(read, asked, message):
    with pytest.raises(ValueError, match=message):
        read(GERMAN, **asked)


def test_formats_travel_as_plain_values():
    form = TableFormat(";", ",", ".", "day-first", "cp1252", "Sales")
    assert TableFormat.from_json(form.to_json()) == form
    for spoilt in ({"decimal": "x"}, {"dates": "x"}, {"separator": 5}, {"other": "x"}, 7):
        with pytest.raises(ValueError, match="format of tables is damaged"):
            TableFormat.from_json(spoilt)


def test_what_is_written_in_a_format_is_read_again(tmp_path):
    form = TableFormat(separator=";", decimal=",", dates="day-first")
    table = pd.DataFrame({"d": pd.to_datetime(["2026-11-20"]), "x": [1234.5], "t": ["a;b"]})
    assert csv_text(table, form) == 'd;x;t\n20.11.2026;1234,5;"a;b"\n'
    write_table(table, tmp_path / "a.csv", form)
    found = hr.data.read_table(tmp_path / "a.csv")
    pd.testing.assert_frame_equal(found, table, check_dtype=False)


class TestExcel:
    @pytest.fixture
    def book(self, tmp_path):
        pytest.importorskip("openpyxl")
        path = tmp_path / "a.xlsx"
        table = pd.DataFrame(
            {
                "day": [datetime.datetime(2026, 1, 2), datetime.datetime(2026, 1, 3)],
                "n": [1, 2],
                "x": [0.5, 1.5],
                "word": ["a", "b"],
                "text": ["10,5", "11,25"],
            }
        )
        with pd.ExcelWriter(path, engine="openpyxl") as writer:
            table.to_excel(writer, sheet_name="Sales", index=False)
            table.iloc[:1].to_excel(writer, sheet_name="More", index=False)
        return path

    def test_a_sheet_is_read_and_named(self, book):
        table = hr.data.read_table(book)
        assert (
            said(table) == "Read with ',' as decimal mark and sheet 'Sales', the first of several."
        )
        kinds = {column.name: column.kind for column in TableEncoder().fit(table).columns_}
        assert kinds == {
            **{"day": "date", "n": "number", "x": "number"},
            **{"word": "category", "text": "number"},
        }
        np.testing.assert_array_equal(table["text"], [10.5, 11.25])

    @pytest.mark.parametrize("sheet", ["More", 2, "2"])
    def test_another_sheet(self, book, sheet):
        assert len(hr.data.read_table(book, sheet=sheet)) == 1

    @pytest.mark.parametrize("sheet", ["Less", 3, 0, -1])
    def test_a_sheet_that_is_not_there(self, book, sheet):
        with pytest.raises(ValueError, match="it has Sales, More, by number 1 to 2"):
            hr.data.read_table(book, sheet=sheet)

    def test_what_is_written_is_read_again(self, tmp_path):
        pytest.importorskip("openpyxl")
        table = pd.DataFrame({"x": [1.5, 2], "t": ["a", "b"]})
        write_table(table, tmp_path / "a.xlsx")
        pd.testing.assert_frame_equal(
            hr.data.read_table(tmp_path / "a.xlsx"), table, check_dtype=False
        )

    def test_without_openpyxl_one_sentence_says_how_to_get_it(self, book, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
        with pytest.raises(ImportError, match=r"hedgerow\[excel\]"):
            hr.data.read_table(book)

    def test_a_small_file_cannot_fill_the_memory(self, book, monkeypatch):
        monkeypatch.setattr(table_sizes, "MOST_GB", 1e-6)
        with pytest.raises(ValueError, match="of memory"):
            hr.data.read_table(book)
