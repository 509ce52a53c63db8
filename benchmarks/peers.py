"""Training beside others: a first fit in a fresh process, and a second one.

    python -m benchmarks.peers [--repeats 3]

Newsvendor at 400 × 10, costs 0.6 : 1. Every trial is a process of its own, kinds take turns, and
figures are medians of wall and of processor time, so ratios within one table compare. Where others
are at work on the machine, processor time is the one to read. Nothing is kept on disk between
processes unless the row says so.

    hedgerow                 the defaults; and rows as they are, the same forest and hedge
    Algorithm 1, PyTorch     the paper's forest (20 trees, depth 5) and its printed recursion,
                             eager, 300 passes in batches of 64, order 2, penalty 0.4, epsilon 0.2
    skwdro                   robustified pinball loss of an affine rule, its own solver and rates
    dro, Sinkhorn            affine rule; it has no pinball loss, so absolute deviations
    dro, Wasserstein         the same by a cone program
    LightGBM                 quantile boosting, for scale: it hedges against nothing

dro imports torchvision and torchattacks for networks on images. A torchvision that goes with a
PyTorch for processors is not on PyPI, so where it cannot be imported an empty module stands in for
it: no linear model uses it.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import types
import warnings
from importlib.metadata import PackageNotFoundError, version

ROWS, FEATURES, HOLDING, STOCKOUT = 400, 10, 0.6, 1.0
LEVEL = STOCKOUT / (HOLDING + STOCKOUT)
TREES, DEPTH, PASSES, BATCH, PENALTY, EPSILON = 20, 5, 300, 64, 0.4, 0.2
RADIUS = 0.1
PACKAGES = ("hedgerow", "jax", "torch", "skwdro", "dro", "cvxpy", "clarabel", "lightgbm")


def history():
    from hedgerow.datasets import make_newsvendor

    data = make_newsvendor(ROWS, FEATURES, random_state=0)
    return data.data, data.target


def hedgerow_fit(nominal=None):
    import jax

    import hedgerow as hr

    jax.devices()
    if os.environ.get("HEDGEROW_CACHE") != "off":
        hr.compilation_cache()
    loss = hr.Newsvendor(HOLDING, STOCKOUT)
    given = hr.EmpiricalNominal() if nominal == "rows" else None
    X, y = history()
    return lambda: hr.RobustPolicy(loss, nominal=given, random_state=0).fit(X, y).predict(X)


def algorithm_1():
    """The printed recursion with its two trackers, exponents kept below what overflows."""
    import torch

    X, y = history()
    x, y = (torch.tensor(part, dtype=torch.float32) for part in (X, y))
    width, temperature = math.sqrt(EPSILON / 2), PENALTY * EPSILON
    gates, leaves = 2**DEPTH - 1, 2**DEPTH
    steps = PASSES * (ROWS // BATCH)
    rate, share = 1 / math.sqrt(steps), 2 / math.sqrt(steps)

    def decide(points, weights, biases, values):
        gate = torch.sigmoid(torch.einsum("tgd,rd->tgr", weights, points) + biases[..., None])
        value = torch.nn.functional.softplus(values)[..., None]
        for level in reversed(range(DEPTH)):
            left, right = value.chunk(2, dim=1)
            value = right + gate[:, 2**level - 1 : 2 ** (level + 1) - 1] * (left - right)
        return value[:, 0].mean(0)

    def loss_of(parameters, points, demands):
        gap = decide(points, *parameters) - demands
        over = torch.maximum(HOLDING * gap, -STOCKOUT * gap)
        return torch.clamp(over, max=50 * temperature)

    def fit():
        torch.manual_seed(0)
        weights, values = torch.randn(TREES, gates, FEATURES), torch.randn(TREES, leaves)
        parameters = [p.requires_grad_() for p in (weights, torch.zeros(TREES, gates), values)]
        tracked, before = torch.tensor(0.0), torch.tensor(-math.inf)  # log 1, log 0
        for _ in range(steps):
            rows = torch.randint(ROWS, (BATCH,))
            points = x[rows] + width * torch.randn(BATCH, FEATURES)
            demands = y[rows] + width * torch.randn(BATCH)
            exponents = loss_of(parameters, points, demands) / temperature
            with torch.no_grad():
                now = torch.logsumexp(exponents, 0) - math.log(BATCH)
                # y ← (1 − β)(y + t − t of the last step) + β t, by its logarithm
                top = torch.maximum(tracked, now)
                last = torch.exp(before - top)
                sum_ = torch.exp(tracked - top) + torch.exp(now - top) - last
                mixed = (1 - share) * sum_ + share * torch.exp(now - top)
                tracked, before = torch.log(torch.clamp(mixed, min=1e-6)) + top, now
                tilt = torch.exp(exponents - tracked) / BATCH
            gradient = torch.autograd.grad((tilt * exponents * temperature).sum(), parameters)
            with torch.no_grad():
                for parameter, slope in zip(parameters, gradient, strict=True):
                    parameter -= rate * slope
        with torch.no_grad():
            return decide(x, *parameters).numpy()

    return fit


def skwdro_fit():
    import numpy as np
    import torch
    from skwdro.base.problems import EmpiricalDistributionWithLabels
    from skwdro.solvers.entropic_dual_torch import solve_dual_wdro
    from skwdro.solvers.optim_cond import OptCondTorch
    from skwdro.torch import robustify

    class Pinball(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(FEATURES, 1)

        def forward(self, points, demands):
            gap = self.linear(points) - demands
            return torch.maximum(HOLDING * gap, -STOCKOUT * gap)

    X, y = history()
    X, y = X.astype(np.float32), y.astype(np.float32)[:, None]

    def fit():
        torch.manual_seed(0)
        radius = torch.tensor(RADIUS)
        loss = robustify(Pinball(), None, radius, torch.tensor(X), torch.tensor(y))
        known = EmpiricalDistributionWithLabels(ROWS, X, y)
        solve_dual_wdro(loss, known, OptCondTorch(2))
        rule = loss.primal_loss.loss.linear
        with torch.no_grad():
            return rule(torch.tensor(X)).numpy()[:, 0]

    return fit


def without_images():
    """Let dro be imported where torchvision is missing."""
    try:
        import torchvision  # noqa: F401
    except Exception:
        for name in ("torchvision", "torchvision.models", "torchvision.transforms"):
            sys.modules[name] = types.ModuleType(name)
        sys.modules["torchvision"].models = sys.modules["torchvision.models"]
        sys.modules["torchattacks"] = types.ModuleType("torchattacks")


def dro_fit(kind):
    without_images()
    from dro.linear_model import SinkhornLinearDRO, WassersteinDRO

    X, y = history()

    def fit():
        if kind == "Sinkhorn":
            model = SinkhornLinearDRO(FEATURES, "lad", reg_param=EPSILON, lambda_param=PENALTY)
        else:
            model = WassersteinDRO(FEATURES, "lad")
            model.update({"eps": RADIUS, "p": 2, "kappa": 1.0})
        model.fit(X, y)
        return model.predict(X)

    return fit


def lightgbm_fit():
    import lightgbm

    X, y = history()

    def fit():
        model = lightgbm.LGBMRegressor(objective="quantile", alpha=LEVEL, verbose=-1, n_jobs=2)
        return model.fit(X, y).predict(X)

    return fit


KINDS = {
    "hedgerow, defaults": hedgerow_fit,
    "hedgerow, rows as they are": lambda: hedgerow_fit("rows"),
    "Algorithm 1, PyTorch": algorithm_1,
    "skwdro, affine": skwdro_fit,
    "dro, Sinkhorn, affine": lambda: dro_fit("Sinkhorn"),
    "dro, Wasserstein, affine": lambda: dro_fit("Wasserstein"),
    "LightGBM quantile": lightgbm_fit,
}
WHATS = ("import", "first fit", "second fit")
CACHED = ("hedgerow, defaults", "hedgerow, rows as they are")


def trial(kind):
    """Wall and processor seconds of imports, of a first and a second fit; cost in sample."""
    import numpy as np

    marks = [(time.perf_counter(), time.process_time())]
    fit = KINDS[kind]()
    for call in (lambda: None, fit, fit):
        orders = call()
        marks.append((time.perf_counter(), time.process_time()))
    spent = np.diff(np.array(marks), axis=0).tolist()
    gap = np.ravel(orders) - history()[1]
    cost = float(np.mean(np.maximum(HOLDING * gap, -STOCKOUT * gap)))
    return dict(zip(WHATS, spent, strict=True)) | {"cost": cost}


def run(kind, cache):
    """A trial in a process of its own; the last line of its error where it cannot be run."""
    command = [sys.executable, "-m", "benchmarks.peers", "--trial", kind]
    environment = os.environ | {"HEDGEROW_CACHE": cache}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    return json.loads(done.stdout.splitlines()[-1])


def installed(package):
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package}: not installed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--trial", choices=list(KINDS), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.trial:
        print(json.dumps(trial(asked.trial)))
        return
    print(", ".join(installed(package) for package in PACKAGES), flush=True)
    found, errors = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        kinds = [(kind, "off") for kind in asked.kinds]
        kinds += [(kind, folder) for kind in asked.kinds if kind in CACHED]
        for kind in (kind for kind, cache in kinds if cache == folder):
            run(kind, folder)  # fills the cache
        for _ in range(asked.repeats):
            for kind, cache in kinds:
                if kind in errors:
                    continue
                measured = run(kind, cache)
                if isinstance(measured, str):
                    errors[kind] = measured
                    continue
                name = kind if cache == "off" else f"{kind}, from the cache"
                found.setdefault(name, []).append(measured)
    medians = {
        name: {
            what: [
                statistics.median(part) for part in zip(*(s[what] for s in several), strict=True)
            ]
            for what in WHATS
        }
        for name, several in found.items()
    }
    unit = medians[next(iter(medians))]
    print(f"\n| {ROWS} × {FEATURES}, wall (processor) s | {' | ratio | '.join(WHATS)} | ratio |")
    print("|---|---:" + "|---:" * (2 * len(WHATS) - 1) + "|")
    for name, one in medians.items():
        cells = []
        for what in WHATS:
            (wall, processor), (_, known) = one[what], unit[what]
            cells += [f"{wall:.2f} ({processor:.2f})", f"{processor / known:.2g}"]
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"\nRatios are of processor time to {next(iter(medians))!r}.")
    for kind, error in errors.items():
        print(f"\n{kind} could not be run: {error}")


if __name__ == "__main__":
    main()
