"""What ``hedgerow reproduce`` does: choose studies, compute what is missing, write pages."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from hedgerow._files import check_target
from hedgerow.cli.screen import counting, print_facts, print_rows, say
from hedgerow_studies.paper.catalogue import catalogue
from hedgerow_studies.paper.market_study import Files, market
from hedgerow_studies.paper.pages import page_of
from hedgerow_studies.paper.pages.results_folder import (
    WHOLE,
    Results,
    made_now,
    write_index,
    write_study,
    written,
)
from hedgerow_studies.paper.study import Study, count_finished, finished, run, seconds, tasks
from hedgerow_studies.running import Engine

ALL = "all"


def show_list() -> None:
    """Print what there is to reproduce, and how much work it is."""
    studies = catalogue(None)
    rows = [
        [name, study.title, *(str(len(study.cells(scale))) for scale in ("quick", "full"))]
        for name, study in studies.items()
    ]
    print_rows(["name", "what", "cells, quick", "full"], rows, breaks=set())


def reproduce(
    names: list[str], scale: str, out: Path, engine: Engine, files: Files | None = None
) -> None:
    """Compute, draw and write."""
    studies = _chosen(names, catalogue(files))
    if files is not None:  # whatever is wrong with them is said now, whoever needs them
        market(files)
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file; give the name of a folder.")
    out.mkdir(parents=True, exist_ok=True)
    check_target(out / WHOLE)
    with counting("computing") as progress:
        rows = run(studies, scale, out, engine, progress)
    results = {
        s.name: Results(rows[s.name], made_now(s, scale, len(s.cells(scale)))) for s in studies
    }
    spent = seconds(studies, scale, out)
    index = _write(studies, results, scale, out, spent)
    print_facts(
        [
            ("studies", ", ".join(study.name for study in studies)),
            ("cells", f"{len(tasks(studies, scale)):,} in {out / 'cells'}"),
            ("written", f"data, figures and a summary each in {out}"),
            ("read", str(index)),
        ]
    )
    if scale != "full":
        say("These are few draws and short trainings; --full is what compares with the paper.")


def rewrite(names: list[str], scale: str, out: Path, files: Files | None = None) -> None:
    """Draw and write what has been computed, or what was written before where that is more."""
    studies = _chosen(names, catalogue(files))
    computed = finished(studies, scale, out)
    results = {}
    for study in studies:
        rows, before = computed[study.name], written(study, out)
        found = Results(rows, made_now(study, scale, count_finished(study, scale, out)))
        results[study.name] = found if len(rows) >= len(before.rows) else before
    there = [study for study in studies if results[study.name].rows]
    if not there:
        raise FileNotFoundError(f"{out} holds nothing of {', '.join(s.name for s in studies)}.")
    index = _write(there, results, scale, out, {})
    print_facts([("studies", ", ".join(study.name for study in there)), ("read", str(index))])


def _write(
    studies: list[Study],
    results: dict[str, Results],
    scale: str,
    out: Path,
    spent: dict[str, float],
) -> Path:
    """Draw and write every study, and the page that holds them all."""
    pages = {}
    with counting("drawing") as progress:
        for done, study in enumerate(studies):
            progress(done, len(studies), study.name)
            found = results[study.name]
            page = page_of(study, pd.DataFrame(found.rows))
            pages[study] = page._replace(text=f"{page.text.strip()}\n\n*{found.made}*\n")
            write_study(study, pages[study], found, out)
    return write_index(pages, out, scale, spent)


def _chosen(names: list[str], studies: dict[str, Study]) -> list[Study]:
    """Studies by name, in the paper's order, each once."""
    unknown = [name for name in names if name != ALL and name not in studies]
    if unknown:
        raise ValueError(
            f"There is no study {unknown[0]!r}; there are {', '.join(studies)}, and all."
        )
    return [s for name, s in studies.items() if ALL in names or name in names]
