"""What contexts are, in panels: columns by their names, for one rule or for many."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr

LOSS = hr.Newsvendor(1.0, 3.0)
C = hr.contexts


@pytest.fixture(scope="module")
def sales():
    rng = np.random.default_rng(0)
    parts = []
    for item, level in (("a", 10.0), ("b", 100.0)):
        promoted, wind = rng.integers(0, 2, 40), rng.gamma(2.0, size=40)
        sky = rng.choice(["fog", "sun"] if item == "a" else ["fog", "sun", "rain"], 40)
        demand = level * (1 + promoted + 0.1 * wind) * rng.gamma(20, 1 / 20, 40)
        columns = {"item": item, "promoted": promoted, "wind": wind, "sky": sky, "demand": demand}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def panel(contexts, strategy):
    model = hr.CausalWasserstein(
        5.0, contexts=contexts, x_scale="auto", y_scale="auto", loss_scale="auto"
    )
    policy = hr.RobustPolicy(
        LOSS,
        model,
        rule=hr.Affine(),
        nominal=hr.EmpiricalNominal(),
        solver=hr.NestedSGD(steps=20),
        random_state=0,
    )
    return hr.PanelPolicy(policy, ["item"], strategy=strategy, seeds=1)


@pytest.mark.filterwarnings("ignore:Every context occurs once")
def test_series_know_their_columns_by_name(sales):
    kinds = [C.Fixed("promoted"), C.Bounded("wind", low=0)]
    named = panel(kinds, "separate").fit(sales, "demand")
    placed = panel([C.Fixed(0), C.Bounded(1, low=0)], "separate").fit(sales, "demand")
    assert np.array_equal(named.predict(sales), placed.predict(sales))
    free = panel(None, "separate").fit(sales, "demand")
    assert not np.array_equal(named.predict(sales), free.predict(sales))
    with pytest.raises(ValueError, match="'snow', which X does not have; it has promoted, wind"):
        panel(C.Fixed("snow"), "separate").fit(sales, "demand")
    uneven = panel(C.Categorical(["sky_fog", "sky_sun", "sky_rain"]), "separate")
    with pytest.raises(ValueError, match="Categorical have other values in one of them"):
        uneven.fit(sales, "demand")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Every context occurs once")
def test_a_pooled_rule_knows_its_columns_by_name(sales):
    kinds = [C.Fixed(["promoted", "item_a", "item_b"]), C.Bounded("wind", low=0)]
    kinds.append(C.Categorical(["sky_fog", "sky_sun", "sky_rain"]))
    fitted = panel(kinds, "pooled").fit(sales, "demand")
    names = list(fitted.policy_.feature_names_in_)
    found = [tuple(names[place] for place in k.columns) for k in fitted.policy_.ambiguity_.contexts]
    assert found == [tuple(np.atleast_1d(kind.columns)) for kind in kinds]
    rows = fitted.panel_.rows(sales)
    worst = hr.worst_case(
        fitted.policy_, rows.contexts, sales["demand"] / rows.scale, tolerance=0.05
    )
    draws = worst.sample(500).x
    assert np.abs(draws[:, names.index("promoted")] % 1).max() < 1e-9
    sky = draws[:, [names.index(f"sky_{value}") for value in ("fog", "sun", "rain")]]
    np.testing.assert_allclose(np.sort(sky, axis=1), np.tile([0.0, 0, 1], (500, 1)), atol=1e-9)
