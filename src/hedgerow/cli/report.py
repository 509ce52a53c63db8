"""What ``hedgerow report`` does: read policies and a table, write the page, say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from hedgerow.cli.asking_options import ReportRequest
from hedgerow.cli.loading import load_policy, load_stored
from hedgerow.cli.named_columns import outcomes_of
from hedgerow.cli.panels.tables import (
    check_rows,
    chosen_series,
    history_of,
    refuse_without_history,
    told_of,
)
from hedgerow.cli.reading import read
from hedgerow.cli.screen import counting, print_facts, say
from hedgerow.panels import PanelPolicy
from hedgerow.report import check_page_target, write_report

ORDERS = "Your own orders"
LARGE = 3_000_000
"""Bytes from which a page is worth a remark."""


def run(request: ReportRequest) -> None:
    """Write the report of a policy on a table with outcomes."""
    out, data = check_page_target(request.out, overwrite=request.force), request.data
    policy = load_stored(request.policy)
    table = read(data, request, policy)
    if isinstance(policy, PanelPolicy):
        _of_panel(policy, table, request, out)
        return
    for name in ("history", "series"):
        if getattr(request, name) is not None:
            raise ValueError(
                f"--{name.replace('_', '-')} is understood for panels; {request.policy} holds a "
                "policy of single rows."
            )
    against = request.against or []
    missing = [
        name for name in request.outcomes or policy.outcome_names_ or () if name not in table
    ]
    if missing:
        raise ValueError(
            f"{data} has no column {missing[0]!r}: a report needs what then happened, to say what "
            "decisions cost; name other columns with --outcome."
        )
    rivals: dict[str, Any] = {_name(file, against): load_policy(file) for file in against}
    if request.against_column is not None:
        rivals[ORDERS] = [name.strip() for name in request.against_column.split(",")]
    with counting("report") as progress:
        write_report(
            policy,
            table,
            outcomes_of(policy, request.policy, table, request.outcomes),
            out,
            against=rivals,
            row=request.row,
            time=request.time,
            title=request.title,
            unit=request.unit,
            loss_unit=request.loss_unit,
            progress=progress,
        )
    named = [*map(str, against), *filter(None, [request.against_column])]
    _tell(request, table, out, [("against", ", ".join(named))] if named else [])


def _of_panel(panel: PanelPolicy, table: pd.DataFrame, request: ReportRequest, out: Path) -> None:
    """Write the report of a panel: an overview over series, and a page for each that was named."""
    from hedgerow.report import write_panel_report

    for name in ("against", "row", "outcomes", "time"):
        if getattr(request, name) is not None:
            option = {"outcomes": "outcome"}.get(name, name)
            raise ValueError(f"--{option} is not understood for panels.")
    history = history_of(panel, request)
    check_rows(panel, table, request.data)
    refuse_without_history(panel, table, history, request.data)
    series = [chosen_series(panel, text) for text in request.series or []]
    column = request.against_column
    with counting("report") as progress, told_of(request.history or request.data, request.data):
        write_panel_report(
            panel,
            table,
            out,
            history=history,
            series=series,
            against={ORDERS: column} if column else None,
            title=request.title,
            unit=request.unit,
            loss_unit=request.loss_unit,
            progress=progress,
        )
    _tell(request, table, out, [])


def _tell(
    request: ReportRequest, table: pd.DataFrame, out: Path, more: list[tuple[str, str]]
) -> None:
    """Say what was written."""
    size = out.stat().st_size
    print_facts(
        [
            ("policy", str(request.policy)),
            ("data", f"{len(table):,} rows of {request.data}"),
            *more,
            ("written", f"{out}, {size / 1e6:.2f} MB, one file that needs no network"),
        ]
    )
    if size > LARGE:
        say("The page is large because the rule is; some mail programs may refuse it.", "yellow")


def _name(file: Path, files: list[Path]) -> str:
    """What a policy is called by its file; the whole path where several files share a name."""
    alike = [other for other in files if other.stem == file.stem]
    return file.stem if len(alike) == 1 else str(file)
