"""`hedgerow portfolio`: tables and figures, resumed; one sentence for what cannot be used."""

import numpy as np
import pytest
from studies.tests.portfolio.markets import tables
from typer.testing import CliRunner

from hedgerow.cli.commands import app
from hedgerow.data.table_files import read_table
from hedgerow_studies.portfolio import backtest
from hedgerow_studies.portfolio.selection import Choice

WINDOWS = ["--window", 60, "--holding", 10]
MONTHS = ["--start", "2020-04", "--end", "2020-06"]


def call(*words):
    return CliRunner().invoke(app, ["portfolio", *map(str, words)], env={"COLUMNS": "80"})


def flat(text):
    """Text without line breaks and frames."""
    return " ".join(text.replace("│", " ").split())


@pytest.fixture
def files(tmp_path):
    paths = tmp_path / "returns.csv", tmp_path / "covariates.csv"
    for table, path in zip(tables(), paths, strict=True):
        table.to_csv(path, index_label="date")
    return ["--returns", paths[0], "--covariates", paths[1]]


def test_tables_and_figures_are_written_and_a_second_run_chooses_nothing(files, tmp_path):
    out = tmp_path / "study"
    methods = ["--method", "PT,EW", "--method", "MV", "--omega", "1,5"]
    asked = [*files, *MONTHS, *WINDOWS, *methods, "-o", out]
    result = call(*asked)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    for word in ("Sharpe", "CVaR", "turn", "PT", "EW", "MV", "5 assets, 160 days"):
        assert word in result.stdout
    written = sorted(path.name for path in out.iterdir() if path.is_file())
    assert written == sorted(
        ["daily.csv", "monthly.csv", "table.csv", "table.md", "wealth-1.png", "wealth-5.png",
         "weights-5-MV.png", "weights.csv"]
    )  # fmt: skip
    table = read_table(out / "table.csv")
    assert list(table.method) == ["PT", "PT", "EW", "EW", "MV", "MV"]
    assert (out / "table.md").read_text().startswith("| ω | method | loss |")
    done = {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    assert len(done) == 18
    assert call(*asked).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()} == done


def test_what_diverged_is_said_below_the_table(files, tmp_path, monkeypatch):
    even = Choice(np.full(5, 0.2), "diverged")
    monkeypatch.setattr(backtest, "choose", lambda *asked: even)
    out = tmp_path / "study"
    result = call(*files, *MONTHS, *WINDOWS, "--method", "SDRO", "-o", out)
    assert result.exit_code == 0, result.output
    sentence = "Training diverged for 3 of 3 choices of SDRO (forest)"
    assert flat(result.stdout).count(sentence) == 1
    assert not result.stderr
    assert sentence in (out / "table.md").read_text()
    assert list(read_table(out / "table.csv")["diverged"]) == [3]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--omega", "high"], "--omega takes numbers"),
        (["--omega", "5,-1"], "return_weight must not be negative, got -1.0"),
        (["--omega", "nan"], "return_weight must be finite"),
        (["--method", "XY"], "method must be one of"),
        (["--start", "1999-01"], "The market runs from"),
        (["--pool", "9"], "the market has 5"),
        (["--pool", "0"], "pool must be at least 2"),
        (["--holding", "0"], "holding must be at least 2"),
        (["--window", "500"], "a window of 500 needs an earlier start of the data"),
        (["--percent", "--prices"], "give one of the two"),
    ],
)
def test_what_cannot_be_used_is_refused(files, tmp_path, options, sentence):
    result = call(*files, *WINDOWS, *options, "-o", tmp_path / "study")
    assert result.exit_code != 0
    assert sentence in flat(result.output)


def test_both_files_are_needed_or_neither(files, tmp_path):
    result = call(*files[:2], "-o", tmp_path / "study")
    assert result.exit_code == 2
    assert "both files are needed" in flat(result.output)
    missing = tmp_path / "none.csv"
    result = call("--returns", missing, *files[2:], "-o", tmp_path / "study")
    assert result.exit_code == 1
    assert "There is no file" in flat(result.output)
