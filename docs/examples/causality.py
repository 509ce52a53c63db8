"""Where causal robustness differs from plain robustness, and where it cannot.

Demand is twice the feature, plus or minus one. The plain adversary sees each outcome before it
moves its context: it moves contexts with high demand to where little is ordered, and those with low
demand to where much is. It punishes every slope, and the plain rule hardly reacts to the feature
any more. The causal adversary must move a context before it knows which outcome occurs, and what it
gains on one it loses on the other.
"""

import numpy as np
from matplotlib.figure import Figure

import hedgerow as hr

feature = np.repeat(np.linspace(-1.5, 1.5, 10), 2)
demand = 5 + 2 * feature + np.tile([-1.0, 1.0], 10)


def learned(model, feature):
    """The best affine rule against this adversary: its decisions at features 0 and 1."""
    policy = hr.RobustPolicy(
        hr.Newsvendor(holding=1, stockout=1, decision_set=hr.Free(1)),
        model,
        hr.Affine(),
        solver=hr.SAA(nodes=hr.GaussQuadrature(64), tolerance=1e-13),  # to rounding
    ).fit(feature[:, None], demand)
    return policy.predict([[0.0], [1.0]])


unique = np.linspace(-1.5, 1.5, 20)  # every context once: nothing left to be blind to
models = {"causal": hr.CausalSinkhorn(1, 0.1), "plain": hr.Sinkhorn(1, 0.1)}
figure = Figure(figsize=(8, 4), layout="constrained")
panels = figure.subplots(1, 2, sharey=True)
settings = {"two outcomes per context": feature, "one outcome per context": unique}
for axes, (setting, contexts) in zip(panels, settings.items(), strict=True):
    axes.plot(contexts, demand, "o", color="0.4", markersize=4, label="history")
    slopes = {}
    for (name, model), dashes in zip(models.items(), ("-", "--"), strict=True):
        at_zero, at_one = learned(model, contexts)
        slopes[name] = at_one - at_zero
        ends = np.array([-1.5, 1.5])
        axes.plot(ends, at_zero + slopes[name] * ends, dashes, label=f"{name} rule")
    axes.set(title=setting, xlabel="feature", ylabel="order")
    print(
        f"{setting}: slope causal {slopes['causal']:.2f}, plain {slopes['plain']:.2f}, in truth 2"
    )
panels[0].legend(frameon=False, loc="upper left")
hr.plots.save_figure(figure, "causality.png")
