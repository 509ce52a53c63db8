"""Names are not markup: whatever a table calls its columns, every command shows it and goes on."""

import io
import os
import pty
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from rich.console import Console
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow import _progress, demo, plots
from hedgerow.cli import screen
from hedgerow.cli.commands import app

TITLE = "\x1b]0;owned\x07"
CLEAR = "\x1b[2J"
OUTCOME = f"demand[/d]{CLEAR}"
ACTING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
FIT = ["--holding", "1", "--stockout", "3", "--rule", "affine", "--steps", "20", "--model", "erm"]
PLAIN, TERMINAL = (CliRunner(env={"COLUMNS": "200", **more}) for more in ({}, {"FORCE_COLOR": "1"}))


def hostile(rows=40):
    rng = np.random.default_rng(0)
    sky = np.tile(["[/x]", "[link=https://example.org]sun[/link]"], rows // 2)
    return pd.DataFrame(
        {
            "sky[/b]": sky,
            f"wind{TITLE}": rng.uniform(0, 9, rows).round(2),
            "rain\nfall": rng.uniform(0, 1, rows).round(2),
            "$x_1$": rng.uniform(0, 1, rows).round(2),
            "$broken_{$": rng.uniform(0, 1, rows).round(2),
            "\u202ereversed": rng.uniform(0, 1, rows).round(2),
            "c\x9b2J": rng.choice([f"a{TITLE}", "=1+1", ":smile:"], rows),
            OUTCOME: (rng.uniform(5, 9, rows) + 9 * (sky == "[/x]")).round(2),
        }
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("[bold]hostile")
    data, policy = folder / "data[/i].csv", folder / "[red]policy.hedgerow"
    data.parent.mkdir()
    hostile().to_csv(data, index=False)
    result = call(PLAIN, "fit", data, "--outcome", OUTCOME, *FIT, "-o", policy)
    assert result.exit_code == 0, result.output
    return data, policy, result


def call(runner, *arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def check(text, *seen):
    assert not ACTING.search(text), ACTING.search(text)
    for name in seen:
        assert name in text


NAMES = ("sky[/b]", "wind\\x1b]0;owned\\x07", "rain\\nfall", "$x_1$", "\\u202ereversed", "c\\x9b2J")


@pytest.mark.parametrize(
    ("command", "seen"),
    [
        (["evaluate"], ("data[/i].csv", "[red]policy")),
        (["explain"], (*NAMES, "sky[/b] is [")),
        (["explain", "--row", "1"], (*NAMES, "[/x]")),
        (["report", "--force", "-o", "page[bold].html"], ("page[bold].html",)),
    ],
)
def test_every_command_shows_names_as_they_are(files, tmp_path, monkeypatch, command, seen):
    monkeypatch.chdir(tmp_path)
    data, policy, _ = files
    name, *options = command
    result = call(PLAIN, name, policy, data, *options)
    assert result.exit_code == 0, result.output
    check(result.output, *seen)
    result = call(TERMINAL, name, policy, data, *options)
    assert result.exit_code == 0, result.output
    for sequence in (TITLE, CLEAR, "\x9b", "\u202e", "\x1b]8"):  # ]8 begins a link
        assert sequence not in result.output


def test_fit_shows_names_as_they_are(files):
    check(files[2].output, *NAMES, "demand[/d]\\x1b[2J")


def test_search_shows_names_as_they_are(files, tmp_path):
    asked = ["--outcome", OUTCOME, *FIT, "--search", "folds", "-o", tmp_path / "p.hedgerow"]
    result = call(PLAIN, "fit", files[0], *asked)
    assert result.exit_code == 0, result.output
    check(result.output, *NAMES)


def test_a_page_shows_names_as_they_are(files, tmp_path):
    data, policy, _ = files
    assert call(PLAIN, "report", policy, data, "-o", tmp_path / "r.html").exit_code == 0
    page = (tmp_path / "r.html").read_text()
    check(page, "sky[/b]", "wind\\x1b]0;owned\\x07")
    assert "\\u202e" in page


@pytest.mark.parametrize("option", [[], ["--row", "1"]])
def test_figures_show_names_as_they_are(files, tmp_path, monkeypatch, option):
    data, policy, _ = files
    drawn = []
    monkeypatch.setattr(plots, "save_figure", lambda figure, path: drawn.append(figure))
    result = call(PLAIN, "explain", policy, data, *option, "--figure", tmp_path / "f.png")
    assert result.exit_code == 0, result.output
    texts = [text for text in drawn[0].findobj(Text) if "$" in text.get_text()]
    assert {"$x_1$", "$broken_{$"} <= {text.get_text().split(" =")[0] for text in texts}
    assert not any(text.get_parse_math() for text in texts)
    drawn[0].canvas.draw()


def test_labels_of_curves_are_names(tmp_path):
    table = hostile()
    X, y = table[["$x_1$", "$broken_{$"]], table[OUTCOME].rename("$y^$")
    policy = hr.RobustPolicy(hr.Newsvendor(1, 3), hr.ERM(), hr.Affine(), random_state=0).fit(X, y)
    for figure in (
        plots.decision_curve({"$a_$": policy}, X, "$broken_{$", y),
        plots.importance({"$a_$": hr.explain.importance(policy, X)}),
        plots.training_curve(policy),
    ):
        plots.save_figure(figure, tmp_path / "f.png")


def test_mistakes_show_names_as_they_are(files, tmp_path):
    data, policy, _ = files
    strange = tmp_path / f"strange{CLEAR}.csv"
    hostile().drop(columns="$x_1$").to_csv(strange, index=False)
    for arguments, message in (
        (["fit", data, "--outcome", "sales", *FIT], "the table has sky[/b], wind\\x1b]0;"),
        (["decide", policy, strange], "it has sky[/b], wind\\x1b]0;"),
        (["decide", policy, tmp_path / f"none{TITLE}.csv"], "none\\x1b]0;owned\\x07.csv"),
        (["decide", tmp_path / f"none{TITLE}", data], "none\\x1b]0;owned\\x07"),
        (["fit", strange, "--outcome", OUTCOME, *FIT, "-o", f"{TITLE}/x"], "\\x1b]0;owned"),
    ):
        result = call(PLAIN, *arguments)
        assert result.exit_code == 1
        assert result.stderr.count("\n") == 1
        check(result.output, message)


@pytest.mark.parametrize(
    "arguments",
    [
        ["decide", "a", "b", f"extra{CLEAR}"],
        [f"fit{CLEAR}"],
        ["decide", f"--{CLEAR}"],
        ["fit", "a.csv", "--outcome", CLEAR, "--outcome", CLEAR, *FIT],
        ["fit", "a.csv", "--outcome", "a", "--rule", CLEAR],
    ],
)
def test_wrong_usage_shows_what_was_typed(arguments):
    result = call(PLAIN, *arguments)
    assert result.exit_code == 2
    check(result.output, "\\x1b[2J")


def test_warnings_show_names_as_they_are(capsys):
    with screen.guarded():
        warnings.warn(f"odd [/b] {CLEAR}\nname", stacklevel=1)
    assert capsys.readouterr().err == "Warning: odd [/b] \\x1b[2J name\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_shows_names_as_they_are(monkeypatch, terminal):
    monkeypatch.setattr(_progress, "BETWEEN_LINES", 0.0)
    out = Console(file=io.StringIO(), force_terminal=terminal, width=80, color_system=None)
    with _progress.stages(out, keep=True) as stage, stage(f"a[/b]{TITLE}") as report:
        report(1, 2, f"[/x]{CLEAR}")
    assert "a[/b]\\x1b]0;owned\\x07" in out.file.getvalue()
    assert "[/x]\\x1b[2J" in out.file.getvalue()
    assert TITLE not in out.file.getvalue()


@pytest.mark.slow
def test_the_demonstration_shows_its_folder_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "_save", lambda *_: None)
    out = Console(file=io.StringIO(), width=300)
    demo.run(tmp_path / f"a[/b]{CLEAR}", console=out, steps=5, open_page=False, stores=2)
    assert "a[/b]\\x1b[2J in" in out.file.getvalue()


class TestDecisions:
    """What ``decide`` writes: data as they are, unless a terminal or a spreadsheet reads them."""

    def test_files_hold_what_tables_held_and_no_formulas(self, files, tmp_path):
        data, policy, _ = files
        for name, options, formula in (
            ("a.csv", [], "'=1+1"),
            ("b.csv", ["--raw-text"], "=1+1"),
            ("c.parquet", [], "=1+1"),
        ):
            result = call(PLAIN, "decide", policy, data, "-o", tmp_path / name, *options)
            assert result.exit_code == 0, result.output
            read = pd.read_csv if name.endswith("csv") else pd.read_parquet
            found = read(tmp_path / name)
            assert list(found.columns) == [*hostile().columns, "decision", "outside"]
            assert set(found["c\x9b2J"]) == {f"a{TITLE}", formula, ":smile:"}
            assert (found["$x_1$"] == hostile()["$x_1$"]).all()

    def test_a_pipe_gets_the_text_as_it_is(self, files):
        data, policy, _ = files
        printed = call(PLAIN, "decide", policy, data, "--raw-text").stdout_bytes
        found = pd.read_csv(io.BytesIO(printed)).drop(columns=["decision", "outside"])
        pd.testing.assert_frame_equal(found, hostile(), check_dtype=False)

    def test_help_says_so(self):
        assert "apostrophe" in call(PLAIN, "decide", "--help").stdout

    @pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
    @pytest.mark.slow
    def test_a_terminal_is_not_acted_upon(self, files):
        data, policy, _ = files
        ours, theirs = pty.openpty()
        asked = [sys.executable, "-m", "hedgerow", "decide", str(policy), str(data)]
        with subprocess.Popen(asked, stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            said = b""
            try:
                while piece := os.read(ours, 1 << 16):
                    said += piece
            except OSError:  # the other end was closed
                pass
            os.close(ours)
        assert process.returncode == 0
        check(said.decode().replace("\r\n", "\n"), "sky[/b]", "wind\\x1b]0;owned\\x07")
