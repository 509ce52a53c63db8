"""Daily demand for the main ingredients of Yaz, a fast casual restaurant in Stuttgart.

Every evening the kitchen decides how much of each main ingredient to prepare for tomorrow; too
much is thrown away, too little is a guest sent elsewhere. That is a newsvendor per dish, with
the calendar and the weather as context.

765 consecutive days, 2013-10-04 to 2015-11-07, none missing.

Targets (portions a day): calamari, fish, shrimp, chicken, koefte, lamb, steak.

Features, in the order of the columns:
  is_holiday, is_closed, weekend     0 or 1
  wind, clouds, rain                 wind force, cloud cover (0 to 8), amount of rain
  sunshine                           0 to 782; called hours at the source, evidently minutes
  temperature                        outdoor, degrees Celsius
  weekday_MON ... weekday_SUN        one-hot
  month_JAN ... month_DEC            one-hot

Left out: the year. It can only act as a trend, and a rule tested on days after its training
period meets a value it never saw.

The weather is that of the day itself, so it stands in for a perfect forecast. Demand is zero on
the five days with is_closed = 1. Two oddities of the source are kept as they are: 2014-12-31, a
Wednesday and a closed day, is labelled SAT with weekend = 1; Friday 2014-12-26, also closed, has
weekend = 1.

Source: `yaz.csv` of ddop 0.7.6, shipped unchanged; BSD-3-Clause, Copyright (c) 2007-2020 The ddop
developers. The licence is in yaz.LICENSE.txt beside the data.
"""

import csv
from collections.abc import Iterable
from importlib.resources import files
from types import ModuleType

import numpy as np
from sklearn.utils import Bunch

_FLAGS = ("is_holiday", "is_closed", "weekend")
_WEATHER = ("wind", "clouds", "rain", "sunshine", "temperature")
_CATEGORIES = {
    "weekday": ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"),
    "month": ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
}
_DISHES = ("calamari", "fish", "shrimp", "chicken", "koefte", "lamb", "steak")


def load_restaurant(dishes: str | Iterable[str] | None = None, as_frame: bool = False) -> Bunch:
    """Load the restaurant's daily demand with its calendar and weather features.

    Parameters
    ----------
    dishes : str, list of str or None, default=None
        Which dishes to return as target. None: all seven. A string: that dish, as a 1-D
        target. A list: those columns, in the order given. Known dishes: calamari, fish,
        shrimp, chicken, koefte, lamb, steak.
    as_frame : bool, default=False
        Return pandas objects, indexed by date, instead of numpy arrays. Needs pandas.

    Returns
    -------
    sklearn.utils.Bunch
        ``data`` (765, 27), the features as float64 in a fixed order; ``target`` (765,) or
        (765, n_dishes), portions a day as float64; ``feature_names``; ``target_names``; ``dates``
        (765,) as datetime64[D], ascending; ``DESCR``, which explains the columns, and why the year
        is not among them.

    Examples
    --------
    >>> from hedgerow.datasets import load_restaurant
    >>> lamb = load_restaurant("lamb")
    >>> lamb.data.shape, lamb.target.shape
    ((765, 27), (765,))
    """
    chosen = _check_dishes(dishes)
    pandas = _import_pandas() if as_frame else None
    text = files("hedgerow.datasets").joinpath("yaz.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))

    columns = {name: [float(row[name]) for row in rows] for name in (*_FLAGS, *_WEATHER)}
    for name, values in _CATEGORIES.items():
        for value in values:
            columns[f"{name}_{value}"] = [float(row[name] == value) for row in rows]
    feature_names = list(columns)
    data = np.column_stack(list(columns.values()))
    target = np.array([[float(row[dish]) for dish in chosen] for row in rows])
    dates = np.array([row["date"] for row in rows], dtype="datetime64[D]")

    if pandas is not None:
        index = pandas.DatetimeIndex(dates, name="date")
        data = pandas.DataFrame(data, index=index, columns=feature_names)
        target = pandas.DataFrame(target, index=index, columns=chosen)
    if isinstance(dishes, str):
        target = target[dishes] if pandas is not None else target[:, 0]
    return Bunch(
        data=data,
        target=target,
        feature_names=feature_names,
        target_names=chosen,
        dates=dates,
        DESCR=__doc__,
    )


def _check_dishes(dishes: str | Iterable[str] | None) -> list[str]:
    if dishes is None:
        return list(_DISHES)
    known = f"The known dishes are {', '.join(_DISHES)}."
    if not isinstance(dishes, Iterable):
        raise TypeError(f"dishes must be None, a dish or a list of dishes, got {dishes!r}. {known}")
    chosen = [dishes] if isinstance(dishes, str) else [str(dish) for dish in dishes]
    unknown = [dish for dish in chosen if dish not in _DISHES]
    if unknown:
        raise ValueError(f"unknown dishes {unknown}. {known}")
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(
            f"dishes must name at least one dish, and each only once, got {chosen}. {known}"
        )
    return chosen


def _import_pandas() -> ModuleType:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas, which is not installed: install it with "
            "pip install 'hedgerow[cli]', or use as_frame=False for numpy arrays."
        ) from error
    return pandas
