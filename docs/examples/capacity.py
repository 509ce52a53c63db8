"""How much of which power plant to hold ready.

Base and peak plants are reserved the day before at a price per unit. When the load of the morning
and of the evening is known, plants are dispatched at their running costs; what they cannot serve
is bought at a high price. Dispatch is a linear program, so this is a two-stage problem:

    minimise  Σ_t Σ_i run_i·use_it + Σ_t price·short_t
    subject to  Σ_i use_it + short_t ≥ load_t,   use_it ≤ capacity_i,   all ≥ 0.
"""

import numpy as np
from matplotlib.figure import Figure

import hedgerow as hr

RESERVE, RUN, SHORT = np.array([6.0, 2.0]), np.array([1.0, 5.0]), 30.0

rng = np.random.default_rng(0)
temperature = rng.normal(15, 8, size=(500, 1))
heating = np.maximum(18 - temperature[:, 0], 0)
cooling = np.maximum(temperature[:, 0] - 22, 0)
load = np.stack([40 + heating + 2 * cooling, 50 + 1.5 * heating + cooling], axis=1)
load = load * rng.lognormal(0, 0.1, size=load.shape)

# columns: use of base and peak plant in the morning, in the evening; shortage in both
cost = [*RUN, *RUN, SHORT, SHORT]
served = [[1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 0, 1]]  # ≥ load
within = np.hstack([np.eye(4), np.zeros((4, 2))])  # ≤ capacity
dispatch = hr.TwoStageLP(
    cost,
    np.vstack([served, within]),
    technology=np.vstack([np.zeros((2, 2)), -np.eye(2), -np.eye(2)]),
    outcome_matrix=np.vstack([np.eye(2), np.zeros((4, 2))]),
    first_stage_cost=RESERVE,
    senses=[">=", ">="] + ["<="] * 4,
    decision_set=hr.Nonnegative(2),
    outcome_support=(0.0, np.inf),
)
print(f"dispatch is the largest of {len(dispatch.recourse.vertices)} affine functions")

auto = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}
model = hr.CausalSinkhorn(penalty=10, epsilon=0.05, **auto)
policy = hr.RobustPolicy(dispatch, model, nominal=hr.NeighbourNominal(10), random_state=0)
policy.fit(temperature[:400], load[:400])
for degrees in (-5.0, 15.0, 35.0):
    base, peak = policy.predict([[degrees]])[0]
    print(f"at {degrees:5.1f} degrees hold {base:5.1f} base and {peak:5.1f} peak")
fixed = dispatch(np.broadcast_to(policy.units_.constant, (100, 2)), load[400:]).mean()
learned = -policy.score(temperature[400:], load[400:])
print(f"on new days: {learned:.1f} a day, the best fixed capacities {fixed:.1f}")
assert learned < fixed

degrees = np.linspace(-5, 38, 100)
base, peak = policy.predict(degrees[:, None]).T
figure = Figure(figsize=(8, 4), layout="constrained")
axes = figure.add_subplot(title="Capacity held ready, by tomorrow's temperature")
axes.stackplot(degrees, base, peak, labels=["base plant", "peak plant"], alpha=0.5)
axes.plot(temperature, load.max(axis=1), ".", color="0.3", markersize=3, label="highest load seen")
axes.set(xlabel="temperature", ylabel="power", xlim=(-5, 38), ylim=(0, None))
axes.legend(frameon=False, loc="upper left", ncols=3)
hr.plots.save_figure(figure, "capacity.png")
