"""Two different solvers, one value: wherever both apply they agree on F to 0.5 %.

Values are the certified ones. Rules are affine, so that there is one minimum.
"""

import numpy as np
import pytest

import hedgerow as hr
from tests.problems import AUTO

RNG = np.random.default_rng(0)
x = RNG.normal(size=(40, 1))
SPREAD = 0.2 + 0.8 * np.abs(x[:, 0])
DEMAND = x, 4 + x[:, 0] + SPREAD * RNG.normal(size=40)
REPEATED = np.repeat(x[:12], 4, axis=0), 4 + np.repeat(x[:12, 0], 4) + RNG.normal(size=48)
STOCKS = x, np.exp(0.3 * x) * RNG.gamma([2.0, 4.0], size=(40, 2))
RETURNS = x, 0.1 + 0.3 * x * [1.0, -1.0, 0.0] + RNG.normal(size=(40, 3)) * [1.0, 2.0, 0.5]
NEWSVENDOR = hr.Newsvendor(0.6, 1.0, decision_set=hr.Free(1))
INVENTORY = hr.InventorySubstitution([1.0, 0.7], [1.8, 1.6], [[0.0, 1.2], [np.inf, 0.0]])
STOCHASTIC = hr.SCSC(steps=1500)
PLAIN = hr.NestedSGD(steps=1500)


CASES = {
    "order 2": (DEMAND, NEWSVENDOR, hr.Sinkhorn(2.0, 0.3), STOCHASTIC, hr.SAA(nodes=64)),
    "order 2, unbiased": (
        DEMAND,
        NEWSVENDOR,
        hr.Sinkhorn(2.0, 0.3),
        hr.MLMC(steps=1500, nodes=2),
        hr.SAA(nodes=64),
    ),
    "order 1": (DEMAND, NEWSVENDOR, hr.Sinkhorn(3.0, 0.2, order=1), STOCHASTIC, hr.SAA(nodes=64)),
    "radius": (
        DEMAND,
        NEWSVENDOR,
        hr.Sinkhorn(radius=1.5, epsilon=0.2),
        STOCHASTIC,
        hr.SAA(nodes=64),
    ),
    "repeated contexts": (
        REPEATED,
        NEWSVENDOR,
        hr.CausalSinkhorn(2.0, 0.3),
        STOCHASTIC,
        hr.SAA(nodes=64),
    ),
    "mean-variance": (
        RETURNS,
        hr.MeanVariance(1.0),
        hr.Sinkhorn(8.0, 0.2, **AUTO),
        STOCHASTIC,
        hr.SAA(),
    ),
    "inventory": (
        STOCKS,
        INVENTORY,
        hr.Sinkhorn(4.0, 0.2, **AUTO),
        STOCHASTIC,
        hr.SAA(outcome_nodes=32),
    ),
    "kl": (DEMAND, NEWSVENDOR, hr.KL(1.0), STOCHASTIC, hr.SAA()),
    "causal wasserstein": (
        REPEATED,
        NEWSVENDOR,
        hr.CausalWasserstein(3.0),
        hr.MLMC(steps=500),
        hr.SAA(),
    ),
    "empirical risk": (DEMAND, NEWSVENDOR, hr.ERM(), PLAIN, hr.SAA()),
}
FAST = ("kl", "empirical risk")


@pytest.mark.parametrize(
    ("data", "loss", "model", "first", "second"),
    [
        pytest.param(*case, id=name, marks=() if name in FAST else pytest.mark.slow)
        for name, case in CASES.items()
    ],
)
def test_two_solvers_agree(data, loss, model, first, second):
    values = [
        hr.RobustPolicy(loss, model, hr.Affine(), solver=solver, random_state=0)
        .fit(*data)
        .robust_value_.value
        for solver in (first, second)
    ]
    assert values[0] == pytest.approx(values[1], rel=5e-3)  # what is promised of every solver
