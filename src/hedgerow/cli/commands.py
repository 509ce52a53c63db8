"""Commands and their options. What they do is in ``cli.work``; JAX is imported when work begins."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hedgerow._version import __version__
from hedgerow.cli.options import (
    IN_DATA,
    IN_MODEL,
    IN_RULE,
    IN_STUDY,
    IN_TIME,
    Model,
    NominalKind,
    PolicyFile,
    Problem,
    Risk,
    RuleKind,
    listed,
)
from hedgerow.cli.screen import guarded, show_tracebacks

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learn decision rules from a table of history that hedge against the history being "
    "misleading.",
    epilog="Start with: hedgerow demo",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"hedgerow {__version__}")
        raise typer.Exit


@app.callback()
def hedgerow(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="HEDGEROW_DEBUG", help="Show tracebacks of errors.")
    ] = False,
) -> None:
    """Options that come before the command."""
    show_tracebacks(debug)


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write into.")
    ] = Path("hedgerow-demo"),
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Same seed, same policy.", min=0)] = 0,
) -> None:
    """Order for a real restaurant: train, compare out of sample, save (about a minute)."""
    with guarded():
        from hedgerow.cli.work import prepare
        from hedgerow.demo import run

        prepare()
        run(out, seed=seed)


@app.command(
    help="Learn a policy from a table and save it.\n\nText columns are one-hot encoded and dates "
    "split into weekday, month and day of the year; the policy file remembers how. Ctrl-C stops "
    "training and keeps what was learned."
)
def fit(
    data: Annotated[Path, typer.Argument(help="Table of history, .csv or .parquet.")],
    outcome: Annotated[
        list[str],
        typer.Option(metavar="COLUMN", help="What to prepare for; may be repeated.", **IN_DATA),
    ],
    holding: Annotated[
        list[float] | None,
        typer.Option(
            metavar="COST",
            help="Newsvendor: cost of a unit left over; one for all, or one per outcome.",
            **IN_DATA,
        ),
    ] = None,
    stockout: Annotated[
        list[float] | None,
        typer.Option(metavar="COST", help="Newsvendor: cost of a unit short, likewise.", **IN_DATA),
    ] = None,
    costs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Inventory: .toml with holding, shortage, substitution and purchase.",
            **IN_DATA,
        ),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS", help="What to decide by: a,b,c; default: all others.", **IN_DATA
        ),
    ] = None,
    problem: Annotated[
        Problem, typer.Option(metavar="NAME", help="newsvendor or inventory.", **IN_DATA)
    ] = Problem.newsvendor,
    model: Annotated[
        Model,
        typer.Option(
            metavar="NAME",
            help="causal-sinkhorn, sinkhorn, causal-wasserstein, kl or erm.",
            **IN_MODEL,
        ),
    ] = Model.causal_sinkhorn,
    penalty: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Price of moving data; default: 10.", **IN_MODEL),
    ] = None,
    radius: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="How far data may move, instead of a price.", **IN_MODEL
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Spread of the worst case; default: 0.1.", **IN_MODEL),
    ] = None,
    order: Annotated[
        int | None,
        typer.Option(metavar="1|2", help="Power of the distance moved; default: 2.", **IN_MODEL),
    ] = None,
    nominal: Annotated[
        NominalKind,
        typer.Option(metavar="NAME", help="auto, empirical, adapted or neighbour.", **IN_MODEL),
    ] = NominalKind.auto,
    rule: Annotated[
        RuleKind,
        typer.Option(metavar="NAME", help="forest, two-layer, affine or constant.", **IN_RULE),
    ] = RuleKind.forest,
    trees: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Trees of the forest; default: 20.", **IN_RULE),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Questions per tree; default: 2.", **IN_RULE),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Training steps; default: 500.", **IN_RULE),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="NUMBER", help="Same seed, same policy.", min=0, **IN_RULE)
    ] = 0,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Policy file to write.")
    ] = Path("policy.hedgerow"),
) -> None:
    """Check what only the options can tell, then learn."""
    newsvendor = problem == Problem.newsvendor
    for name, given in (("--holding", holding), ("--stockout", stockout)):
        if newsvendor and not given:
            raise typer.BadParameter("is needed for --problem newsvendor.", param_hint=name)
        if given and not newsvendor:
            raise typer.BadParameter("goes into the file of --costs here.", param_hint=name)
        if given and len(given) not in (1, len(outcome)):
            raise typer.BadParameter(
                f"give one number, or one per outcome ({len(outcome)}); got {len(given)}.",
                param_hint=name,
            )
    if (costs is None) != newsvendor:
        wrong = "does not apply to" if newsvendor else "is needed for"
        raise typer.BadParameter(f"{wrong} --problem {problem.value}.", param_hint="--costs")
    smeared = model in (Model.causal_sinkhorn, Model.sinkhorn)
    moved = smeared or model == Model.causal_wasserstein
    misplaced = {
        "--penalty": penalty is not None and model == Model.erm,
        "--radius": radius is not None and model == Model.erm,
        "--epsilon": epsilon is not None and not smeared,
        "--order": order is not None and not moved,
    }
    for name, wrong in misplaced.items():
        if wrong:
            raise typer.BadParameter(f"does not apply to --model {model.value}.", param_hint=name)
    if penalty is not None and radius is not None:
        raise typer.BadParameter("give a penalty or a radius, not both.", param_hint="--radius")
    for name, value in (("--trees", trees), ("--depth", depth)):
        if value is not None and rule != RuleKind.forest:
            raise typer.BadParameter(f"does not apply to --rule {rule.value}.", param_hint=name)
    with guarded():
        from hedgerow.cli import work

        work.prepare()
        plan = work.Plan(
            outcomes=outcome,
            features=None if features is None else listed(features),
            holding=holding or [],
            stockout=stockout or [],
            costs=costs,
            model=model.value,
            penalty=penalty,
            radius=radius,
            epsilon=epsilon,
            order=order,
            nominal=nominal.value,
            rule=rule.value,
            trees=trees,
            depth=depth,
            steps=steps,
            seed=seed,
        )
        work.fit(data, plan, out)


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
        plan = work_of_explain.Plan(row, background, decision, top, figure)
        work_of_explain.run(policy, data, plan)


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
        plan = work_of_report.Plan(against or [], outcome or [], row, title, unit, loss_unit)
        work_of_report.run(policy, data, plan, out)


@app.command(
    help="Backtest portfolio rules on a market, month by month.\n\nWithout files: 20 large stocks "
    "from 1990 to 2022, which come with skfolio. Writes a table, charts and all holdings; a run "
    "that was stopped goes on where it was when it is started again."
)
def portfolio(
    returns: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Daily returns: date, one column per asset.", **IN_DATA),
    ] = None,
    covariates: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Closing levels of covariates: date, …", **IN_DATA),
    ] = None,
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
    if (returns is None) != (covariates is None):
        missing = "--covariates" if covariates is None else "--returns"
        raise typer.BadParameter("both files are needed, or neither.", param_hint=missing)
    if returns is None and (percent or prices):
        raise typer.BadParameter("says how to read --returns, which was not given.")
    if percent and prices:
        raise typer.BadParameter("prices are not in percent; give one of the two.")
    with guarded("Stopped; what was finished is kept, and the same command goes on from there."):
        from hedgerow.cli import portfolio as study
        from hedgerow.cli.work import prepare

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
