"""One composition and one fitted policy that the theory is checked on."""

import jax
import jax.numpy as jnp
import numpy as np

import hedgerow as hr
from hedgerow.theory import compositional_constants
from tests.oracles import double
from tests.problems import QUICK, SMALL

BOUND, TEMPERATURE, OUTCOMES = 2.0, 0.8, 3
EXPONENT = BOUND / TEMPERATURE
CONSTANTS = compositional_constants(BOUND, TEMPERATURE, 1.5, OUTCOMES)


def geometric_mean(v, masses):
    return jnp.exp(masses @ jnp.log(v))


derivatives_of_t2 = double(
    jax.vmap(lambda v, p: (jax.grad(geometric_mean)(v, p), jax.hessian(geometric_mean)(v, p)))
)


def draws_for_t2(count=4000, seed=0):
    """Points of [1, e^{B/T}]^n, half of them corners, with random masses."""
    rng = np.random.default_rng(seed)
    logs = EXPONENT * rng.uniform(size=(count, OUTCOMES))
    logs[::2] = np.round(logs[::2] / EXPONENT) * EXPONENT
    return np.exp(logs), rng.dirichlet(np.full(OUTCOMES, 0.5), size=count)


def fit(X, y):
    loss = hr.Newsvendor(1.0, 3.0)
    return hr.RobustPolicy(loss, hr.ERM(), rule=SMALL, solver=QUICK, random_state=0).fit(X, y)
