"""Worst cases that could happen: rain that can fall, weekdays that exist.

Demand of a café depends on the weather and the weekday. The same policy is asked how bad it can
get, by an adversary who takes all columns for numbers, and by one who knows better.
The first moves days to between two weekdays and rain to below zero; the second cannot.
"""

import numpy as np
from matplotlib.figure import Figure

import hedgerow as hr

rng = np.random.default_rng(0)
days = 120
rain = np.where(rng.random(days) < 0.5, 0.0, rng.gamma(1.5, 2.0, days))
sunny = (rain == 0) & (rng.random(days) < 0.7)
weekday = np.arange(days) % 7
X = np.column_stack([rain, sunny, ~sunny, weekday]).astype(float)
guests = np.maximum(30 - 2 * rain + 12 * sunny + 8 * (weekday > 4) + rng.normal(0, 4, days), 0)
y = guests.round()

auto = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}
loss = hr.Newsvendor(holding=1, stockout=3, outcome_support=(0, np.inf))
plain = hr.CausalSinkhorn(penalty=2, epsilon=0.1, **auto)
knowing = hr.CausalSinkhorn(
    penalty=2,
    epsilon=0.1,
    contexts=[
        hr.contexts.Bounded(0, low=0),
        hr.contexts.Categorical((1, 2), mismatch=4.0),
        hr.contexts.Fixed(3),
    ],
    **auto,
)
policy = hr.RobustPolicy(
    loss, plain, hr.Affine(), hr.EmpiricalNominal(), hr.SCSC(steps=200), random_state=0
).fit(X, y)
figure = Figure(figsize=(8, 4), layout="constrained")
panels = figure.subplots(1, 2, sharex=True, sharey=True)
names = {"all numbers": plain, "as they are": knowing}
for axes, (name, model) in zip(panels, names.items(), strict=True):
    worst = hr.worst_case(policy, X, y, ambiguity=model, tolerance=5e-3)
    draws = worst.sample(1000)
    axes.plot(draws.x[:, 3], draws.x[:, 0], ".", color="#D55E00", alpha=0.3, label="worst case")
    axes.plot(weekday, rain, "+", color="0.3", markersize=4, label="history")
    axes.set(title=f"columns {name}", xlabel="weekday", ylabel="rain")
    skies = sorted(set(map(tuple, (draws.x[:, 1:3] + 0.0).round(1).tolist())))
    print(
        f"{name}: {worst.expected_loss():.2f} a day at worst; "
        f"least rain {draws.x[:, 0].min():.1f}, {len(skies)} skies such as {skies[0]}"
    )
assert draws.x[:, 0].min() >= 0
assert len(skies) == 2
assert set(draws.x[:, 3].round(9)) <= set(range(7))

panels[1].legend(frameon=False, loc="upper center", ncols=2)
panels[1].set_ylim(top=13)
hr.plots.save_figure(figure, "contexts.png")
