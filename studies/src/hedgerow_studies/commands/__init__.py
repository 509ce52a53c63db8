"""Commands that run a study: ``portfolio``, ``reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.app import app
from hedgerow.cli.options import (
    IN_DATA,
    IN_STUDY,
    IN_TIME,
    Covariates,
    EngineKind,
    Returns,
    Risk,
    both_or_neither,
    listed,
)
from hedgerow.cli.screen import guarded


@app.command(
    help="Backtest portfolio rules on a market, month by month.\n\nWithout files: 20 large stocks "
    "from 1990 to 2022, which come with skfolio. Writes a table, charts and all holdings; a run "
    "that was stopped goes on where it was when it is started again."
)
def portfolio(
    returns: Returns = None,
    covariates: Covariates = None,
    percent: Annotated[
        bool, typer.Option("--percent", help="Returns are in percent, not fractions.", **IN_DATA)
    ] = False,
    prices: Annotated[
        bool, typer.Option("--prices", help="--returns holds prices.", **IN_DATA)
    ] = False,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Such as PT,EW,2-Causal-SDRO; default: all.", **IN_STUDY
        ),
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="forest, two-layer or both; default: forest.", **IN_STUDY
        ),
    ] = None,
    omega: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBERS", help="Risk that a unit of return is worth; default: 5.", **IN_STUDY
        ),
    ] = None,
    risk: Annotated[
        Risk, typer.Option(metavar="NAME", help="variance or cvar.", **IN_STUDY)
    ] = Risk.variance,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="MONTH", help="First decision; default: up to 24 months back.", **IN_TIME
        ),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option(metavar="MONTH", help="Last decision; default: the last possible.", **IN_TIME),
    ] = None,
    window: Annotated[
        int, typer.Option(metavar="DAYS", help="Trading days to learn from: 500.", **IN_TIME)
    ] = 500,
    holding: Annotated[
        int, typer.Option(metavar="DAYS", help="Trading days a choice is judged by: 60.", **IN_TIME)
    ] = 60,
    pool: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Assets drawn at random each month; default: 50, or all if fewer.",
            **IN_TIME,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="NUMBER", help="Same seed, same result.", min=0, **IN_TIME)
    ] = 0,
    jobs: Annotated[int, typer.Option(metavar="NUMBER", help="Processes to use.", min=1)] = 1,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write into.")
    ] = Path("hedgerow-portfolio"),
) -> None:
    """Check what only the options can tell, then run."""
    both_or_neither(returns, covariates)
    if returns is None and (percent or prices):
        raise typer.BadParameter("says how to read --returns, which was not given.")
    if percent and prices:
        raise typer.BadParameter("prices are not in percent; give one of the two.")
    with guarded("Stopped; what was finished is kept, and the same command goes on from there."):
        from hedgerow.cli.work import prepare
        from hedgerow_studies.commands import portfolio as study

        prepare()
        study.run(
            study.Plan(
                returns=returns,
                covariates=covariates,
                percent=percent,
                prices=prices,
                methods=listed(method),
                rules=listed(rule),
                omegas=listed(omega),
                risk=risk.value,
                start=start,
                end=end,
                window=window,
                holding=holding,
                pool=pool,
                seed=seed,
                jobs=jobs,
            ),
            out,
        )


@app.command(
    help="Recompute figures and tables of the paper.\n\nNames such as fig4 or table1, all of them "
    "(all), or what there is (list). Results are kept cell by cell: a run that was stopped goes on "
    "where it was when it is started again."
)
def reproduce(
    names: Annotated[
        list[str], typer.Argument(metavar="NAMES", help="fig4 table1 …, all or list.")
    ],
    full: Annotated[
        bool, typer.Option("--full/--quick", help="As the paper did (hours), or a first look.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Processes; default: one per core.", min=1),
    ] = None,
    engine: Annotated[
        EngineKind, typer.Option(metavar="NAME", help="local, or dask: a cluster.")
    ] = EngineKind.local,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Of a Dask scheduler; default: one is started here."),
    ] = None,
    returns: Returns = None,
    covariates: Covariates = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write into.")
    ] = Path("hedgerow-reproduced"),
) -> None:
    """Check what only the options can tell, then run."""
    both_or_neither(returns, covariates)
    if scheduler is not None and engine != EngineKind.dask:
        raise typer.BadParameter("needs --engine dask.", param_hint="--scheduler")
    with guarded("Stopped; what was finished is kept, and the same command goes on from there."):
        from joblib import cpu_count

        from hedgerow.cli.work import prepare
        from hedgerow_studies.commands import reproduce as study
        from hedgerow_studies.paper.markets import Files
        from hedgerow_studies.paper.running import Engine

        if names == ["list"]:
            study.show_list()
            return
        prepare()
        files = None
        if returns is not None and covariates is not None:
            files = Files(str(returns.resolve()), str(covariates.resolve()))
        chosen = Engine(engine.value, jobs or cpu_count(), scheduler)
        study.reproduce(names, "full" if full else "quick", out, chosen, files)
