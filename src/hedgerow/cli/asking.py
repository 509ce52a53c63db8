"""Commands that ask a policy: decide, evaluate, explain, export, report, radii and watch."""

from __future__ import annotations

import typer

from hedgerow.cli.app import app
from hedgerow.cli.asking_options import (
    DecideRequest,
    EvaluateRequest,
    ExplainRequest,
    ExportRequest,
    RadiiRequest,
    ReportRequest,
    WatchRequest,
)
from hedgerow.cli.loading import check_asked
from hedgerow.cli.options import asked_with
from hedgerow.cli.screen import guarded


@app.command(
    help="Decide for new rows: writes the table with the decisions added.\n\nA panel over time "
    "needs the series, dates and what is known ahead in NEW, and recent outcomes in --history.\n\n"
    "In CSV, texts that begin with = + - or @ get an apostrophe before them, so that no "
    "spreadsheet program runs them as formulas; numbers stay as they are."
)
@asked_with(DecideRequest)
def decide(request: DecideRequest) -> None:
    """Decide for new rows."""
    if request.perishable and request.on_hand is None:
        raise typer.BadParameter("goes with --on-hand.", param_hint="--perishable")
    with guarded():
        check_asked(request.policy, request.new, out=request.out, force=request.force)
        from hedgerow.cli import deciding

        deciding.decide(request)


@app.command()
@asked_with(EvaluateRequest)
def evaluate(request: EvaluateRequest) -> None:
    """Report what a policy's decisions would have cost."""
    with guarded():
        check_asked(request.policy, request.test)
        from hedgerow.cli import work

        work.prepare()
        work.evaluate(request)


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
    if request.series is not None and request.row is not None:
        raise typer.BadParameter("goes without --row, which has a series.", param_hint="--series")
    with guarded("Stopped."):
        check_asked(request.policy, request.data, out=request.figure, force=request.force)
        from hedgerow.cli.explain import run
        from hedgerow.cli.work import prepare

        prepare()
        run(request)


@app.command(
    help="Write a policy for places without hedgerow: an ONNX model, or a Python module that needs "
    "nothing but Python.\n\nBoth take a row's features to its decision, in the units of the data. "
    "The Python module also turns the table's text and dates into features; the ONNX model does "
    "not."
)
@asked_with(ExportRequest)
def export(request: ExportRequest) -> None:
    """Write a policy in another form."""
    with guarded("Stopped; nothing was written."):
        check_asked(request.policy)
        from hedgerow.cli.exporting import run

        run(request)


@app.command()
@asked_with(ReportRequest)
def report(request: ReportRequest) -> None:
    """Write one page for whoever decides: costs, worst case, reasons, and a live what-if."""
    with guarded("Stopped; nothing was written."):
        check_asked(request.policy, request.data, out=request.out, force=request.force)
        from hedgerow.cli.report import run
        from hedgerow.cli.work import prepare

        prepare()
        run(request)


@app.command(
    help="List radii: what each allows, what it costs if nothing changes, what it protects from."
    "\n\nThe policy is trained on DATA for every radius, unless --keep."
)
@asked_with(RadiiRequest)
def radii(request: RadiiRequest) -> None:
    """Show a menu of radii."""
    with guarded("Stopped."):
        from hedgerow.cli.promises import radii
        from hedgerow.cli.work import prepare

        prepare()
        radii(request)


@app.command(
    help="Watch a policy on what has arrived since: has the mean cost passed its bound, have the "
    "data moved, and which columns?\n\nLook as often as you like: --level is the chance of any "
    "false alarm, ever. Exit code 0: quiet; 3: the data have moved; 4: the cost has passed its "
    "bound."
)
@asked_with(WatchRequest)
def watch(request: WatchRequest) -> None:
    """Watch a policy."""
    with guarded("Stopped."):
        from hedgerow.cli.promises import watch_new
        from hedgerow.cli.work import prepare

        prepare()
        code = watch_new(request)
    raise typer.Exit(code)
