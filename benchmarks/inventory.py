"""Inventory with substitution, out of sample: the paper's Section 6.2 over five draws.

Every model with its default settings on the same draws; nothing is tuned to them. Losses are exact
expectations given each test context (hedgerow.datasets.expected_inventory_loss), so test sets add
almost no noise. Both readings of the substitution costs are shown: as printed, and transposed,
which is what reproduces the published oracle loss of 3.29.
"""

import time
import warnings

import numpy as np

import hedgerow as hr
from hedgerow.datasets import (
    expected_inventory_loss,
    make_inventory,
    oracle_inventory_loss,
    paper_inventory_costs,
)

SIZES = {False: ((100, 3), (400, 10), (800, 20)), True: ((400, 10),)}
"""Rows and features, by whether the substitution costs are transposed."""
DRAWS = 5
TEST_ROWS = 20_000
AUTO = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}
POLICIES = {
    "CausalSinkhorn, p = 2": {},
    "CausalSinkhorn, p = 1": {"ambiguity": hr.CausalSinkhorn(10.0, 0.1, 1, **AUTO)},
    "  with 5 neighbours": {"nominal": hr.NeighbourNominal(5)},
    "CausalWasserstein": {"ambiguity": hr.CausalWasserstein(10.0, **AUTO)},
    "KL": {"ambiguity": hr.KL(10.0, loss_scale="auto")},
    "ERM": {"ambiguity": hr.ERM()},
    "ERM, constant": {"ambiguity": hr.ERM(), "rule": hr.Constant()},
}


def main():
    warnings.simplefilter("ignore", UserWarning)  # causality is vacuous here, as is well known
    for transposed in (False, True):
        costs = paper_inventory_costs(transposed=transposed)
        loss = hr.InventorySubstitution(costs.holding, costs.stockout, costs.substitution)
        print(f"substitution costs {'transposed' if transposed else 'as printed'}")
        sizes = SIZES[transposed]
        print(f"  {'rows, features':<26}" + "".join(f"{f'{n}, {d}':>12}" for n, d in sizes))
        draws = {size: [draw(*size, seed, transposed) for seed in range(DRAWS)] for size in sizes}
        oracle = [np.mean([d[2] for d in draws[size]]) for size in sizes]
        for name, settings in POLICIES.items():
            cells, taken = [], 0.0
            for size in sizes:
                start = time.perf_counter()
                fits = [
                    hr.RobustPolicy(loss, random_state=0, **settings).fit(train.data, train.target)
                    for train, _, _ in draws[size]
                ]
                taken = max(taken, (time.perf_counter() - start) / DRAWS)
                scored = zip(fits, draws[size], strict=True)
                cells.append(np.mean([out(policy, d, transposed) for policy, d in scored]))
            row = "".join(f"{cell:>12.3f}" for cell in cells)
            print(f"  {name:<26}{row}   {taken:5.1f} s a fit", flush=True)
        print(f"  {'oracle':<26}" + "".join(f"{value:>12.3f}" for value in oracle) + "\n")


def draw(rows, features, seed, transposed):
    """A training set, a test set of the same truth, and the oracle's loss on it."""
    train = make_inventory(rows, features, random_state=seed)
    test = make_inventory(TEST_ROWS, features, beta=train.beta, random_state=1000 + seed)
    return train, test, oracle_inventory_loss(test.scale, transposed=transposed).mean()


def out(policy, drawn, transposed):
    test = drawn[1]
    decisions = policy.predict(test.data)
    return expected_inventory_loss(decisions, test.scale, transposed=transposed).mean()


if __name__ == "__main__":
    main()
