"""Commands that ask a policy: ``decide``, ``evaluate``, ``explain`` and ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.app import app
from hedgerow.cli.options import PolicyFile
from hedgerow.cli.screen import guarded


@app.command()
def decide(
    policy: PolicyFile,
    new: Annotated[Path, typer.Argument(help="Table of new contexts, CSV or Parquet.")],
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Table to write, .csv or .parquet; - prints."
        ),
    ] = "-",
) -> None:
    """Decide for new rows: writes the table with the decisions added."""
    with guarded():
        from hedgerow.cli import work

        work.prepare()
        work.decide(policy, new, None if out == "-" else Path(out))


@app.command()
def evaluate(
    policy: PolicyFile,
    test: Annotated[Path, typer.Argument(help="Table of contexts with outcomes, CSV or Parquet.")],
    outcome: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Outcome columns; default: those of training."),
    ] = None,
) -> None:
    """Report what a policy's decisions would have cost."""
    with guarded():
        from hedgerow.cli import work

        work.prepare()
        work.evaluate(policy, test, outcome)


@app.command(
    help="Say why a row's decision is what it is; without --row, what the policy looks at.\n\n"
    "Each feature's part is in the decision's units, and the parts add up to how far the decision "
    "is from the usual one."
)
def explain(
    policy: PolicyFile,
    data: Annotated[Path, typer.Argument(help="Table of contexts, CSV or Parquet.")],
    row: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Which row to explain; the first is 1.")
    ] = None,
    background: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Table to compare with; default: DATA itself."),
    ] = None,
    decision: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which decision; default: the most unusual one."),
    ] = None,
    top: Annotated[int, typer.Option(metavar="NUMBER", help="Features to list.", min=1)] = 10,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw it, .png or .pdf.")
    ] = None,
) -> None:
    """Explain one decision, or the policy."""
    for name, value in (("--background", background), ("--decision", decision)):
        if value is not None and row is None:
            raise typer.BadParameter("goes with --row.", param_hint=name)
    with guarded("Stopped."):
        from hedgerow.cli import explain as work_of_explain
        from hedgerow.cli.work import prepare

        prepare()
        request = work_of_explain.ExplainRequest(row, background, decision, top, figure)
        work_of_explain.run(policy, data, request)


@app.command()
def report(
    policy: PolicyFile,
    data: Annotated[Path, typer.Argument(help="Table of contexts with outcomes, CSV or Parquet.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Page to write, .html.")
    ] = Path("report.html"),
    against: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Another policy to compare with; may be repeated."),
    ] = None,
    outcome: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Outcome columns; default: those of training."),
    ] = None,
    row: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Row the what-if panel begins with; default: 1."),
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Heading of the page.")] = None,
    unit: Annotated[
        str, typer.Option(metavar="TEXT", help="What is decided on, such as portions.")
    ] = "",
    loss_unit: Annotated[
        str, typer.Option(metavar="TEXT", help="What losses are counted in, such as €.")
    ] = "",
) -> None:
    """Write one page for whoever decides: costs, worst case, reasons, and a live what-if."""
    with guarded("Stopped; nothing was written."):
        from hedgerow.cli import report as work_of_report
        from hedgerow.cli.work import prepare

        prepare()
        request = work_of_report.ReportRequest(
            against or [], outcome or [], row, title, unit, loss_unit
        )
        work_of_report.run(policy, data, request, out)
