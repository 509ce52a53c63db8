"""How long deciding takes where nothing has been imported: `python -m benchmarks.deciding`.

Every figure is the median over processes of their own, of wall and of processor time, beside that
of a process that does nothing; ways alternate, so that what else the machine does hits all alike.
Files are in the cache after the first round, which is not counted. Rows of the last table are
decided in this process.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import hedgerow as hr
from benchmarks.timing import seconds

REPEATS = 15
ROWS, FEATURES, NEW = 400, 10, 10
MANY = 1_000_000, 20


def history(rows, features):
    """A linear signal with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features))
    return X, 20 + 3 * X[:, 0] + rng.uniform(0, 5, rows)


def measured(arguments, fails=False):
    """Wall and processor seconds of one process."""
    before, start = os.times(), time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
    wall, after = time.perf_counter() - start, os.times()
    assert (done.returncode != 0) == fails, done.stderr.decode()
    used = after.children_user + after.children_system
    return wall, used - before.children_user - before.children_system


def panel_of(folder):
    """Files of recent sales of six series, of the rows to decide for, and of a pooled panel."""
    bakery, groups = hr.datasets.load_bakery(), ("store", "product")
    sales = bakery[bakery["store"].isin([4, 17]) & (bakery["date"] < "2017-06-01")]
    day = sales[sales["date"] == "2017-05-31"]
    features = hr.TimeFeatures(
        *("date", "demand", groups, ("is_holiday",)), lags=(7,), same_weekday=(8,), level=28
    )
    policy = hr.RobustPolicy(hr.Newsvendor(1.0, 3.0), random_state=0)
    panel = hr.PanelPolicy(policy, groups, features=features, seeds=2).fit(sales)
    paths = tuple(folder / name for name in ("sales.csv", "tomorrow.csv", "panel.hedgerow"))
    sales.to_csv(paths[0], index=False)
    day[[*groups]].assign(date="2017-06-01", is_holiday=0).to_csv(paths[1], index=False)
    panel.save(paths[2])
    return paths


def processes(folder):
    """Median (wall, processor) seconds of each way, in processes that begin with nothing."""
    X, y = history(ROWS, FEATURES)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(FEATURES)])
    policy, bare = folder / "policy.hedgerow", folder / "bare.hedgerow"
    encoder = hr.TableEncoder().fit(table)
    loss = hr.Newsvendor(holding=1.0, stockout=3.0)
    fitted = hr.RobustPolicy(loss, random_state=0).fit(encoder.transform(table), y)
    fitted.remember_columns(encoder, ["demand"]).save(policy)
    hr.RobustPolicy(loss, random_state=0).fit(X, y).save(bare)
    table[:NEW].to_csv(folder / "new.csv", index=False)
    np.save(folder / "new.npy", X[:NEW])
    command = ["-m", "hedgerow", "decide", str(policy)]
    predict = (
        f"import hedgerow as hr, numpy as np; X = np.load({str(folder / 'new.npy')!r}); "
        f"hr.load({str(bare)!r}).predict(X)"
    )
    sales, tomorrow, panel = panel_of(folder)
    tables = (
        f"import pandas as pd; sales, new = (pd.read_csv(path) for path in "
        f"({str(sales)!r}, {str(tomorrow)!r}))"
    )
    of_panel = f"import hedgerow as hr; hr.load({str(panel)!r}).predict(new, history=sales)"
    ways = {
        "python -c pass": (["-c", "pass"], False),
        "hedgerow --version": (["-m", "hedgerow", "--version"], False),
        "There is no file": ([*command, "nothing.csv"], True),
        "hr.load(p).predict(X)": (["-c", predict], False),
        f"hedgerow decide, {NEW} rows": ([*command, str(folder / "new.csv")], False),
        "a panel's tables alone": (["-c", tables], False),
        "hr.load(panel).predict(new, sales)": (["-c", f"{tables}; {of_panel}"], False),
        "hedgerow decide, a panel": (
            ["-m", "hedgerow", "decide", str(panel), str(tomorrow), "--history", str(sales)],
            False,
        ),
        "import jax": (["-c", "import jax"], False),
    }
    found = {way: [] for way in ways}
    for repeat in range(REPEATS + 1):
        for way, (arguments, fails) in ways.items():
            taken = measured(arguments, fails)
            if repeat:
                found[way].append(taken)
    return {
        way: tuple(statistics.median(part) for part in zip(*taken, strict=True))
        for way, taken in found.items()
    }


def main():
    with tempfile.TemporaryDirectory() as folder:
        found = processes(Path(folder))
    nothing = found["python -c pass"][0]
    print("| in a process of its own | wall, s | processor, s | times `python -c pass` |")
    print("|---|---|---|---|")
    for way, (wall, used) in found.items():
        print(f"| {way} | {wall:.2f} | {used:.2f} | {wall / nothing:.0f} |")
    rows, features = MANY
    X, y = history(2000, features)
    policy = hr.RobustPolicy(hr.Newsvendor(1.0, 3.0), random_state=0).fit(X, y)
    many, _ = history(rows, features)
    taken = seconds(lambda: policy.predict(many), 7)
    one = seconds(lambda: policy.predict(many[:1]), 101)
    print(f"\npredict {rows:,} × {features}: {taken:.2f} s; one row: {1000 * one:.2f} ms")


if __name__ == "__main__":
    main()
