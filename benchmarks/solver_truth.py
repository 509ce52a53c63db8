"""Small problems whose robust objective is known exactly, and its minimum.

F is evaluated with dense nodes in float64 (Gauss rules around contexts; closed forms or 256 Sobol
points around outcomes) and minimised by L-BFGS to rounding. For affine rules that is the minimum;
forests are not convex, so there it is the least value that many starts, and every rule that was
offered as a candidate, led to. A forest can also place its gates between nodes, however dense, and
then F looks lower than it is: what a descent led to counts with its value on 1920 other nodes.
"""

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np
from scipy.optimize import minimize

import hedgerow as hr
from hedgerow.kernels.nodes import Nodes
from hedgerow.solvers.sample_average import SampleAverage

RULES = {"affine": hr.Affine(), "forest": hr.SoftForest(trees=5, depth=2)}
STARTS = {"affine": 2, "forest": 4}
KEY = jax.random.key(0, impl="rbg")
QUICKEST = hr.NestedSGD(steps=1, batch=1, nodes=1, outcome_nodes=1)
DRAW = 20261116
"""Seeds every problem's data; fixed before any solver had been run on them."""
FINE, MANY_CLIMBS = hr.GaussQuadrature(16, panels=60), hr.Sobol(256)
POLISH = {"maxiter": 600, "maxfun": 1200, "maxcor": 30, "ftol": 1e-11, "gtol": 1e-10}


@dataclass
class Case:
    """A problem: data, loss, model and rule, and the dense nodes that settle its objective."""

    name: str
    rule: str
    X: np.ndarray
    Y: np.ndarray
    loss: Any
    model: Any
    nodes: Nodes
    outcome_nodes: Nodes | None = None
    best_seen: float = field(default=np.inf, init=False)

    def policy(self, solver=None, seed: int = 0) -> hr.RobustPolicy:
        """An unfitted policy for this problem."""
        return hr.RobustPolicy(
            self.loss,
            self.model,
            RULES[self.rule],
            hr.EmpiricalNominal(),
            solver,
            random_state=seed,
        )

    @cached_property
    def objective(self) -> SampleAverage:
        """F and its gradient, in working units."""
        return self._objective(self.nodes)

    @cached_property
    def check(self) -> SampleAverage:
        """The same with other, finer nodes; where contexts climb, from many more starts."""
        climbs = isinstance(self.model, hr.CausalWasserstein)
        return self._objective(MANY_CLIMBS if climbs else FINE)

    def _objective(self, nodes: Nodes) -> SampleAverage:
        policy = self.policy(QUICKEST).fit(self.X, self.Y)
        self.unit = policy.units_.loss_unit
        solver = hr.SAA(nodes=nodes, outcome_nodes=self.outcome_nodes)
        training = solver.training(policy.problem(self.X, self.Y), policy.rule_)
        return SampleAverage(training, KEY)

    def value(self, rule) -> tuple[float, float]:
        """F of a rule in the loss's units, and the norm of its gradient in working units."""
        value, gradient = self.objective(self.objective.point(rule))
        self.best_seen = min(self.best_seen, value * self.unit)
        return value * self.unit, float(np.linalg.norm(gradient))

    def polish(self, rule) -> float:
        """Descend from a rule as far as it goes."""
        found = minimize(
            self.objective, self.objective.point(rule), jac=True, method="L-BFGS-B", options=POLISH
        )
        value = self.check(found.x)[0] * self.unit
        self.best_seen = min(self.best_seen, value)
        return value

    def minimum(self, memory: Path) -> float:
        """The least value from several starts and from whatever else was polished or valued.

        ``memory`` is a file that keeps what was found, here and in other runs.
        """
        known = json.loads(memory.read_text()) if memory.exists() else {}
        key = f"{self.name}, {self.rule}"
        if key not in known:
            for seed in range(STARTS[self.rule]):
                self.polish(self.policy(QUICKEST, seed).fit(self.X, self.Y).rule_)
        known[key] = min(known.get(key, np.inf), self.best_seen)
        memory.write_text(json.dumps(known, indent=1))
        return known[key]


def demand(rows: int, repeats: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """One feature, demand whose spread grows with its distance from 0."""
    rng = np.random.default_rng([DRAW, 0])
    x = np.repeat(rng.normal(size=rows), repeats)
    y = 3 + x + (0.2 + 1.2 * np.abs(x)) * rng.normal(size=rows * repeats)
    return x[:, None], y


def returns(rows: int = 150, assets: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """One feature that moves mean and risk of a few assets."""
    rng = np.random.default_rng([DRAW, 1])
    x = rng.normal(size=(rows, 1))
    means = 0.1 + 0.3 * x * rng.normal(size=assets)
    risk = np.exp(0.3 * x * rng.normal(size=assets))
    return x, means + risk * rng.normal(size=(rows, assets))


def two_demands(rows: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """One feature that scales two demands."""
    rng = np.random.default_rng([DRAW, 2])
    x = rng.normal(size=(rows, 1))
    return x, np.exp(0.4 * x) * rng.gamma([2.0, 4.0], size=(rows, 2))


def cases() -> list[Case]:
    """Every problem of the comparison, with both rules.

    Unless contexts are smeared out, or can be moved, gates gain from growing without end, and a
    forest's objective has no minimum to compare with: KL and empirical risk are affine only.
    """
    free = hr.Newsvendor(0.6, 1.0, decision_set=hr.Free(1))
    hermite, laguerre = hr.GaussQuadrature(32), hr.GaussQuadrature(8, panels=12)
    auto = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}
    inventory = hr.InventorySubstitution([1.0, 0.7], [1.8, 1.6], [[0.0, 1.2], [np.inf, 0.0]])
    once, repeated, assets, stocks = demand(100), demand(30, 5), returns(), two_demands()
    listed = [
        ("newsvendor, p = 2", once, free, hr.CausalSinkhorn(2.0, 0.3), hermite),
        ("newsvendor, p = 1", once, free, hr.CausalSinkhorn(3.0, 0.3, order=1), laguerre),
        ("repeated contexts", repeated, free, hr.CausalSinkhorn(2.0, 0.3), hermite),
        ("repeated, not causal", repeated, free, hr.Sinkhorn(2.0, 0.3), hermite),
        (
            "mean–variance, p = 2",
            assets,
            hr.MeanVariance(0.2),
            hr.CausalSinkhorn(5.0, 0.5, **auto),
            hr.GaussQuadrature(24),
        ),
        (
            "inventory, p = 2",
            stocks,
            inventory,
            hr.CausalSinkhorn(3.0, 0.2, **auto),
            hr.GaussQuadrature(24),
            hr.Sobol(256),
        ),
        ("Causal-WDRO", once, free, hr.CausalWasserstein(3.0), hr.Sobol(16)),
        ("KL-DRO", once, free, hr.KL(1.0), hr.Sobol(1)),
        ("empirical risk", once, free, hr.ERM(), hr.Sobol(1)),
    ]
    return [
        Case(name, rule, *data, loss, model, *nodes)
        for name, data, loss, model, *nodes in listed
        for rule in RULES
        if rule == "affine" or not isinstance(model, hr.KL | hr.ERM)
    ]
