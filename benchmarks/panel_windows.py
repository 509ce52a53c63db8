"""Which lags and means ``hedgerow fit --by --time`` makes by default: rehearsed on tuning stores.

    python -m benchmarks.panel_windows

Fifteen bakery stores (those that `benchmarks.panels` does not report), learned before November 2017
and judged on the half-year that follows, all of it before the year that results are reported on.
"""

import pandas as pd

import hedgerow as hr
from hedgerow.baselines import same_weekday_quantile
from hedgerow_studies.trials.real_series import AGREED, reported

BY = ("store", "product")
BEGINS, ENDS = pd.Timestamp("2017-11-01"), pd.Timestamp("2018-05-01")
SEASON = ("weekday", "season")
SETS = {
    "weeks, 28 days, 4 weekdays": {"lags": (7, 14, 28), "rolling": (28,), "same_weekday": (4,)},
    "and the latest, 7 days, season": {
        "lags": (1, 7, 14, 21), "rolling": (7, 28), "same_weekday": (4,), "calendar": SEASON,
    },
    "and 8 weekdays": {
        "lags": (1, 7, 14, 21), "rolling": (7, 28), "same_weekday": (4, 8), "calendar": SEASON,
    },
    "8 weekdays alone": {
        "lags": (1, 7, 14, 21), "rolling": (7, 28), "same_weekday": (8,), "calendar": SEASON,
    },
}  # fmt: skip


def main() -> None:
    """Print the mean cost of every set of windows beside the same-weekday quantile."""
    sales = hr.datasets.load_bakery()
    sales = sales[~sales["store"].isin(reported(sales["store"])) & (sales["date"] < ENDS)]
    loss = hr.Newsvendor(1.0, 3.0)
    for name, windows in SETS.items():
        features = hr.TimeFeatures("date", "demand", by=BY, known=AGREED, level=28, **windows)
        policy = hr.RobustPolicy(loss, random_state=0)
        panel = hr.PanelPolicy(policy, BY, features=features).fit(sales[sales["date"] < BEGINS])
        rows = features.training(sales)
        rows = rows[rows["date"] >= BEGINS]
        usual = same_weekday_quantile(
            (_series(sales), sales["date"], sales["demand"]), (_series(rows), rows["date"]), 0.75
        )
        paid = panel.losses(rows).mean()
        known = loss(usual[:, None], rows[["demand"]].to_numpy()).mean()
        print(f"{name:32} {paid:7.3f}   {paid / known:.3f} of the weekday quantile", flush=True)


def _series(rows: pd.DataFrame) -> pd.Series:
    return rows["store"].astype(str) + "/" + rows["product"].astype(str)


if __name__ == "__main__":
    main()
