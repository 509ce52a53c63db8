"""Watching: false alarms of quiet streams, and days to the alarm of others.

    python -m benchmarks.watching [--streams 1000] [--days 365]

The paper's newsvendor, 5 features, one policy from 400 rows. Every stream has a history of its own
that the policy did not see (200 rows, residuals are compared) and new days from the same truth; or
with demand 10 or 25 % higher from day 100 on, or with contexts that drift by a hundredth of their
spread a day from then. The bound is the promise for a year at 90 %, or the true mean cost itself,
where the cost test is least quiet.
"""

import argparse
import warnings

import numpy as np

CHANGE = 100


def main():
    """Print a line per kind of stream."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--days", type=int, default=365)
    asked = parser.parse_args()
    import hedgerow as hr

    warnings.simplefilter("ignore")
    drawn = hr.datasets.make_newsvendor(400, 5, random_state=0)
    policy = hr.RobustPolicy(
        hr.Newsvendor(0.6, 1.0), nominal=hr.EmpiricalNominal(), random_state=0
    ).fit(drawn.data, drawn.target)
    many = hr.datasets.make_newsvendor(365 * 1000, 5, beta=drawn.beta, random_state=10**7)
    costs = policy.losses(many.data, many.target)
    mean = float(costs.mean())
    promise = float(np.quantile(costs.reshape(1000, 365).mean(axis=1), 0.9))
    print(f"true mean cost {mean:.4f}, promise {promise:.4f}", flush=True)
    kinds = {
        "quiet": (asked.streams, promise, lambda x, y, t: (x, y)),
        "quiet, bound at the mean cost": (asked.streams, mean, lambda x, y, t: (x, y)),
        "demand +10 %": (200, promise, lambda x, y, t: (x, y * (1 + 0.1 * (t >= CHANGE)))),
        "demand +25 %": (200, promise, lambda x, y, t: (x, y * (1 + 0.25 * (t >= CHANGE)))),
        "drifting contexts": (200, promise, drift),
    }
    print("| stream | streams | alarms | cost | data | median days to the alarm |")
    print("|---|---|---|---|---|---|")
    for name, (streams, bound, changed) in kinds.items():
        alarms, costly, moved, early, delays = 0, 0, 0, 0, []
        for seed in range(streams):
            known = hr.datasets.make_newsvendor(200, 5, beta=drawn.beta, random_state=2 * seed)
            new = hr.datasets.make_newsvendor(
                asked.days, 5, beta=drawn.beta, random_state=10**6 + 2 * seed + 1
            )
            x, y = changed(new.data, new.target, np.arange(asked.days))
            found = hr.watch(
                policy, x, y, history=(known.data, known.target), bound=bound, random_state=seed
            )
            alarms += found.status != "quiet"
            costly += bool(found.cost_evidence.max() >= found.threshold)
            moved += bool(found.shift_evidence.max() >= found.threshold)
            if found.alarm is not None:
                first = np.flatnonzero(
                    np.maximum(found.cost_evidence, found.shift_evidence) >= found.threshold
                )[0]
                early += first < CHANGE
                delays.append(first + 1 - CHANGE)
        late = [delay for delay in delays if delay > 0]
        delay = "–" if name.startswith("quiet") or not late else f"{np.median(late):.0f}"
        print(
            f"| {name} | {streams} | {alarms / streams:.3f} | {costly / streams:.3f} | "
            f"{moved / streams:.3f} | {delay} |",
            flush=True,
        )


def drift(x, y, t):
    """Contexts move by a hundredth of a spread a day; demand goes on as it did."""
    return x + 0.01 * np.maximum(t - CHANGE, 0)[:, None], y


if __name__ == "__main__":
    main()
