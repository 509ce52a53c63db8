"""Writing what came of studies: data, figures and a page each, and an index that holds them all.

    FOLDER/paper.md                 everything, one study after the other
    FOLDER/fig4/data.parquet        every row
    FOLDER/fig4/fig4.png, .pdf      the figure
    FOLDER/fig4/summary.md          what was found, beside what was published

Data and summaries depend on results only, and say which numbers of the library they were made
with; when, where and how long is said in paper.md alone.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from hedgerow._files import whole_file
from hedgerow._version import NUMERICS, __version__
from hedgerow.data.table_writing import write_table
from hedgerow.plots import save_figure
from hedgerow_studies.paper.pages.study_page import Page, markdown_table
from hedgerow_studies.paper.study import Row, Study
from hedgerow_studies.versions import libraries

WHOLE = "paper.md"
SCALES = {
    "tiny": "tiny: for tests, its figures mean nothing",
    "quick": "quick: few sizes, few draws, short trainings; a first look",
    "full": "full: sizes and draws as in the paper",
}


MADE = "made"
UNKNOWN = "Computed by an earlier version of hedgerow, and not again since."


class Results(NamedTuple):
    """Rows of a study, and a sentence on what they were computed with."""

    rows: list[Row]
    made: str


def made_now(study: Study, scale: str, done: int) -> str:
    """What this version computed, and how much of the study that is."""
    wanted = len(study.cells(scale))
    part = "" if done == wanted else f", {done} of {wanted} cells"
    return f"Computed by hedgerow {__version__}, numerics {NUMERICS}; scale {scale}{part}."


def write_study(study: Study, page: Page, results: Results, folder: Path) -> None:
    """Write a study's data, figures and summary into a folder of its own."""
    place = folder / study.name
    place.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame(results.rows)
    table.attrs[MADE] = results.made
    write_table(table, place / "data.parquet")
    for name, figure in page.figures.items():
        for suffix in ("png", "pdf"):
            save_figure(figure, place / f"{name}.{suffix}")
    _write(place / "summary.md", _summary(study, page, ""))


def written(study: Study, folder: Path) -> Results:
    """Return what was written of a study before; no rows if there is nothing."""
    path = folder / study.name / "data.parquet"
    if not path.exists():
        return Results([], UNKNOWN)
    table = pd.read_parquet(path)
    return Results(table.to_dict("records"), table.attrs.get(MADE, UNKNOWN))


def write_index(
    finished: dict[Study, Page], folder: Path, scale: str, seconds: dict[str, float]
) -> Path:
    """Write the page that holds them all, and return its path."""
    parts = [
        "# The paper, recomputed\n",
        f"Studies: {', '.join(study.name for study in finished)}.\n",
        markdown_table(["what", "how"], _facts(scale, seconds)),
        *_in_short(finished),
        *(_summary(study, page, f"{study.name}/") for study, page in finished.items()),
    ]
    path = folder / WHOLE
    _write(path, "\n".join(parts))
    return path


def _summary(study: Study, page: Page, where: str) -> str:
    images = [f"![{study.title}]({where}{name}.png)\n" for name in page.figures]
    return "\n".join([f"## {study.name}: {study.title}\n", *images, page.text.strip() + "\n"])


def _in_short(finished: dict[Study, Page]) -> list[str]:
    """What there is to know first, study by study; nothing if no study has a headline."""
    rows = [[study.name, *line] for study, page in finished.items() for line in page.headlines]
    if not rows:
        return []
    note = (
        "P is prescriptiveness: the percentage of a baseline's excess over the oracle (for "
        "portfolios: over hindsight) that was saved. The baseline is ours, on the same draws, and "
        "named; ERM stopped early is the fair one. The published P refers to a baseline of its "
        "own, which is rerun in the studies newsvendor, inventory and portfolio.\n"
    )
    return ["## In short\n", markdown_table(["study", "what", "here", "published"], rows), note]


def _facts(scale: str, seconds: dict[str, float]) -> list[list[str]]:
    """Scale, versions, machine and time, for a reader who wants to do it again."""
    releases = ", ".join(f"{name} {number}" for name, number in libraries().items())
    total = sum(seconds.values())
    slowest = sorted(seconds, key=lambda name: -seconds[name])[:4]
    each = ", ".join(f"{name} {_duration(seconds[name])}" for name in slowest)
    return [
        ["scale", SCALES[scale]],
        ["seeds", "draws 0, 1, … of each problem; everything tuned was tuned on others"],
        ["hedgerow", f"{__version__}, numerics {NUMERICS}"],
        ["libraries", f"Python {platform.python_version()}, {releases}"],
        ["machine", f"{_processor()}, {os.cpu_count()} cores, {platform.system()}"],
        *([["computing", f"{_duration(total)} of one core, most of it: {each}"]] if total else []),
    ]


def _processor() -> str:
    """What the processor calls itself, where that can be read."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes else f"{seconds:.0f} s"


def _write(path: Path, text: str) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
