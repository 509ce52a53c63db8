"""A portfolio for the market as it is today.

A made-up market of four assets: the first pays when volatility is high, two others when it is low.
The rule chooses weights from the volatility of the evening before, and says what it is worth.
"""

import numpy as np
from matplotlib.figure import Figure

import hedgerow as hr

rng = np.random.default_rng(0)
volatility = 25 + 8 * np.sin(np.arange(400) / 9) + 3 * rng.normal(size=400)  # the evening before
stormy = np.tanh((volatility - 25) / 5)[:, None]
drift = 0.1 + 0.4 * np.hstack([stormy, -stormy, -stormy, np.zeros_like(stormy)])
returns = drift + rng.normal(size=(400, 4)) * [0.8, 1.0, 1.2, 0.9]  # percent a day
past, ahead = slice(0, 300), slice(300, 400)

loss = hr.MeanVariance(return_weight=5.0)
hedge = hr.Sinkhorn(penalty=10.0, epsilon=0.1, x_scale="auto", y_scale="auto", loss_scale="auto")
policy = hr.RobustPolicy(loss, hedge, hr.SoftForest(trees=5), random_state=0)
policy.fit(volatility[past, None], returns[past])

for level in (16, 34):
    _, *weights = policy.predict([[level]])[0]  # the first number is the level z₀
    print(f"volatility {level}: weights {np.round(weights, 2)}")

chosen = policy.predict(volatility[ahead, None])[:, 1:]
earned = np.sum(chosen * returns[ahead], axis=1)
fixed = returns[ahead] @ loss.best_constant(returns[past], np.ones(300))[1:]
print(f"loss {loss.realised(earned):.2f}, of the best fixed portfolio {loss.realised(fixed):.2f}")
print(f"Sharpe {hr.metrics.sharpe(earned):.1f}, fixed {hr.metrics.sharpe(fixed):.1f}")
value = policy.robust_value_
print(f"robust value {value.value:.2f} against {value.nominal:.2f} on the data themselves")

# a tail instead of a variance
tail = hr.MeanCVaR(return_weight=1.0, tail=0.1)
careful = hr.RobustPolicy(tail, hedge, hr.SoftForest(trees=5), random_state=0)
careful.fit(volatility[past, None], returns[past])
at_risk, *weights = careful.predict([[16]])[0]
print(f"by CVaR at 16: weights {np.round(weights, 2)}, value at risk {at_risk:.2f} %")

levels = np.linspace(12, 38, 100)
figure = Figure(figsize=(8, 4), layout="constrained")
axes = figure.add_subplot(title="What to hold, by the volatility of the evening before")
held = policy.predict(levels[:, None])[:, 1:]
axes.stackplot(levels, held.T, labels=[f"asset {i + 1}" for i in range(4)], alpha=0.8)
axes.set(xlabel="volatility", ylabel="share of the portfolio", ylim=(0, 1), xlim=(12, 38))
axes.legend(loc="lower right", ncols=4)
hr.plots.save_figure(figure, "portfolio.png")
