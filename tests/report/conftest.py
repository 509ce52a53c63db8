"""A small history with a date, text, a switch and numbers; policies on it; a browser to look in."""

import shutil
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.certify.value import RobustValue
from hedgerow.data.encoder import TableEncoder
from hedgerow.report import write_report
from hedgerow.rules.base import Start, build_rule
from hedgerow.solvers import default_solver

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def history(rows=70, seed=0):
    rng = np.random.default_rng(seed)
    days = pd.date_range("2019-12-20", periods=rows)
    sky = rng.choice(["fog", "rain", "sun"], rows)
    party = rng.integers(0, 2, rows)
    wind = rng.normal(3, 2, rows).round(2)
    demand = (
        20 + 8 * (sky == "sun") + 6 * party + 3 * (days.day_of_week > 4) + rng.normal(0, 3, rows)
    )
    return pd.DataFrame(
        {
            "day": days.strftime("%Y-%m-%d"),
            "sky": sky,
            "party": party,
            "wind": wind,
            "guests": rng.integers(5, 60, rows),
            "demand": demand.round(1).clip(0),
            "ordered": np.where(np.arange(rows) % 5 == 4, np.nan, 33.0),
        }
    )


def invented(loss, X, Y, rule, seed=0):
    """A policy with random parameters, so that every gate, unit and leaf matters; not trained."""
    policy = hr.RobustPolicy.from_function(
        lambda x: jax.numpy.zeros(
            loss.decisions_for(np.atleast_2d(np.asarray(Y).T).shape[0]).dimension
        ),
        loss,
        X,
        Y,
        ambiguity=hr.ERM(),
    )
    start = Start.of(policy.units_, loss.decisions_for(policy.n_outcomes_))
    built = build_rule(rule, jax.random.key(seed, impl="rbg"), start)
    rng, names = np.random.default_rng(seed), built.trainable
    new = [jax.numpy.asarray(rng.normal(size=getattr(built, n).shape), "float32") for n in names]
    policy.rule_ = eqx.tree_at(lambda one: [getattr(one, n) for n in names], built, new)
    policy.rule = rule
    policy._robust_value = RobustValue(2.0, 0.0, 0.0, 2.0, 2.0, None, None, None, 1, 1, "converged")
    return policy


@pytest.fixture(scope="session")
def table():
    return history()


@pytest.fixture(scope="session")
def hedged(table):
    """A trained policy as the command makes it, which remembers the table's columns."""
    columns = ["day", "sky", "party", "wind", "guests"]
    encoder = TableEncoder().fit(table[columns])
    model = hr.KL(penalty=10.0, loss_scale="auto")
    policy = hr.RobustPolicy(
        hr.Newsvendor(1.0, 3.0),
        model,
        rule=hr.SoftForest(trees=4, depth=3),
        nominal=hr.NeighbourNominal(5),
        solver=default_solver(model).set_params(steps=40),
        random_state=0,
    )
    policy.fit(encoder.transform(table), table["demand"])
    return policy.remember_columns(encoder, ["demand"])


@pytest.fixture(scope="session")
def trusting(table):
    encoder = TableEncoder().fit(table[["day", "sky", "party", "wind"]])
    X, loss = encoder.transform(table), hr.Newsvendor(1.0, 3.0)
    policy = invented(loss, X, table["demand"], hr.SoftForest(trees=2, depth=2))
    return policy.remember_columns(encoder, ["demand"])


@pytest.fixture(scope="session")
def hedged_page(hedged, trusting, table, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "hedged.html"
    settings = {"unit": "portions", "loss_unit": "€", "title": "Kitchen", "date": "2020-03-01"}
    against = {"trusting": trusting, "Your own orders": "ordered"}
    return write_report(hedged, table, table[["demand"]], path, against=against, row=7, **settings)


@pytest.fixture(scope="session")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed (apt-get install chromium)")
    with api.sync_playwright() as play:
        running = play.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield running
        running.close()


@pytest.fixture
def look(browser):
    """Open a page in a window of its own; on leaving, it must have been quiet and alone."""
    contexts = []

    def open_page(path, **settings):
        context = browser.new_context(**({"viewport": {"width": 1200, "height": 900}} | settings))
        page = context.new_page()
        page.set_default_timeout(5000)
        said, asked = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(Path(path).as_uri())
        contexts.append((context, said, asked, Path(path).as_uri()))
        return page

    yield open_page
    for context, said, asked, address in contexts:
        context.close()
        assert said == []
        assert [url for url in asked if url.split("#")[0] != address] == []
