"""The commands as ``hedgerow`` lists them: their options, and what only the options can tell.

Entry points of the group ``hedgerow.commands`` name the two functions; JAX waits until work begins.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.cli.options import IN_DATA, listed
from hedgerow.cli.screen import guarded

IN_STUDY: dict[str, Any] = {"rich_help_panel": "What is compared", "show_default": False}
IN_TIME: dict[str, Any] = {"rich_help_panel": "Windows", "show_default": False}
STOPPED = "Stopped; what was finished is kept, and the same command goes on from there."
Returns = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Daily returns: date, one column per asset.", **IN_DATA),
]
Covariates = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Closing levels of covariates: date, …", **IN_DATA),
]


class Risk(StrEnum):
    """What is weighed against a portfolio's return."""

    variance = "variance"
    cvar = "cvar"


class EngineKind(StrEnum):
    """Where a study's cells are computed."""

    local = "local"
    dask = "dask"


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
    """Backtest portfolio rules on a market, month by month.

    Without files: 20 large stocks from 1990 to 2022, which come with skfolio. Writes a table,
    charts and all holdings; a run that was stopped goes on where it was when it is started again.
    """
    both_or_neither(returns, covariates)
    if returns is None and (percent or prices):
        raise typer.BadParameter("says how to read --returns, which was not given.")
    if percent and prices:
        raise typer.BadParameter("prices are not in percent; give one of the two.")
    with guarded(STOPPED):
        from hedgerow.cli.work import prepare
        from hedgerow_studies.commands import run_portfolio as study

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
    rewrite: Annotated[
        bool,
        typer.Option("--rewrite", help="Compute nothing: write again what the folder holds."),
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write into.")
    ] = Path("hedgerow-reproduced"),
) -> None:
    """Recompute figures and tables of the paper.

    Names such as fig4 or table1, all of them (all), or what there is (list). Results are kept cell
    by cell: a run that was stopped goes on where it was when it is started again.
    """
    both_or_neither(returns, covariates)
    if scheduler is not None and engine != EngineKind.dask:
        raise typer.BadParameter("needs --engine dask.", param_hint="--scheduler")
    with guarded(STOPPED):
        from joblib import cpu_count

        from hedgerow.cli.work import prepare
        from hedgerow_studies.commands import run_reproduce as study
        from hedgerow_studies.paper.market_study import Files
        from hedgerow_studies.running import Engine

        if names == ["list"]:
            study.show_list()
            return
        prepare()
        files = None
        if returns is not None and covariates is not None:
            files = Files(str(returns.resolve()), str(covariates.resolve()))
        if rewrite:
            study.rewrite(names, "full" if full else "quick", out, files)
            return
        chosen = Engine(engine.value, jobs or cpu_count(), scheduler)
        study.reproduce(names, "full" if full else "quick", out, chosen, files)


class What(StrEnum):
    """What to do with the leaderboard."""

    list = "list"
    run = "run"
    page = "page"


def leaderboard(
    what: Annotated[
        What,
        typer.Argument(
            metavar="list|run|page", help="What there is; compute what is missing; only the page."
        ),
    ],
    problems: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Such as newsvendor,bikes; default: all.", **IN_STUDY),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Default: all. A name that ends in .py is a file with methods of your own.",
            **IN_STUDY,
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="All rounds (hours), or a first look.")
    ] = False,
    data: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Where the bakery's and the bikes' files are."),
    ] = Path("../shared/data"),
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
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write into.")
    ] = Path("hedgerow-leaderboard"),
) -> None:
    """Compare methods on contextual decision problems, synthetic and real.

    Everybody learns from the same histories and chooses settings on the same folds. Results are
    kept cell by cell: a run that was stopped goes on where it was when it is started again.
    """
    if scheduler is not None and engine != EngineKind.dask:
        raise typer.BadParameter("needs --engine dask.", param_hint="--scheduler")
    with guarded(STOPPED):
        from joblib import cpu_count

        from hedgerow.cli.work import prepare
        from hedgerow_studies.commands import run_leaderboard as study
        from hedgerow_studies.running import Engine

        scale = "full" if full else "quick"
        plan = study.plan_of(listed(problems), listed(methods), scale, str(data.resolve()))
        if what == What.list:
            study.show_list(plan)
        elif what == What.page:
            study.tell(plan, out)
        else:
            prepare()
            study.compute(plan, out, Engine(engine.value, jobs or cpu_count(), scheduler))


def both_or_neither(returns: Path | None, covariates: Path | None) -> None:
    """A market is two files."""
    if (returns is None) != (covariates is None):
        missing = "--covariates" if covariates is None else "--returns"
        raise typer.BadParameter("both files are needed, or neither.", param_hint=missing)
