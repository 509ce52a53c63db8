"""How the trainings of the portfolio benchmark end: what more steps would bring, and what diverges.

    python -m benchmarks.portfolio_training --returns FILE --covariates FILE [--rule two-layer]
    python -m benchmarks.portfolio_training --returns FILE --covariates FILE --longer

The first reads decisions of 2019-01 to 2020-09 only:

1. The empirical risk that CMV has reached after 300 to 16,000 steps, on the window it was trained
   on and on the days its portfolio is held, averaged over every fourth month (networks: every
   eighth). Starting points and batches are those of the backtest.
2. The penalty that the rules of order 2 need, Σ (s_i w_i)² (docs/portfolio.md), at the window's own
   contexts and at contexts 64 times as far from their mean, against the penalty they were trained
   with, ω = 5. Where more is needed than there is, the robust value is infinite.

The second is the row CMV of the backtest with forests, trained four times as long.
"""

import argparse
import time
import warnings

import numpy as np

import hedgerow as hr
from benchmarks import portfolio
from hedgerow_studies.portfolio import RULES, Horizon, Window, read_market
from hedgerow_studies.portfolio.selection import EARLY, HEDGING, LONG, parameters_for

HORIZON = Horizon("2019-01", "2020-09")
EVERY = {"forest": 4, "two-layer": 8}
OMEGAS = (1.0, 5.0, 9.0)
STEPS = (*EARLY[-2:], LONG, 4 * LONG)
NEEDY = ("2-Causal-SDRO", "Causal-WDRO")
FAR = 64.0


def empirical(window: Window, loss: hr.MeanVariance, rule: str, steps: int) -> hr.RobustPolicy:
    """CMV with another number of steps."""
    solver = hr.NestedSGD(steps=steps, batch=64)
    policy = hr.RobustPolicy(loss, hr.ERM(), RULES[rule](), solver=solver, random_state=0)
    return policy.fit(window.contexts, window.outcomes)


def held(policy: hr.RobustPolicy, window: Window) -> float:
    """Loss of the portfolio that is chosen, over the days it is held."""
    return policy.loss.realised(window.held @ policy.predict(window.today[None])[0, 1:])


def training_risk(windows: list[Window], rule: str) -> None:
    """Mean loss on the window and out of sample, by number of steps."""
    print(f"{rule}, {len(windows)} windows: empirical risk, and loss while held")
    for omega in OMEGAS:
        loss = hr.MeanVariance(omega)
        for steps in STEPS:
            risks, losses, status, begin = [], [], [], time.perf_counter()
            for window in windows:
                policy = empirical(window, loss, rule, steps)
                risks.append(-policy.score(window.contexts, window.outcomes))
                losses.append(held(policy, window))
                status.append(policy.status_)
            spent = (time.perf_counter() - begin) / len(windows)
            ends = ", ".join(f"{status.count(end)} {end}" for end in sorted(set(status)))
            print(
                f"  ω = {omega:g} {steps:6} steps: risk {np.mean(risks):7.3f}, held "
                f"{np.mean(losses):6.3f}; {ends}; {spent:.1f} s a fit",
                flush=True,
            )


def needed_penalties(windows: list[Window], rule: str) -> None:
    """Penalties needed by trained rules as multiples of those they have."""
    print(f"{rule}: penalty needed, over the one given, at the window's contexts and far away")
    for method in NEEDY:
        hedge = HEDGING[method](parameters_for(method), rule)
        for window in windows:
            X, Y = window.contexts, window.outcomes
            policy = hr.RobustPolicy(
                hr.MeanVariance(5.0),
                hedge.model,
                RULES[rule](),
                hedge.nominal,
                hedge.solver,
                random_state=0,
            )
            begin = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # divergence is printed, vacuous causality known
                policy.fit(X, Y)
            spent = time.perf_counter() - begin
            model = policy.ambiguity_
            needed = []
            for contexts in (X, X.mean(axis=0) + FAR * (X - X.mean(axis=0))):
                weights = policy.predict(contexts)[:, 1:]
                needed.append(np.max(np.sum((weights * model.y_scale) ** 2, axis=1)))
            here, far = np.array(needed) / (model.penalty * model.loss_scale)
            print(
                f"  {method} {window.date}: {here:.2f} here, {far:.2f} far; {policy.status_}; "
                f"{spent:.1f} s",
                flush=True,
            )


def longer(windows: list[Window], return_weights: tuple[float, ...]) -> None:
    """Mean loss of CMV with forests after four times as many steps."""
    steps, means = 4 * LONG, []
    for omega in return_weights:
        loss = hr.MeanVariance(omega)
        losses = [held(empirical(window, loss, "forest", steps), window) for window in windows]
        means.append(float(np.mean(losses)))
        print(f"CMV, forest, {steps} steps, ω = {omega:g}: {means[-1]:.3f}", flush=True)
    print(f"mean over ω: {np.mean(means):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--returns", required=True)
    parser.add_argument("--covariates", required=True)
    parser.add_argument("--rule", choices=RULES, nargs="*", default=list(RULES))
    parser.add_argument("--longer", action="store_true", help="CMV of the backtest, longer")
    asked = parser.parse_args()
    full = read_market(asked.returns, asked.covariates)
    if asked.longer:
        longer(portfolio.HORIZON.windows(full), portfolio.OMEGAS)
        return
    market = full.span(0, int(np.searchsorted(full.dates, np.datetime64("2021-01-01"))))
    windows = HORIZON.windows(market)
    for rule in asked.rule:
        needed_penalties(windows[::4], rule)
        training_risk(windows[:: EVERY[rule]], rule)


if __name__ == "__main__":
    main()
