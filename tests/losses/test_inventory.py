"""Inventory with substitution: what a solver finds on the paper's program, for any pattern."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from hedgerow import Box, Free, Newsvendor
from hedgerow.losses.inventory import InventorySubstitution

INF = np.inf
PAPER = {
    "holding": [1.0, 0.7, 0.6],
    "shortage": [1.8, 1.6, 1.2],
    "substitution": [[0.0, 1.7, 2.0], [INF, 0.0, 1.5], [INF, INF, 0.0]],
}


def example(products, seed=0, share=None):
    """Random costs; downward substitution, or a random pattern with this share of pairs."""
    rng = np.random.default_rng(seed)
    allowed = np.triu(np.ones((products, products), bool))
    if share is not None:
        allowed = rng.random((products, products)) < share
    costs = rng.uniform(1.0, 2.5, (products, products)) * (1 - np.eye(products))
    return InventorySubstitution(
        rng.uniform(0.5, 1.0, products),
        rng.uniform(1.0, 2.0, products),
        np.where(allowed, costs, INF),
        rng.uniform(0.0, 0.3, products),
    )


def by_solver(loss, z, y):
    """Value and duals (of stock, of demand), written from the paper's program pair by pair."""
    products = len(z)
    cost, columns = [], []
    for i in range(products):
        for j in range(products):
            if np.isfinite(loss.substitution[i][j]):
                cost.append(loss.substitution[i][j])
                columns.append(np.eye(2 * products)[i] + np.eye(2 * products)[products + j])
    cost += [*loss.holding, *loss.shortage]
    columns += list(np.eye(2 * products))
    solution = linprog(cost, A_eq=np.array(columns).T, b_eq=np.r_[z, y], method="highs")
    duals = solution.eqlin.marginals
    purchase = np.broadcast_to(loss.purchase, products)
    return solution.fun + purchase @ z, purchase + duals[:products], duals[products:]


def rows(products, count, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(4.0, size=(count, products)), rng.gamma(4.0, size=(count, products))


@pytest.mark.parametrize(("products", "count"), [(3, 200), (5, 200), (8, 150), (12, 100)])
def test_values_and_gradients_are_those_of_a_solver(products, count):
    """Random stocks and demands have one dual solution each; 12 products are not enumerated."""
    loss = example(products)
    z, y = rows(products, count)
    values, in_z, in_y = loss.recourse.values_and_gradients(z, y)
    expected = [by_solver(loss, *row) for row in zip(z, y, strict=True)]
    np.testing.assert_allclose(values, [e[0] for e in expected], rtol=1e-9)
    np.testing.assert_allclose(in_z, [e[1] for e in expected], atol=1e-9)
    np.testing.assert_allclose(in_y, [e[2] for e in expected], atol=1e-9)
    assert loss.recourse.enumerated == (products < 12)
    np.testing.assert_array_equal(loss(z, y), values)


def test_the_papers_example_has_14_vertices():
    loss = InventorySubstitution(**PAPER)
    assert len(loss.recourse.vertices) == 14
    # two units of the best product are left and one of them stands in for the second
    assert loss([5.0, 2.0, 1.0], [3.0, 3.0, 1.0]) == pytest.approx(1.0 + 1.7)
    assert loss.recourse.form.matrix.shape == (6, 12)


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.floats(0.0, 1.0))
def test_any_pattern_is_allowed(seed, share):
    loss = example(3, seed, share)
    z, y = rows(3, 5, seed)
    expected = [by_solver(loss, *row)[0] for row in zip(z, y, strict=True)]
    np.testing.assert_allclose(loss(z, y), expected, rtol=1e-9)


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_degenerate_costs_and_points_give_subgradients(seed):
    """Equal costs and whole numbers, zeros included: duals are far from unique."""
    rng = np.random.default_rng(seed)
    costs = np.where(rng.random((4, 4)) < 0.7, rng.integers(0, 3, (4, 4)).astype(float), INF)
    loss = InventorySubstitution(1.0, 2.0, costs)
    z, y, z2, y2 = rng.integers(0, 4, (4, 10, 4)).astype(float)
    value, in_z, in_y = loss.recourse.values_and_gradients(z, y)
    plain = InventorySubstitution(np.ones(4), np.full(4, 2.0), costs)
    expected = [by_solver(plain, *row)[0] for row in zip(z, y, strict=True)]
    np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-9)
    bound = value + np.sum(in_z * (z2 - z), axis=1) + np.sum(in_y * (y2 - y), axis=1)
    assert np.all(loss(z2, y2) >= bound - 1e-9)


def test_without_substitution_it_is_the_newsvendor():
    loss = InventorySubstitution(0.6, [1.0, 2.0], [[0.0, INF], [INF, 0.0]])
    exact = Newsvendor(0.6, np.array([1.0, 2.0]))
    z, y = rows(2, 50)
    np.testing.assert_allclose(loss(z, y), exact(z, y), rtol=1e-12)


def test_purchase_costs_are_added():
    z, y = rows(3, 5)
    dear = InventorySubstitution(**PAPER, purchase=[0.1, 0.2, 0.3])
    free = InventorySubstitution(**PAPER)
    np.testing.assert_allclose(dear(z, y), free(z, y) + z @ [0.1, 0.2, 0.3], rtol=1e-12)


def test_stocks_are_counted_like_demand():
    loss = InventorySubstitution(**PAPER)
    np.testing.assert_array_equal(loss.decision_unit(np.array([1.0, 2, 3]), np.ones(3)), [1, 2, 3])


def test_pool_and_enumeration_agree(monkeypatch):
    whole = example(5)
    monkeypatch.setattr("hedgerow.losses.recourse.values.ENUMERATION_LIMIT", 10)
    loss = example(5)
    z, y = rows(5, 300)
    assert not loss.recourse.enumerated
    assert loss.pool().grow(z, y).gap > 0
    np.testing.assert_allclose(loss.pieces(z, y)(z, y), whole(z, y), rtol=1e-10)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"substitution": [[0.0, 1.0]]}, "substitution must be a square matrix"),
        ({"substitution": np.full((3, 3), np.nan)}, "substitution must not contain NaN"),
        ({"substitution": -np.eye(3)}, "substitution must not be negative"),
        ({"holding": [1.0, 2.0]}, r"holding has 2 entries, but substitution has 3 product\(s\)"),
        ({"shortage": [1.0, -2.0, 1.0]}, "shortage must not be negative"),
        ({"purchase": np.nan}, "purchase contains NaN; it must be finite"),
        ({"outcome_support": None}, r"No recourse exists far along y\[0\] → −∞"),
        ({"outcome_support": (-1.0, 9.0)}, r"No recourse exists at .* y = \[-1.0"),
        ({"decision_set": Free(3)}, r"No recourse exists far along z\[0\] → −∞"),
        ({"decision_set": Box([0, 0, -1], [1, 1, 1])}, r"at z = \[0.0, 0.0, -1.0\]"),
        ({"decision_set": Box([0], [1])}, "decision_set has dimension 1"),
    ],
)
def test_wrong_input_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        InventorySubstitution(**{**PAPER, **changes})
