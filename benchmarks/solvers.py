"""Solvers against the truth: how far above the minimum of F they end, and after how long.

    python -m benchmarks.solvers [--out FOLDER] [--seeds 5] [--only TEXT]

Small problems whose F is known exactly (``benchmarks.solver_truth``). Every solver runs with
several lengths, its step sizes falling over each, on several seeds; compiled beforehand, since
lengths and seeds compile nothing. Prints excess, gradient norm, seconds and exponents evaluated;
draws them against each other, and the rate of ‖∇F‖² in the published form beside the theorem's.
Problems that the folder has are not run again.
"""

import argparse
import time
import warnings
from pathlib import Path

import jax
import numpy as np
import pandas as pd

import hedgerow as hr
from benchmarks.solver_figures import rates, work_and_precision
from benchmarks.solver_truth import QUICKEST, Case, cases
from hedgerow.plots import save_figure
from hedgerow.solvers import default_solver

LENGTHS = (100, 300, 1000)
PRINTED = "Algorithm 1 as printed"
RATE_LENGTHS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)


def by_length(kind, **settings):
    """A solver by its number of steps."""
    return lambda steps: kind(steps=steps, **settings)


SOLVERS = {
    "default": None,
    "SCSC": by_length(hr.SCSC),
    "SCGD": by_length(hr.SCGD),
    "MLMC": by_length(hr.MLMC),
    "NestedSGD, 4 nodes": by_length(hr.NestedSGD),
    "NestedSGD, 32 nodes": by_length(hr.NestedSGD, nodes=32),
    "SAA, 16 nodes": by_length(hr.SAA),
    "SAA, 64 nodes": by_length(hr.SAA, nodes=64),
    "SCSC, shared tracker": by_length(hr.SCSC, trackers="shared"),
    PRINTED: lambda steps: hr.SCSC.as_published(
        20 * steps, trackers="shared", batch=1, nodes=1, outcome_nodes=1
    ),
}
"""The printed algorithm takes one context, node and outcome node a step, hence more steps."""

BLOCKS = sum(2**level * (1 - 2**-1.5) * 2 ** (-1.5 * (level - 1)) for level in range(1, 60))
"""Blocks of nodes that a random level of MLMC has on average; it passes over them twice."""


def applies(name: str, case: Case) -> bool:
    """Whether a solver says anything on a problem that others have not said."""
    model = case.model
    if model.ascends:
        return name in ("default", "MLMC", "NestedSGD, 4 nodes", "SAA, 16 nodes")
    if not model.compositional:
        return name in ("default", "NestedSGD, 4 nodes", "SAA, 16 nodes")
    if model.pooled:  # one tracker is the right thing there, and there are no nodes
        return not ("32" in name or "64" in name or "shared" in name or name == PRINTED)
    return True


def exponents(solver, policy: hr.RobustPolicy) -> int:
    """How many exponents a fit evaluated forwards; for MLMC, on average."""
    nodes = getattr(solver.nodes, "n", solver.nodes) * (solver.outcome_nodes or 1)
    contexts = len(policy.nominal_.contexts)
    if not isinstance(solver, hr.SAA):
        contexts = min(contexts, solver.batch)
    blocks = 1 + 2 * BLOCKS if isinstance(solver, hr.MLMC) else 1
    return round(len(policy.history_) * contexts * nodes * blocks)


def runs(case: Case, seeds: int, memory: Path) -> pd.DataFrame:
    """One row per solver, length and seed."""
    rows, best = [], (np.inf, None)
    for name, make in SOLVERS.items():
        if not applies(name, case):
            continue
        case.policy(make and make(LENGTHS[0])).fit(case.X, case.Y)  # compiles
        for length in LENGTHS if make else (0,):
            for seed in range(seeds):
                solver = make(length) if make else default_solver(case.model)
                start = time.perf_counter()
                policy = case.policy(solver, seed).fit(case.X, case.Y)
                seconds = time.perf_counter() - start
                value, slope = case.value(policy.rule_)
                best = min(best, (value, policy.rule_), key=lambda pair: pair[0])
                effort = exponents(solver, policy)
                rows.append((name, length, seed, seconds, effort, value, slope, policy.status_))
    columns = ["solver", "length", "seed", "seconds", "exponents", "F", "slope", "status"]
    found = pd.DataFrame(rows, columns=columns)
    case.polish(best[1])
    least = case.minimum(memory)
    return found.assign(
        problem=case.name, rule=case.rule, least=least, excess=found["F"] / least - 1
    )


def report(found: pd.DataFrame) -> None:
    """Medians over seeds at the longest runs, one table per problem."""
    for (problem, rule), rows in found.groupby(["problem", "rule"], sort=False):
        print(f"\n**{problem}, {rule}**: least F {rows['least'].iloc[0]:.5f}\n")
        print("| solver | steps | above the minimum | ‖∇F‖ | seconds | exponents |")
        print("|---|---:|---:|---:|---:|---:|")
        for name, runs_of in rows.groupby("solver", sort=False):
            for length, last in runs_of.groupby("length"):
                m = last[["excess", "slope", "seconds", "exponents"]].median()
                steps = f"{length:,}" if length else "–"
                print(
                    f"| {name} | {steps} | {100 * m['excess']:.3f} % | {m['slope']:.1e} | "
                    f"{m['seconds']:.2f} | {m['exponents']:.1e} |"
                )


def summary(found: pd.DataFrame) -> None:
    """Every problem's excess at the longest run of every solver, medians over seeds."""
    last = found[found["length"].isin((0, LENGTHS[-1]))]
    for column, form in (("excess", lambda v: f"{100 * v:.3f}"), ("seconds", lambda v: f"{v:.2f}")):
        table = last.pivot_table(
            index=["problem", "rule"], columns="solver", values=column, aggfunc="median", sort=False
        )
        names = list(table.columns)
        print(
            f"\n{'% above the minimum' if column == 'excess' else 'seconds'}, median over seeds\n"
        )
        print("| problem | rule | " + " | ".join(names) + " |\n|---|---|" + "---:|" * len(names))
        for (problem, rule), row in table.iterrows():
            cells = ("–" if pd.isna(value) else form(value) for value in row)
            print(f"| {problem} | {rule} | {' | '.join(cells)} |")


def gradient_norms(case: Case, make, seeds: int) -> list[tuple[int, float]]:
    """(K, mean over iterates and seeds of ‖∇F‖²) for runs of K steps."""
    policy = case.policy(QUICKEST).fit(case.X, case.Y)
    problem = policy.problem(case.X, case.Y)
    norms = []
    for length in RATE_LENGTHS:
        solver, seen = make(length), []

        def watch(done, total, objective, rule, seen=seen):
            seen.append(case.value(rule)[1] ** 2)

        for seed in range(seeds):
            training = solver.training(problem, policy.rule_)
            solver.run(training, jax.random.key(seed, impl="rbg"), watch)
        norms.append((length, float(np.mean(seen))))
        print(f"  K = {length:>7,}: {norms[-1][1]:.3e}", flush=True)
    return norms


def rate(case: Case, seeds: int) -> dict[str, list[tuple[int, float]]]:
    """Empirical rates with the published step sizes, and of the printed algorithm."""
    forms = {
        "one tracker per context": lambda k: hr.SCSC.as_published(k, batch=8, nodes=4),
        "shared tracker": lambda k: hr.SCSC.as_published(k, batch=8, nodes=4, trackers="shared"),
    }
    found = {}
    for name, make in forms.items():
        print(f"\nSCSC as published, {name}: mean over iterates of ‖∇F‖²")
        found[name] = gradient_norms(case, make, seeds)
        steps, norms = np.array(found[name][2:]).T
        print(f"  slope on log–log axes: {np.polyfit(np.log(steps), np.log(norms), 1)[0]:.2f}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("solver-results"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", help="problems and rules whose name contains this")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    kept = asked.out / "solvers.csv"
    found = pd.read_csv(kept) if kept.exists() else pd.DataFrame(columns=["problem", "rule"])
    for case in cases():
        done = ((found["problem"] == case.name) & (found["rule"] == case.rule)).any()
        if done or asked.only not in f"{case.name}, {case.rule}":
            continue
        new = runs(case, asked.seeds, asked.out / "minima.json")
        report(new)
        found = pd.concat([found, new]) if len(found) else new
        found.to_csv(kept, index=False)
    summary(found)
    if asked.only:
        return
    save_figure(work_and_precision(found), asked.out / "solvers.png")
    smooth = cases()[0]
    save_figure(rates(rate(smooth, min(asked.seeds, 3))), asked.out / "solver_rate.png")


if __name__ == "__main__":
    main()
