"""Commands that learn: ``demo`` and ``fit``; JAX waits until work begins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.app import app
from hedgerow.cli.cost_options import cost_mistakes
from hedgerow.cli.options import (
    OUT,
    FitRequest,
    Model,
    ProblemKind,
    RuleKind,
    Search,
    Seed,
    asked_with,
    cost_columns,
    is_number,
    option,
    repeated,
)
from hedgerow.cli.panel_options import dashed, panel_mistakes
from hedgerow.cli.screen import guarded
from hedgerow.describe.text import quoted


@app.command()
def demo(
    out: Annotated[Path, option("FOLDER", "Folder to write into.", *OUT)] = Path("hedgerow-demo"),
    seed: Seed = 0,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Do not open the page in a browser.")
    ] = False,
) -> None:
    """Order for a real bakery chain: learn, promise, test on a year, show why (half a minute)."""
    with guarded():
        from hedgerow.cli.work import prepare
        from hedgerow.demo import run

        prepare()
        run(out, seed=seed, open_page=not no_open)


@app.command(
    help="Learn a policy from a table and save it.\n\nText columns are one-hot encoded and dates "
    "split into weekday, month and day of the year; the policy file remembers how. Ctrl-C stops "
    "training and keeps what was learned; a search or a panel that is stopped saves nothing.\n\n"
    "With --by the table holds many series, and the policy is one for all of them."
)
@asked_with(FitRequest)
def fit(request: FitRequest) -> None:
    """Check what only the options can tell, then learn."""
    try:
        mistakes = list(_mistakes(request))
    except ValueError as error:  # of a file or of --set
        raise typer.BadParameter(str(error)) from None
    for name, mistake in mistakes:
        raise typer.BadParameter(mistake, param_hint=f"--{name}")
    with guarded(_stopped(request)):
        from hedgerow.cli import work

        work.prepare()
        work.fit(request)


def _stopped(request: FitRequest) -> str:
    """What is said of an interrupt."""
    if request.resume is None:
        return "Stopped; nothing was saved."
    return f"Stopped; the same command goes on with what {request.resume} holds."


def _mistakes(request: FitRequest) -> Iterator[tuple[str, str]]:
    """Options that do not go together, and why."""
    given = {name for name, value in vars(request).items() if value is not None}
    own_loss = "loss" in request.sections
    newsvendor = request.problem == ProblemKind.newsvendor
    portfolio = request.problem == ProblemKind.portfolio
    outcomes = len(request.outcomes)
    twice = repeated(request.outcomes)
    if twice:
        yield "outcome", f"names the column {quoted(twice[0])} more than once."
    if request.censored is not None:
        if outcomes > 1:
            yield "censored", f"is understood for one --outcome; got {outcomes}."
        if request.censored in request.outcomes:
            yield "censored", f"names {quoted(request.censored)}, which is the outcome itself."
    for name, costs in (("holding", request.holding), ("stockout", request.stockout)):
        if newsvendor and not costs and not own_loss:
            yield name, "is needed for --problem newsvendor."
        if costs and portfolio:
            yield name, "does not apply to --problem portfolio."
        elif costs and not newsvendor:
            yield name, "goes into the file of --costs here."
        read = cost_columns(costs)
        if read and len(read) < len(costs or []):
            yield name, f"give numbers or columns, not both; {quoted(read[0])} is no number."
        for column in read:
            if column in request.outcomes or column == request.censored:
                yield name, f"names {quoted(column)}, which nobody knows when deciding."
        if costs and len(costs) not in (1, outcomes):
            yield name, f"give one number, or one per outcome ({outcomes}); got {len(costs)}."
    if not own_loss and ("costs" in given) == (newsvendor or portfolio):
        wrong = "does not apply to" if newsvendor or portfolio else "is needed for"
        yield "costs", f"{wrong} --problem {request.problem}."
    if own_loss and "costs" in given:
        yield "costs", "does not go with a table or settings of the loss."
    if "return_weight" in given and not portfolio and not own_loss:
        yield dashed("return_weight"), "goes with --problem portfolio."
    if portfolio and own_loss:
        yield "problem", "does not go with a table or settings of the loss."
    if request.tail is not None and not 0 < request.tail < 1:
        yield "tail", f"must lie between 0 and 1, got {request.tail:g}."
    if request.tail is not None and request.by:
        yield "tail", "does not apply to panels, whose series have units of their own."
    columns = cost_columns([*(request.holding or []), *(request.stockout or [])])
    yield from panel_mistakes(request, columns)
    yield from cost_mistakes(request)
    model, rule = request.model, request.rule
    if model is None and "part" not in request.section("ambiguity"):
        model = Model.causal_sinkhorn
    smeared = model in (Model.causal_sinkhorn, Model.sinkhorn)
    moves = smeared or model in (Model.causal_wasserstein, Model.wasserstein)
    applies = {
        "penalty": model != Model.erm,
        "radius": model != Model.erm,
        "epsilon": smeared,
        "order": moves,
        "norm": moves,
        "contexts": moves,
    }
    for name, fits in applies.items():
        if name in given and model is not None and not fits:
            yield name, f"does not apply to --model {model}."
    if given >= {"penalty", "radius"}:
        yield "radius", "give a penalty or a radius, not both."
    radius = request.radius
    if radius is not None and radius not in ("auto", "calibrated") and not is_number(radius):
        yield "radius", f"give a number, auto or calibrated; got {quoted(radius)}."
    if radius in ("auto", "calibrated") and request.by:
        yield "radius", f"{radius} is understood for single policies; give a panel a number."
    if request.horizon is not None and radius != "calibrated":
        yield "horizon", "goes with --radius calibrated."
    if request.level is not None and radius == "calibrated" and not is_number(request.level):
        yield "level", f"is a probability here, such as 0.9; got {quoted(request.level)}."
    for name in ("penalty", "radius", "epsilon"):
        if name in given and request.searches != Search.none:
            yield name, "is chosen by --search."
    for name in ("trees", "depth"):
        if name in given and rule not in (None, RuleKind.forest):
            yield name, f"does not apply to --rule {rule}."
