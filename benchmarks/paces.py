"""How fast gates and leaves should move: out-of-sample losses of forests on the paper's newsvendor.

    python -m benchmarks.paces

Step sizes of gate weights, gate biases and leaves, and how many steps, everything else the default
(500 Adam steps).
Four draws per size, seeds 2000 and up, which no table of results uses; mean losses of the forest on
the empirical risk and of the hedged one, averaged over the noise exactly.
"""

import warnings

import equinox as eqx
import numpy as np
import optax

import hedgerow as hr
from benchmarks.quality import HOLDING, LOSS, STOCKOUT
from hedgerow.datasets import expected_newsvendor_loss, make_newsvendor

SIZES = ((200, 5), (400, 10), (1000, 20), (200, 50), (1000, 50))
SEEDS, TEST = range(2000, 2004), 20_000
ROWS = hr.EmpiricalNominal()
HEDGED = hr.CausalSinkhorn(10.0, 0.1, x_scale="auto", y_scale="auto", loss_scale="auto")
SPEEDS = {
    "one pace": (0.02, 0.02, 0.02),
    "slow weights": (0.01, 0.02, 0.02),
    "slow weights, fast biases": (0.01, 0.1, 0.02),
    "fast biases": (0.02, 0.2, 0.04),
    "very slow weights": (0.005, 0.2, 0.04),
}
"""Weights, biases, leaves. The default: weights 0.1 over the number of features, 0.01 at least;
biases 0.2; leaves 0.04."""


def at_speeds(weights, biases, leaves):
    """Adam with step sizes of its own for every field, at learning rate 1."""

    def scaled(updates, _):
        fields = ("gate_weights", "gate_biases", "leaves")
        speeds = zip(fields, (weights, biases, leaves), strict=True)
        new = [getattr(updates.rule, name) * speed for name, speed in speeds]
        return eqx.tree_at(lambda t: [getattr(t.rule, name) for name in fields], updates, new)

    return optax.chain(optax.scale_by_adam(), optax.stateless(scaled))


def mean_loss(policy, draws):
    return np.mean([
        expected_newsvendor_loss(
            policy.fit(train.data, train.target).predict(test.data), test.signal, HOLDING, STOCKOUT
        ).mean()
        for train, test in draws
    ])  # fmt: skip


def main():
    warnings.simplefilter("ignore")
    solvers = {"default": {}}
    solvers |= {f"{steps} steps": {"steps": steps} for steps in (250, 1000, 2000)}
    solvers["1000 steps at half the rate"] = {"steps": 1000, "learning_rate": 0.01}
    for name, speeds in SPEEDS.items():
        solvers[name] = {"learning_rate": 1.0, "optimizer": at_speeds(*speeds)}
    print("| speeds | " + " | ".join(f"{n} × {d}" for n, d in SIZES) + " |")
    print("|---|" + "---|" * len(SIZES))
    draws = {}
    for rows, features in SIZES:
        trains = [make_newsvendor(rows, features, random_state=seed) for seed in SEEDS]
        draws[rows, features] = [
            (train, make_newsvendor(TEST, features, beta=train.beta, random_state=seed + 100))
            for seed, train in zip(SEEDS, trains, strict=True)
        ]
    for name, settings in solvers.items():
        plain = hr.RobustPolicy(
            LOSS, hr.ERM(), nominal=ROWS, solver=hr.NestedSGD(**settings), random_state=0
        )
        hedged = hr.RobustPolicy(
            LOSS, HEDGED, nominal=ROWS, solver=hr.SCSC(**settings), random_state=0
        )
        cells = [
            f"{mean_loss(plain, draws[size]):.4f}, {mean_loss(hedged, draws[size]):.4f}"
            for size in SIZES
        ]
        speeds = f" {SPEEDS[name]}" if name in SPEEDS else ""
        print(f"| {name}{speeds} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
