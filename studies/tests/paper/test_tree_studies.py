"""The studies of one tree: the policy in a row decides as before, its measures hold by hand."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from studies.tests.portfolio.markets import market

import hedgerow as hr
from hedgerow.describe.numbers import percent
from hedgerow.explain.lens import lens_of
from hedgerow_studies.paper import market_study, tree_studies
from hedgerow_studies.paper.pages import tree_pages as pages
from hedgerow_studies.paper.tree_studies import (
    DECISION,
    EIG,
    LOSS,
    OWN,
    SHAP,
    TreeAttribution,
    TreeImportance,
    TreeRoutes,
    from_text,
    hedged_tree,
)
from hedgerow_studies.portfolio import Horizon

ROUTES, IMPORTANCE, ATTRIBUTION = (
    TreeRoutes("fig10"),
    TreeImportance("fig11"),
    TreeAttribution("fig12"),
)


def rows_of(cell):
    return pd.DataFrame([cell | row for row in ATTRIBUTION.run(cell)])


@pytest.fixture(scope="module")
def table():
    return rows_of(ROUTES.cells("tiny")[0])


@pytest.fixture(scope="module")
def compared(table):
    """The same with SHAP values."""
    pytest.importorskip("shap")
    return pd.concat([table, rows_of(ATTRIBUTION.cells("tiny")[1])], ignore_index=True)


@pytest.fixture(scope="module")
def policy(table):
    return from_text(table[table["what"] == "policy"]["text"].item())


@pytest.fixture(scope="module")
def window():
    return market_study.window(None, 0)


@pytest.fixture(scope="module")
def days(window):
    return pd.DataFrame(window.contexts, columns=list(market_study.market(None).features))


def shares(table, label):
    part = table[(table["what"] == "importance") & (table["label"] == label)]
    scores = part["value"].to_numpy(float).clip(0)
    return scores / scores.sum()


def attributed(table, label):
    part = table[(table["what"] == "attribution") & (table["label"] == label)]
    return part.pivot_table(index="decision", columns="feature", values="value", sort=False)


def test_the_tree_is_trained_once_for_all_studies():
    studies = (ROUTES, IMPORTANCE, ATTRIBUTION)
    assert {study.source for study in studies} == {"tree"}
    tree = ROUTES.cells("full")
    assert tree == IMPORTANCE.cells("full") == ATTRIBUTION.cells("full")[:1]
    assert len(ATTRIBUTION.cells("full")) == 2


def test_a_small_tree_goes_through_text_and_takes_all_its_routes():
    found = market()
    window = Horizon("2020-05", "2020-05", window=60, holding=10, pool=4).windows(found)[0]
    solver = hr.NestedSGD(steps=100, batch=16)
    policy = tree_studies.soft_tree(window, found.features, hr.ERM(), None, solver)
    assert policy.status_ != "constant"
    again = from_text(tree_studies.to_text(policy))
    days = pd.DataFrame(window.contexts, columns=list(found.features))
    np.testing.assert_array_equal(again.predict(days), policy.predict(days))
    rows = pd.DataFrame(tree_studies._routes(again, window))
    taken = rows[rows["what"] == "route"].groupby("label")["value"]
    assert taken.sum().to_numpy() == pytest.approx([1, 1])
    assert set(taken.size()) == {8}
    assert rows[rows["what"] == "routes needed"]["value"].sum() == pytest.approx(1)


@pytest.mark.slow
def test_the_policy_in_a_row_decides_as_the_trained_one(policy, window, days):
    trained = hedged_tree(window, market_study.market(None).features)
    assert trained.rule_.leaves.shape[:2] == (1, 8)
    np.testing.assert_array_equal(policy.predict(days), trained.predict(days))


@pytest.mark.slow
def test_contexts_in_a_row_are_the_window_and_the_day(table, window):
    text = table[table["what"] == "contexts"]["text"].item()
    np.testing.assert_array_equal(json.loads(text), np.vstack([window.contexts, window.today]))


@pytest.mark.slow
def test_leaves_are_counted_from_the_top_of_the_figure(table):
    figure = pages.routes(table).figures["fig10"]
    (axes,) = figure.axes
    routes = table[table["what"] == "route"]
    for column, label in ((1, "lowest"), (2, "highest")):
        chances = routes[routes["label"] == label].sort_values("leaf")["value"]
        assert chances.sum() == pytest.approx(1, abs=1e-12)
        drawn = [t for t in axes.texts if (t.get_gid() or "").startswith(f"share {column} ")]
        drawn.sort(key=lambda text: -text.get_position()[1])
        assert [t.get_text() for t in drawn] == [percent(c) for c in chances if c >= 0.001]


@pytest.mark.slow
def test_the_page_counts_routes(table, policy, days, window):
    """By hand: how many of the sorted probabilities reach 99 %."""
    text = pages.routes(table).text
    contexts = np.vstack([days, window.today])
    chances = -np.sort(-hr.explain.routes(policy, contexts).probabilities[:, 0], axis=1)
    needed = 1 + (chances.cumsum(axis=1) < 0.99).sum(axis=1)
    low, high = contexts[:, 0].argmin(), contexts[:, 0].argmax()
    assert f"takes {needed[low]} and {needed[high]} of the 8 routes" in text
    assert f"{int(np.quantile(needed, 0.5, method='inverted_cdf'))} on the median day" in text
    assert "(paper: 1 and 2)" in text
    assert "π7: 0.996, π4: 0.004" in text


@pytest.mark.slow
def test_importance_is_the_mean_absolute_derivative(table, policy, days):
    lens, X = lens_of(policy), days.to_numpy()
    spread, slopes = X.std(axis=0), []
    for j, step in enumerate(1e-4 * spread):
        moved = [X + sign * step * np.eye(X.shape[1])[j] for sign in (1, -1)]
        change = (lens.decide(moved[0]) - lens.decide(moved[1])) / (2 * step)
        slopes.append(np.abs(change).sum(axis=1).mean() * spread[j])
    np.testing.assert_allclose(shares(table, OWN), slopes / np.sum(slopes), rtol=1e-5)


@pytest.mark.slow
def test_the_loss_rises_as_the_rows_say_when_a_feature_is_shuffled(table, policy, window, days):
    """A feature shuffled many times, by other draws: equal within their standard errors."""
    part = table[(table["what"] == "importance") & (table["label"] == LOSS)].set_index("feature")
    name = str(part["value"].idxmax())
    plain, draw = -policy.score(days, window.outcomes), np.random.default_rng(1)
    rises = []
    for _ in range(40):
        moved = days.assign(**{name: draw.permutation(days[name])})
        rises.append(-policy.score(moved, window.outcomes) - plain)
    error = part.loc[name, "error"] * np.sqrt(1 / 40 + 1 / 20)
    # means of 40 and of 20 shuffles: four standard errors of their difference
    assert np.mean(rises) == pytest.approx(part.loc[name, "value"], abs=4 * error)


@pytest.mark.slow
def test_correlations_of_importance_are_those_of_the_rows(table):
    text = pages.importance(table).text
    for label in (LOSS, DECISION):
        found = np.corrcoef(shares(table, OWN), shares(table, label))[0, 1]
        assert f"| {label} | {found:.3f} |" in text
    assert "paper's 0.820" in text


@pytest.mark.slow
def test_both_attributions_sum_to_the_decisions_distance_from_the_mean(compared, policy, window):
    decided = {w: compared[compared["what"] == w].set_index("decision")["value"] for w in
               ("decision", "baseline")}  # fmt: skip
    # policies decide in single precision, explanations in double
    np.testing.assert_allclose(
        decided["decision"], policy.predict(_named(policy, window))[0], atol=1e-6
    )
    gap = decided["decision"] - decided["baseline"]
    for label in (EIG, SHAP):
        values = attributed(compared, label)
        np.testing.assert_allclose(values.sum(axis=1), gap.loc[values.index], atol=1e-9)


def _named(policy, window):
    return pd.DataFrame(window.today[None], columns=list(policy.feature_names_in_))


@pytest.mark.slow
def test_correlations_of_attributions_are_those_of_the_rows(compared):
    page = pages.attribution(compared)
    own, other = attributed(compared, EIG), attributed(compared, SHAP)
    weights = np.corrcoef(own.iloc[1:].to_numpy().ravel(), other.iloc[1:].to_numpy().ravel())[0, 1]
    total = np.corrcoef(own.sum(), other.sum())[0, 1]
    assert f"| all weights and features | {weights:.3f} | – |" in page.text
    assert f"| Σ_k of all decisions | {total:.3f} | 0.987 |".replace("-", "−") in page.text
    side = "above" if total > 0.987 else "below"
    assert f"Over Σ_k the correlation is {side} the paper's" in page.text
    page.figures["fig12"].draw_without_rendering()


@pytest.mark.slow
def test_without_shap_only_its_cell_fails_and_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    tree, shap = ATTRIBUTION.cells("tiny")
    assert ATTRIBUTION.run(tree)
    with pytest.raises(ImportError, match=r"pip install 'hedgerow\[explain\]'"):
        ATTRIBUTION.run(shap)
