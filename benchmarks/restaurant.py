"""The demo's comparison for every dish, so that no dish is picked by its result.

Settings of `hedgerow demo`: the first 75 % of the days train, the rest test; library defaults, ten
neighbours. Prints mean cost a day out of sample for the best fixed order, the trusting and the
hedged forest, and the difference of the last two with its standard error over the test days.
"""

import numpy as np

import hedgerow as hr
from hedgerow import demo
from hedgerow.datasets import load_restaurant
from hedgerow.estimator import DEFAULT_AMBIGUITY

DISHES = ("calamari", "fish", "shrimp", "chicken", "koefte", "lamb", "steak")


def main():
    print("dish         fixed     ERM  hedged      hedged − ERM  robust value")
    for dish in DISHES:
        data = load_restaurant(dish, as_frame=True)
        X = data.data.loc[:, ~data.data.columns.str.startswith(demo.LEFT_OUT)]
        days = int(demo.TRAINING_SHARE * len(data.target))
        loss = hr.Newsvendor(demo.HOLDING, demo.STOCKOUT)
        trusting = hr.RobustPolicy(loss, hr.ERM(), random_state=0)
        nominal = hr.NeighbourNominal(demo.NEIGHBOURS)
        hedged = hr.RobustPolicy(loss, DEFAULT_AMBIGUITY, nominal=nominal, random_state=0)
        for policy in (trusting, hedged):
            policy.fit(X[:days], data.target[:days])
        demand = data.target[days:].to_numpy()
        fixed = loss(np.full(len(demand), trusting.units_.constant[0]), demand)
        costs = [policy.losses(X[days:], data.target[days:]) for policy in (trusting, hedged)]
        gap = costs[1] - costs[0]
        error = gap.std(ddof=1) / np.sqrt(len(gap))
        print(
            f"{dish:<10}{fixed.mean():>8.2f}{costs[0].mean():>8.2f}{costs[1].mean():>8.2f}"
            f"{gap.mean():>11.2f} ± {error:.2f}{hedged.robust_value_.value:>14.2f}"
        )


if __name__ == "__main__":
    main()
