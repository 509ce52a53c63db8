"""Transport plans: sweeps, seconds and errors, on grids and clouds, causal and not.

Causal grids of n × n points a side (the paper's figure; the plan has n⁴ entries and is never
formed), and clouds of 2000 points a side with 200 repeated contexts, down to epsilons whose kernel
exp(−c/epsilon) underflows. Both columns of errors are computed from the plan. Beside the smaller
grid: the sweeps that the same iteration takes without its additions. Beside the clouds:
POT's Sinkhorn for the plan without causality, to its own tolerance of the same size. Seconds are
medians of repeats and leave out what only the report needs (the errors).
"""

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.timing import seconds
from hedgerow.transport import DiscreteMeasure, causal_sinkhorn, sinkhorn
from hedgerow.transport.examples import example_measures
from hedgerow.transport.sweep_forms import form
from hedgerow.transport.transport_problem import TransportProblem

EPSILONS = (0.5, 0.1, 0.02, 0.005)
TOLERANCE = 1e-8
POINTS, CONTEXTS = 2000, 200
MOST_PLAIN_SWEEPS = 2000


def clouds():
    """Two clouds with repeated contexts; outcomes follow a curve with noise."""
    rng = np.random.default_rng(0)
    measures = []
    for shift in (0.0, 0.3):
        x = (rng.normal(size=CONTEXTS) + shift)[rng.integers(CONTEXTS, size=POINTS)]
        measures.append(DiscreteMeasure(x, np.sin(x) + 0.5 * rng.normal(size=POINTS)))
    return measures


def row(name, solver, source, target, epsilon, repeats):
    """Solve, print a line of the table, and return the median time."""
    found = []
    taken = seconds(lambda: found.append(solver(source, target, epsilon)), repeats)
    result = found[0]
    print(
        f"  {name:<24}{epsilon:>8g}{result.iterations:>9}{taken:>9.2f} s"
        f"{result.marginal_error:>12.1e}{result.causality_error:>12.1e}",
        flush=True,
    )
    return taken


def plain_sweeps(source, target, epsilon):
    """Sweeps of the causal iteration as it is, without larger epsilons first and without mixing."""
    problem = TransportProblem.between(source, target, 2, 1.0, 1.0, causal=True)
    plain, mass = form(problem, epsilon), problem.target.mass
    log_scaling = np.log(mass)
    for sweep in range(1, MOST_PLAIN_SWEEPS + 1):
        log_second, _ = plain.sweep(log_scaling)
        if np.abs(np.exp(log_second) - mass).sum() <= TOLERANCE:
            return f"{sweep}"
        log_scaling = log_scaling + np.log(mass) - log_second
    return f"more than {MOST_PLAIN_SWEEPS}"


def pot_seconds(source, target, epsilon):
    """POT's fastest Sinkhorn, in the exponential domain: it underflows at smaller epsilons."""
    import ot

    cost = ot.dist(source.x, target.x) + ot.dist(source.y, target.y)
    options = {"method": "sinkhorn", "numItermax": 2000, "stopThr": TOLERANCE, "warn": False}
    with threadpool_limits(1, "blas"):  # as ours, and on a busy machine the faster choice
        return seconds(
            lambda: ot.sinkhorn(source.weights, target.weights, cost, epsilon, **options)
        )


def main():
    heading = f"  {'points a side':<24}{'epsilon':>8}{'sweeps':>9}{'time':>11}"
    print(f"{heading}{'marginals':>12}{'causality':>12}")
    for n, repeats in ((100, 5), (500, 1)):
        source, target = example_measures(n)
        for epsilon in EPSILONS:
            row(f"causal grid {n} x {n}", causal_sinkhorn, source, target, epsilon, repeats)
    source, target = example_measures(100)
    with threadpool_limits(1, "blas"):
        taken = [plain_sweeps(source, target, epsilon) for epsilon in EPSILONS]
    print(f"  plain iteration, causal grid 100 x 100: {', '.join(taken)} sweeps", flush=True)
    source, target = clouds()
    for epsilon in EPSILONS:
        row(f"causal cloud {POINTS}", causal_sinkhorn, source, target, epsilon, 3)
    ours = {e: row(f"plain cloud {POINTS}", sinkhorn, source, target, e, 3) for e in EPSILONS}
    try:
        for epsilon in EPSILONS[:2]:
            theirs = pot_seconds(source, target, epsilon)
            print(f"  {'POT, plain cloud':<24}{epsilon:>8g}{'':>9}{theirs:>9.2f} s", end="")
            print(f"   {theirs / ours[epsilon]:.0f} x hedgerow's time", flush=True)
    except ImportError:
        print("  POT is not installed; pip install POT for the comparison.")


if __name__ == "__main__":
    main()
