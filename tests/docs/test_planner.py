"""The planner's guide: its commands run, one after the other, and say what the page says."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "planner.md").read_text()
SAID = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
LEFT_OUT = "…"


def plain(line):
    """A line without its numbers, which differ by machine, and without its spacing."""
    return re.sub(r"[\s\d.,−-]+", " ", line).strip()


def steps():
    """Every command of the page with the lines that it is said to print."""
    for block in SAID:
        command, *output = block.splitlines()
        assert command.startswith("$ "), command
        yield command[2:], [line for line in output if line and line != LEFT_OUT]


def test_the_page_goes_all_the_way():
    commands = [shlex.split(command) for command, _ in steps()]
    done = [words[1] for words in commands if words[0] == "hedgerow"]
    assert list(dict.fromkeys(done)) == ["fit", "evaluate", "report", "decide", "explain"]


def test_options_of_the_page_exist():
    from typer.main import get_command

    from hedgerow.cli.commands import app

    known = {
        name: {option for parameter in command.params for option in parameter.opts}
        for name, command in get_command(app).commands.items()
    }
    for command, _ in steps():
        program, name, *words = shlex.split(command)
        if program == "hedgerow":
            options = {word for word in words if word.startswith("-")}
            assert options <= known[name], (name, options - known[name])


@pytest.mark.slow
def test_the_transcript_is_what_happens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    (tmp_path / "docs").mkdir()
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    programs = {"python": [sys.executable], "hedgerow": [sys.executable, "-m", "hedgerow"]}
    for command, expected in steps():
        program, *words = shlex.split(command)
        done = subprocess.run(
            [*programs[program], *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        printed = iter([plain(line) for line in done.stdout.splitlines()])
        for line in expected:
            assert plain(line) in printed, f"{command}\nprints no line {line!r}:\n{done.stdout}"
    orders = (tmp_path / "orders.csv").read_text(encoding="utf-8-sig").splitlines()
    assert len(orders) == 13
    place = orders[0].split(";").index("order")
    placed = [row.split(";")[place].replace(",", ".") for row in orders[1:]]
    assert all(float(order) % 5 == 0 for order in placed)
    shown = re.search(r"^    Datum;.*;outside\n    .*$", PAGE, re.MULTILINE)
    assert shown, "the page shows no orders"
    header, row = shown.group().split("\n")
    assert header.strip() == orders[0]
    assert plain(row) in [plain(order) for order in orders]
    assert (tmp_path / "april.html").stat().st_size > 50_000
