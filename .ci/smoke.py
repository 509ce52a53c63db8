"""Once through everything, in Python and in the shell: what users of an installed wheel do first.

Run in a folder that is not the repository's, with nothing but the wheel installed.
"""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import hedgerow as hr

assert "site-packages" in hr.__file__, f"imported from {hr.__file__}, which is not the wheel"
assert importlib.metadata.version("hedgerow") == hr.__version__


def hedgerow(*words):
    """Run the command as installed, and return what it prints."""
    command = [str(Path(sys.executable).with_name("hedgerow")), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


data = hr.datasets.load_restaurant("steak", as_frame=True)
loss, solver = hr.Newsvendor(holding=1, stockout=3), hr.SCSC(steps=100)
policy = hr.RobustPolicy(loss, solver=solver, random_state=0)
policy.fit(data.data[:500], data.target[:500])
decided = policy.predict(data.data[500:])
assert np.all(np.isfinite(decided))
assert policy.robust_value_.value >= policy.robust_value_.nominal
policy.save("steak.hedgerow")
assert np.array_equal(hr.load("steak.hedgerow").predict(data.data[500:]), decided)

rng = np.random.default_rng(0)
table = pd.DataFrame({"day": pd.date_range("2026-01-01", periods=120), "sky": ["sun", "rain"] * 60})
table["sold"] = rng.poisson(np.where(table["sky"] == "sun", 40, 20))
table[:100].to_csv("sales.csv", index=False)
table[100:].to_csv("new.csv", index=False)
print(hedgerow("--version").strip(), "on Python", sys.version.split()[0])
for old in ("policy.hedgerow", "orders.csv", "page.html"):
    Path(old).unlink(missing_ok=True)
costs = ("--outcome", "sold", "--holding", 1, "--stockout", 3)
hedgerow("fit", "sales.csv", *costs, "--steps", 50, "-o", "policy.hedgerow")
hedgerow("decide", "policy.hedgerow", "new.csv", "-o", "orders.csv")
assert len(pd.read_csv("orders.csv")) == 20
assert "mean" in hedgerow("evaluate", "policy.hedgerow", "new.csv").lower()
hedgerow("report", "policy.hedgerow", "new.csv", "-o", "page.html")
assert Path("page.html").stat().st_size > 50_000
print("fit, save, load, decide, evaluate, report: all well")
