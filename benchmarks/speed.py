"""Training speed: the compiled loop beside the same model in eager PyTorch.

Newsvendor, N = 1000, d_x = 10, forest of 20 trees of depth 5, 32 contexts × 8 nodes a step,
closed-form inner log-moments, one log-domain tracker per context, Adam. Prints milliseconds per
step once compiled (median of repeats, by difference of run lengths), the time to the end of a
first 100-step fit in a fresh process, and the ratio to PyTorch where it is installed (extra
"bench").
"""

import math
import subprocess
import sys

import hedgerow as hr
from benchmarks.timing import per_step, seconds
from hedgerow.datasets import make_newsvendor

ROWS, FEATURES, TREES, DEPTH, BATCH, NODES = 1000, 10, 20, 5, 32, 8
PENALTY, EPSILON, HOLDING, STOCKOUT = 5.0, 0.1, 0.6, 1.0


def policy(steps, solver=hr.SCSC):
    return hr.RobustPolicy(
        hr.Newsvendor(HOLDING, STOCKOUT),
        hr.Sinkhorn(PENALTY, EPSILON),
        hr.SoftForest(TREES, DEPTH),
        hr.EmpiricalNominal(),
        solver=solver(steps=steps, batch=BATCH, nodes=NODES),
        random_state=0,
    )


def first_fit():
    """Seconds of a first short fit in this process (imports done): compilation, and 100 steps."""
    data = make_newsvendor(ROWS, FEATURES, random_state=0)
    first = policy(100)
    return seconds(lambda: first.fit(data.data, data.target))


def torch_per_step(data):
    """The same model, the same work per step, written plainly in eager PyTorch."""
    import torch

    torch.manual_seed(0)
    x = torch.tensor(data.data, dtype=torch.float32)
    y = torch.tensor(data.target / data.target.std(), dtype=torch.float32)
    gates, leaves = 2**DEPTH - 1, 2**DEPTH
    weights = (0.3 / math.sqrt(FEATURES)) * torch.randn(TREES, gates, FEATURES)
    biases, values = torch.zeros(TREES, gates), torch.randn(TREES, leaves) * 0.5 + 1
    parameters = [p.requires_grad_() for p in (weights, biases, values)]
    width, temperature = math.sqrt(EPSILON / 2), PENALTY * EPSILON
    over, under = HOLDING / temperature, STOCKOUT / temperature
    log_tail = torch.special.log_ndtr

    def decide(points):
        gate = torch.sigmoid(torch.einsum("tgd,rd->tgr", weights, points) + biases[..., None])
        value = torch.nn.functional.softplus(values)[..., None]
        for level in reversed(range(DEPTH)):
            left, right = value.chunk(2, dim=1)
            value = right + gate[:, 2**level - 1 : 2 ** (level + 1) - 1] * (left - right)
        return value[:, 0].mean(0)

    def run(steps):
        optimizer = torch.optim.Adam(parameters, lr=0.02)
        trackers = torch.full((ROWS,), float("nan"))
        for _ in range(steps):
            chosen = torch.randint(ROWS, (BATCH,))
            points = x[chosen, None] + width * torch.randn(BATCH, NODES, FEATURES)
            gap = decide(points.reshape(-1, FEATURES)).reshape(BATCH, NODES) - y[chosen, None]
            exponents = torch.logaddexp(
                over * gap + (over * width) ** 2 / 2 + log_tail(gap / width + over * width),
                -under * gap + (under * width) ** 2 / 2 + log_tail(-gap / width + under * width),
            )
            with torch.no_grad():
                now = torch.logsumexp(exponents, 1) - math.log(NODES)
                kept = trackers[chosen]
                mixed = torch.logaddexp(math.log(0.8) + kept, math.log(0.2) + now)
                level = torch.where(torch.isnan(kept), now, mixed)
                trackers[chosen] = level
                weight = torch.exp(exponents - level[:, None]) / (BATCH * NODES)
            optimizer.zero_grad()
            (temperature * (weight * exponents).sum()).backward()
            optimizer.step()

    run(20)
    return per_step(run, 100, 400, repeats=3)


def main():
    data = make_newsvendor(ROWS, FEATURES, random_state=0)
    print(
        f"{ROWS} rows x {FEATURES} features, {TREES} trees, depth {DEPTH}, {BATCH} x {NODES} a step"
    )
    fresh = "from benchmarks.speed import first_fit; print(first_fit())"
    first = float(
        subprocess.run(
            [sys.executable, "-c", fresh], capture_output=True, text=True, check=True
        ).stdout
    )
    print(f"  first fit in a fresh process (compile + 100 steps)  {first:8.2f} s")
    measured = {}
    for solver in (hr.SCSC, hr.SCGD, hr.NestedSGD):

        def run(steps, solver=solver):
            policy(steps, solver).fit(data.data, data.target)

        run(100)
        measured[solver] = 1e3 * per_step(run, 200, 2200)
        print(f"  {'hedgerow ' + solver.__name__:<50}{measured[solver]:8.3f} ms a step")
    try:
        eager = 1e3 * torch_per_step(data)
    except ImportError:
        print("  PyTorch is not installed; `make bench` installs it for the comparison.")
        return
    print(f"  {'eager PyTorch, tracked like SCGD':<50}{eager:8.3f} ms a step")
    print(f"  ratio PyTorch / hedgerow SCGD {eager / measured[hr.SCGD]:.1f}")


if __name__ == "__main__":
    main()
