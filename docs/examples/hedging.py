"""What penalty and epsilon do to a decision.

Demand rises with the temperature and is more uncertain on warm days. A small penalty lets the
adversary move the data far: the rule becomes flatter, because tomorrow's temperature may be
misread, and orders more where it matters, because a unit short costs more than a unit left over.
A small epsilon keeps the adversary near single points; a large one spreads it out, and the rule
answers more smoothly.
"""

import numpy as np
from matplotlib.figure import Figure

import hedgerow as hr

rng = np.random.default_rng(0)
temperature = rng.uniform(5, 30, size=(400, 1))
mean = 40 + 60 / (1 + np.exp(-(temperature[:, 0] - 20)))
demand = np.maximum(mean + (3 + 0.5 * temperature[:, 0]) * rng.normal(size=400), 0)

loss = hr.Newsvendor(holding=1, stockout=2)
auto = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}


def learn(penalty, epsilon):
    """A forest that hedges so much."""
    model = hr.Sinkhorn(penalty, epsilon, **auto)
    return hr.RobustPolicy(loss, model, random_state=0).fit(temperature, demand)


trusting = hr.RobustPolicy(loss, hr.ERM(), random_state=0).fit(temperature, demand)
by_penalty = {f"λ = {penalty}": learn(penalty, 0.1) for penalty in (1, 3, 10)}
by_epsilon = {f"ε = {epsilon}": learn(3, epsilon) for epsilon in (0.02, 0.2, 1.0)}

figure = Figure(figsize=(10, 4), layout="constrained")
panels = figure.subplots(1, 2, sharey=True)
titles = ("penalty λ, at ε = 0.1", "epsilon ε, at λ = 3")
for axes, title, policies in zip(panels, titles, (by_penalty, by_epsilon), strict=True):
    hr.plots.decision_curve(
        {"empirical risk": trusting, **policies},
        temperature,
        0,
        demand,
        feature_label="temperature",
        decision_label="order",
        outcome_label="demand",
        title=title,
        ax=axes,
    )
hr.plots.save_figure(figure, "hedging.png")

for name, policy in {"empirical risk": trusting, **by_penalty, **by_epsilon}.items():
    cold, warm = policy.predict([[10.0], [28.0]])
    print(f"{name:>15}: order {cold:5.1f} at 10 degrees, {warm:5.1f} at 28")
