"""Commands that learn: ``demo`` and ``fit``, with their options; JAX waits until work begins."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.app import app
from hedgerow.cli.options import (
    IN_DATA,
    IN_MODEL,
    IN_RULE,
    Model,
    NominalKind,
    ProblemKind,
    RuleKind,
    Search,
    listed,
)
from hedgerow.cli.screen import guarded


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
    "training and keeps what was learned; a search that is stopped saves nothing."
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
        ProblemKind, typer.Option(metavar="NAME", help="newsvendor or inventory.", **IN_DATA)
    ] = ProblemKind.newsvendor,
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
    search: Annotated[
        Search,
        typer.Option(
            metavar="NAME",
            help="none, folds or time (rows are in its order): choose penalty, epsilon and at "
            "most --steps steps by cross-validation.",
            **IN_MODEL,
        ),
    ] = Search.none,
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
    newsvendor = problem == ProblemKind.newsvendor
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
    for name, value in (("--penalty", penalty), ("--radius", radius), ("--epsilon", epsilon)):
        if value is not None and search != Search.none:
            raise typer.BadParameter("is chosen by --search.", param_hint=name)
    for name, value in (("--trees", trees), ("--depth", depth)):
        if value is not None and rule != RuleKind.forest:
            raise typer.BadParameter(f"does not apply to --rule {rule.value}.", param_hint=name)
    with guarded():
        from hedgerow.cli import work

        work.prepare()
        request = work.FitRequest(
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
            search=search.value,
            rule=rule.value,
            trees=trees,
            depth=depth,
            steps=steps,
            seed=seed,
        )
        work.fit(data, request, out)
