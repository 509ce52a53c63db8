"""The portfolio studies: the backtest's own losses, shared cells, and pages that say what is so."""

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from studies.tests.portfolio.markets import tables

from hedgerow.losses import MeanVariance
from hedgerow_studies.paper import market_study, published
from hedgerow_studies.paper.market_study import Files
from hedgerow_studies.paper.pages import portfolio_pages as pages
from hedgerow_studies.paper.pages.study_page import markdown_table
from hedgerow_studies.paper.portfolio_studies import (
    OMEGAS,
    PortfolioModels,
    PortfolioParameters,
    PortfolioRules,
    PortfolioTable,
)
from hedgerow_studies.paper.study import SCALES
from hedgerow_studies.paper.synthetic_problems import SIZES
from hedgerow_studies.portfolio import Backtest, monthly
from hedgerow_studies.portfolio.selection import parameters_for

STUDIES = {
    "table1": (PortfolioTable("table1"), pages.averages),
    "fig9": (PortfolioRules("fig9"), pages.rules),
    "fig14": (PortfolioParameters("fig14"), pages.parameters),
    "fig16": (PortfolioModels("fig16"), pages.models),
}
CSVS = Path(__file__).parents[4] / "shared" / "data" / "published"
with_csvs = pytest.mark.skipif(not CSVS.exists(), reason="the published tables are not here")


def key(cell):
    return json.dumps(cell, sort_keys=True)


@pytest.fixture(scope="module")
def found():
    """Tables of all studies at the tiny scale; a cell that several share is computed once."""
    kept = {}
    for study, _ in STUDIES.values():
        for cell in study.cells("tiny"):
            if key(cell) not in kept:
                kept[key(cell)] = study.run(cell)
    return {
        name: pd.DataFrame([c | row for c in study.cells("tiny") for row in kept[key(c)]])
        for name, (study, _) in STUDIES.items()
    }


# --------------------------------------------------------------------------- cells


def test_studies_share_their_source_and_most_of_their_cells():
    assert {study.source for study, _ in STUDIES.values()} == {"portfolio"}
    for scale in SCALES:
        cells = {n: {key(c) for c in s.cells(scale)} for n, (s, _) in STUDIES.items()}
        forests = {key(c) for c in STUDIES["fig9"][0].cells(scale) if c["rule"] != "two-layer"}
        assert forests <= cells["table1"] & cells["fig16"]
        plain = {key(c) for c in STUDIES["fig14"][0].cells(scale) if "penalty" not in c}
        assert plain <= cells["table1"]
    assert {c["omega"] for c in STUDIES["table1"][0].cells("full")} == set(OMEGAS["full"])


@pytest.mark.parametrize("name", STUDIES)
def test_a_quick_run_is_part_of_a_full_one(name):
    study = STUDIES[name][0]
    quick, full = ({key(c) for c in study.cells(scale)} for scale in ("quick", "full"))
    assert quick < full
    assert len(full) == len(study.cells("full"))
    months = {c["month"] for c in study.cells("full")}
    assert months == set(range(24))


def test_results_depend_on_what_is_in_files_not_on_where_they_are(tmp_path):
    contexts = []
    for folder, seed in (("here", 0), ("there", 0), ("other", 1)):
        (tmp_path / folder).mkdir()
        paths = [str(tmp_path / folder / f"{kind}.csv") for kind in ("returns", "covariates")]
        for table, path in zip(tables(seed=seed), paths, strict=True):
            table.to_csv(path, index_label="date")
        study = PortfolioTable("table1", Files(*paths))
        assert pickle.loads(pickle.dumps(study)) == study
        assert str(tmp_path) not in json.dumps([study.cells("full"), study.data()])
        contexts.append(study.data())
    assert contexts[0] == contexts[1] != contexts[2]
    assert contexts[0]["horizon"] == {
        "start": "2021-01", "end": "2022-12", "window": 500, "holding": 60, "pool": 50, "seed": 0,
    }  # fmt: skip


# --------------------------------------------------------------------------- results


def same_as_backtest(table, folder):
    """Whether a table of the first month is what the backtest makes of it."""
    whole = market_study.horizon(None)
    first = replace(whole, end=whole.start)
    backtest = Backtest(first, tuple(table.index), return_weights=(5.0,))
    same = monthly(backtest.run(market_study.market(None), folder)).set_index("method")
    columns = ["loss", "sharpe", "mean", "std", "cvar"]
    np.testing.assert_array_equal(table[columns], same.loc[table.index, columns])
    assert list(table["date"]) == list(same["date"])


def test_losses_without_training_are_those_of_the_backtest(tmp_path):
    study = STUDIES["table1"][0]
    cells = [cell for cell in study.cells("tiny") if cell["method"] in ("PT", "EW", "MV")]
    rows = [cell | row for cell in cells for row in study.run(cell)]
    assert len(rows) == 3
    same_as_backtest(pd.DataFrame(rows).set_index("method"), tmp_path)


@pytest.mark.slow
def test_losses_are_those_of_the_backtest(found, tmp_path):
    same_as_backtest(found["table1"].set_index("method"), tmp_path)


@pytest.mark.slow
def test_hindsight_is_never_beaten(found):
    table = pd.concat(found.values())
    best = table[table["method"] == "PT"]["loss"].unique()
    assert len(best) == 1
    assert (table[table["method"] != "PT"]["loss"].dropna() > best[0]).all()
    held = market_study.window(None, 0).held
    weights = np.random.default_rng(0).dirichlet(np.full(held.shape[1], 0.1), size=2000)
    assert min(MeanVariance(5.0).realised(held @ w) for w in weights) > best[0]


@pytest.mark.slow
def test_the_tuned_pair_of_the_map_is_the_tuned_method(found):
    grid = found["fig14"].set_index(["method", "penalty", "epsilon"])["loss"]
    tuned = parameters_for("2-Causal-SDRO")
    own = found["table1"].set_index("method")["loss"]["2-Causal-SDRO"]
    assert grid["2-Causal-SDRO", tuned.penalty, tuned.epsilon] == own


@pytest.mark.slow
def test_an_inadmissible_penalty_is_a_gap_in_the_map_and_not_a_failure(found):
    table = found["fig14"]
    below = table[table["penalty"] == 0.1]
    assert list(below["status"]) == ["inadmissible"]
    assert below["loss"].isna().all()
    assert "for 1 the value is infinite" in pages.parameters(table).text
    study = STUDIES["fig14"][0]
    with pytest.raises(ValueError, match="Seed"):
        study.run(study.cells("tiny")[-1] | {"seed": -1})


# --------------------------------------------------------------------------- pages


def made_up(study, losses, by_rule=None):
    """A quick table in which every method has one loss, whatever the month, plus ω."""
    rows = []
    for cell in study.cells("quick"):
        loss = (by_rule or {}).get((cell["method"], cell["rule"]), losses[cell["method"]])
        figures = dict.fromkeys(("sharpe", "mean", "std", "cvar"), 1.0)
        about = {"date": f"2021-{cell['month'] + 1:02}-01", "pool": 20, "market": "20 stocks"}
        rows.append(cell | figures | about | {"loss": loss + cell["omega"]})
    return pd.DataFrame(rows)


LOSSES = {"PT": 0.0, "EW": 2.0, "MV": 1.5, "CMV": 1.0, "CMV-early": 0.5, "1-Causal-SDRO": 0.25,
          "2-Causal-SDRO": 0.375, "1-SDRO": 0.4375, "SDRO": 0.375, "1-Causal-WDRO": 0.625,
          "Causal-WDRO": 0.5, "KL-DRO": 0.75}  # fmt: skip


def line(text, *begin):
    """The cells of the table row that begins so."""
    (row,) = re.findall(rf"^\| {re.escape(' | '.join(begin))} \|(.*)\|$", text, re.MULTILINE)
    return [cell.strip() for cell in row.split("|")]


def test_two_baselines_by_hand():
    """Hindsight 0, CMV 1, CMV-early ½."""
    text = pages.rules(made_up(STUDIES["fig9"][0], LOSSES)).text
    assert line(text, "forest", "1-Causal-SDRO", "5") == [
        "5.250", "5.000", "6.000", "5.500", "75.0 %", "50.0 %", "34.8 %",
    ]  # fmt: skip
    assert line(text, "forest", "3.312") == ["68.8 %", "37.5 %", "33.2 %"]
    assert "less that of hedged forests is +0.000 ± 0.000" in text


def test_each_rule_is_compared_with_its_own_baseline():
    networks = {("CMV", "two-layer"): 2.0, ("CMV-early", "two-layer"): 1.0}
    text = pages.rules(made_up(STUDIES["fig9"][0], LOSSES, networks)).text
    assert line(text, "network", "1-Causal-SDRO", "1")[4:6] == ["87.5 %", "75.0 %"]
    assert line(text, "forest", "1-Causal-SDRO", "1")[4:6] == ["75.0 %", "50.0 %"]


def test_the_table_stands_beside_the_papers():
    text = pages.averages(made_up(STUDIES["table1"][0], LOSSES)).text
    assert line(text, "5", "2-Causal-SDRO")[:1] + line(text, "5", "2-Causal-SDRO")[5:] == [
        "5.375", "0.851", "1.107", "0.059", "1.053", "2.147",
    ]  # fmt: skip
    assert line(text, "5", "CMV-early")[5:] == ["–"] * 5
    assert line(text, "2-Causal-SDRO", "−0.625 ± 0.000", "2 of 2") == ["−0.125 ± 0.000", "2 of 2"]


def test_the_page_of_models_says_which_coincide_and_which_lose_least():
    table = made_up(STUDIES["fig16"][0], LOSSES)
    text = pages.models(table).text
    assert "1-Causal-SDRO (3.250) and 2-Causal-SDRO (3.375) lose least" in text
    assert "SDRO are the same digit by digit" in text
    assert line(text, "SDRO", "3.375")[-1] == f"−{(58.99 - 1.65) / 2:.1f} %"
    table.loc[table["method"] == "SDRO", "loss"] += 0.01
    assert "2-Causal-SDRO and SDRO differ by up to 0.01 in a month" in pages.models(table).text


def test_the_map_names_its_best_pair():
    table = made_up(STUDIES["fig14"][0], LOSSES)
    table.loc[(table["penalty"] == 30) & (table["epsilon"] == 1.0), "loss"] -= 0.125
    page = pages.parameters(table)
    assert line(page.text, "1-Causal-SDRO", "least")[:3] == ["30", "1", "5.125"]
    assert line(page.text, "1-Causal-SDRO", "as tuned")[:3] == ["3", "0.3", "5.250"]
    assert line(page.text, "2-Causal-SDRO", "least")[-3:] == ["0.851", "0.9", "0.5"]
    assert "12 of 12 pairs lose less than CMV-early" in page.text
    left, right, colours = page.figures["fig14"].axes
    assert left.images[0].get_clim() == right.images[0].get_clim() == (5.125, 5.375)
    assert colours.get_ylabel() == "mean loss, ω = 5"


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_pages_of_tiny_runs_draw_and_name_both_figures(found, name):
    table = found[name]
    page = STUDIES[name][1](table, name)
    assert list(page.figures) == ([] if name == "table1" else [name])
    for figure in page.figures.values():
        figure.draw_without_rendering()
    hedged = table[(table["method"] == "2-Causal-SDRO") & (table["rule"] == "forest")]
    ours = hedged["loss"].dropna().iloc[0]
    assert f"{ours:.3f}".replace("-", "−") in page.text
    printed = {"table1": "0.851", "fig9": "38.2 %", "fig14": "0.851", "fig16": "38.2 %"}
    assert printed[name] in page.text


@pytest.mark.parametrize(("name", "boxes"), [("fig9", 2 * 2 * 2 * 2), ("fig16", 2 * 2 * 7)])
def test_a_box_for_everything_compared_at_every_omega(name, boxes):
    study, page = STUDIES[name]
    figure = page(made_up(study, LOSSES)).figures[name]
    assert sum(len(ax.patches) for ax in figure.axes) == boxes


def test_markdown_tables_set_figures_to_the_right_and_keep_bars():
    text = markdown_table(["a|b", "n", "P"], [["1-x", "−1.50 ± 0.2", "3.1 %"], ["y", "–", "–"]])
    assert text.splitlines()[:2] == ["| a\\|b | n | P |", "| --- | ---: | ---: |"]
    assert text.endswith("|\n")


# --------------------------------------------------------------------------- published


@with_csvs
@pytest.mark.parametrize("problem", ["newsvendor", "inventory"])
def test_published_losses_are_those_of_the_tables(problem):
    table = pd.read_csv(CSVS / f"{problem}_rules.csv")
    assert len(table) == 4 * len(SIZES[problem])
    for row in table.itertuples():
        rule = {"SRF": "forest", "2NN": "network"}[row.rule]
        found = published.rule_losses(problem, row.order, row.N, row.d_x, rule)
        assert found[:3] == (row.oracle_loss, row.erm_loss, row.csdro_loss)
        assert found.saved == pytest.approx(row.prescriptiveness_pct, abs=0.00501)


@with_csvs
def test_published_prescriptiveness_is_that_of_the_tables():
    for _, row in pd.read_csv(CSVS / "dro_models_prescriptiveness_pct.csv").iterrows():
        size = row["omega"] if row["problem"] == "portfolio" else (row["N"], row["d_x"])
        listed = published.MODEL_SAVED[row["problem"]][size]
        assert listed == tuple(row[f"P_{model}"] for model in published.MODELS)
    for _, row in pd.read_csv(CSVS / "portfolio_rules.csv").iterrows():
        place = published.OMEGAS.index(row["omega"])
        for rule, name in (("forest", "SRF"), ("network", "2NN")):
            listed = published.PORTFOLIO_SAVED[int(row["order"]), rule][place]
            assert listed == row[f"prescriptiveness_{name}_pct"]


@with_csvs
def test_published_parameters_are_those_of_the_tables():
    for row in pd.read_csv(CSVS / "tuned_parameters.csv").itertuples():
        model = row.Model if row.order == 0 else f"{row.order:g}-{row.Model}"
        if row.problem == "portfolio":
            listed = published.PORTFOLIO_TUNED[model][published.OMEGAS.index(row.omega)]
        else:
            listed = published.TUNED[row.problem][model]
        assert listed == (row.penalty, row.epsilon if "SDRO" in row.Model else None)


def test_averages_in_the_text_are_means_of_the_tables_but_for_inventory_forests():
    for problem, rules in published.AVERAGES.items():
        for rule, quoted in rules.items():
            means = [np.mean(published.SAVED[problem][order, rule]) for order in (1, 2)]
            if (problem, rule) == ("inventory", "forest"):
                assert np.round(means, 1) == pytest.approx([52.0, 53.4])
                assert quoted == (48.5, 49.4)
            else:
                assert means == pytest.approx(quoted, abs=0.051)
    for rule, quoted in published.PORTFOLIO_AVERAGES.items():
        means = [np.mean(published.PORTFOLIO_SAVED[order, rule]) for order in (1, 2)]
        assert np.mean(means) == pytest.approx(quoted, abs=0.051)


def test_published_means_come_with_the_errors_of_their_draws():
    hedged = published.mean_loss("newsvendor", 2, 200, 5)
    assert hedged == pytest.approx((0.6906, 0.030 / 10**0.5))
    baseline = published.mean_loss("inventory", None, 800, 20, "network")
    assert baseline == pytest.approx(((4.8888 + 4.9114) / 2, (0.159 + 0.128) / 2 / 5**0.5))
