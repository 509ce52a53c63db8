"""What becomes of a table's columns: numbers stay, text becomes 0/1 columns, dates their parts.

    encode(table, columns)    the features of a table, as ``encoder.TableEncoder`` decided in fit

Here is what deciding for new rows takes; it needs pandas and nothing else. What the columns of a
new table are to become, the encoder finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow import _checks
from hedgerow._frames import as_pandas, is_polars, require_pandas
from hedgerow.data.look_alikes import is_formatted_number, is_iso_date
from hedgerow.describe.numbers import counted, listed
from hedgerow.describe.text import quoted

if TYPE_CHECKING:
    import pandas as pd

NUMERIC = ("integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty", "complex")
"""What pandas calls objects that are numbers."""
NUMBER, CATEGORY, DATE = "number", "category", "date"
DATE_PARTS = ("weekday", "month", "day_of_year")


@dataclass(frozen=True)
class Column:
    """What becomes of one column: its name, its kind, and a category column's known values."""

    name: str
    kind: str
    values: tuple[str, ...] = ()

    @property
    def features(self) -> list[str]:
        """Names of the numeric features it turns into."""
        if self.kind == NUMBER:
            return [self.name]
        return [f"{self.name}_{part}" for part in (self.values or DATE_PARTS)]

    @property
    def labels(self) -> list[str]:
        """The same in words."""
        if self.kind == CATEGORY:
            return [f"{self.name} = {value}" for value in self.values]
        if self.kind == DATE:
            return [f"{part.replace('_', ' ')} of {self.name}" for part in DATE_PARTS]
        return [self.name]

    @property
    def treatment(self) -> str:
        """What was done to it, in a few words."""
        if self.kind == NUMBER:
            return "as it is"
        if self.kind == CATEGORY:
            return f"one 0/1 feature for each of {len(self.values)} values"
        return "weekday, month and day of the year"


def encode(X: Any, columns: Sequence[Column]) -> pd.DataFrame:
    """Return the features of a table with (at least) these columns."""
    table = as_table(X)
    missing = [column.name for column in columns if column.name not in table.columns]
    if missing:
        raise ValueError(
            f"The table lacks the column{'s' if len(missing) > 1 else ''} {listed(missing)}, "
            f"which the policy was trained with; it has {listed(table.columns)}."
        )
    features: dict[str, np.ndarray] = {}
    for column in columns:
        features |= encoded(table[column.name], column)
    return require_pandas().DataFrame(features, index=table.index)


def encoded_by(described: Any, features: Sequence[Any] | None, X: Any) -> Sequence[Column] | None:
    """Return what makes features of X, if it is a table as a policy was trained on; else None.

    ``described`` are a policy's ``columns_``; a table that has all of its ``features`` has been
    encoded already.
    """
    if not described or not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return None
    names = [str(name) for name in X.columns]
    known = [] if features is None else [str(name) for name in features]
    if names == known:
        return None
    columns = from_json(described["encoder"])[1]
    made = [name for column in columns for name in column.features]
    plain = all(column.kind == NUMBER for column in columns)
    return columns if plain or not set(made) <= set(names) else None


def from_json(plain: Any) -> tuple[int, list[Column]]:
    """Return the most categories and the columns that ``TableEncoder.to_json`` told of."""
    try:
        columns = [
            Column(
                str(column["name"]),
                _checks.one_of("kind", column["kind"], (NUMBER, CATEGORY, DATE)),
                tuple(str(value) for value in column["values"]),
            )
            for column in plain["columns"]
        ]
        return int(plain["most_categories"]), columns
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"The stored description of columns is damaged ({error}).") from None


def check_features(columns: Sequence[Column]) -> None:
    """Refuse columns that would make features of one name."""
    home: dict[str, str] = {}
    for column in columns:
        for name in column.features:
            if name in home:
                raise ValueError(
                    f"Columns {home[name]!r} and {column.name!r} would both make a feature "
                    f"called {name!r}; rename one of them."
                )
            home[name] = column.name


def numeric_column(table: pd.DataFrame, name: str) -> np.ndarray:
    """Return one column as float64, or say that it is absent, incomplete or not numeric."""
    if name not in table.columns:
        raise ValueError(f"There is no column {name!r}; the table has {listed(table.columns)}.")
    return encoded(table[name], Column(name, NUMBER))[name]


def has_words(X: Any) -> bool:
    """Whether this is a table with a column that is not just numbers or true/false."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return False
    if is_polars(X):
        X = as_pandas(X)
    types = require_pandas().api.types
    for name in range(X.shape[1]):
        column = X.iloc[:, name]
        if types.is_numeric_dtype(column.dtype) or types.is_bool_dtype(column.dtype):
            continue
        if column.dtype != object or types.infer_dtype(column) not in NUMERIC:
            return True
    return False


def as_table(X: Any) -> pd.DataFrame:
    """Return a table with rows, and columns that have names of their own."""
    pandas = require_pandas()
    X = as_pandas(X)
    if not isinstance(X, pandas.DataFrame):
        raise TypeError(f"TableEncoder needs a pandas or polars DataFrame; got {type(X).__name__}.")
    table = X.rename(columns=str)
    repeated = table.columns[table.columns.duplicated()]
    if len(repeated):
        raise ValueError(f"The table has more than one column called {repeated[0]!r}.")
    if X.shape[1] == 0:
        raise ValueError("The table has no columns to make features of.")
    if len(X) == 0:
        raise ValueError("The table has no rows.")
    return table


def encoded(series: Any, column: Column) -> dict[str, np.ndarray]:
    """Features of one column, treated as ``column`` says."""
    refuse_missing(series)
    encode: Callable[[Any, Column], list[np.ndarray]] = {
        NUMBER: _numbers,
        CATEGORY: _indicators,
        DATE: _date_parts,
    }[column.kind]
    return dict(zip(column.features, encode(series, column), strict=True))


def _numbers(series: pd.Series, column: Column) -> list[np.ndarray]:
    if require_pandas().api.types.is_datetime64_any_dtype(series.dtype):
        raise ValueError(f"Column {column.name!r} must hold numbers, but it holds dates.")
    numbers = _floats(series.astype(object))
    unreadable = np.isnan(numbers)
    if unreadable.any():
        row = int(np.argmax(unreadable))
        value = str(series.iloc[row])
        remedy = "; write it as a plain number such as 10.5" if is_formatted_number(value) else ""
        raise ValueError(
            f"Column {column.name!r} must hold numbers, but one value is {quoted(value)}, in row "
            f"{row + 1:,}{remedy}."
        )
    infinite = int(np.isinf(numbers).sum())
    if infinite:
        raise ValueError(
            f"Column {column.name!r} has {counted(infinite, 'infinite value')} (or one beyond "
            "1.8e308); correct or drop those rows."
        )
    return [numbers]


def _floats(values: pd.Series) -> np.ndarray:
    """Numbers as float64, NaN for what is none, infinity for what is beyond them."""
    try:
        numbers = require_pandas().to_numeric(values, errors="coerce")
        return np.asarray(numbers, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):  # one value that pandas cannot even coerce
        return np.array([_float(value) for value in values])


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf
    except (TypeError, ValueError):
        return np.nan


def _indicators(series: pd.Series, column: Column) -> list[np.ndarray]:
    labels = column_labels(series)
    unseen = sorted(set(labels) - set(column.values))
    if unseen:
        raise ValueError(
            f"Column {column.name!r} holds {quoted(unseen[0])}, which was not seen in training; "
            f"the known values are {listed(column.values)}."
        )
    labels = np.array(labels, dtype=object)
    return [(labels == value).astype(np.float64) for value in column.values]


def _date_parts(series: pd.Series, column: Column) -> list[np.ndarray]:
    dates = dates_of(series)
    if dates is None:
        texts = (require_pandas().Series([str(value)]) for value in series)
        value = next(text[0] for text in texts if dates_of(text) is None)
        raise ValueError(
            f"Column {column.name!r} must hold dates like 2015-11-07, but one value is "
            f"{quoted(value)}."
        )
    parts = (dates.dt.day_of_week, dates.dt.month, dates.dt.day_of_year)
    return [np.asarray(part, dtype=np.float64) for part in parts]


def dates_of(series: pd.Series) -> Any:
    """Calendar dates of a column, or None unless every row is a date or the text of an ISO date."""
    pandas = require_pandas()
    if pandas.api.types.is_datetime64_any_dtype(series.dtype):
        return series
    texts = [str(value).strip() for value in series]
    if not all(map(is_iso_date, texts)):
        return None
    dates = pandas.Series([text[:10] for text in texts])
    dates = pandas.to_datetime(dates, format="%Y-%m-%d", errors="coerce")
    return None if dates.isna().any() else dates


def labels_of(values: list[Any]) -> list[str]:
    """Category values as text; 7, 7.0 and "7" are one value, however the file stored it."""
    return [
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
        for value in values
    ]


def column_labels(series: Any) -> list[str]:
    """Labels of a column without gaps; only different values are converted."""
    try:
        codes, different = require_pandas().factorize(series)
    except TypeError:  # values that cannot be compared
        return labels_of(series.tolist())
    return np.array(labels_of(list(different)), dtype=object)[codes].tolist()


def refuse_missing(series: Any) -> None:
    """Nothing is imputed."""
    missing = int(series.isna().sum())
    if missing:
        raise ValueError(
            f"Column {series.name!r} has {counted(missing, 'missing value')}; fill in or drop "
            "those rows, nothing is imputed."
        )
