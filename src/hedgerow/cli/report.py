"""What ``hedgerow report`` does: read policies and a table, write the page, say so."""

from __future__ import annotations

from pathlib import Path

from hedgerow.cli.loading import load_policy
from hedgerow.cli.options import ReportRequest
from hedgerow.cli.screen import counting, print_facts, say
from hedgerow.cli.columns import outcomes_of
from hedgerow.data.table_files import read_table
from hedgerow.report import check_page_target, write_report

LARGE = 3_000_000
"""Bytes from which a page is worth a remark."""


def run(request: ReportRequest) -> None:
    """Write the report of a policy on a table with outcomes."""
    out, data = check_page_target(request.out, overwrite=request.force), request.data
    policy, table = load_policy(request.policy), read_table(data)
    against = request.against or []
    missing = [
        name for name in request.outcomes or policy.outcome_names_ or () if name not in table
    ]
    if missing:
        raise ValueError(
            f"{data} has no column {missing[0]!r}: a report needs what then happened, to say what "
            "decisions cost; name other columns with --outcome."
        )
    with counting("report") as progress:
        write_report(
            policy,
            table,
            outcomes_of(policy, request.policy, table, request.outcomes),
            out,
            against={_name(file, against): load_policy(file) for file in against},
            row=request.row,
            title=request.title,
            unit=request.unit,
            loss_unit=request.loss_unit,
            progress=progress,
        )
    size = out.stat().st_size
    print_facts(
        [
            ("policy", str(request.policy)),
            ("data", f"{len(table):,} rows of {data}"),
            *([("against", ", ".join(map(str, against)))] if against else []),
            ("written", f"{out}, {size / 1e6:.2f} MB, one file that needs no network"),
        ]
    )
    if size > LARGE:
        say("The page is large because the rule is; some mail programs may refuse it.", "yellow")


def _name(file: Path, files: list[Path]) -> str:
    """What a policy is called by its file; the whole path where several files share a name."""
    alike = [other for other in files if other.stem == file.stem]
    return file.stem if len(alike) == 1 else str(file)
