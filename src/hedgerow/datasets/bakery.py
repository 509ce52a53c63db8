"""Daily demand for three products in 25 stores of a bakery chain: a panel of 75 series.

Every evening each store orders what it will sell tomorrow; what is left is thrown away, what is
lacking is not sold. That is a newsvendor per store, product and day, and stores and products have
enough in common to learn from each other.

1,215 consecutive days, 2016-01-02 to 2019-04-30, for every store and product: 91,125 rows, none
missing, sorted by store, product and date.

Columns:
  date                       the day
  store, product             numbers that are names: 25 stores between 4 and 71; 101, 109 and 110
  demand                     units a day, 0 to 1,783; 31 of the entries are no whole numbers
  is_schoolholiday           0 or 1; differs between stores
  is_holiday                 0 or 1: a public holiday
  is_holiday_next2days       0 or 1: one of the next two days is a public holiday
  rain                       amount of rain at the store, 0 to 66.3
  temperature                outdoor, degrees Celsius, at the store
  promotion_currentweek      0 or 1: the product is on promotion this week
  promotion_lastweek         0 or 1: it was last week

Left out: weekday, month and year. The weekday labels of the source are one day early (2016-01-02, a
Saturday, is labelled FRI), and all three follow from the date (``hedgerow.TimeFeatures``).

Demand is zero in 12 % of the rows: all stores are closed on 16 holidays, some on Sundays. Store 5
sells nothing before 2018-05-03, so it has hardly a history when the last year is the test. The
weather is that of the day itself, so it stands in for a perfect forecast.

Source: `bakery.csv.gz`, 25 of the 35 stores in ddop 0.7.6, their values unchanged; BSD-3-Clause,
Copyright (c) 2007-2020 The ddop developers. The licence is in bakery.LICENSE.txt beside the data.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = (
    *("date", "store", "product", "demand"),
    *("is_schoolholiday", "is_holiday", "is_holiday_next2days"),
    *("rain", "temperature", "promotion_currentweek", "promotion_lastweek"),
)


def load_bakery() -> pd.DataFrame:
    """Load the bakery's daily demand as a long table: one row per store, product and day.

    Needs pandas.

    Returns
    -------
    pandas.DataFrame
        91,125 rows, sorted by store, product and date, with the columns ``date`` (datetime64),
        ``store`` and ``product`` (whole numbers that are names), ``demand`` (units a day),
        ``is_schoolholiday``, ``is_holiday``, ``is_holiday_next2days`` (0 or 1), ``rain``,
        ``temperature`` (degrees Celsius), ``promotion_currentweek`` and ``promotion_lastweek`` (0
        or 1). The documentation of ``hedgerow.datasets.bakery`` says more about them.

    Examples
    --------
    >>> from hedgerow.datasets import load_bakery
    >>> bakery = load_bakery()
    >>> bakery.groupby(["store", "product"]).ngroups, bakery["date"].nunique()
    (75, 1215)
    """
    pandas = _import_pandas()
    with as_file(files("hedgerow.datasets").joinpath("bakery.csv.gz")) as path:
        table = pandas.read_csv(path, parse_dates=["date"], usecols=list(_COLUMNS))
    return table[list(_COLUMNS)]


def _import_pandas() -> ModuleType:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "load_bakery returns a pandas table, and pandas is not installed: install it with "
            "pip install 'hedgerow[cli]'."
        ) from error
    return pandas
