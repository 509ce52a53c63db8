"""Choose the parameters of the portfolio methods on 2019 and 2020; the test years are not read.

    python -m benchmarks.portfolio_tuning --returns FILE --covariates FILE [--out FOLDER] [--jobs 2]

Forests, ω = 1, 5, 9, decisions of 2019-01 to 2020-09. Each loss is put between that of hindsight
(0) and that of the unconditional program (1) and averaged over ω; the least wins.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np

from hedgerow_studies.portfolio import Backtest, Horizon, Market, Parameters, monthly, read_market

HORIZON = Horizon("2019-01", "2020-09")
OMEGAS = (1.0, 5.0, 9.0)
GRID = {  # penalty, epsilon, neighbours, steps
    "2-Causal-SDRO": itertools.chain(
        itertools.product((1.0, 3.0, 10.0), (0.3, 1.0), (0,), (300, 1000)),
        itertools.product((1.0, 3.0, 10.0), (1.0,), (8,), (300,)),
    ),
    "1-Causal-SDRO": itertools.product((3.0, 10.0, 30.0), (0.3,), (0,), (300,)),
    "KL-DRO": itertools.product((1.0, 3.0, 10.0, 30.0), (0.0,), (0,), (300, 1000)),
    "Causal-WDRO": itertools.product((3.0, 10.0), (0.0,), (0,), (300,)),
}
"""SDRO is 2-Causal-SDRO without neighbours: there the two models coincide."""


def losses(market: Market, folder: Path, jobs: int, method: str, parameters=None):
    """Mean losses over the months, one per ω."""
    study = Backtest(
        HORIZON,
        methods=(method,),
        return_weights=OMEGAS,
        parameters={method: parameters} if parameters else None,
    )
    outcomes = study.run(market, folder, jobs=jobs)
    return monthly(outcomes).groupby("omega")["loss"].mean().loc[list(OMEGAS)].to_numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--returns", required=True)
    parser.add_argument("--covariates", required=True)
    parser.add_argument("--out", type=Path, default=Path("portfolio-tuning"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--method", choices=GRID, nargs="*", default=list(GRID))
    asked = parser.parse_args()
    full = read_market(asked.returns, asked.covariates)
    market = full.span(0, int(np.searchsorted(full.dates, np.datetime64("2021-01-01"))))
    hindsight, program = (losses(market, asked.out, asked.jobs, method) for method in ("PT", "MV"))
    print(f"{len(market.dates)} days up to {market.dates[-1]}; losses at ω = {OMEGAS}")
    print(f"  hindsight {np.round(hindsight, 3)}, unconditional program {np.round(program, 3)}")
    for method in asked.method:
        scores = []
        for parameters in itertools.starmap(Parameters, GRID[method]):
            try:
                found = losses(market, asked.out, asked.jobs, method, parameters)
            except ValueError as error:  # a penalty under which the robust value is infinite
                print(f"  {method:14} {parameters}: {error}", flush=True)
                continue
            relative = (found - hindsight) / (program - hindsight)
            scores.append((float(relative.mean()), parameters))
            print(
                f"  {method:14} penalty {parameters.penalty:<4g} epsilon {parameters.epsilon:<4g} "
                f"neighbours {parameters.neighbours} steps {parameters.steps:<4}: "
                f"{np.round(found, 3)}  {relative.mean():.4f}",
                flush=True,
            )
        best, parameters = min(scores, key=lambda score: score[0])
        print(f'    "{method}": {parameters},  # {best:.3f}', flush=True)


if __name__ == "__main__":
    main()
