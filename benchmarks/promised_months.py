"""Bakery months: was what was promised for the next month kept, in 25 stores?

    python -m benchmarks.promises bakery

A store's demand is the sum of its three products. Each quarter a policy is learned from all days
before (calendar, weather, promotions, the demand of 7 days ago and its mean over 28 days), and each
month of the quarter is judged by it. What months cost beyond the nominal value of the policy that
met them gives the promise for the next month, as ``hr.calibrate(..., held_out="rolling",
blocks=months)`` does; made for every month with as many months behind it as its level needs.
"""

import json
import warnings

import numpy as np
import pandas as pd

LEVELS = (0.8, 0.9, 0.95)
FIRST = pd.Period("2017-01", "M")


def bakery(folder):
    """One cell for each store."""
    import hedgerow as hr

    sales = hr.datasets.load_bakery()
    for store, rows in sales.groupby("store"):
        cell = folder / f"bakery-{store}.json"
        if not cell.exists():
            folder.mkdir(parents=True, exist_ok=True)
            cell.write_text(json.dumps(one_store(rows)))
            print(cell.name, flush=True)


def one_store(rows):
    """Months, what they cost, and what had been promised for them."""
    import hedgerow as hr
    from hedgerow.certify import conformal
    from hedgerow.certify.calibration import nominal_cost

    warnings.simplefilter("ignore")
    X, y, months = table_of(rows)
    found, excess, policy, quarter = [], [], None, None
    for month in sorted(months.unique()):
        if month < FIRST:
            continue
        now, before = (months == month).to_numpy(), (months < month).to_numpy()
        if (month.year, month.quarter) != quarter:
            quarter = (month.year, month.quarter)
            policy = hr.RobustPolicy(
                hr.Newsvendor(1, 3), nominal=hr.EmpiricalNominal(), random_state=0
            ).fit(X[before], y[before])
            nominal = nominal_cost(policy, policy.contexts(X[before]), y[before][:, None])
        cost = float(policy.losses(X[now], y[now]).mean())
        promised = {}
        for level in LEVELS:
            place = conformal.rank(len(excess), level)
            if len(excess) > 0 and place <= len(excess):
                promised[str(level)] = nominal + sorted(excess)[place - 1]
        found.append(
            {"month": str(month), "cost": cost, "nominal": nominal, "promised": promised}
            | {"demand": float(y[now].mean()), "before": float(y[before][-365:].mean())}
        )
        excess.append(cost - nominal)
    return found


def table_of(rows):
    """Features, demand and month of every day but the first 28."""
    days = rows.groupby("date").agg(
        demand=("demand", "sum"),
        promotion=("promotion_currentweek", "sum"),
        holiday=("is_holiday", "max"),
        soon=("is_holiday_next2days", "max"),
        school=("is_schoolholiday", "max"),
        rain=("rain", "max"),
        temperature=("temperature", "mean"),
    )
    demand = days.pop("demand")
    days["lag7"], days["mean28"] = demand.shift(7), demand.shift(7).rolling(21).mean()
    turn = 2 * np.pi * days.index.dayofyear / 365.25
    days["sin"], days["cos"] = np.sin(turn), np.cos(turn)
    for weekday in range(6):
        days[f"day{weekday}"] = (days.index.dayofweek == weekday) * 1.0
    kept = days.notna().all(axis=1)
    days, demand = days[kept], demand[kept]
    return days.astype(float), demand.to_numpy(float), pd.Series(days.index.to_period("M"))


def report(folder):
    """Shares kept with exact intervals, and the months that broke the promise at 90 %."""
    from scipy.stats import binomtest

    stores = {
        path.stem.split("-")[1]: json.loads(path.read_text())
        for path in sorted(folder.glob("bakery-*.json"))
    }
    for level in map(str, LEVELS):
        kept = [
            one["cost"] <= one["promised"][level]
            for found in stores.values()
            for one in found
            if level in one["promised"]
        ]
        by_store = [
            np.mean([m["cost"] <= m["promised"][level] for m in found if level in m["promised"]])
            for found in stores.values()
        ]
        exact = binomtest(sum(kept), len(kept)).proportion_ci(0.95)
        rng = np.random.default_rng(0)  # stores share months: resample stores
        spread = [np.mean(rng.choice(by_store, len(by_store))) for _ in range(4000)]
        low, high = np.quantile(spread, [0.025, 0.975])
        print(
            f"| {level} | {len(kept)} | {np.mean(kept):.3f} | {exact.low:.3f} to {exact.high:.3f} "
            f"| {low:.3f} to {high:.3f} |"
        )
    broken = {}
    for found in stores.values():
        for one in found:
            promised = one["promised"].get("0.9")
            if promised is not None:
                entry = broken.setdefault(one["month"], [0, 0, []])
                entry[1] += 1
                if one["cost"] > promised:
                    entry[0] += 1
                    entry[2].append(
                        (one["cost"] / promised, one["demand"] / max(one["before"], 1.0))
                    )
    for month, (bad, count, facts) in sorted(broken.items()):
        if bad:
            over, demand = np.mean(facts, axis=0)
            print(f"| {month} | {bad} of {count} | {over:.2f} | {demand:.2f} |")
