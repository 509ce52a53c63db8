"""Commands that ask a policy: ``decide``, ``evaluate``, ``explain`` and ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.app import app
from hedgerow.cli.options import (
    OUT,
    ExplainRequest,
    Force,
    Outcomes,
    PolicyFile,
    ReportRequest,
    asked_with,
    option,
)
from hedgerow.cli.screen import guarded


@app.command()
def decide(
    policy: PolicyFile,
    new: Annotated[Path, typer.Argument(help="Table of new contexts, CSV or Parquet.")],
    out: Annotated[str, option("FILE", "Table to write, .csv or .parquet; - prints.", *OUT)] = "-",
    force: Force = False,
    raw_text: Annotated[
        bool, typer.Option("--raw-text", help="Leave texts in CSV that look like formulas alone.")
    ] = False,
) -> None:
    """Decide for new rows: writes the table with the decisions added.

    In CSV, texts that begin with = + - or @ get an apostrophe before them, so that no spreadsheet
    program runs them as formulas; numbers stay as they are.
    """
    with guarded():
        from hedgerow.cli import work

        work.prepare()
        target = None if out == "-" else Path(out)
        work.decide(policy, new, target, force=force, raw_text=raw_text)


@app.command()
def evaluate(
    policy: PolicyFile,
    test: Annotated[Path, typer.Argument(help="Table of contexts with outcomes, CSV or Parquet.")],
    outcomes: Outcomes = None,
) -> None:
    """Report what a policy's decisions would have cost."""
    with guarded():
        from hedgerow.cli import work

        work.prepare()
        work.evaluate(policy, test, outcomes)


@app.command(
    help="Say why a row's decision is what it is; without --row, what the policy looks at.\n\n"
    "Each feature's part is in the decision's units, and the parts add up to how far the decision "
    "is from the usual one."
)
@asked_with(ExplainRequest)
def explain(request: ExplainRequest) -> None:
    """Explain one decision, or the policy."""
    for name in ("background", "decision"):
        if getattr(request, name) is not None and request.row is None:
            raise typer.BadParameter("goes with --row.", param_hint=f"--{name}")
    with guarded("Stopped."):
        from hedgerow.cli.explain import run
        from hedgerow.cli.work import prepare

        prepare()
        run(request)


@app.command()
@asked_with(ReportRequest)
def report(request: ReportRequest) -> None:
    """Write one page for whoever decides: costs, worst case, reasons, and a live what-if."""
    with guarded("Stopped; nothing was written."):
        from hedgerow.cli.report import run
        from hedgerow.cli.work import prepare

        prepare()
        run(request)
