"""Where causal robustness differs from plain robustness, and where it cannot.

Demand is twice the feature, plus or minus one. The plain adversary sees each outcome before it
moves its context: it moves contexts with high demand to where little is ordered, and those with low
demand to where much is. It punishes every slope, and the plain rule hardly reacts to the feature
any more. The causal adversary must move a context before it knows which outcome occurs, and what it
gains on one it loses on the other.
"""

import numpy as np

import hedgerow as hr

feature = np.repeat(np.linspace(-1.5, 1.5, 10), 2)
demand = 5 + 2 * feature + np.tile([-1.0, 1.0], 10)


def slope(model, feature):
    """How much more the best affine rule orders per unit of the feature."""
    policy = hr.RobustPolicy(
        hr.Newsvendor(holding=1, stockout=1, decision_set=hr.Free(1)),
        model,
        hr.Affine(),
        solver=hr.SAA(nodes=hr.GaussQuadrature(64), tolerance=1e-13),  # to rounding
    ).fit(feature[:, None], demand)
    at_zero, at_one = policy.predict([[0.0], [1.0]])
    return at_one - at_zero


causal, plain = hr.CausalSinkhorn(penalty=1, epsilon=0.1), hr.Sinkhorn(penalty=1, epsilon=0.1)
print(f"two outcomes per context:  causal {slope(causal, feature):.2f}  "
      f"plain {slope(plain, feature):.2f}  (in truth 2)")  # fmt: skip

unique = np.linspace(-1.5, 1.5, 20)  # every context once: nothing left to be blind to
print(f"one outcome per context:   causal {slope(hr.CausalSinkhorn(1, 0.1), unique):.2f}  "
      f"plain {slope(plain, unique):.2f}")  # fmt: skip
