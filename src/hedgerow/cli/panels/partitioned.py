"""Panels in folders of Parquet files: learned from and decided for file by file."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hedgerow.cli.asking_options import DecideRequest
from hedgerow.cli.panel_options import dashed
from hedgerow.cli.screen import say
from hedgerow.panels import Engine, PanelPolicy, decide_partitions, files_of, fit_partitions

OF_TABLES = ("lot", "least_order", "most_order", "on_hand")
"""Options that wait for one table."""


def rows_in(folder: Path) -> int:
    """Rows of all files, which they say themselves."""
    from pyarrow.parquet import read_metadata

    return sum(read_metadata(file).num_rows for file in files_of(folder))


def fit_folder(panel: PanelPolicy, folder: Path, y: str | None, work: Path | None) -> None:
    """Learn from a folder; mapped rows go to ``work``, or to a folder that is then removed."""
    engine = Engine(panel.engine, panel.n_jobs, panel.scheduler)
    if work is not None:
        fit_partitions(panel, folder, work, y, engine)
        return
    with TemporaryDirectory(dir=folder.parent, prefix=".hedgerow-") as temporary:
        fit_partitions(panel, folder, temporary, y, engine)


def decide_folder(panel: PanelPolicy, request: DecideRequest) -> None:
    """Decide for a folder, and write another; files that are finished are kept."""
    for name in OF_TABLES:
        if getattr(request, name) is not None:
            raise ValueError(f"--{dashed(name)} is for one table, not for a folder of them.")
    if request.out == "-":
        raise ValueError(f"{request.new} is a folder: name a folder for decisions with --out.")
    if request.history is not None and not request.history.is_dir():
        raise ValueError(
            f"{request.new} is a folder, so --history must be one, too, with files of the same "
            f"names; {request.history} is none."
        )
    engine = Engine(request.engine, request.jobs, request.scheduler)
    written = decide_partitions(panel, request.new, request.out, request.history, engine)
    say(f"Wrote decisions for {len(written):,} files to {request.out}.", stderr=True)
