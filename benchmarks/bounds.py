"""Two-sided values of random rules and problems: is the truth between, and how far apart are they?

    python -m benchmarks.bounds                random problems, 300; --problems 10000 for all
    python -m benchmarks.bounds report         what is known of the problems that were run
    python -m benchmarks.bounds defaults       gaps of default policies, and what they take

Problems go to benchmarks/results/bounds.jsonl as they are done; whoever starts again goes on, and
--minutes ends a run. Those of one kind follow each other, so that they share compiled programs.

Each problem draws data, costs, a rule (random forest, affine, network, or two hills), penalty,
epsilon, order and model. Rules look at the first feature; the truth is the value with that feature
alone, by quadrature to 1e-8, and the bounds are asked for with one to ten features.
"""

import argparse
import json
import time
import warnings
from dataclasses import fields as declared
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import hedgerow as hr
from hedgerow.rules.affine import AffineRule
from hedgerow.rules.soft_forest import Forest
from hedgerow.rules.two_layer import TwoLayerNetwork

AUTO = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}
ROWS, OUTCOMES = 24, 3
FEATURES = (1, 2, 5, 10)
KINDS, TOGETHER = 64, 1280
"""Rules, models and numbers of features; problems that are put in the order of their kind."""
SLACK = 2e-7
"""Of the truth, which is known to 1e-8 itself."""
KEPT = Path(__file__).parent / "results" / "bounds.jsonl"


def hills(rng, decision_set):
    """Two narrow hills, far apart: gates as steep as they come."""
    centres, width = np.array([-1.5, 2.0]) + rng.normal(size=2) / 4, rng.uniform(0.15, 0.4)
    weights = np.full((2, 3, 1), 2.0 / width)
    biases = np.stack([-2 * (c + width * np.array([0, -3, 3])) / width for c in centres])
    leaves = np.tile([0.8, 0.8, 0.8, 0.8], (2, 1))[..., None] + 0.0
    leaves[:, 1] += rng.uniform(0.5, 2.0)
    return Forest(
        gate_weights=jnp.asarray(weights, jnp.float32),
        gate_biases=jnp.asarray(biases, jnp.float32),
        leaves=jnp.asarray(leaves, jnp.float32),
        features=None,
        temperature=jnp.asarray(1.0),
        decision_set=decision_set,
    )


def forest(rng, decision_set):
    """Four trees of depth 2, steep or gentle."""
    return Forest(
        gate_weights=jnp.asarray(rng.normal(size=(4, 3, 1)) * 3 ** rng.uniform(-1, 2), jnp.float32),
        gate_biases=jnp.asarray(rng.normal(size=(4, 3)), jnp.float32),
        leaves=jnp.asarray(1 + rng.normal(size=(4, 4, 1)), jnp.float32),
        features=None,
        temperature=jnp.asarray(1.0),
        decision_set=decision_set,
    )


def affine(rng, decision_set):
    """A line, mapped onto the decisions."""
    matrix, offset = rng.normal(size=(1, 1)), rng.normal(size=1)
    return AffineRule(
        matrix=jnp.asarray(matrix), offset=jnp.asarray(offset), decision_set=decision_set
    )


def network(rng, decision_set):
    """Four kinks."""
    shapes = {"hidden": (1, 4, 1), "bias": (1, 4), "output": (1, 4), "offset": (1,)}
    arrays = {name: jnp.asarray(rng.normal(size=shape)) for name, shape in shapes.items()}
    return TwoLayerNetwork(**arrays, decision_set=decision_set)


def widened(rule, features):
    """The same rule among more features, which it does not look at."""
    names = {Forest: "gate_weights", AffineRule: "matrix", TwoLayerNetwork: "hidden"}
    name = names[type(rule)]
    own = np.asarray(getattr(rule, name))
    wide = np.zeros((*own.shape[:-1], features), own.dtype)
    wide[..., 0] = own[..., 0]
    fields = {each: getattr(rule, each) for each in [field.name for field in declared(rule)]}
    return type(rule)(**fields | {name: jnp.asarray(wide)})


def problem(seed):
    """Data, a policy whose rule is put in by hand, and a model."""
    rng = np.random.default_rng(seed)
    x = np.repeat(rng.normal(size=ROWS), OUTCOMES)
    y = np.maximum(3 + x + rng.gamma(2, 0.7, ROWS * OUTCOMES), 0.1)
    loss = hr.Newsvendor(float(rng.uniform(0.2, 1)), float(rng.uniform(0.5, 3)))
    kind = [forest, affine, network, hills][seed % 4]
    order = 1 if rng.random() < 0.25 else 2
    penalty, epsilon = 10 ** rng.uniform(0.0, 1.5), 10 ** rng.uniform(-2.5, -0.3)
    maker = [hr.CausalSinkhorn, hr.Sinkhorn, hr.CausalSinkhorn, hr.CausalWasserstein][seed // 4 % 4]
    more = {} if maker is hr.CausalWasserstein else {"epsilon": epsilon}
    model = maker(penalty * (4 if order == 1 else 1), order=order, **more, **AUTO)
    return x, y, loss, kind, model, rng


def tried(seed, features):
    """Bounds with so many features, and the truth; None where the value is infinite."""
    x, y, loss, kind, model, rng = problem(seed)
    found = []
    for count in (1, features):
        X = np.concatenate([x[:, None], rng.normal(size=(len(x), count - 1))], axis=1)
        X[:, 1:] = np.repeat(X[::OUTCOMES, 1:], OUTCOMES, axis=0)
        policy = hr.RobustPolicy(
            loss, hr.ERM(), hr.Constant(), hr.EmpiricalNominal(), hr.NestedSGD(steps=1, batch=8)
        ).fit(X, y)
        if not found:
            rule = kind(rng, policy.rule_.decision_set)
        policy.rule_ = widened(rule, count)
        try:
            found.append(
                hr.robust_value(
                    policy, X, y, ambiguity=model, tolerance=1e-8 if count == 1 else 1e-3
                )
            )
        except ValueError:  # an inadmissible penalty
            return None
    truth, bounded = found
    return None if not np.isfinite(truth.value) else (truth.value, bounded, kind.__name__, model)


def random_problems(count, minutes):
    """Run those that were not run yet, kind by kind, and keep what was found."""
    done = {one["seed"] for one in known()}
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    ends = time.monotonic() + 60 * minutes
    with KEPT.open("a") as kept:
        for first in range(0, count, TOGETHER):
            seeds = range(first, min(first + TOGETHER, count))
            for seed in sorted(set(seeds) - done, key=lambda seed: (seed % KINDS, seed)):
                if time.monotonic() > ends:
                    return
                print(json.dumps(one_problem(seed)), file=kept, flush=True)


def one_problem(seed):
    """The truth and the bounds of one problem; without figures where the value is infinite."""
    features = FEATURES[seed // 16 % len(FEATURES)]
    found = tried(seed, features)
    if found is None:
        return {"seed": seed, "features": features}
    truth, value, kind, model = found
    return {
        "seed": seed,
        "features": features,
        "rule": kind,
        "model": type(model).__name__,
        "order": model.order,
        "lower": value.lower,
        "truth": truth,
        "upper": value.upper,
    }


def known():
    """Problems that were run, in their order."""
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    return sorted(map(json.loads, lines), key=lambda one: one["seed"])


def report():
    """Violations, and gaps by kind of rule, order and number of features."""
    problems = known()
    finite = [one for one in problems if "truth" in one]
    for one in finite:
        if violated(one):
            print("seed {seed}: {lower:.9g} <= {truth:.9g} <= {upper:.9g} is wrong".format(**one))
    gaps = {}
    for one in finite:
        key = one["rule"], one["order"]
        gaps.setdefault(key, []).append((one["upper"] - one["lower"]) / abs(one["truth"]))
    print("| rule | order | problems | median gap | 90 % below | largest |")
    print("|---|---|---:|---:|---:|---:|")
    for (rule, order), each in sorted(gaps.items()):
        each = np.sort(each)
        cells = (f"{100 * each[int(q * (len(each) - 1))]:.2g} %" for q in (0.5, 0.9, 1.0))
        print(f"| {rule} | {order} | {len(each):,} | {' | '.join(cells)} |")
    infinite = len(problems) - len(finite)
    unproved = sum(one["upper"] == np.inf for one in finite)
    print(
        f"{len(problems):,} problems, {infinite:,} with an infinite value or none that is allowed,"
    )
    print(f"{unproved:,} with an infinite upper bound; {sum(map(violated, finite))} violations")


def violated(one):
    """Whether the truth is outside of the bounds, by more than it is known."""
    slack = SLACK * abs(one["truth"])
    return not one["lower"] - slack <= one["truth"] <= one["upper"] + slack


def defaults():
    """Default policies: the restaurant, and the paper's newsvendor."""
    restaurant = hr.datasets.load_restaurant("steak")
    cases = [("restaurant", restaurant.data[:573], restaurant.target[:573], (1.0, 3.0))]
    for features in (5, 20):
        draw = hr.datasets.make_newsvendor(400, features, random_state=0)
        cases.append((f"newsvendor, d = {features}", draw.data, draw.target, (0.6, 1.0)))
    print("| data | lower | value | upper | gap | first call | next |")
    print("|---|---|---|---|---|---|---|")
    for name, X, y, costs in cases:
        policy = hr.RobustPolicy(hr.Newsvendor(*costs), random_state=0).fit(X, y)
        times = []
        for _ in range(4):
            start = time.perf_counter()
            value = hr.robust_value(policy, X, y)
            times.append(time.perf_counter() - start)
        gap = (value.upper - value.lower) / value.value
        print(
            f"| {name} | {value.lower:.5g} | {value.value:.5g} | {value.upper:.5g} | "
            f"{100 * gap:.2g} % | {times[0]:.2g} s | {np.median(times[1:]):.2g} s |"
        )


def main():
    """Run one part."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "part", nargs="?", default="random", choices=["random", "report", "defaults"]
    )
    parser.add_argument("--problems", type=int, default=300)
    parser.add_argument("--minutes", type=float, default=np.inf)
    asked = parser.parse_args()
    if asked.part == "defaults":
        defaults()
        return
    if asked.part == "random":
        random_problems(asked.problems, asked.minutes)
    report()


if __name__ == "__main__":
    main()
