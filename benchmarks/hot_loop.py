"""A training step beside what the processor could do: operations, bytes, and the share achieved.

    python -m benchmarks.hot_loop

Of a step on ``rows`` = batch × (nodes + 1) contexts of d features, with T trees of G = 2^D − 1
gates,

    products      4·rows·T·G·d operations: logits, and the gradient of their weights
    gates         rows·T·G sigmoids, and some 12 operations each to mix leaves and to come back
    moments       rows·n times 2 complementary error functions, 4 logarithms and 4 exponentials,
                  for n outcomes of a context
    bytes         rows·T·G numbers of 4 bytes, written and read for logits, gates, gaps and their
                  cotangents

The limit is what these would take one after the other on one core: products at the pace of a
matrix product of 1024 × 1024 (BLAS, one thread), functions at the pace of a loop of nothing else
compiled as our programs are, bytes at the pace of a copy in the second-level cache. Processor time,
the least of repeats, so that other work on the machine matters little; all paces are taken in the
same run.
"""

import time
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from threadpoolctl import threadpool_limits

import hedgerow as hr
from hedgerow import programs
from hedgerow.solvers import loop

CASES = {
    "default forest, 64 × 4": (hr.SoftForest(), hr.SCSC(), 1),
    "the same, 32 outcomes each": (hr.SoftForest(), hr.SCSC(), 32),
    "20 × depth 5, 64 × 4": (hr.SoftForest(20, 5), hr.SCSC(), 1),
    "40 × depth 4, 256 × 4": (hr.SoftForest(40, 4), hr.SCSC(batch=256), 1),
}
FEATURES, ROWS = 10, 1000


def least(function, repeats=9):
    """Least processor time of repeats, and wall time of the same."""
    found = []
    for _ in range(repeats):
        processor, wall = time.process_time(), time.perf_counter()
        function()
        found.append((time.process_time() - processor, time.perf_counter() - wall))
    return min(found)


def pace(function, size=2**14, times=200):
    """Seconds per number of a loop that does nothing else, compiled as programs are."""

    def many(x):
        def once(_, carry):
            x, y = carry
            return y, function(x) * 0.5 + 0.25

        return jax.lax.fori_loop(0, times, once, (x, x))

    x = np.linspace(0.1, 2.0, size, dtype=np.float32)
    ready = jax.jit(many, compiler_options=programs.options())
    jax.block_until_ready(ready(x))
    return least(lambda: jax.block_until_ready(ready(x)))[0] / times / size


def paces():
    """Seconds per operation of products, per function, per byte."""
    a = np.random.default_rng(0).normal(size=(1024, 1024)).astype(np.float32)
    with threadpool_limits(1):
        product = least(lambda: a @ a)[0] / (2 * 1024**3)
    small = np.zeros(2**16, np.float32)
    other = small.copy()

    def copies():
        for _ in range(1000):
            np.copyto(other, small)

    functions = {
        "sigmoid": jax.nn.sigmoid,
        "erfc": jax.scipy.special.erfc,
        "log": jnp.log,
        "exp": jnp.exp,
    }
    found = {name: pace(function) for name, function in functions.items()}
    return {"product": product, "byte": least(copies)[0] / 1000 / (2 * small.nbytes), **found}


def step(rule, solver, outcomes):
    """Processor and wall time of a step."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(ROWS, FEATURES)), outcomes, axis=0)
    y = 20 + 5 * X[:, 0] + rng.normal(size=len(X))
    seen = []
    compiled = loop._compiled_stretch

    def watched(*arguments):
        seen.append(arguments)
        return compiled(*arguments)

    loop._compiled_stretch = watched
    try:
        hr.RobustPolicy(
            hr.Newsvendor(1, 3),
            rule=rule,
            nominal=hr.EmpiricalNominal(),
            solver=solver.replace(steps=100),
            random_state=0,
        ).fit(X, y)
    finally:
        loop._compiled_stretch = compiled
    state, _, *rest = seen[0]

    def run(length):
        return least(lambda: jax.block_until_ready(compiled(state, length, *rest)))

    many, few = run(100), run(0)
    return [(one - other) / 100 for one, other in zip(many, few, strict=True)]


def limit(known, rule, solver, outcomes):
    """Operations, bytes and the seconds they would take."""
    rows = solver.batch * (solver.nodes + 1)
    gates = rows * rule.trees * (2**rule.depth - 1)
    products = 4 * gates * FEATURES
    moved = 4 * gates * 8
    moments = rows * outcomes
    seconds = {
        "products": (products + 12 * gates) * known["product"],
        "functions": gates * known["sigmoid"]
        + moments * (2 * known["erfc"] + 4 * known["log"] + 4 * known["exp"]),
        "bytes": moved * known["byte"],
    }
    return products + 24 * gates + 60 * moments, moved, seconds


def main():
    warnings.simplefilter("ignore")
    known = paces()
    print(
        f"one core: {1e-9 / known['product']:.0f} GFLOP/s in products, "
        f"{1e-9 / known['byte']:.0f} GB/s in cache, ns per sigmoid {1e9 * known['sigmoid']:.2f}, "
        f"erfc {1e9 * known['erfc']:.2f}, log {1e9 * known['log']:.2f}, "
        f"exp {1e9 * known['exp']:.2f}\n"
    )
    print("| step | MFLOP | MB | limit, ms | of it products, functions, bytes | took, ms | share |")
    print("|---|---:|---:|---:|---|---:|---:|")
    for name, case in CASES.items():
        operations, moved, seconds = limit(known, *case)
        processor, _ = step(*case)
        total = sum(seconds.values())
        parts = ", ".join(f"{1e3 * part:.3f}" for part in seconds.values())
        print(
            f"| {name} | {operations / 1e6:.1f} | {moved / 1e6:.1f} | {1e3 * total:.3f} | {parts} "
            f"| {1e3 * processor:.3f} | {total / processor:.0%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
