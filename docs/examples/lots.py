"""Orders in boxes: which number of boxes costs least.

A supplier sells steaks by the dozen. The number of boxes is chosen by expected cost, with what is
in the freezer taken into account, and compared with what planners do.
"""

import numpy as np
from matplotlib.figure import Figure

import hedgerow as hr

BOX, HOLDING, STOCKOUT = 12, 1.0, 3.0
data = hr.datasets.load_restaurant("steak")
train, held_out, test = slice(None, 450), slice(450, 573), slice(573, None)

policy = hr.RobustPolicy(hr.Newsvendor(HOLDING, STOCKOUT), random_state=0)
policy.fit(data.data[train], data.target[train])

# how demand scattered around decisions on days that the policy had not been trained on
errors = hr.lots.error_quantiles(policy.predict(data.data[held_out]), data.target[held_out])
decisions, demand = policy.predict(data.data[test]), data.target[test]
placed = hr.Lots(size=BOX).place(decisions, errors, HOLDING, STOCKOUT)
print("decisions:", decisions[:7].round(1))
print("boxes:    ", (placed.orders[:7] / BOX).astype(int))
print(f"expected cost of buying boxes only: {placed.mean_rounding_cost:.2f} a day")

# two boxes' worth of steaks in the freezer, and at least three boxes to a delivery
stocked = hr.Lots(size=BOX, minimum=3 * BOX).place(
    decisions, errors, HOLDING, STOCKOUT, on_hand=2 * BOX
)
print("boxes with two in stock, three at least:", (stocked.orders[:7] / BOX).astype(int))

one_series = np.zeros(len(data.dates), dtype=int)
history, wanted = (one_series, data.dates, data.target), (one_series[test], data.dates[test])
level = STOCKOUT / (HOLDING + STOCKOUT)
ways = {
    "decisions as they are": decisions,
    "boxes by cost": placed.orders,
    "boxes, nearest": BOX * np.round(decisions / BOX),
    "same day last week": hr.baselines.seasonal_naive(history, wanted),
    "same-weekday quantile": hr.baselines.same_weekday_quantile(history, wanted, level),
}
print(f"{'':24}{'cost':>6}{'fill rate':>11}{'service':>9}{'waste':>7}")
for name, orders in ways.items():
    total = hr.metrics.inventory_summary(orders, demand, HOLDING, STOCKOUT).total
    shares = f"{total.fill_rate:>11.1%}{total.service_level:>9.0%}{total.waste_share:>7.0%}"
    print(f"{name:24}{total.mean_cost:6.2f}{shares}")
apart = placed.orders != ways["boxes, nearest"]
print(
    f"by cost and nearest differ on {apart.sum()} of {len(apart)} days, too few to tell them apart"
)
assert np.all(placed.orders % BOX == 0)

shown = np.arange(42)
figure = Figure(figsize=(8, 4), layout="constrained")
axes = figure.add_subplot(title="Six weeks of decisions, and the boxes they become")
axes.bar(shown, placed.orders[shown], width=1.0, color="#0072B2", alpha=0.25, label="boxes bought")
axes.plot(shown, decisions[shown], "_", color="#0072B2", markersize=9, label="decision")
axes.plot(shown, demand[shown], "o", color="0.4", markersize=4, label="wanted")
axes.set(xlabel="day", ylabel="portions of steak", yticks=np.arange(0, 5) * BOX, ylim=(0, 58))
axes.legend(frameon=False, loc="upper left", ncols=3)
hr.plots.save_figure(figure, "lots.png")
