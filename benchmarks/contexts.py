"""Does telling the adversary what contexts are help decisions? The restaurant, embedded.

    python -m benchmarks.contexts [dish …]

Both models are tuned by one search, inside the training period (the first 500 days, folds in the
order of time), over the same penalties and epsilons, the empirical risk among them; costs are those
of the days after. Calendar columns are fixed where contexts are known, holidays and closed days are
categories, weather has its ends.
"""

import sys

import numpy as np
from sklearn.model_selection import TimeSeriesSplit

import hedgerow as hr

TRAINED, AUTO = 500, {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}


def kinds(names: list[str]) -> list:
    """What the restaurant's columns are."""
    calendar = [name for name in names if name.startswith(("weekday_", "month_"))]
    return [
        hr.contexts.Fixed((*calendar, "weekend")),
        *(
            hr.contexts.Categorical(name, 1.0, ((0.0,), (1.0,)))
            for name in ("is_holiday", "is_closed")
        ),
        hr.contexts.Bounded(("wind", "rain", "sunshine"), low=0.0),
        hr.contexts.Bounded("clouds", low=0.0, high=8.0),
    ]


def main(dishes: list[str]) -> None:
    """Print mean costs on the days after training, of each dish."""
    for dish in dishes:
        data = hr.datasets.load_restaurant(dish, as_frame=True)
        X, y = data.data, data.target
        costs = {}
        for name, contexts in (("continuous", None), ("known", kinds(list(X.columns)))):
            model = hr.CausalSinkhorn(10.0, 0.01, contexts=contexts, **AUTO)
            search = hr.RobustPolicyCV(
                hr.Newsvendor(holding=1, stockout=3, outcome_support=(0, np.inf)),
                model,
                penalties=(1.0, 3.0, 10.0, np.inf),
                epsilons=(0.01, 0.1),
                cv=TimeSeriesSplit(3),
                random_state=0,
            ).fit(X[:TRAINED], y[:TRAINED])
            losses = search.best_estimator_.losses(X[TRAINED:], y[TRAINED:])
            costs[name] = losses
            print(
                f"{dish}, {name}: {losses.mean():.3f} a day with {search.best_params_}", flush=True
            )
        gap = costs["known"] - costs["continuous"]
        print(f"{dish}: known − continuous {gap.mean():+.3f} ± {gap.std() / len(gap) ** 0.5:.3f}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["steak", "lamb", "koefte"])
