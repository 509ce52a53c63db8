"""Service, waste and cost of orders, against their definitions."""

import numpy as np
import pandas as pd
import pytest

from hedgerow import Newsvendor, metrics


def test_figures_of_a_small_table_by_hand():
    orders, demand = [10.0, 10.0, 0.0, 4.0], [5.0, 15.0, 0.0, 4.0]
    assert metrics.fill_rate(orders, demand) == pytest.approx(19 / 24)
    assert metrics.service_level(orders, demand) == 0.75
    assert metrics.waste(orders, demand) == 5
    assert metrics.waste_share(orders, demand) == pytest.approx(5 / 24)
    assert metrics.stockouts(orders, demand) == 1


def test_without_demand_or_orders_a_share_of_them_is_undefined():
    nothing, some = np.zeros(3), np.full(3, 2.0)
    assert np.isnan(metrics.fill_rate(some, nothing))
    assert metrics.service_level(some, nothing) == 1
    assert (metrics.waste(some, nothing), metrics.waste_share(some, nothing)) == (6, 1)
    assert metrics.stockouts(nothing, nothing) == 0
    assert np.isnan(metrics.waste_share(nothing, some))
    assert metrics.fill_rate(nothing, some) == 0
    summary = metrics.inventory_summary(nothing, nothing, 1.0, 3.0, ["a", "b", "b"])
    assert summary.total.cost == 0
    assert np.isnan(summary.by_group.fill_rate).all()


def test_goods_that_come_back_ask_for_nothing():
    assert metrics.fill_rate([2.0, 2.0], [-3.0, 4.0]) == 0.5
    assert metrics.waste([2.0, 2.0], [-3.0, 4.0]) == 5


def test_groups_have_the_figures_of_their_rows():
    rng = np.random.default_rng(0)
    orders, demand = rng.poisson(8, 300).astype(float), rng.poisson(7, 300).astype(float)
    holding, stockout = rng.random(300), rng.random(300) * 5
    stores = rng.choice(["north", "south", "west"], size=300)
    summary = metrics.inventory_summary(orders, demand, holding, stockout, stores)
    assert summary.groups.tolist() == ["north", "south", "west"]
    for place, store in enumerate(summary.groups):
        rows = stores == store
        alone = metrics.inventory_summary(orders[rows], demand[rows], holding[rows], stockout[rows])
        np.testing.assert_allclose([each[place] for each in summary.by_group], alone.total)
        assert summary.by_group.rows[place] == rows.sum()
        assert summary.by_group.service_level[place] == pytest.approx(
            np.mean(orders[rows] >= demand[rows])
        )
    for name in ("rows", "demand", "ordered", "cost", "waste", "stockouts"):
        parts = getattr(summary.by_group, name)
        assert np.sum(parts) == pytest.approx(getattr(summary.total, name))
    assert len(pd.DataFrame(summary.by_group._asdict(), index=summary.groups)) == 3


def test_costs_are_those_of_the_newsvendor():
    rng = np.random.default_rng(1)
    orders, demand = rng.normal(size=(2, 50))
    total = metrics.inventory_summary(orders, demand, 0.5, 2.0).total
    assert total.mean_cost == pytest.approx(Newsvendor(0.5, 2.0)(orders, demand).mean())
    assert total.cost == pytest.approx(50 * total.mean_cost)


def test_series_may_be_named_by_several_columns():
    named = [["n", "x"], ["n", "y"], ["n", "x"]]
    summary = metrics.inventory_summary([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], 1.0, 1.0, named)
    assert summary.groups.tolist() == [["n", "x"], ["n", "y"]]
    assert summary.by_group.waste.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"orders": [1.0]}, "the same rows, at least one, got 1 and 2"),
        ({"demand": [1.0, np.nan]}, "demand is nan in row 1"),
        ({"holding": [1.0, -2.0]}, "holding is -2 in row 1"),
        ({"groups": ["a"]}, "groups has 1 rows but orders has 2"),
    ],
)
def test_bad_input_is_refused(changes, sentence):
    given = {"orders": [1.0, 2.0], "demand": [1.0, 2.0], "holding": 1.0, "stockout": 1.0}
    with pytest.raises(ValueError, match=sentence):
        metrics.inventory_summary(**{**given, **changes})
