"""A cost of your own in seven lines.

Capacity is paid for in advance, and shedding load has a steep price. Any function that JAX can
differentiate, of one decision and one outcome, is a loss: it is trained, hedged and certified.
"""

import jax.numpy as jnp
import numpy as np

import hedgerow as hr

rng = np.random.default_rng(0)
temperature = rng.normal(20, 8, size=(600, 1))
load = 50 + 0.05 * (temperature[:, 0] - 18) ** 2 + rng.gamma(2.0, 2.0, 600)


def cost(capacity, load):
    """Reserve at 2 a unit; missing load costs 30 a unit, and its square besides."""
    missing = jnp.maximum(load[0] - capacity[0], 0.0)
    return 2.0 * capacity[0] + 30.0 * missing + missing**2


policy = hr.RobustPolicy(
    hr.CustomLoss(cost, hr.Box(0.0, 150.0), outcome_support=(0.0, 200.0)),
    hr.Sinkhorn(penalty=5, epsilon=0.02, x_scale="auto", y_scale="auto", loss_scale="auto"),
    random_state=0,
).fit(temperature, load)

for degrees in (5.0, 20.0, 38.0):
    print(f"at {degrees:4.1f} degrees reserve {policy.predict([[degrees]])[0]:6.1f} units")
assert policy.predict([[38.0]])[0] > policy.predict([[20.0]])[0]

figure = hr.plots.decision_curve(
    policy,
    temperature,
    0,
    load,
    feature_label="temperature",
    decision_label="units reserved",
    outcome_label="load",
    title="Capacity reserved, by temperature",
)
hr.plots.save_figure(figure, "custom_loss.png")
