"""Weekly promises of one panel: all bakery stores together, and whether a watch stays quiet.

    python -m benchmarks.promises panel

Learned on all days before July 2017; promises by rank among the weeks of the year after, and what
came of them in the 43 weeks that followed.
"""

import warnings

import pandas as pd

LEARNED, KNOWN = pd.Timestamp("2017-07-01"), pd.Timestamp("2018-07-01")
REOPENED = 5
"""The store that sold nothing before May 2018, of which no rank can promise anything."""


def weeks():
    """Print a row for all stores, and one without the store that reopened."""
    import hedgerow as hr

    warnings.simplefilter("ignore")
    sales = hr.datasets.load_bakery()
    print("| stores | level | promise | mean cost | weeks kept | watch |")
    print("|---|---|---|---|---|---|")
    for name, some in (("25", sales), ("24", sales[sales["store"] != REOPENED])):
        groups = ("store", "product")
        features = hr.TimeFeatures(
            *("date", "demand"),
            by=groups,
            known=("is_holiday", "promotion_currentweek"),
            lags=(7,),
            same_weekday=(8,),
            level=28,
        )
        policy = hr.RobustPolicy(hr.Newsvendor(1.0, 3.0), random_state=0)
        panel = hr.PanelPolicy(policy, groups, features=features)
        panel.fit(some[some["date"] < LEARNED])
        made = features.training(some)
        held = made[(made["date"] >= LEARNED) & (made["date"] < KNOWN)]
        new = made[made["date"] >= KNOWN]
        costs = hr.calibrate(panel, new, level=0.5, horizon=7).costs
        for level in (0.8, 0.9, 0.95):
            found = hr.calibrate(panel, held, level=level, horizon=7)
            kept = int((costs <= found.promise).sum())
            seen = hr.watch(panel, new, history=held, bound=found.promise)
            moved = ", ".join(seen.moved[:3])
            told = seen.status if seen.alarm is None else f"{seen.status} on day {seen.alarm}"
            print(
                f"| {name} | {level:.0%} | {found.promise:.2f} | {costs.mean():.2f} | "
                f"{kept} of {len(costs)} | {told}{f' ({moved})' if moved else ''} |",
                flush=True,
            )
