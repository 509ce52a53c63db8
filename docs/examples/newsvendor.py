"""How many steaks a restaurant should prepare.

Two years of real days: the weather, the calendar and the portions that were wanted. A portion left
over costs 1, one missing costs 3. The last quarter of the days was never seen in training.
"""

from matplotlib.figure import Figure

import hedgerow as hr

data = hr.datasets.load_restaurant("steak")
train, test = slice(None, 573), slice(573, None)  # the last quarter of the days is the test

loss = hr.Newsvendor(holding=1.0, stockout=3.0, outcome_support=(0, float("inf")))
policy = hr.RobustPolicy(
    loss,
    hr.CausalSinkhorn(penalty=10, epsilon=0.1, x_scale="auto", y_scale="auto", loss_scale="auto"),
    nominal=hr.NeighbourNominal(5),
    random_state=0,
).fit(data.data[train], data.target[train])

orders = policy.predict(data.data[test])
print(f"orders for the next three days: {orders[:3].round(1)}")
print(f"mean loss on days never seen:   {-policy.score(data.data[test], data.target[test]):.2f}")
print(f"best constant order in training: {policy.units_.constant_loss:.2f}")
print(f"robust value:                   {policy.robust_value_.value:.2f}")

policy.save("steak.hedgerow")
assert (hr.load("steak.hedgerow").predict(data.data[test]) == orders).all()

weeks = slice(-56, None)
figure = Figure(figsize=(8, 4), layout="constrained")
axes = figure.add_subplot(title="Orders and demand on the last eight weeks, never seen in training")
axes.step(data.dates[weeks], orders[weeks], where="mid", label="prepared")
axes.plot(data.dates[weeks], data.target[weeks], "o", color="0.4", markersize=4, label="wanted")
axes.set(xlabel="date", ylabel="portions of steak", ylim=(0, None))
axes.legend(frameon=False, loc="upper left", ncols=2)
axes.tick_params(axis="x", labelrotation=30)
hr.plots.save_figure(figure, "newsvendor.png")
