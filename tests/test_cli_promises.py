"""The commands radii and watch, and radii that ``fit`` finds."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from hedgerow.cli.commands import app
from tests.panels.test_panel_policy import _features, _panel, _sales

RUN = CliRunner()
FIT = ["fit", "h.csv", "--outcome", "sold", "--holding", "1", "--stockout", "3", "--steps", "40"]
FIT += ["--model", "kl", "--nominal", "empirical"]


def table(rows, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    heat = rng.normal(size=rows)
    sold = np.maximum(30 + 4 * heat + 5 * rng.normal(size=rows) + shift, 0)
    return pd.DataFrame({"heat": heat, "week": rng.normal(size=rows), "sold": sold})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table(120, 0).to_csv("h.csv", index=False)
    table(60, 1).to_csv("new.csv", index=False)
    table(120, 2, shift=12).to_csv("moved.csv", index=False)
    return tmp_path


def test_wrong_radii_are_named(folder):
    for given, words in (
        (["--radius", "funny"], "auto or calibrated"),
        (["--horizon", "5"], "calibrated"),
        (["--level", "0.9"], "--radius calibrated"),
    ):
        done = RUN.invoke(app, [*FIT, *given])
        assert done.exit_code == 2
        assert words in " ".join(done.output.replace("│", " ").split())


@pytest.mark.slow
def test_a_promise_is_made_listed_and_watched(folder):
    done = RUN.invoke(app, [*FIT, "--radius", "calibrated", "--level", "0.8", "-o", "p.hedgerow"])
    assert done.exit_code == 0, done.output
    assert "With probability 80" in " ".join(done.output.split())
    listed = RUN.invoke(app, ["radii", "p.hedgerow", "h.csv", "--keep", "--radius", "0.1"])
    assert listed.exit_code == 0, listed.output
    assert "one row in ten" in listed.output
    quiet = RUN.invoke(app, ["watch", "p.hedgerow", "new.csv", "--json", "-"])
    assert (quiet.exit_code, json.loads(quiet.stdout)["status"]) == (0, "quiet")
    loud = RUN.invoke(
        app, ["watch", "p.hedgerow", "moved.csv", "--history", "new.csv", "--page", "w.html"]
    )
    assert loud.exit_code == 4
    assert "ALARM" in (folder / "w.html").read_text()


@pytest.fixture
def panel(tmp_path, monkeypatch):
    """A file of a panel, and tables of what it was trained on and of what came after."""
    monkeypatch.chdir(tmp_path)
    sales = _sales(days=200)
    policy = _panel("separate", features=_features(calendar=("weekday",)))
    policy.fit(sales[sales["date"] < "2024-04-01"]).save("p.hedgerow")
    since = sales["date"] >= "2024-06-01"
    sales[~since & (sales["date"] >= "2024-04-01")].to_csv("past.csv", index=False)
    sales[since].to_csv("new.csv", index=False)
    sales[since].assign(demand=3 * sales["demand"]).to_csv("moved.csv", index=False)
    return tmp_path


@pytest.mark.slow
def test_a_panel_is_watched(panel):
    watch = ["watch", "p.hedgerow", "new.csv"]
    for given, words in (
        ([], "--bound"),
        (["--bound", "100"], "--history"),
        (["--bound", "100", "--history", "past.csv", "--outcome", "sold"], "no column 'sold'"),
    ):
        done = RUN.invoke(app, [*watch, *given])
        assert done.exit_code == 1
        assert words in " ".join(done.output.split())
    given = ["--bound", "100", "--history", "past.csv"]
    quiet = RUN.invoke(app, [*watch, *given, "--json", "-"])
    assert (quiet.exit_code, json.loads(quiet.stdout)["status"]) == (0, "quiet")
    watch[2] = "moved.csv"
    loud = RUN.invoke(app, [*watch, *given, "--page", "w.html"])
    assert loud.exit_code == 4, loud.output
    assert "new periods" in loud.output
    assert "ALARM at period" in (panel / "w.html").read_text()
    done = RUN.invoke(app, ["radii", "p.hedgerow", "past.csv"])
    assert done.exit_code == 1
    assert "no one radius" in " ".join(done.output.split())


@pytest.mark.slow
def test_a_short_table_tells_how_a_decision_may_turn_out(folder):
    """Too few rows for residuals by default, so that the nominal would know no new context."""
    done = RUN.invoke(app, [*FIT[:-2], "-o", "p.hedgerow"])
    assert done.exit_code == 0, done.output
    told = " ".join(
        RUN.invoke(app, ["explain", "p.hedgerow", "new.csv", "--row", "3"]).output.split()
    )
    usual, worst = (
        float(re.search(pattern, told).group(1))
        for pattern in (r"may cost (\S+) on average", r"at worst (\S+) within the hedge")
    )
    assert 0 < usual < worst
