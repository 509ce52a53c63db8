"""Small problems whose robust objective is known exactly, and quick settings for fits in tests."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr, logsumexp

import hedgerow as hr

AUTO = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}
QUICK = hr.SCSC(steps=40, batch=16, nodes=2)
SMALL = hr.SoftForest(trees=3, depth=2)


def history(rows=80, features=3, seed=0):
    """A linear signal with noise and positive outcomes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    return X, np.maximum(5 + X[:, 0] + rng.normal(size=rows), 0.1)


@dataclass
class AffineNewsvendor:
    """min F over z = slope·x + offset: p = 2, one feature, heteroscedastic demand.

    F is evaluated by 80-point Gauss–Hermite quadrature in the context and in closed form in the
    outcome, written here from the formula with scipy alone.
    """

    penalty: float = 2.0
    epsilon: float = 0.3
    holding: float = 0.6
    stockout: float = 1.0
    rows: int = 60
    repeats: int = 1

    def __post_init__(self):
        rng = np.random.default_rng(0)
        self.x = np.repeat(rng.normal(size=self.rows), self.repeats)
        noise = rng.normal(size=self.rows * self.repeats)
        self.y = 3 + self.x + (0.2 + 1.2 * np.abs(self.x)) * noise
        points, weights = np.polynomial.hermite.hermgauss(80)
        self.offsets = points * np.sqrt(self.epsilon)
        self.log_weights = np.log(weights / np.sqrt(np.pi))
        self.temperature = self.penalty * self.epsilon

    def log_moments(self, z):
        """log E exp(Ψ(z, y + ξ)/T) for ξ ~ N(0, ε/2)."""
        width = np.sqrt(self.epsilon / 2)
        over, under = self.holding / self.temperature, self.stockout / self.temperature
        gap = z - self.y[:, None]
        return np.logaddexp(
            over * gap + (over * width) ** 2 / 2 + log_ndtr(gap / width + over * width),
            -under * gap + (under * width) ** 2 / 2 + log_ndtr(-gap / width + under * width),
        )

    def exponents(self, theta):
        return self.log_moments(theta[0] * (self.x[:, None] + self.offsets) + theta[1])

    def sinkhorn(self, theta):
        """λε · mean over observations of log E exp G."""
        return self.temperature * np.mean(
            logsumexp(self.log_weights + self.exponents(theta), axis=1)
        )

    def causal(self, theta):
        """λε · mean over contexts of log E exp of the mean of G over the context's outcomes."""
        grouped = self.exponents(theta).reshape(self.rows, self.repeats, -1).mean(axis=1)
        return self.temperature * np.mean(logsumexp(self.log_weights + grouped, axis=1))

    def global_tilt(self, theta):
        """What a single shared tracker minimises."""
        return self.temperature * logsumexp(
            self.log_weights + self.exponents(theta), b=1 / len(self.y)
        )

    def minimise(self, objective):
        return minimize(objective, [0.0, 3.0], method="BFGS")

    def fit(self, model, solver, **settings):
        """Fit the affine rule with hedgerow; return the policy and its (slope, offset)."""
        loss = hr.Newsvendor(self.holding, self.stockout, decision_set=hr.Free(1))
        policy = hr.RobustPolicy(
            loss,
            model(self.penalty, self.epsilon),
            rule=hr.Affine(),
            nominal=hr.EmpiricalNominal(),  # whose objective is known
            solver=solver,
            random_state=0,
            **settings,
        ).fit(self.x[:, None], self.y)
        at_zero, at_one = policy.predict([[0.0], [1.0]])
        return policy, (at_one - at_zero, at_zero)
