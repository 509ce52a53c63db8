"""How the benchmarks measure time: medians of repeats, and cost per step by difference."""

import statistics
import time


def seconds(function, repeats=1):
    """Median wall time of ``function()``."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def per_step(run, few, many, repeats=5):
    """Median seconds per step: (time of ``many`` steps − time of ``few``) / (many − few).

    The difference cancels what a run costs besides its steps.
    """
    differences = [
        (seconds(lambda: run(many)) - seconds(lambda: run(few))) / (many - few)
        for _ in range(repeats)
    ]
    return statistics.median(differences)
