"""Order steaks for a restaurant from the weather and the calendar, robustly."""

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
