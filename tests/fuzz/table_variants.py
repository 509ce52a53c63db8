"""Tables in many spellings, seeded: lossless ones, spoilt ones, and ones with damaged bytes.

A variant is a file's name and content. ``lossless`` says the same as ``reference`` in another way;
``spoilt`` cannot be used, each for a reason that is known; ``damaged`` may be either.
"""

from __future__ import annotations

import decimal
import gzip
import io
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 24
NAMES = (
    *(
        "a",
        "NA",
        "null",
        "temperature °C",
        "prix €",
        "温度",
        "שם",
        "😀",
        "x" * 150,
        "=1+1",
        "1",
        "0.5",
    ),
    *("sky[/b]", "[link=https://example.org]a[/link]", "\x1b]0;owned\x07", "\x1b[2Jb", "\x9b31m"),
    *(
        "a\nb",
        "a\tb",
        "\u202eabc",
        "$x_1$",
        "<script>",
        "a,b",
        'a"b',
        "{0}",
        "%s",
        "__class__",
        "'",
    ),
)
WORDS = (
    "sun",
    "rain",
    "[/x]",
    "a,5",
    "10 kg",
    "x\ny",
    "😀",
    "שלום",
    'say "hi"',
    "=2",
    "-",
    "é",
    "$",
)


@dataclass(frozen=True)
class Variant:
    """A file that was made in a way that ``how`` names."""

    how: str
    name: str
    content: bytes


def reference(rng: np.random.Generator) -> pd.DataFrame:
    """A table of numbers, words and dates, with strange names, that can be used as it is."""
    names = rng.choice(NAMES, 4, replace=False)
    words = rng.choice(WORDS, 3, replace=False)
    days = pd.date_range("2023-12-20", periods=ROWS).strftime("%Y-%m-%d")
    return pd.DataFrame(
        {
            names[0]: (rng.normal(size=ROWS) * 10.0 ** rng.integers(-3, 9)).round(6),
            names[1]: rng.permutation(np.resize(words, ROWS)),
            names[2]: days,
            names[3]: rng.integers(-5, 5, ROWS),
        }
    )


def csv(table: pd.DataFrame, **settings) -> str:
    return table.to_csv(index=False, lineterminator="\n", **settings)


def parquet(table: pd.DataFrame | pa.Table, **settings) -> bytes:
    buffer = io.BytesIO()
    if isinstance(table, pd.DataFrame):
        table = pa.Table.from_pandas(table, preserve_index=settings.pop("index", False))
    pq.write_table(table, buffer, **settings)
    return buffer.getvalue()


def has_line_breaks(table):
    texts = [*table.columns, *table.iloc[:, 1]]
    return any(sign in text for text in texts for sign in "\n\r")


def lossless(rng: np.random.Generator, table: pd.DataFrame) -> Variant:
    """The table in another spelling."""
    number, word, day, whole = table.columns
    text = csv(table)
    broken = has_line_breaks(table)
    stamps = pd.to_datetime(table[day])
    cents = [
        decimal.Decimal(value).scaleb(-2) for value in (table[number] * 100).round().astype(int)
    ]
    texts = {
        "as it is": lambda: text,
        "byte order mark": lambda: "\ufeff" + text,
        "all quoted": lambda: csv(table, quoting=1),
        "CRLF": lambda: text if broken else text.replace("\n", "\r\n"),
        "CR": lambda: text if broken else text.replace("\n", "\r"),
        "empty lines": lambda: text if broken else "\n\n" + text.replace("\n", "\n\n"),
        "no end": lambda: text[:-1],
        "spaces": lambda: csv(table, quoting=1).replace('","', '", "'),
        "exponents": lambda: csv(table, float_format="%.17e"),
        "plus signs": lambda: csv(table.assign(**{whole: table[whole].map("{:+d}".format)})),
        "times": lambda: csv(table.assign(**{day: table[day] + "T23:59:59.5+05:30"})),
        "other order": lambda: csv(table[rng.permutation(table.columns)]),
        "more columns": lambda: csv(table.assign(note="kept", empty=None)),
        "semicolons": lambda: csv(table, sep=";", decimal=",", quoting=1),
        "tabs": lambda: csv(table, sep="\t", quoting=1),
        "bars": lambda: csv(table, sep="|", quoting=1),
        "decimal commas": lambda: csv(table, decimal=",", quoting=1),
        "German dates": lambda: csv(table.assign(**{day: stamps.dt.strftime("%d.%m.%Y")})),
        "US dates": lambda: csv(table.assign(**{day: stamps.dt.strftime("%m/%d/%Y")})),
    }
    encodings = {"UTF-16": "utf-16", "UTF-16 unmarked": "utf-16-be", "UTF-32": "utf-32"}
    tables = {
        "parquet": lambda: table,
        "small numbers": lambda: table.assign(**{whole: table[whole].astype(np.int8)}),
        "floats": lambda: table.assign(**{whole: table[whole].astype(np.float32)}),
        "nullable": lambda: table.assign(**{whole: table[whole].astype("Int64")}),
        "objects": lambda: table.astype(object),
        "category": lambda: table.assign(**{word: table[word].astype("category")}),
        "stamps": lambda: table.assign(**{day: stamps}),
        "seconds": lambda: table.assign(**{day: stamps.astype("datetime64[s]")}),
        "zones": lambda: table.assign(**{day: stamps.dt.tz_localize("Asia/Tokyo")}),
        "dates": lambda: table.assign(**{day: stamps.dt.date}),
        "an index": lambda: table.set_index(pd.Index(range(5, 5 + ROWS), name="index")),
    }
    whats = [
        *texts,
        *tables,
        *encodings,
        "packed",
        "packed twice",
        "row groups",
        "no dictionary",
        "decimals",
    ]
    how = str(rng.choice(whats))
    if how in texts:
        return Variant(how, "a.csv", texts[how]().encode())
    if how in encodings:
        return Variant(how, "a.csv", text.encode(encodings[how]))
    if how in tables:
        return Variant(how, "a.parquet", parquet(tables[how](), index=how == "an index"))
    if how == "packed":
        return Variant(how, "a.csv.gz", gzip.compress(text.encode()))
    if how == "packed twice":
        head, tail = text[:40].encode(), text[40:].encode()
        return Variant(how, "a.csv.gz", gzip.compress(head) + gzip.compress(tail))
    if how == "row groups":
        return Variant(how, "a.pq", parquet(table, row_group_size=5, compression="zstd"))
    if how == "decimals":
        table[number] = [float(value) for value in cents]
        return Variant(how, "a.parquet", parquet(table.assign(**{number: cents})))
    return Variant(how, "a.parquet", parquet(table, use_dictionary=False, compression="none"))


def spoilt(rng: np.random.Generator, table: pd.DataFrame) -> Variant:
    """The table with something in it that nothing can be made of."""
    number, word, day, whole = table.columns
    row, text = int(rng.integers(ROWS)), csv(table)
    packed, kept = gzip.compress(text.encode()), parquet(table)

    def put(name, *values):
        column = table[name].astype(object).copy()
        column.iloc[row] = rng.choice(np.array(values, dtype=object))
        return csv(table.assign(**{name: column}))

    def every(name, *values):
        return csv(table.assign(**{name: rng.choice(values, ROWS)}))

    simple = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    texts = {
        "infinite": lambda: put(number, "inf", "-Infinity", "1e400", "9" * 400),
        "missing": lambda: put(str(rng.choice(table.columns)), "", "NA", "nan", "null"),
        "no number": lambda: put(number, "?", "12o", "1 2", "0x1f", "1e", "--1", "١٢"),
        "one formatted": lambda: put(number, "10,5", "$10.00", "5%", "10,000"),
        "two marks": lambda: every(number, "10,5", "11.25", "7"),
        "money": lambda: every(number, "$10.00", "$1,000.00", "5 €"),
        "percent": lambda: every(number, "5%", "7.5 %"),
        "no such time": lambda: put(
            day, "2024-01-01T25:99", "2024-01-01T24:00", "2024-01-01 12:00:99"
        ),
        "no such day": lambda: put(day, "2023-02-29", "2024-13-01", "2024-00-10"),
        "other dates": lambda: every(day, "07.11.2015", "11/7/2015"),
        "many words": lambda: csv(
            table.loc[np.repeat(range(ROWS), 3)].assign(**{word: many_words()})
        ),
        "long words": lambda: put(word, "x" * 5000),
        "no rows": lambda: text[: len(csv(table.iloc[:0]))],
        "one column missing everything": lambda: csv(table.assign(**{whole: None})),
        "too many fields": lambda: csv(simple) + "1,2,3,4\n",
        "long rows": lambda: "a,b\n1,2,3\n4,5,6\n",
        "open quotes": lambda: csv(simple) + '"1,2\n',
        "no name": lambda: "a,,c\n1,2,3\n",
        "name of spaces": lambda: 'a,"  "\n1,2\n',
        "long name": lambda: f"a,{'b' * 3000}\n1,2\n",
        "the same name": lambda: "a,b,a\n1,2,3\n",
        "either mark": lambda: "a;b\n1.500;2\n",
        "either day": lambda: "a,b\n03.04.2026,2\n",
        "only lines": lambda: "\n\r\n\n",
        "nothing": lambda: "",
    }
    files = {
        "two encodings": lambda: (
            "a.csv",
            text.encode() + "1,ö,2024-01-01,2\n".encode() + b"1,\xe9,2024-01-01,2\n",
        ),
        "zero bytes": lambda: ("a.csv", text.encode().replace(b"-", b"\0", 1)),
        "cut off": lambda: ("a.csv.gz", packed[: int(rng.integers(1, len(packed) - 1))]),
        "not packed": lambda: ("a.csv.gz", text.encode()),
        "wrong sum": lambda: ("a.csv.gz", packed[:-8] + bytes(8)),
        "cut off parquet": lambda: ("a.parquet", kept[: int(rng.integers(len(kept)))]),
        "no parquet": lambda: ("a.parquet", text.encode()),
        "another format": lambda: ("a.xlsx", text.encode()),
    }
    arrays = {
        "lists": pa.array([[1.0, 2.0]] * ROWS),
        "records": pa.array([{"x": 1}] * ROWS),
        "bytes": pa.array([b"\xff"] * ROWS),
        "spans": pa.array([5] * ROWS, pa.duration("s")),
        "clock": pa.array([5] * ROWS, pa.time32("s")),
        "null": pa.nulls(ROWS),
        "dictionary with gaps": pa.array(["a", None] * (ROWS // 2)).dictionary_encode(),
    }
    tables = {
        "no rows at all": lambda: table.iloc[:0],
        "no columns": lambda: pd.DataFrame(index=range(3)),
    }
    how = str(rng.choice([*texts, *files, *arrays, *tables]))
    if how in texts:
        return Variant(how, "a.csv", texts[how]().encode())
    if how in files:
        return Variant(how, *files[how]())
    if how in tables:
        return Variant(how, "a.parquet", parquet(tables[how]()))
    columns = {str(name): pa.array(table[name]) for name in table.columns}
    return Variant(how, "a.parquet", parquet(pa.table(columns | {"odd": arrays[how]})))


def many_words():
    return [f"word {i}" for i in range(3 * ROWS)]


def damaged(rng: np.random.Generator, table: pd.DataFrame) -> Variant:
    """A lossless spelling with bytes changed, lost, repeated or put in."""
    whole = lossless(rng, table)
    if rng.integers(2):
        whole = Variant("as it is", "a.csv", csv(table).encode())
    content = bytearray(whole.content)
    for _ in range(int(rng.integers(1, 4))):
        at, length = int(rng.integers(len(content) + 1)), int(rng.integers(1, 6))
        kind = rng.choice(5, p=[0.3, 0.2, 0.2, 0.2, 0.1])
        if kind == 0:
            content[at : at + 1] = rng.bytes(1)
        elif kind == 1:
            del content[at : at + length]
        elif kind == 2:
            content[at:at] = content[at : at + length]
        elif kind == 3:
            signs = (b'"', b",", b"\n", b"\r", b"\0", b"\x1b", b"\xff", b"-", b"e", b"\xe2\x80\xae")
            content[at:at] = rng.choice(np.array(signs, dtype=object))
        else:
            del content[at + max(length, 40) :]
    return Variant(f"{whole.how}, damaged", whole.name, bytes(content))
