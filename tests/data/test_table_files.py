"""Table files: damaged, too large, or strange ones get one sentence; formulas become text."""

import gzip
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from hedgerow.data import table_sizes
from hedgerow.data.encoder import TableEncoder
from hedgerow.data.table_files import read_table
from hedgerow.data.table_writing import without_formulas, write_table

PACKED = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(5000)))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv.gz", PACKED[:-30], "is cut off"),
        ("a.csv.gz", PACKED[: len(PACKED) // 2], "is cut off"),
        ("a.csv.gz", PACKED[:-8] + b"\0\0\0\0" + PACKED[-4:], r"cannot be unpacked \(CRC check"),
        ("a.csv.gz", b"a,b\n1,2\n", r"cannot be unpacked \(Not a gzipped file"),
        ("a.csv", b"a,b\n1,\x002\n", "holds zero bytes, so it is neither UTF-8 nor UTF-16"),
        ("a.csv", "ö,b\n1,2\n".encode() + b"\xe9,3\n", "is not UTF-8 text, and no other"),
        ("a.csv", b"a,b\n1,\x81\n", "is not UTF-8 text, and no other"),
        ("a.xlsx", b"a,b\n1,2\n", r"it is no \.xlsx file"),
        ("a.ods", b"a,b\n1,2\n", r"save it as \.xlsx or \.csv"),
        ("a.csv", b"a, \n1,2\n", "no name for column 2"),
        ("a.csv", b"a," + b"b" * 201 + b"\n1,2\n", r"called 'bbb.*'… \(201 characters\)"),
        ("a.csv", b'a,b\n"1,2\n', "cannot be read as CSV"),
    ],
)
def test_damaged_files_get_one_sentence(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_table(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_column_may_be_called_na(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("NA,null,nan\n1,2,3\n")
    assert list(read_table(path).columns) == ["NA", "null", "nan"]


def test_a_column_of_numbers_and_text_is_text_however_long_the_file(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a\n" + "007\n" * 300_000 + "x\n" * 100_000)
    table = read_table(path)
    assert set(table["a"]) == {"007", "x"}
    assert TableEncoder().fit(table).columns_[0].values == ("007", "x")


def test_a_small_file_cannot_fill_the_memory(tmp_path, monkeypatch):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(50):
            file.write(b"1,2\n" * 250_000)
    monkeypatch.setattr(table_sizes, "MOST_GB", 0.1)
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"more than 0.1 GB of memory; .*HEDGEROW_TABLE_GB=8"):
        read_table(path)
    assert tracemalloc.get_traced_memory()[1] < 2e7
    tracemalloc.stop()


@pytest.mark.parametrize("texts", [False, True])
def test_a_small_parquet_file_cannot_either(tmp_path, monkeypatch, texts):
    path = tmp_path / "bomb.parquet"
    rows = 20_000 if texts else 1_000_000
    values = np.repeat("x" * 100, rows) if texts else np.zeros(rows)
    pd.DataFrame({"a": values}).to_parquet(path)
    assert path.stat().st_size < 20_000
    monkeypatch.setattr(table_sizes, "MOST_GB", 1e-3)
    with pytest.raises(ValueError, match=r"more than 0\.001 GB of memory"):
        read_table(path)
    monkeypatch.setenv(table_sizes.VARIABLE, "0.1")
    assert len(read_table(path)) == rows


@pytest.mark.parametrize("given", ["much", "0", "-1", "nan"])
def test_a_limit_that_is_none_is_refused(tmp_path, monkeypatch, given):
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")
    monkeypatch.setenv(table_sizes.VARIABLE, given)
    with pytest.raises(ValueError, match="HEDGEROW_TABLE_GB must be a positive number"):
        read_table(path)


def test_formulas_become_text_and_numbers_stay(tmp_path):
    table = pd.DataFrame(
        {
            "=name": ["=1+1", "+cmd", "-2", "@sum", "plain"],
            "number": [-1.5, 2, 3, -4, 5],
            "day": pd.date_range("2024-01-01", periods=5),
            "kind": pd.Categorical(["-x", "y", "y", "-", "y"]),
            "mixed": ["\tx", None, "\rx", -7, "a=b"],
        }
    )
    safe = without_formulas(table)
    assert list(safe.columns) == ["'=name", "number", "day", "kind", "mixed"]
    assert list(safe["'=name"]) == ["'=1+1", "'+cmd", "-2", "'@sum", "plain"]
    assert list(safe["kind"]) == ["'-x", "y", "y", "-", "y"]
    assert list(safe["mixed"].drop(1)) == ["'\tx", "'\rx", -7, "a=b"]
    assert safe["mixed"].isna().tolist() == [False, True, False, False, False]
    pd.testing.assert_frame_equal(safe[["number", "day"]], table[["number", "day"]])
    assert table["=name"][0] == "=1+1"
    pd.testing.assert_frame_equal(without_formulas(safe), safe)
    write_table(safe, tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv")["'=name"][0] == "'=1+1"
