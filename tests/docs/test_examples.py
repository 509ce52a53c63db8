"""Examples and the README's code run as they stand, so that they cannot rot."""

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "building"))

import gallery  # noqa: E402 (they belong to the site, which is no package)
import reference  # noqa: E402

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
    monkeypatch.setattr(sys, "argv", [name])
    runpy.run_path(str(ROOT / "docs" / "examples" / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed
    if name in gallery.ORDER:
        assert (tmp_path / f"{name}.png").stat().st_size > 5_000
        assert words(printed) == words(gallery.read(ROOT, name).output), "run `make gallery`"


def words(printed):
    """What was printed but for its numbers, which differ by machine."""
    return re.sub(r"[-+−\d.,\s\[\]()]+", " ", printed).strip()


def test_the_gallery_has_every_example_with_its_picture():
    shown = set(gallery.ORDER)
    assert {path.stem for path in EXAMPLES} == shown | {"planner_export"}  # the guide shows that
    for name in shown:
        example = gallery.read(ROOT, name)
        assert example.title
        assert example.about
        assert example.output
        assert (ROOT / "docs" / "gallery" / f"{name}.png").stat().st_size > 5_000


@pytest.mark.parametrize("page", some_later(PAGES))
def test_code_on_pages_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    namespace = {}
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)


def test_links_in_documents_lead_somewhere():
    """To a file, or to a page of the API reference, which is made when the site is built."""
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    made = {(ROOT / "docs" / page).resolve() for page in reference.pages()}
    for document in documents:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", document.read_text()):
            place = (document.parent / target).resolve()
            assert place.exists() or place in made, f"{document.name} links to {target}"
