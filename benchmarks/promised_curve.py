"""What a promise costs: miscoverage against regret, for several ways to hedge and to promise.

    python -m benchmarks.promises curve

The paper's newsvendor, 200 rows and 5 features, blocks of 10 rows. Each way decides and promises:

no hedge      empirical risk, promise by bootstrap of costs of five folds
calibrated    the default hedge, promise by rank among blocks of five folds (``hr.calibrate``)
quantiles     a gradient-boosted quantile, shifted by conformal residuals of a held-out half
              (conformalised quantile regression); promise by rank among that half's blocks
KL, Wasserstein   trained under a radius; the promise is the certified value in training

Miscoverage is the share of 1,000 further blocks that cost more than promised, regret the mean cost
above the oracle's, premium the promise above the mean cost.
"""

import json
import math
import warnings
from pathlib import Path

import numpy as np

ROWS, FEATURES, HORIZON, FRESH, HISTORIES, FEWER = 200, 5, 10, 1000, 30, 6
LEVELS = (0.5, 0.8, 0.9)
KL_RADII = (0.003, 0.01, 0.03, 0.1, 0.3)
DISTANCES = (0.05, 0.15, 0.4)
AUTO = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}


def curve(folder: Path):
    """A cell for each history."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, histories in (("curve", HISTORIES), ("wasserstein", FEWER)):
        for seed in range(histories):
            cell = folder / f"{kind}-{seed}.json"
            if not cell.exists():
                cell.write_text(json.dumps(one_history(seed, kind)))
                print(cell.name, flush=True)


def one_history(seed, kind):
    """Every way on one history; Wasserstein, which takes minutes, on its own."""
    import hedgerow as hr
    from benchmarks.promises import promises

    warnings.simplefilter("ignore")
    loss, plain = hr.Newsvendor(0.6, 1.0), hr.EmpiricalNominal()
    drawn = hr.datasets.make_newsvendor(ROWS, FEATURES, random_state=seed)
    fresh = hr.datasets.make_newsvendor(
        FRESH * HORIZON, FEATURES, beta=drawn.beta, random_state=10**6 + seed
    )
    oracle = hr.datasets.oracle_newsvendor_loss(fresh.signal).mean()
    labels = np.arange(ROWS) // HORIZON
    found = {}

    def put(name, decide, promised):
        costs = np.asarray(
            loss(np.asarray(decide(fresh.data)).reshape(-1, 1), fresh.target[:, None])
        )
        blocks = costs.reshape(FRESH, HORIZON).mean(axis=1)
        found[name] = [
            float(np.mean(blocks > promised)),
            float(costs.mean() - oracle),
            float(promised - costs.mean()),
        ]

    def fitted(model):
        return hr.RobustPolicy(loss, model, nominal=plain, random_state=seed).fit(
            drawn.data, drawn.target
        )

    if kind == "wasserstein":
        for radius in DISTANCES:
            policy = fitted(hr.CausalWasserstein(radius=radius, order=2, **AUTO))
            put(f"Wasserstein {radius}", policy.predict, policy.robust_value_.value)
        return found

    from hedgerow.certify.calibration import held_out_costs

    for name, model, method in (
        ("no hedge, bootstrap", hr.ERM(), "bootstrap"),
        ("calibrated", None, "blocks"),
    ):
        policy = fitted(model)
        held = held_out_costs(policy, drawn.data, drawn.target, labels, "folds", 5)
        made = promises(held, HORIZON, LEVELS)[method]
        for level, promised in made.items():
            put(f"{name} {level}", policy.predict, promised)
    decide, costs = quantiles(drawn, loss, seed)
    ordered = np.sort(costs.reshape(-1, HORIZON).mean(axis=1))
    for level in LEVELS:
        place = math.ceil((len(ordered) + 1) * level - 1e-9)
        if place <= len(ordered):
            put(f"quantiles {level}", decide, ordered[place - 1])
    for radius in KL_RADII:
        policy = fitted(hr.KL(radius=radius))
        put(f"KL {radius}", policy.predict, policy.robust_value_.value)
    return found


def quantiles(drawn, loss, seed):
    """Conformalised quantile regression at the critical ratio; costs of the held-out half."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    half, ratio = ROWS // 2, 1.0 / 1.6
    X, y = drawn.data, drawn.target
    model = HistGradientBoostingRegressor(
        loss="quantile", quantile=ratio, max_iter=100, min_samples_leaf=10, random_state=seed
    ).fit(X[:half], y[:half])
    off = np.sort(y[half:] - model.predict(X[half:]))
    shift = off[min(math.ceil((len(off) + 1) * ratio), len(off)) - 1]

    def decide(contexts):
        return np.maximum(model.predict(contexts) + shift, 0)

    held = np.asarray(loss(decide(X[half:])[:, None], y[half:, None]))
    return decide, held


def report_curve(folder: Path):
    """Means over histories."""
    for kind in ("curve", "wasserstein"):
        cells = [json.loads(path.read_text()) for path in sorted(folder.glob(f"{kind}-*.json"))]
        for name in cells[0] if cells else ():
            values = np.array([cell[name] for cell in cells])
            error = values[:, 1].std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
            miss, regret, premium = values.mean(axis=0)
            print(
                f"| {name} | {len(cells)} | {miss:.3f} | {regret:.4f} ± {error:.4f} "
                f"| {premium:.3f} |"
            )
