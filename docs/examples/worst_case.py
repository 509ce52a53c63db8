"""The worst world for a rule, under four ideas of “worst”.

One newsvendor rule, four adversaries side by side: the paper's Figure 2. One covariate, 100
observations, and the best rule there is: the oracle that knows how demand depends on the covariate.
Causality only matters where a context has several outcomes, and a continuous covariate never
repeats: with the plain empirical distribution (a) and (b) would be exactly the same. So contexts
are quantised to cells here (``AdaptedNominal``).

    python worst_case.py [figure.png]
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri

import hedgerow as hr
from hedgerow.plots import save_figure, worst_cases

HOLDING, STOCKOUT = 0.6, 1.0
data = hr.datasets.make_newsvendor(100, 1, random_state=0)


@jax.jit
def oracle(x):
    """The b/(h+b) quantile of demand given the covariate, as hedgerow.datasets states it."""
    index = data.beta[0] * x[0]
    signal = 1.7 * (jnp.sin(2 * index) + 2 * jnp.exp(-16 * index**2) + 1)
    return signal - ndtri(HOLDING / (HOLDING + STOCKOUT) * ndtr(signal))


loss, X, Y = hr.Newsvendor(HOLDING, STOCKOUT), data.data, data.target
policy = hr.RobustPolicy.from_function(oracle, loss, X, Y, nominal=hr.AdaptedNominal(cells=10))
models = {
    "Causal-SDRO": hr.CausalSinkhorn(penalty=0.5, epsilon=0.05, order=2),
    "SDRO": hr.Sinkhorn(penalty=0.5, epsilon=0.05, order=2),
    "Causal-WDRO": hr.CausalWasserstein(penalty=0.5, order=2),
    "KL-DRO": hr.KL(penalty=0.5),
}
caption = (
    "p = 2, λ = 0.5, ε = 0.05. The 100 covariates are quantised to 10 cells: with one outcome per "
    "context, (a) and (b) would be the same distribution. All marginals share one scale."
)
labels = {"feature_label": "covariate", "outcome_label": "demand", "decision_label": "order"}
figure = worst_cases(policy, X, Y, models, caption=caption, **labels)
path = next((name for name in sys.argv[1:] if name.endswith((".png", ".pdf"))), "worst_case.png")
save_figure(figure, path)


def entropy(density, cell):
    """Differential entropy of a density on a grid with cells of this size."""
    return -np.sum(density * np.log(density + 1e-300)) * cell


across, upright = np.linspace(-5, 5, 100), np.linspace(-4, 12, 100)
everywhere = [axis.ravel() for axis in np.meshgrid(across, upright)]
step_x, step_y = across[1] - across[0], upright[1] - upright[0]
causal, plain = (hr.worst_case(policy, X, Y, ambiguity=models[m]) for m in ("Causal-SDRO", "SDRO"))
for name, worst in (("causal", causal), ("plain", plain)):
    of_x = entropy(worst.marginal_x(across), step_x)
    joint = entropy(worst.density(*everywhere), step_x * step_y)
    print(
        f"{name:6}: expected loss {worst.expected_loss():.2f}, entropy of x {of_x:.2f}, "
        f"of x and demand {joint:.2f}"
    )
assert causal.expected_loss() < plain.expected_loss()
