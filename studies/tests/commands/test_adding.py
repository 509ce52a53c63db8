"""Commands of other packages: there where installed, one sentence where missing or broken."""

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest
import typer
from typer.testing import CliRunner

from hedgerow.cli.commands import ELSEWHERE, GROUP, add_commands
from hedgerow.cli.commands import app as installed


def flat(text):
    """Text without line breaks and frames."""
    return " ".join(text.replace("│", " ").split())


def made(*entries):
    """A command line with one command of its own, ``fit``, and what the entries add."""
    app = typer.Typer(rich_markup_mode="rich")

    @app.command()
    def fit() -> None:
        """Learn."""
        print("fitted")

    add_commands(app, [EntryPoint(name, value, GROUP) for name, value in entries])
    return app


def call(app, *words):
    return CliRunner().invoke(app, words, env={"COLUMNS": "80"})


def greet(name: str, loud: bool = False) -> None:
    """Say hello to
    somebody.

    Loudly, if
    need be.
    """
    print(f"hello {name}{'!' if loud else ''}")


def odd(anything: list[list[int]]) -> None:
    """A signature that Typer cannot read."""


greeting = "a text"
HERE = __name__


def test_an_installed_command_is_there_with_its_options_and_help():
    app = made(("greet", f"{HERE}:greet"))
    assert call(app, "greet", "you", "--loud").stdout == "hello you!\n"
    assert "Say hello to somebody." in call(app, "--help").stdout
    assert "Loudly, if need be." in call(app, "greet", "--help").stdout


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_known_command_that_is_not_installed_says_how_to_get_it(name):
    app = made()
    sentence = f"hedgerow {name} comes with hedgerow-studies: pip install hedgerow-studies."
    result = call(app, name, "all", "--full", "-o", "study")
    assert result.exit_code == 1
    assert flat(result.output) == sentence
    assert name in call(app, "--help").stdout
    assert sentence in flat(call(app, name, "--help").stdout)
    assert call(app, "fit").stdout == "fitted\n"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("no_such_package.commands:greet", "ModuleNotFoundError: No module named"),
        (f"{HERE}:nothing", "AttributeError"),
        (f"{HERE}:greeting", "Error"),
        (f"{HERE}:odd", "Error"),
        ("studies.tests.commands.broken:greet", "RuntimeError: no such thing as [/bold] here"),
    ],
)
def test_a_broken_package_costs_its_own_command_and_one_sentence(value, why):
    app = made(("greet", value))
    assert call(app, "fit").stdout == "fitted\n"
    assert "greet" in call(app, "--help").stdout
    result = call(app, "greet", "you", "--loud")
    assert result.exit_code == 1
    said = flat(result.output)
    module = value.split(":")[0]
    assert said.startswith(f"hedgerow greet cannot be used, because {module}, which adds it,")
    assert why in said
    assert said.endswith("): install it again, or remove it.")


def test_nobody_replaces_a_command_that_is_there():
    app = made(("fit", f"{HERE}:greet"))
    assert call(app, "fit").stdout == "fitted\n"


def test_the_studies_add_theirs():
    listed = call(installed, "--help").stdout
    for sentence in ("Backtest portfolio rules on a market", "Recompute figures and tables of"):
        assert sentence in listed
    assert "--covariates" in call(installed, "portfolio", "--help").stdout


def test_the_whole_command_without_studies():
    """In a process of its own, where no package has entry points."""
    script = (
        "import importlib.metadata\n"
        "importlib.metadata.entry_points = lambda **which: ()\n"
        "from hedgerow.cli import main\n"
        "main()\n"
    )
    asked = [sys.executable, "-c", script, "reproduce", "all"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert found.stdout == ""
    assert found.stderr.strip() == (
        "hedgerow reproduce comes with hedgerow-studies: pip install hedgerow-studies."
    )
