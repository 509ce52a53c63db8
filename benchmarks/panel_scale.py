"""Panels at scale: what a series, a row and a resumed run cost.

    python -m benchmarks.panel_scale separate --table store_item.csv.gz   beside LightGBM
    python -m benchmarks.panel_scale pooled --table store_item.csv.gz     features, fit, a year
    python -m benchmarks.panel_scale killed --series 10000 --kills 5      resumed, byte-identical
    python -m benchmarks.panel_scale mapped --rows 20000000               a memory map

Every part runs in processes of its own, whose peak memory is that of the kernel's count. Times are
walls on this machine; the load printed beside them says who else was on it.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

BY, JOBS = ("store", "item"), 2


def main():
    """Run one part."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=["separate", "pooled", "killed", "mapped", "learn"])
    parser.add_argument("--table", type=Path, help="date, store, item, sales")
    parser.add_argument("--series", type=int, default=500)
    parser.add_argument("--length", type=int, default=400)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--rows", type=int, default=2 * 10**7)
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--store", type=Path)
    asked = parser.parse_args()
    parts = {
        "separate": separate,
        "pooled": pooled,
        "killed": killed,
        "mapped": mapped,
        "learn": learn,
    }
    parts[asked.part](asked)
    own, children = (
        resource.getrusage(who).ru_maxrss / 2**20
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"peak memory {own:.2f} GB (largest child {children:.2f} GB); load {load}")


def sales_of(asked):
    """The table, and its features."""
    import pandas as pd

    import hedgerow as hr

    table = pd.read_csv(asked.table, parse_dates=["date"])
    keep = table[list(BY)].drop_duplicates().head(asked.series)
    features = hr.TimeFeatures(
        "date", "sales", by=BY, lags=(7, 14, 28), rolling=(7, 28), same_weekday=(4,), level=28
    )
    return table.merge(keep, on=list(BY)), features


def separate(asked):
    """One rule for each series, against a loop of LightGBM in as many processes."""
    from joblib import Parallel, delayed

    import hedgerow as hr

    table, features = sales_of(asked)
    policy = hr.RobustPolicy(hr.Newsvendor(1, 3), random_state=0)
    panel = hr.PanelPolicy(policy, BY, strategy="separate", features=features, n_jobs=JOBS)
    begin = time.perf_counter()
    panel.fit(table)
    ours = time.perf_counter() - begin
    begin = time.perf_counter()
    made = features.training(table)
    groups = [own for _, own in made.groupby(list(BY))]
    Parallel(n_jobs=JOBS)(delayed(boosted)(own) for own in groups)
    theirs = time.perf_counter() - begin
    print(f"{len(groups)} series, {len(made):,} rows: {ours:.1f} s, LightGBM {theirs:.1f} s, ")
    print(f"ratio {ours / theirs:.2f}, {1e3 * ours / len(groups):.0f} ms a series")


def boosted(own):
    """One series by LightGBM, on one thread."""
    import lightgbm

    X = own.drop(columns=[*BY, "date", "sales"])
    X = X.assign(date_weekday=X["date_weekday"].astype("category"))
    model = lightgbm.LGBMRegressor(objective="quantile", alpha=0.75, n_jobs=1, verbose=-1)
    return model.fit(X, own["sales"]).predict(X[:1])


def pooled(asked):
    """Features, a pooled fit before 2017, and decisions for 2017."""
    import hedgerow as hr

    table, features = sales_of(asked)
    policy = hr.RobustPolicy(hr.Newsvendor(1, 3), random_state=0)
    begin = time.perf_counter()
    panel = hr.PanelPolicy(policy, BY, features=features).fit(table[table["date"] < "2017"])
    fit, between = time.perf_counter() - begin, time.perf_counter()
    wanted = table[table["date"] >= "2017"]
    decisions = panel.predict(wanted, table[table["date"] >= "2016-09"])
    print(f"features and fit {fit:.1f} s, {len(decisions):,} decisions", end=" ")
    print(f"{time.perf_counter() - between:.1f} s")


def synthetic(count, length):
    """Series with a weekday, a trend and noise."""
    from hedgerow.panels.separate import OneSeries

    made = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        day = np.arange(length)
        x = np.column_stack(
            [*(day % 7 == d for d in range(7)), day / length, rng.normal(size=length)]
        )
        level = rng.uniform(5, 500) * (1 + 0.3 * np.sin(2 * np.pi * day / 7) + 0.1 * x[:, 8])
        made.append(OneSeries(x, rng.gamma(9.0, level / 9)[:, None], np.ones(length)))
    return made


def learn(asked):
    """Learn synthetic series into a store."""
    import hedgerow as hr
    from hedgerow.panels.engine import Engine
    from hedgerow.panels.many import learn_many

    policy = hr.RobustPolicy(hr.Newsvendor(1, 3), random_state=0)
    learn_many(policy, synthetic(asked.series, asked.length), Engine(jobs=JOBS), asked.store)


def killed(asked):
    """Learn once in peace and once with kills, and compare the files byte by byte."""
    rng = random.Random(0)
    command = [sys.executable, "-m", "benchmarks.panel_scale", "learn"]
    command += ["--series", str(asked.series), "--length", str(asked.length), "--store"]
    with tempfile.TemporaryDirectory() as folder:
        whole, often = Path(folder, "whole"), Path(folder, "killed")
        begin = time.perf_counter()
        subprocess.run([*command, str(whole)], check=True)
        peace = time.perf_counter() - begin
        begin, kills = time.perf_counter(), 0
        while True:
            process = subprocess.Popen([*command, str(often)])
            if kills == asked.kills:
                if process.wait():
                    raise SystemExit("the last run failed")
                break
            time.sleep(rng.uniform(0.3, 1.0) * peace / (asked.kills + 1) + 5)
            process.kill()
            kills += process.wait() != 0
            files = len(list(often.glob("*.series")))
            print(f"killed {kills} times, {files} batches there", flush=True)
            if process.returncode == 0:
                break
        disturbed = time.perf_counter() - begin
        names = sorted(file.name for file in whole.glob("*.series"))
        same = names == sorted(file.name for file in often.glob("*.series")) and all(
            (whole / name).read_bytes() == (often / name).read_bytes() for name in names
        )
    print(
        f"{asked.series} series of {asked.length} rows: {peace:.0f} s in peace, {disturbed:.0f} s"
    )
    print(f"killed {kills} times; files are {'the same' if same else 'DIFFERENT'}")


def mapped(asked):
    """Pooled training from a memory map that is written here and removed."""
    import hedgerow as hr
    from hedgerow.panels.memory_map import MappedRows, learn_mapped, write_rows

    names = [f"x{i}" for i in range(asked.features)]
    with tempfile.TemporaryDirectory() as folder:
        begin, pieces = time.perf_counter(), []
        for first in range(0, asked.rows, 10**6):
            rng = np.random.default_rng(first)
            x = rng.standard_normal((min(10**6, asked.rows - first), asked.features), np.float32)
            y = np.maximum(0, 1 + 0.3 * x[:, 0] + 0.2 * np.abs(x[:, 1]) * rng.normal(size=len(x)))
            pieces.append(Path(folder, f"{first}.rows"))
            write_rows(pieces[-1], x, y)
        writing, begin = time.perf_counter() - begin, time.perf_counter()
        rows = MappedRows.of(names, pieces)
        size = sum(piece.stat().st_size for piece in pieces) / 1e9
        learn_mapped(hr.RobustPolicy(hr.Newsvendor(1, 3), random_state=0), rows)
        training = time.perf_counter() - begin
    print(
        f"{asked.rows:,} rows × {asked.features}: {size:.1f} GB on disk, "
        f"written in {writing:.0f} s, trained in {training:.0f} s"
    )


if __name__ == "__main__":
    main()
