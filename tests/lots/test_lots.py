"""Orders that can be placed, against brute force over every one of them."""

import numpy as np
import pytest
from sklearn.base import clone

import hedgerow as hr
from hedgerow.lots import error_quantiles, scenario_costs
from hedgerow.policy_file.parts import Known, describe

LARGEST = 120
"""No demand in the cases below is larger, so no order beyond the next lot can be best."""


def cases(count, scenarios, seed):
    """Whole numbers throughout, so that brute force over lots is exact and ties are ties."""
    rng = np.random.default_rng(seed)
    demand = rng.integers(0, LARGEST, size=(count, scenarios)) * (rng.random((count, 1)) < 0.97)
    weights = rng.integers(0, 5, size=(count, scenarios))
    weights[:, 0] += weights.sum(axis=1) == 0
    size = rng.choice([1, 2, 5, 12, 50, 300], size=count)
    minimum = rng.choice([0, 0, 3, 24, 100], size=count)
    maximum = np.where(rng.random(count) < 0.5, 10_000, minimum + rng.integers(0, 60, size=count))
    holding, stockout = rng.integers(0, 4, size=count), rng.integers(1, 10, size=count)
    return demand, weights, size, minimum, maximum, holding, stockout


def whole_cost(order, demand, weights, holding, stockout):
    """Expected cost times the sum of weights, in whole numbers."""
    over = order - demand
    each = np.where(over > 0, holding * over, -stockout * over)
    return int((weights * each).sum())


def brute_force(demand, weights, size, minimum, maximum, holding, stockout):
    """Every order that can be placed up to one lot beyond need, from the smallest up."""
    end = max(int(demand.max()), int(minimum)) + int(size)
    orders = [0, *(q for q in range(size, end + 1, size) if minimum <= q <= maximum)]
    found = [whole_cost(q, demand, weights, holding, stockout) for q in orders]
    return orders[int(np.argmin(found))], min(found) / weights.sum()


@pytest.mark.parametrize(("scenarios", "seed"), [(1, 0), (2, 1), (7, 2), (12, 3)])
def test_no_order_that_can_be_placed_is_cheaper(scenarios, seed):
    """Ten thousand cases in all."""
    drawn = cases(2_500, scenarios, seed)
    demand, weights, size, minimum, maximum, holding, stockout = drawn
    placed = hr.Lots(size, minimum, maximum).best_orders(demand, holding, stockout, weights=weights)
    best = [brute_force(*case) for case in zip(*drawn, strict=True)]
    np.testing.assert_array_equal(placed.orders, [order for order, _ in best])
    np.testing.assert_allclose(placed.expected_cost, [cost for _, cost in best], rtol=1e-12)
    assert np.all(placed.expected_cost >= placed.wanted_cost - 1e-9)


def test_stock_is_seen_by_the_rounding():
    demand, weights, size, minimum, maximum, holding, stockout = cases(1_000, 6, 4)
    stock = np.random.default_rng(0).integers(-20, 80, size=1_000)
    lots = hr.Lots(size, minimum, maximum)
    placed = lots.best_orders(demand, holding, stockout, weights=weights, on_hand=stock)
    for row, order in enumerate(placed.orders):
        case = (weights[row], size[row], minimum[row], maximum[row], holding[row], stockout[row])
        assert order == brute_force(demand[row] - stock[row], *case)[0]
    perishable = lots.best_orders(
        demand, holding, stockout, weights=weights, on_hand=stock, mode="perishable"
    )
    fresh = lots.best_orders(demand, holding, stockout, weights=weights)
    np.testing.assert_array_equal(perishable.orders, fresh.orders)


def test_small_lots_give_back_the_decision_whatever_its_hedge():
    rng = np.random.default_rng(0)
    decisions, errors = rng.uniform(0, 90, 300), rng.normal(3.0, 9.0, 41)  # errors of a bias
    costs = rng.uniform(0.5, 1.0, 300), rng.uniform(0.5, 9.0, 300)
    for kind, seen in (("additive", errors), ("multiplicative", np.exp(errors / 20))):
        placed = hr.Lots(1e-6).place(decisions, seen, *costs, kind=kind)
        np.testing.assert_allclose(placed.orders, decisions, atol=1e-6)
        np.testing.assert_allclose(placed.rounding_cost, 0, atol=1e-5)  # nine times the lot
        np.testing.assert_array_equal(placed.wanted, decisions)
    stocked = hr.Lots(1e-6).place(decisions, errors, *costs, on_hand=40.0)
    np.testing.assert_allclose(stocked.orders, np.maximum(decisions - 40, 0), atol=1e-6)


@pytest.mark.parametrize("kind", ["additive", "multiplicative"])
def test_decisions_are_placed_as_their_own_scenarios_say(kind):
    rng = np.random.default_rng(1)
    decisions, stock = rng.uniform(0, 60, 400), rng.uniform(-5, 40, 400)
    spread = rng.gamma(4.0, 0.25, size=(400, 9)) - (kind == "additive")
    holding, stockout = rng.uniform(0.2, 2, 400), rng.uniform(0.2, 9, 400)
    lots = hr.Lots(size=8, minimum=16, maximum=64)
    placed = lots.place(decisions, spread, holding, stockout, kind=kind, on_hand=stock)
    for row, decision in enumerate(decisions):
        level = stockout[row] / (holding[row] + stockout[row])
        centre = np.quantile(spread[row], level, method="inverted_cdf")
        additive = kind == "additive"
        demand = decision + spread[row] - centre if additive else decision * spread[row] / centre
        over = np.r_[0, 16:65:8][:, None] + stock[row] - np.maximum(demand, 0)
        expected = (holding[row] * over.clip(0) + stockout[row] * (-over).clip(0)).mean(axis=1)
        assert placed.orders[row] == np.r_[0, 16:65:8][np.argmin(expected)]
        assert placed.expected_cost[row] == pytest.approx(expected.min(), rel=1e-12)
    assert np.all(placed.rounding_cost >= 0)
    assert placed.mean_rounding_cost == pytest.approx(
        np.mean(placed.expected_cost - placed.wanted_cost)
    )


def test_up_or_down_is_a_question_of_costs():
    lots = hr.Lots(12)
    up, down = (lots.place([29.0], 0.0, 1.0, cost).orders.item() for cost in (3.0, 1.0))
    assert (up, down) == (36, 24)
    # up costs 7 · 1 and down 5 · b: even at b = 7/5, where the smaller order is placed
    assert lots.place([29.0], 0.0, 1.0, 1.4).orders == 24


def test_a_minimum_order_is_taken_or_left():
    lots = hr.Lots(size=6, minimum=24)
    # 24 leaves 24 − z over, 0 leaves z short
    assert lots.place([5.0, 15.0, 25.0], 0.0, 1.0, 1.0).orders.tolist() == [0, 24, 24]
    assert lots.place([5.0], 0.0, 1.0, 9.0).orders == 24
    # a minimum that is no multiple is the next multiple
    assert hr.Lots(size=6, minimum=20).place([15.0], 0.0, 1.0, 3.0).orders == 24


def test_limits_that_leave_nothing_but_zero():
    assert hr.Lots(size=12, maximum=10).place([9.0], 0.0, 1.0, 9.0).orders == 0
    assert hr.Lots(size=12, minimum=5, maximum=10).place([9.0], 0.0, 1.0, 9.0).orders == 0
    assert hr.Lots(maximum=0).place([9.0], 0.0, 1.0, 9.0).orders == 0


def test_floats_do_not_lose_a_lot_nor_pass_a_limit():
    lots = hr.Lots(size=0.1, minimum=0.3, maximum=0.3)
    assert lots.place([0.3, 0.4], 0.0, 1.0, 9.0).orders.tolist() == [0.3, 0.3]
    assert hr.Lots(size=0.1).place([0.3], 0.0, 1.0, 1.0).orders == pytest.approx(0.3)


def test_nothing_is_ordered_of_what_nobody_wants():
    assert hr.Lots(12).best_orders(np.zeros((1, 4)), 1.0, 9.0).orders == 0
    for kind, errors in (("additive", [-1.0, 0.0, 2.0]), ("multiplicative", [0.5, 1.0, 3.0])):
        placed = hr.Lots().place([0.0, -7.5], errors, 1.0, 1.0, kind=kind)
        assert placed.orders.tolist() == placed.wanted.tolist() == [0, 0]
        assert placed.rounding_cost.tolist() == [0, 0]
    assert hr.Lots().place([10.0], 0.0, holding=1.0, stockout=0.0).orders == 0
    assert hr.Lots().place([10.5], [-1.0, 0.0, 3.0], holding=0.0, stockout=1.0).orders == 11


def test_large_tables_are_placed_in_blocks(monkeypatch):
    rng = np.random.default_rng(2)
    decisions, errors = rng.uniform(0, 50, 101), rng.normal(size=(101, 7))
    lots = hr.Lots(rng.choice([1, 6], size=101))
    weights, costs = rng.random((101, 7)), (rng.random(101) + 0.1, rng.random(101) + 0.1)
    whole = lots.place(decisions, errors, *costs, weights=weights)
    monkeypatch.setattr(scenario_costs, "BLOCK", 7 * 10)
    parts = lots.place(decisions, errors, *costs, weights=weights)
    np.testing.assert_array_equal(parts.orders, whole.orders)
    np.testing.assert_array_equal(parts.rounding_cost, whole.rounding_cost)
    assert lots.take([]).place([], errors[0], 1.0, 3.0).orders.shape == (0,)


def test_a_table_of_packs_becomes_one_entry_per_row():
    packs = hr.Lots(size=[1, 12], maximum=[np.inf, 24])
    lots = packs.take([1, 0, 1])
    assert lots.place([5.0, 5.0, 90.0], 0.0, 1.0, 9.0).orders.tolist() == [12, 5, 24]
    with pytest.raises(ValueError, match=r"size has 2 entries but there are 3 rows; Lots\.take"):
        packs.place([5.0, 5.0, 90.0], 0.0, 1.0, 9.0)
    assert clone(packs).maximum == packs.maximum
    assert hr.Lots(size=6).get_params() == {"size": 6, "minimum": 0.0, "maximum": None}


def test_lots_go_through_a_policy_file_as_other_parts_do():
    packs = hr.Lots(size=np.array([1, 12]), minimum=3, maximum=np.array([np.inf, 24]))
    again = Known().revive(describe(packs))
    np.testing.assert_array_equal(again.size, packs.size)
    np.testing.assert_array_equal(again.maximum, packs.maximum)
    assert again.minimum == 3


def test_error_quantiles_of_as_many_rows_are_the_errors():
    decisions, demand = np.array([4.0, 5.0, 0.0, 8.0]), np.array([6.0, 5.0, 1.0, 4.0])
    np.testing.assert_allclose(error_quantiles(decisions, demand, 4), [-4, 0, 1, 2])
    ratios = error_quantiles(decisions, demand, 3, kind="multiplicative")
    np.testing.assert_allclose(ratios, [0.5, 1.0, 1.5])
    with pytest.raises(ValueError, match="No decision is above 0"):
        error_quantiles([0.0], [1.0], kind="multiplicative")
    with pytest.raises(ValueError, match="the same rows, at least one, got 1 and 2"):
        error_quantiles([0.0], [1.0, 2.0])


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"size": 0}, "size is 0; a lot must hold more"),
        ({"size": [1, -2]}, "size is -2 in row 1;"),
        ({"size": np.inf}, "size is inf"),
        ({"minimum": np.nan}, "minimum is nan"),
        ({"maximum": -1}, "maximum is -1; it must not be negative"),
        ({"minimum": 5, "maximum": 4}, "minimum is 5 but maximum is 4; nothing could be ordered"),
        ({"minimum": 5, "maximum": [9, 4]}, "maximum is 4 in row 1; nothing could be ordered"),
        ({"size": [1, 2], "minimum": [0, 0, 0]}, "have 2, 3 and 1 entries"),
    ],
)
def test_impossible_lots_are_refused(limits, sentence):
    with pytest.raises(ValueError, match=sentence):
        hr.Lots(**limits)


@pytest.mark.parametrize("size", ["12", None, [[1.0]], True])
def test_lots_are_numbers(size):
    with pytest.raises(TypeError, match="size must be a number or one number per row"):
        hr.Lots(size=size)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"decisions": [1.0, np.nan]}, "decisions is nan in row 1"),
        ({"decisions": [[1.0, 2.0]]}, "one number per row, got shape"),
        ({"errors": [0.0, np.nan]}, "errors contains NaN"),
        ({"errors": np.zeros((3, 4))}, r"errors must be of shape \(scenarios,\) or \(2, scen"),
        ({"holding": [1.0, -1.0]}, "holding is -1 in row 1; it must be at least 0"),
        ({"stockout": [1.0, 2.0, 3.0]}, r"stockout must be one number, or one per row \(2\)"),
        ({"holding": [1.0, 0.0], "stockout": [1.0, 0.0]}, "both 0 in row 1"),
        ({"weights": [1.0, 1.0]}, r"weights must be of shape \(1,\) or \(2, 1\)"),
        ({"weights": [[1.0], [0.0]]}, "nor all of them 0 on a row; see row 1"),
        ({"on_hand": [1.0, np.inf]}, "on_hand is inf in row 1"),
        ({"kind": "relative"}, "kind must be one of 'additive', 'multiplicative'"),
        ({"mode": "frozen"}, "mode must be one of 'carry-over', 'perishable'"),
        ({"errors": [0.0, 0.0, 4.0], "kind": "multiplicative"}, "not above 0 in row 0"),
    ],
)
def test_what_cannot_be_placed_is_refused(changes, sentence):
    given = {"decisions": [1.0, 2.0], "errors": 0.0, "holding": 1.0, "stockout": 1.0, **changes}
    with pytest.raises(ValueError, match=sentence):
        hr.Lots().place(**given)
