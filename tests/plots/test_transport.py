"""The figure of transport plans shows what it is about, and its example has the stated shape."""

import numpy as np
import pytest

from hedgerow.plots.transport import transport_plans
from hedgerow.transport import DiscreteMeasure, causal_sinkhorn, sinkhorn
from hedgerow.transport.examples import example_measures


def mean_target(plan, target):
    """Mean x of a plan from x̂ to x."""
    return plan.sum(axis=0) @ target.side.contexts[:, 0] / plan.sum()


def test_the_example_shows_what_causality_does():
    source, target = example_measures(31)
    assert source.weights @ source.x[:, 0] ** 2 == pytest.approx(0.1, abs=1e-9)
    # the grid ends at ±3 and cuts 0.3 % off the mixture
    assert source.weights @ source.y[:, 0] ** 2 == pytest.approx(1.5**2 + 0.3, abs=0.02)
    free = sinkhorn(source, target, 0.5)
    below, above = (mean_target(free.context_plan_given(y), target) for y in (-1.5, 1.5))
    assert below < -0.7
    assert above > 0.7
    causal = causal_sinkhorn(source, target, 0.5)
    for outcome in (-1.5, 1.5):
        plan = causal.context_plan_given(outcome)
        np.testing.assert_allclose(plan, causal.context_plan, atol=1e-12)
    product = np.outer(source.side.context_mass, target.side.context_mass)
    apart = [
        np.abs(causal_sinkhorn(source, target, epsilon).context_plan - product).sum()
        for epsilon in (0.1, 0.5, 5)
    ]
    assert apart[0] > apart[1] > apart[2]


def test_every_panel_is_drawn_and_named():
    source, target = example_measures(15)
    fig = transport_plans(source, target)
    titles = [ax.get_title(loc="left") for ax in fig.axes]
    assert titles[:2] == ["(a) source", "(b) target"]
    assert [sum(word in title for title in titles) for word in ("non-causal", "varepsilon")] == [
        2,
        3,
    ]
    for ax in fig.axes:
        assert ax.get_xlabel()
        assert ax.get_ylabel()
    plans = [ax.collections[0] for ax in fig.axes[2:]]
    assert len({plan.norm.vmax for plan in plans}) == 1  # one scale for all plans
    drawn = np.asarray(plans[3].get_array()).reshape(15, 15)
    spacing = 6 / 14
    expected = causal_sinkhorn(source, target, 0.5).context_plan.T / spacing**2
    np.testing.assert_allclose(drawn, expected, rtol=1e-9)


def test_what_cannot_be_drawn():
    deep = DiscreteMeasure([[0, 0], [1, 1]], [0, 1])
    with pytest.raises(ValueError, match="source must have one column of x and one of y"):
        transport_plans(deep, deep)
    with pytest.raises(TypeError, match=r"source must be a hedgerow\.DiscreteMeasure"):
        transport_plans([0, 1], [0, 1])
    with pytest.raises(ValueError, match="three epsilons and two outcomes; got 1 and 2"):
        transport_plans(epsilons=[1.0])
