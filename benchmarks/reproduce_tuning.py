"""Parameters for ``hedgerow reproduce``: one set per problem and model, by cross-validation.

    python -m benchmarks.reproduce_tuning [newsvendor] [inventory] [--models 2-Causal-SDRO ...]

Five folds on each of a few histories (seeds 2000 and up, which no study uses), forests. Prints, per
model, the penalty, epsilon and number of steps of least held-out loss, each loss relative to the
least of its history, and how much worse the default's penalty 10 and epsilon 0.1 would have been.
What comes out is put into ``hedgerow_studies.paper.synthetic_models``.
"""

import argparse
import warnings

import pandas as pd

import hedgerow as hr
from hedgerow.solvers import default_solver
from hedgerow_studies.paper.synthetic_models import model, rule_of
from hedgerow_studies.paper.synthetic_problems import draw

HISTORIES = {
    "newsvendor": [(200, 10), (400, 20), (1000, 10)],
    "inventory": [(100, 5), (400, 10), (800, 20)],
}
DRAWS = 2
PENALTIES, EPSILONS = (3.0, 10.0, 30.0, 100.0), (0.03, 0.1, 0.3)
MODELS = ("1-Causal-SDRO", "2-Causal-SDRO", "1-Causal-WDRO", "2-Causal-WDRO", "KL-DRO")
"""SDRO coincides with Causal-SDRO on histories without repeated contexts."""


def searched(problem: str, name: str) -> pd.DataFrame:
    """Relative held-out losses of every candidate, averaged over histories."""
    template = model(name, 10.0, 0.1)
    found = []
    for rows, features in HISTORIES[problem]:
        for seed in range(2000, 2000 + DRAWS):
            drawn = draw(problem, rows, features, seed, test_rows=10)
            solver = default_solver(template).set_params(nodes=1)
            search = hr.RobustPolicyCV(
                drawn.loss, template, PENALTIES, EPSILONS,
                nominals=[hr.EmpiricalNominal()], rules=[rule_of(problem, "forest")],
                solver=solver, refit=False, random_state=seed,
            )  # fmt: skip
            table = search.fit(drawn.train.data, drawn.train.target).cv_results_
            found.append(table.assign(relative=table["mean_loss"] / table["mean_loss"].min()))
    keys = [key for key in ("penalty", "epsilon", "steps") if key in found[0]]
    together = pd.concat(found).groupby(keys)["relative"].agg(["mean", "count"])
    everywhere = together["count"] == len(found)  # admissible on every history
    return together[everywhere]["mean"].sort_values().reset_index()


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problems", nargs="*", default=list(HISTORIES))
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    asked = parser.parse_args()
    for problem in asked.problems:
        for name in asked.models:
            table = searched(problem, name)
            best = table.iloc[0].to_dict()
            plain = table[table["penalty"] == 10.0]
            if "epsilon" in table:
                plain = plain[plain["epsilon"] == 0.1]
            worse = 100 * (plain["mean"].min() - best.pop("mean"))
            print(problem, name, best, f"(penalty 10: +{worse:.2f} %)", flush=True)


if __name__ == "__main__":
    main()
