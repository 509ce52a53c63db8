"""The training recipe, one setting changed at a time, out of sample.

    python -m benchmarks.recipe [risk] [hedged] [nominals] [--draws 8] [--rows default ...]

"risk": forests on the empirical risk, the paper's newsvendor and inventory; "hedged": against
CausalSinkhorn(30, 0.1), newsvendor; "nominals": what several outcomes per context bring. Without a
name, all three. Draws have seeds 2000 and up, which no table of results uses. Cells are mean
excesses over the oracle's loss, averaged over the noise exactly: at the end of training / at the
checkpoint where the mean over draws is least. Below each table, differences to its first row at the
end of training, with standard errors of the paired differences over draws.
"""

import argparse
import warnings
from functools import cache
from itertools import product

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.utils import Bunch

import hedgerow as hr
from benchmarks.quality import LOSS
from hedgerow import datasets
from hedgerow.search import folds
from hedgerow.search.candidates import Family

SIZES = [(200, 5), (200, 20), (200, 50), (400, 10), (1000, 5), (1000, 50)]
NEWSVENDORS = [("newsvendor", *size) for size in SIZES]
INVENTORIES = [("inventory", *size) for size in ((100, 3), (400, 10), (800, 20))]
FEW = [("newsvendor", *size) for size in ((200, 5), (1000, 5), (400, 10))]
COSTS = datasets.paper_inventory_costs()
INVENTORY = hr.InventorySubstitution(COSTS.holding, COSTS.stockout, COSTS.substitution)
AUTO = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}
MODELS = {
    "ERM": hr.ERM(),
    "Sinkhorn": hr.Sinkhorn(30.0, 0.1, 2, **AUTO),
    "CausalSinkhorn": hr.CausalSinkhorn(30.0, 0.1, 2, **AUTO),
}
NOMINALS = {
    "rows as they are": hr.EmpiricalNominal(),
    "3 neighbours": hr.NeighbourNominal(3),
    "10 neighbours": hr.NeighbourNominal(10),
    "√N cells": hr.AdaptedNominal(),
}


def decayed(coefficient):
    """Adam with the library's paces and decoupled decay of the gates' weights."""

    def paced(updates, parameters):
        fields = updates.rule.paces()
        new = {name: getattr(updates.rule, name) * pace for name, pace in fields.items()}
        new["gate_weights"] += coefficient * parameters.rule.gate_weights
        where = lambda tree: [getattr(tree.rule, name) for name in new]  # noqa: E731
        return eqx.tree_at(where, updates, list(new.values()))

    return optax.chain(optax.scale_by_adam(), optax.stateless(paced))


CHANGES = {
    "default": {},
    "gates random, 0.1": {"gates": "random"},
    "gates random, 0.3": {"gates": "random", "gate_scale": 0.3},
    "gates informed, 1.0": {"gate_scale": 1.0},
    "gates informed, 2.5": {"gate_scale": 2.5},
    "leaves 0.1": {"leaf_scale": 0.1},
    "leaves 1.0": {"leaf_scale": 1.0},
    "temperature 0.5": {"temperature": 0.5},
    "temperature 2": {"temperature": 2.0},
    "temperature 4": {"temperature": 4.0},
    "temperature 8": {"temperature": 8.0},
    "50 trees": {"trees": 50},
    "depth 1": {"depth": 1},
    "depth 3": {"depth": 3},
    "depth 4": {"depth": 4},
    "half the features a tree": {"features_per_tree": 0.5},
    "rate 0.005": {"learning_rate": 0.005},
    "rate 0.02": {"learning_rate": 0.02},
    "250 steps": {"steps": 250},
    "1000 steps": {"steps": 1000},
    "averaging 0.5": {"averaging": 0.5},
    "constant rate": {"decay": "constant"},
    "constant rate, averaging 0.5": {"decay": "constant", "averaging": 0.5},
    "batch 32": {"batch": 32},
    "batch 256": {"batch": 256},
    "one pace for all fields": {"optimizer": optax.scale_by_adam()},
    "gate decay 0.3": {"optimizer": decayed(0.3)},
    "gate decay 1": {"optimizer": decayed(1.0)},
    "4 nodes": {"nodes": 4},
}
"""Settings of SoftForest and of the solver that differ from the defaults (and from one node)."""
IF_HEDGED = ("default", "gates random, 0.1", "depth 3", "50 trees", "rate 0.02", "4 nodes")


@cache
def draw(problem, rows, features, seed):
    """A training set, a test set of the same truth, and what decisions there cost too much."""
    make = getattr(datasets, f"make_{problem}")
    expected = getattr(datasets, f"expected_{problem}_loss")
    oracle = getattr(datasets, f"oracle_{problem}_loss")
    loss, truth, tests = LOSS, "signal", 4000
    if problem == "inventory":
        loss, truth, tests = INVENTORY, "scale", 2000
    train = make(rows, features, random_state=seed)
    test = make(tests, features, beta=train.beta, random_state=seed + 100_000)
    least = oracle(test[truth]).mean()
    excess = lambda z: expected(z.squeeze(), test[truth]).mean() - least  # noqa: E731
    return Bunch(loss=loss, train=train, test=test, excess=excess)


def trained(model, solver, changes):
    """Excesses at the checkpoints of a training: `RobustPolicy.fit`, looked at on the way."""
    names = hr.SoftForest().get_params()
    rule = hr.SoftForest(**{name: changes[name] for name in changes if name in names})
    solver = solver(**{"nodes": 1} | {n: changes[n] for n in changes if n not in names})
    ends = folds.checkpoints(solver)

    def path(drawn, seed):
        X, y = (np.concatenate([drawn.train[n], drawn.test[n]]) for n in ("data", "target"))
        train, test = np.split(np.arange(len(X)), [len(drawn.train.data)])
        family = Family(rule, hr.EmpiricalNominal(), [model], solver)
        history = folds.History(X, y.reshape(len(X), -1), np.ones(len(X)))
        nominal = family.nominal.build(*(part[train] for part in history[:3]))
        fold = folds.fold_of(family, drawn.loss, history, test, nominal, seed)
        (grid,) = folds.grids_of([fold], [model], solver)
        contexts, excesses = jnp.asarray(fold.contexts), []
        for done, end in zip([0, *ends], ends, strict=False):
            grid = grid.advanced(end - done, solver, fold.keys.training)
            decisions = np.asarray(grid.decisions(contexts)[0], np.float64)
            excesses.append(drawn.excess(decisions * fold.units.z_unit))
        return ends, excesses

    return path


def fitted(model, nominal):
    """The excess of a policy with the default forest and solver."""

    def end(drawn, seed):
        policy = hr.RobustPolicy(drawn.loss, model, nominal=nominal, random_state=seed)
        policy.fit(drawn.train.data, drawn.train.target)
        return [len(policy.history_)], [drawn.excess(policy.predict(drawn.test.data))]

    return end


def table(sizes, rows, draws):
    """Print rows, functions of (draw, seed) to (steps, excesses), as soon as they are known."""
    titles = " | ".join(f"{problem} {n} × {d}" for problem, n, d in sizes)
    print(f"\n| | {titles} | relative |\n|---|{'---|' * len(sizes)}---:|")
    seeds, ends = range(2000, 2000 + draws), {}
    try:
        for name, excesses in rows.items():
            cells, last = [], []
            for size in sizes:
                steps, found = zip(*[excesses(draw(*size, s), s) for s in seeds], strict=True)
                mean = np.mean(found, axis=0)
                best = mean.argmin()
                early = f" / {mean[best]:.3f}@{steps[0][best]}" if len(mean) > 1 else ""
                cells.append(f"{mean[-1]:.3f}{early}")
                last.append(np.array(found)[:, -1])
            ends[name] = np.array(last)
            ratios = ends[name].mean(axis=1) / next(iter(ends.values())).mean(axis=1)
            relative = np.exp(np.log(ratios).mean())
            print(f"| {name} | {' | '.join(cells)} | {relative:.2f} |", flush=True)
    finally:
        default, *others = ends
        differences(sizes, {name: ends[name] - ends[default] for name in others})
    return ends


def differences(sizes, gaps, digits=3):
    """Print mean differences (sizes, draws) with standard errors over draws, and their mean."""
    titles = " | ".join(f"{problem} {n} × {d}" for problem, n, d in sizes)
    print(f"\n| | {titles} | mean |\n|---|{'---|' * len(sizes)}---:|")
    for name, found in gaps.items():
        rows = [*found, found.mean(axis=0)]
        cells = [
            f"{g.mean():+.{digits}f} ± {g.std(ddof=1) / len(g) ** 0.5:.{digits}f}" for g in rows
        ]
        print(f"| {name} | {' | '.join(cells).replace('-', '−')} |", flush=True)


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=["risk", "hedged", "nominals"])
    parser.add_argument("--draws", type=int, help="two or more; default: 8 for risk, else 5")
    parser.add_argument("--rows", nargs="+", help="of the first table; default: all")
    options = parser.parse_args()
    if "risk" in options.tables:
        names = options.rows or [n for n in CHANGES if n != "4 nodes"]  # nothing to average
        rows = {n: trained(MODELS["ERM"], hr.NestedSGD, CHANGES[n]) for n in names}
        table(NEWSVENDORS + INVENTORIES, rows, options.draws or 8)
    if "hedged" in options.tables:
        rows = {n: trained(MODELS["CausalSinkhorn"], hr.SCSC, CHANGES[n]) for n in IF_HEDGED}
        table(NEWSVENDORS, rows, options.draws or 5)
    if "nominals" in options.tables:
        pairs = product(MODELS, NOMINALS)
        rows = {f"{m}, {n}": fitted(MODELS[m], NOMINALS[n]) for m, n in pairs}
        ends = table(FEW, rows, options.draws or 5)
        print("\nCausalSinkhorn minus Sinkhorn on the same nominal:")
        gaps = {n: ends[f"CausalSinkhorn, {n}"] - ends[f"Sinkhorn, {n}"] for n in NOMINALS}
        differences(FEW, gaps, digits=4)


if __name__ == "__main__":
    main()
