"""Examples and the README's code run as they stand, so that they cannot rot."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
PAGES = [
    "README.md",
    "docs/index.md",
    "docs/investor.md",
    "docs/researcher.md",
    "docs/censoring.md",
    "docs/choosing.md",
    "docs/explain.md",
    "docs/forecasts.md",
    "docs/panels.md",
    "docs/promise.md",
    "docs/report.md",
    "docs/robustness.md",
    "docs/two_stage.md",
    "docs/portfolio.md",
    "docs/reproduce.md",
]
FAST = ("custom_loss", "docs/explain.md")
"""One example and one page; the others train for some seconds each."""


def some_later(names):
    marks = {True: (), False: pytest.mark.slow}
    return [pytest.param(name, marks=marks[name in FAST], id=name) for name in names]


@pytest.mark.parametrize("name", some_later(path.stem for path in EXAMPLES))
def test_example_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "docs" / "examples" / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out


def test_there_are_examples():
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize("page", some_later(PAGES))
def test_code_on_pages_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    namespace = {}
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)


def test_links_in_documents_lead_somewhere():
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
