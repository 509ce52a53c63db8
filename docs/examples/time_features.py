"""One rule for every shop of a bakery.

Features made of past demand never look ahead of the day on which the order is placed, and one rule
serves all series because it decides in units of each series' recent level.
"""

import numpy as np
from matplotlib.figure import Figure

import hedgerow as hr

bakery = hr.datasets.load_bakery()
bakery = bakery[bakery["store"].isin([4, 17, 19, 21])]  # four of 25, so that it takes seconds

features = hr.TimeFeatures(
    time="date",
    outcome="demand",
    by=("store", "product"),
    known=("is_holiday", "is_schoolholiday", "promotion_currentweek", "rain", "temperature"),
    lags=(7, 14, 21),
    rolling=(28,),
    same_weekday=(8,),
    level=28,
    lead=2,  # the order for Monday is placed on Saturday evening
    calendar=("weekday", "season"),
)
table = features.training(bakery)
waiting = features.overview(bakery)["waiting"].sum()
print(f"{len(table):,} rows to learn from; {waiting} had not {features.reach} days of history yet")


def scaled(rows):
    """Features with outcomes in units of the recent level, in which all series are alike."""
    made = rows[features.feature_names].copy()
    for name in features.outcome_features:
        made[name] /= rows[features.level_name]
    return made


train, test = table[table["date"] < "2018-05-01"], table[table["date"] >= "2018-05-01"]
encoder = hr.TableEncoder().fit(scaled(train))
loss = hr.Newsvendor(holding=1.0, stockout=3.0)
policy = hr.RobustPolicy(
    loss,
    hr.ERM(),
    rule=hr.SoftForest(trees=40, depth=4),
    solver=hr.NestedSGD(steps=1500, batch=256),
    random_state=0,
).fit(encoder.transform(scaled(train)), train["demand"] / train[features.level_name])


def orders(rows):
    """Decisions for rows of any series, in units of bread."""
    shares = policy.predict(encoder.transform(scaled(rows)))
    return np.ravel(shares) * rows[features.level_name].to_numpy()


def mean_cost(ordered):
    """What such orders would have cost in the year of the test."""
    return loss(np.asarray(ordered)[:, None], test[["demand"]].to_numpy()).mean()


weekdays = ["store", "product", "date_weekday"]
usual = train.groupby(weekdays, observed=True)["demand"].apply(lambda y: y.tail(26).quantile(0.75))
usual = test.join(usual.rename("usual"), on=weekdays)["usual"]
print(f"cost a day and series over one year:              {mean_cost(orders(test)):.1f}")
print(f"the 75 % quantile of the last 26 such weekdays:   {mean_cost(usual):.1f}")

# Saturday evening: what to order for Monday, from what is known then
saturday = bakery["date"].max() - np.timedelta64(3, "D")
monday = bakery[bakery["date"] == saturday + np.timedelta64(2, "D")]
rows = features.upcoming(bakery[bakery["date"] <= saturday], monday.drop(columns="demand"))
print(rows.assign(order=orders(rows).round())[["store", "product", "date", "order"]].head(3))

# ... which is what training makes of the same days later, to the last digit
later = table[table["date"] == rows["date"].iloc[0]].reset_index(drop=True)
assert rows.reset_index(drop=True).equals(later.drop(columns="demand"))

largest = test.groupby(["store", "product"], observed=True)["demand"].mean().idxmax()
shop = test[(test["store"] == largest[0]) & (test["product"] == largest[1])].head(56)
shop = shop.assign(ordered=orders(shop))
figure = Figure(figsize=(8, 4), layout="constrained")
axes = figure.add_subplot(title="The largest series, eight weeks that were not trained on")
axes.step(shop["date"], shop["ordered"], where="mid", label="ordered two days before")
axes.plot(shop["date"], shop["demand"], "o", color="0.4", markersize=4, label="wanted")
axes.set(xlabel="date", ylabel="pieces", ylim=(0, None))
axes.legend(frameon=False, loc="upper left", ncols=2)
axes.tick_params(axis="x", labelrotation=30)
hr.plots.save_figure(figure, "time_features.png")
