"""Second stages: exact values with gradients per second, against HiGHS called row by row.

Inventory with downward substitution (the paper's example and larger ones): 10,000 random stocks and
demands. HiGHS solves each row from the last one's basis (highspy, dual simplex) and gives value and
duals; ``engine`` is hedgerow's NumPy engine in float64, whose every value is exact; ``compiled`` is
what training sees, the maximum over the vertices found, in float32 with its gradient. ``error`` is
the engine's largest relative difference from HiGHS over all rows. Where the vertices are too many
to enumerate, ``first`` is the pass that meets the rows for the first time and ``again`` one that
knows them; compiled programs then see the vertices of those rows.

A second table compares gradients in z with those of HiGHS's duals. They are unique where HiGHS's
primal solution has as many positive entries as there are rows. Elsewhere, as for many of the rows
rounded to whole numbers, there are several; then the inequality that makes g a subgradient,
Q(z′, y) ≥ Q(z, y) + g·(z′ − z), is checked at other stocks z′, near and far.
"""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.timing import seconds
from hedgerow.losses.inventory import InventorySubstitution
from hedgerow.losses.recourse.warm_solver import WarmSolver

ROWS = 10_000
COMPILED_ROWS = 500
FAR, NEAR = 5, 5
"""Other stocks at which the inequality is checked, for each row."""


def example(products):
    """The paper's costs for three products; random ones of the same size for more."""
    rng = np.random.default_rng(products)
    if products == 3:
        holding, shortage = [1.0, 0.7, 0.6], [1.8, 1.6, 1.2]
        costs = np.array([[0.0, 1.7, 2.0], [0.0, 0.0, 1.5], [0.0, 0.0, 0.0]])
    else:
        holding, shortage = rng.uniform(0.5, 1.0, products), rng.uniform(1.0, 2.0, products)
        costs = rng.uniform(1.0, 2.5, (products, products)) * (1 - np.eye(products))
    costs = np.where(np.triu(np.ones_like(costs)) > 0, costs, np.inf)
    z, y = rng.gamma(4.0, size=(2, ROWS, products))
    return (holding, shortage, costs), z, y


def compiled_seconds(loss, z, y):
    """Seconds per row of the compiled maximum with its gradient in z."""
    pieces = jax.tree_util.tree_map(jnp.float32, loss.pieces(z, y))
    program = jax.jit(jax.value_and_grad(lambda z, y, part: jnp.sum(part(z, y))))
    rows = ROWS if len(pieces.constant) < 1000 else COMPILED_ROWS
    z, y = jnp.float32(z[:rows]), jnp.float32(y[:rows])
    return seconds(lambda: jax.block_until_ready(program(z, y, pieces)), 7) / rows


def measure(products):
    """Build, run the engine, HiGHS and the compiled maximum, and print a line or two."""
    costs, z, y = example(products)
    build = seconds(lambda: InventorySubstitution(*costs), 3)
    loss = InventorySubstitution(*costs)
    engine, vertices = loss.recourse, loss.pool().grow(z, y).vertices
    first = seconds(lambda: engine.values_and_gradients(z, y))
    again = seconds(lambda: engine.values_and_gradients(z, y), 7)
    solver = WarmSolver(engine.form.matrix, engine.form.cost)
    right = engine.form.right_hand_sides(z, y)
    duals = []
    highs = seconds(lambda: duals.extend(solver.solve(row) for row in right))
    expected = np.einsum("nm,nm->n", np.array(duals), right)
    error = np.max(np.abs(engine.values(z, y) / expected - 1))
    compiled = compiled_seconds(loss, z, y)
    passes = [("", again)] if engine.enumerated else [("first", first), ("again", again)]
    for name, taken in passes:
        print(
            f"  {products:<3}{name:<6}{vertices:>9}{build:>8.3f}{ROWS / highs:>9,.0f}"
            f"{ROWS / taken:>12,.0f}{1 / compiled:>12,.0f}{highs / taken:>8.0f}{error:>9.0e}",
            flush=True,
        )


def compare_gradients(products, name, whole):
    """Compare gradients in z with HiGHS's, and print a line."""
    costs, z, y = example(products)
    if whole:
        z, y = np.round(z), np.round(y)
    engine = InventorySubstitution(*costs).recourse
    values, gradients, _ = engine.values_and_gradients(z, y)
    solver = WarmSolver(engine.form.matrix, engine.form.cost)
    duals, unique = [], []
    for right in engine.form.right_hand_sides(z, y):
        duals.append(solver.solve(right))
        positive = np.asarray(solver.highs.getSolution().col_value) > 1e-9
        unique.append(positive.sum() == len(right))
    unique = np.array(unique)
    expected = engine.form.pieces(np.array(duals))[2]
    apart = np.abs(gradients - expected).max(axis=1)
    rng = np.random.default_rng(0)
    here = np.flatnonzero(~unique)
    near = z[here, None] + 0.1 * rng.normal(size=(len(here), NEAR, products))
    far = z[rng.integers(ROWS, size=(len(here), FAR))]
    others = np.concatenate([np.maximum(near, 0.0), far], axis=1)
    below = values[here, None] + np.einsum("nki,ni->nk", others - z[here, None], gradients[here])
    excess = np.max(below - engine.values(others, y[here, None]), initial=0.0)
    print(
        f"  {products:<10}{name:<15}{unique.sum():>9,}{apart[unique].max(initial=0.0):>12.0e}"
        f"{np.sum(~unique):>14,}{np.sum(apart[~unique] > 1e-9):>13,}{excess:>11.0e}",
        flush=True,
    )


def main():
    print(f"  {'':<26}{'values with gradients per second':>33}{'engine':>8}{'':>9}")
    heading = f"  {'products':<9}{'vertices':>9}{'build':>8}{'HiGHS':>9}{'engine':>12}"
    print(f"{heading}{'compiled':>12}{'/HiGHS':>8}{'error':>9}")
    for products in (3, 5, 8, 12):
        measure(products)
    print(f"\n  {'gradients in z':<25}{'unique':>9}{'difference':>12}{'degenerate':>14}", end="")
    print(f"{'differ':>13}{'violation':>11}")
    for products in (3, 5, 8, 12):
        compare_gradients(products, "as drawn", whole=False)
        compare_gradients(products, "whole numbers", whole=True)


if __name__ == "__main__":
    main()
