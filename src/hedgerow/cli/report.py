"""What ``hedgerow report`` does: read policies and a table, write the page, say so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from hedgerow.cli.screen import counting, print_facts, say
from hedgerow.data.encoder import numeric_column
from hedgerow.data.table_files import read_table
from hedgerow.estimator import RobustPolicy, load
from hedgerow.report import check_page_target, write_report

LARGE = 3_000_000
"""Bytes from which a page is worth a remark."""


@dataclass(frozen=True)
class ReportRequest:
    """What the report was asked to hold; None and empty leave it to the library."""

    against: list[Path]
    outcomes: list[str]
    row: int | None
    title: str | None
    unit: str
    loss_unit: str


def run(path: Path, data: Path, request: ReportRequest, out: Path) -> None:
    """Write the report of a policy on a table with outcomes."""
    check_page_target(out)
    policy = load(path)
    others = {_name(file, request.against): load(file) for file in request.against}
    table = read_table(data)
    Y = _outcomes(policy, path, table, data, request.outcomes)
    with counting("report") as progress:
        write_report(
            policy,
            table,
            Y,
            out,
            against=others,
            row=request.row,
            title=request.title,
            unit=request.unit,
            loss_unit=request.loss_unit,
            progress=progress,
        )
    size = out.stat().st_size
    print_facts(
        [
            ("policy", str(path)),
            ("data", f"{len(table):,} rows of {data}"),
            *([("against", ", ".join(map(str, request.against)))] if request.against else []),
            ("written", f"{out}, {size / 1e6:.2f} MB, one file that needs no network"),
        ]
    )
    if size > LARGE:
        say("The page is large because the rule is; some mail programs may refuse it.", "yellow")


def _outcomes(
    policy: RobustPolicy, path: Path, table: pd.DataFrame, data: Path, given: list[str]
) -> pd.DataFrame:
    """What then happened, by the names given or by those of training."""
    names = given or policy.outcome_names_
    if not names:
        raise ValueError(f"{path} holds no names of outcomes; name them with --outcome.")
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise ValueError(
            f"{data} has no column {missing[0]!r}: a report needs what then happened, to say what "
            "decisions cost; name other columns with --outcome."
        )
    columns = {name: numeric_column(table, name) for name in names}
    return pd.DataFrame(columns, dtype=np.float64)


def _name(file: Path, files: list[Path]) -> str:
    """What a policy is called by its file; the whole path where several files share a name."""
    alike = [other for other in files if other.stem == file.stem]
    return file.stem if len(alike) == 1 else str(file)
