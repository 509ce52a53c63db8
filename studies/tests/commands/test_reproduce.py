"""`hedgerow reproduce`: every figure and table in the smallest form, and what a user may ask."""

import re
import shutil

import pandas as pd
import pytest
from typer.testing import CliRunner

from hedgerow._version import NUMERICS
from hedgerow.cli.commands import app
from hedgerow_studies.commands import run_reproduce as command
from hedgerow_studies.paper.catalogue import catalogue
from hedgerow_studies.paper.pages.results_folder import UNKNOWN, made_now
from hedgerow_studies.running import Engine

SMALL = "fig1"
"""A study without training, for what holds of all of them."""


def call(*words):
    return CliRunner().invoke(app, ["reproduce", *map(str, words)], env={"COLUMNS": "80"})


def leaves_data_figures_and_a_summary(out, name):
    place = out / name
    assert len(pd.read_parquet(place / "data.parquet")) > 0
    text = (place / "summary.md").read_text()
    assert text.startswith(f"## {name}: ")
    assert "nan" not in text.lower()
    for image in re.findall(r"\]\(([^)]*\.png)\)", text):
        assert (place / image).stat().st_size > 5_000
        assert (place / image).with_suffix(".pdf").stat().st_size > 2_000


def holds_its_studies_and_says_how_they_came_about(text, names):
    for name in names:
        assert f"## {name}: " in text
    for word in ("seeds", "jax", "cores", "computing", "numerics"):
        assert word in text


def test_a_run_that_is_not_finished_says_how_much_is_there():
    study = catalogue()[SMALL]
    cells = study.cells("tiny")
    assert made_now(study, "tiny", 1).endswith(f"scale tiny, 1 of {len(cells)} cells.")
    assert made_now(study, "tiny", len(cells)).endswith("scale tiny.")


def stays_the_same_without_computing(out, names, monkeypatch):
    kept = {
        path: path.read_bytes()
        for name in names
        for path in (out / name).iterdir()
        if path.suffix in (".parquet", ".md")
    }
    for study in catalogue().values():
        monkeypatch.setattr(type(study), "run", lambda self, cell: pytest.fail("computed again"))
    command.reproduce(names, "tiny", out, Engine())
    assert kept == {path: path.read_bytes() for path in kept}


def test_a_study_is_computed_drawn_and_found_again(tmp_path, monkeypatch):
    command.reproduce([SMALL], "tiny", tmp_path, Engine())
    leaves_data_figures_and_a_summary(tmp_path, SMALL)
    holds_its_studies_and_says_how_they_came_about((tmp_path / "paper.md").read_text(), [SMALL])
    stays_the_same_without_computing(tmp_path, [SMALL], monkeypatch)


def test_what_a_folder_holds_is_written_again_without_computing(tmp_path, monkeypatch):
    command.reproduce([SMALL], "tiny", tmp_path, Engine())
    summary = tmp_path / SMALL / "summary.md"
    before = summary.read_text()
    assert before.endswith(f"numerics {NUMERICS}; scale tiny.*\n")
    for study in catalogue().values():
        monkeypatch.setattr(type(study), "run", lambda self, cell: pytest.fail("computed again"))
    summary.unlink()
    command.rewrite(["all"], "tiny", tmp_path)
    assert summary.read_text() == before
    summary.unlink()
    shutil.rmtree(tmp_path / "cells")  # the data that were written are left
    command.rewrite(["all"], "tiny", tmp_path)
    assert summary.read_text() == before
    data = tmp_path / SMALL / "data.parquet"
    table = pd.read_parquet(data)
    table.attrs.clear()
    table.to_parquet(data)  # as 0.1 wrote it
    command.rewrite(["all"], "tiny", tmp_path)
    assert summary.read_text().endswith(f"*{UNKNOWN}*\n")
    with pytest.raises(FileNotFoundError, match="holds nothing of fig4"):
        command.rewrite(["fig4"], "tiny", tmp_path)


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """All studies at the smallest scale."""
    pytest.importorskip("skfolio")
    pytest.importorskip("shap")
    out = tmp_path_factory.mktemp("reproduced")
    command.reproduce(["all"], "tiny", out, Engine())
    return out


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue())
def test_every_study_leaves_data_figures_and_a_summary(everything, name):
    leaves_data_figures_and_a_summary(everything, name)


@pytest.mark.slow
def test_the_index_holds_them_all(everything):
    text = (everything / "paper.md").read_text()
    holds_its_studies_and_says_how_they_came_about(text, catalogue())
    for image in re.findall(r"\]\(([^)]*\.png)\)", text):
        assert (everything / image).exists()


@pytest.mark.slow
def test_the_index_opens_with_what_the_paper_reports_beside_ours(everything):
    text = (everything / "paper.md").read_text()
    short = text[text.index("## In short") : text.index("## fig1")]
    for printed in ("52.0 %", "49.4 %", "33.2 %", "0.820", "0.987"):
        assert printed in short
    assert "P against ERM, stopped early" in short


@pytest.mark.slow
def test_nothing_is_computed_again_and_tables_stay_the_same(everything, monkeypatch):
    stays_the_same_without_computing(everything, ["fig1", "fig4", "table1"], monkeypatch)


def test_what_there_is_can_be_listed():
    result = call("list")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    for name, study in catalogue().items():
        assert name in result.stdout
        assert study.title in result.stdout


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["fig99"], "There is no study 'fig99'"),
        (["fig1", "--scheduler", "tcp://nowhere:1"], "needs --engine dask"),
        (["table1", "--returns", "somewhere.csv"], "both files are needed"),
        (["fig1", "--jobs", "0"], "Invalid value"),
        (["fig1", "--returns", "no.csv", "--covariates", "no.csv"], "no.csv"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path, asked, message):
    result = call(*asked, "--out", tmp_path / "out")
    assert result.exit_code != 0
    assert message in " ".join(result.output.replace("│", " ").split())
    assert "Traceback" not in result.output


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "out").write_text("")
    result = call("fig1", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "is a file; give the name of a folder." in " ".join(result.output.split())
