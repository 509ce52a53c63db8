"""Baselines against brute force, against programs written out, and on data with known answers."""

import pickle

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.base import clone

import hedgerow as hr
from hedgerow.datasets import make_inventory, paper_inventory_costs
from hedgerow_studies.trials import (
    LinearQuantile,
    QuantileBoosting,
    WeightedSAA,
    averages,
    baselines,
)
from hedgerow_studies.trials.baselines import ROWS_AT_ONCE


@pytest.fixture
def few_trees(monkeypatch):
    """For what holds with any number of trees."""
    monkeypatch.setattr(baselines, "MOST_TREES", 15)
    monkeypatch.setattr(baselines, "FOREST_TREES", 25)


def inventory():
    costs = paper_inventory_costs()
    return hr.InventorySubstitution(costs.holding, costs.stockout, costs.substitution)


def pinball(y, guess, level):
    return np.mean(np.maximum(level * (y - guess), (level - 1) * (y - guess)))


def extensive_form(demands, share):
    """Least mean cost of the paper's inventory, second stages written out one by one."""
    holding, shortage, substitution = paper_inventory_costs()
    product, demand = np.nonzero(np.isfinite(substitution))
    pairs, eye = len(product), np.eye(3)
    served = np.vstack([eye[:, product], eye[:, demand]])
    second = np.hstack([served, np.eye(6)])
    cost = np.concatenate([substitution[product, demand], holding, shortage])
    rows, width = 6 * len(demands), pairs + 6
    matrix = np.zeros((rows, 3 + width * len(demands)))
    for i in range(len(demands)):
        matrix[6 * i : 6 * i + 3, :3] = -eye
        matrix[6 * i : 6 * i + 6, 3 + width * i : 3 + width * (i + 1)] = second
    right = np.column_stack([np.zeros_like(demands), demands]).ravel()
    solution = linprog(
        np.concatenate([np.zeros(3), np.outer(share, cost).ravel()]), A_eq=matrix, b_eq=right
    )
    return solution.fun


# weighted sample averages


@pytest.mark.parametrize("weights", ["forest", "neighbours"])
def test_newsvendor_decisions_minimise_the_weighted_average(weights):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), np.round(rng.normal(0.5, 1.0, size=(40, 2)), 1)  # with ties
    loss = hr.Newsvendor([1.0, 2.0], [3.0, 0.5])
    model = WeightedSAA(loss, weights, sizes=(7,)).fit(X, Y)
    queries = rng.normal(size=(20, 3))
    share, decisions = model.weights_at(queries), model.predict(queries)
    # piecewise linear in each order, with kinks at demands and the end of the decision set at 0
    for row, decision in zip(share, decisions, strict=True):
        for product, (h, b) in enumerate([(1.0, 3.0), (2.0, 0.5)]):
            y = Y[:, product]
            means = {
                z: row @ (h * np.maximum(z - y, 0) + b * np.maximum(y - z, 0))
                for z in [*np.maximum(y, 0.0), decision[product]]
            }
            assert means[decision[product]] <= min(means.values()) + 1e-12
    assert decisions.min() == 0.0
    assert len(np.unique(decisions[:, 0])) > 2


def test_orders_stay_in_their_box():
    X, y = np.zeros((30, 1)), np.arange(30.0)
    loss = hr.Newsvendor(1.0, 1.0, decision_set=hr.Box([2.0], [9.0]))
    model = WeightedSAA(loss, "neighbours", sizes=(30,)).fit(X, y)
    assert model.predict([[0.0]]) == [9.0]


def test_forest_weights_are_shares_of_common_leaves():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(50, 4)), rng.normal(size=(50, 2))
    model = WeightedSAA(hr.Newsvendor(1.0, 2.0), "forest", sizes=(5,)).fit(X, Y)
    queries = rng.normal(size=(3, 4))
    forest = model._weigh.forest
    expected = np.zeros((3, 50))
    for tree in forest.estimators_:
        same = tree.apply(queries.astype(np.float32))[:, None] == tree.apply(X.astype(np.float32))
        expected += same / same.sum(axis=1, keepdims=True) / len(forest.estimators_)
    np.testing.assert_allclose(model.weights_at(queries), expected, atol=1e-14)
    np.testing.assert_allclose(expected.sum(axis=1), 1.0)


def test_neighbours_are_near_in_standardised_features():
    # the first feature has the larger numbers, the second the larger differences
    X = np.array([[1000.0, 0.0], [1300.0, 0.0], [1000.0, 1.0], [1300.0, 1.0]])
    model = WeightedSAA(hr.Newsvendor(1.0, 1.0), "neighbours", sizes=(1,)).fit(X, np.arange(4.0))
    np.testing.assert_array_equal(
        model.weights_at([[1140.0, 0.9], [1160.0, 0.1]]), [[0, 0, 1, 0], [0, 1, 0, 0]]
    )


@pytest.mark.parametrize("loss", [hr.Newsvendor([1.0, 2.0, 1.0], 1.5), inventory()])
def test_all_rows_as_neighbours_give_the_best_constant(loss):
    data = make_inventory(60, 2, random_state=0)
    model = WeightedSAA(loss, "neighbours", sizes=(60,)).fit(data.data, data.target)
    constant = loss.best_constant(data.target, np.ones(60))
    # the minimum is unique for these demands, and both are at a vertex
    np.testing.assert_allclose(model.predict(data.data[:3]), np.tile(constant, (3, 1)), rtol=1e-6)


@pytest.mark.parametrize("weights", ["forest", "neighbours"])
def test_inventory_decisions_solve_the_program_written_out(weights):
    data = make_inventory(80, 3, random_state=1)
    model = WeightedSAA(inventory(), weights, sizes=(6,)).fit(data.data, data.target)
    queries = np.random.default_rng(0).normal(size=(6, 3))
    decisions = model.predict(queries)
    for row, decision in zip(model.weights_at(queries), decisions, strict=True):
        reached = row @ model.loss(decision, data.target)
        assert reached == pytest.approx(extensive_form(data.target, row), rel=1e-7)
    assert len(np.unique(decisions[:, 0])) > 1


def test_cutting_planes_keep_to_a_simplex():
    # Ψ = Σ_j |y_j − z_j| on the simplex; its minimum over a grid of the simplex is no better
    eye = np.eye(2)
    loss = hr.TwoStageLP(np.ones(4), np.hstack([eye, -eye]), -eye, -eye, decision_set=hr.Simplex(2))
    rng = np.random.default_rng(0)
    outcomes, share = rng.uniform(size=(15, 2)), rng.dirichlet(np.ones(15), size=3)
    decisions = averages.minimiser(loss, outcomes)(share)
    np.testing.assert_allclose(decisions.sum(axis=1), 1.0)
    first = np.linspace(0, 1, 2001)
    grid = np.column_stack([first, 1 - first])
    for row, decision in zip(share, decisions, strict=True):
        means = np.abs(grid[:, None] - outcomes).sum(axis=2) @ row
        assert row @ loss(decision, outcomes) <= means.min() + 1e-8


def test_other_losses_are_minimised_by_their_own_means():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    square = hr.CustomLoss(lambda z, y: jnp.sum((z - y) ** 2), hr.Free(1))
    model = WeightedSAA(square, "neighbours", sizes=(5,)).fit(X, y)
    # L-BFGS stops at a relative change of 2e-9 in a square
    np.testing.assert_allclose(model.predict(X[:3]), model.weights_at(X[:3]) @ y, atol=1e-4)


@pytest.mark.parametrize("weights", ["forest", "neighbours"])
def test_folds_choose_small_sizes_for_signal_and_large_ones_for_noise(weights, few_trees):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 1))
    loss = hr.Newsvendor(1.0, 2.0, decision_set=hr.Free(1))
    signal = WeightedSAA(loss, weights, sizes=(5, 40)).fit(X, np.sin(6 * X[:, 0]))
    noise = WeightedSAA(loss, weights, sizes=(5, 40)).fit(X, rng.normal(size=200))
    assert (signal.size_, noise.size_) == (5, 40)


def test_inventory_sizes_are_chosen_on_the_folds():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(60, 1))
    signal = np.exp(X) * [1.0, 2.0, 4.0]
    model = WeightedSAA(inventory(), "neighbours").fit(X, signal)
    assert model.size_ == 5
    assert (
        model.loss(model.predict(X), signal).mean()
        < 0.2 * model.loss(model.loss.best_constant(signal, np.ones(60)), signal).mean()
    )


def test_at_most_half_of_the_rows_are_neighbours():
    X, y = np.random.default_rng(0).normal(size=(2, 50, 1))
    model = WeightedSAA(hr.Newsvendor(1.0, 1.0), "neighbours")
    assert model._sizes(50) == [5, 10, 20]
    assert model._sizes(7) == [3]
    assert model.fit(X, y[:, 0]).size_ in (5, 10, 20)


@pytest.mark.parametrize("weights", ["forest", "neighbours"])
def test_blocks_of_rows_do_not_show(weights):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.exponential(size=60)
    model = WeightedSAA(hr.Newsvendor(1.0, 2.0), weights, sizes=(10,)).fit(X, y)
    queries = rng.normal(size=(ROWS_AT_ONCE + 50, 2))
    decisions = model.predict(queries)
    assert decisions.shape == (len(queries),)
    around = slice(ROWS_AT_ONCE - 5, ROWS_AT_ONCE + 5)
    np.testing.assert_array_equal(decisions[around], model.predict(queries[around]))


# quantile regression


def test_boosting_finds_what_a_line_cannot(monkeypatch):
    monkeypatch.setattr(baselines, "MOST_TREES", 100)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 3))
    y = 2 * np.abs(X[:, 0]) + (1 + (X[:, 1] > 0)) * rng.exponential(0.3, size=600)
    level = 0.8
    true = 2 * np.abs(X[:, 0]) - 0.3 * np.log(1 - level) * (1 + (X[:, 1] > 0))
    train, test = slice(400), slice(400, 600)
    boosting = QuantileBoosting(level).fit(X[train], y[train])
    line = LinearQuantile(level).fit(X[train], y[train])
    constant = pinball(y[test], np.quantile(y[train], level), level)
    oracle = pinball(y[test], true[test], level)
    closed = [
        (constant - pinball(y[test], model.predict(X[test]), level)) / (constant - oracle)
        for model in (boosting, line)
    ]
    # of the gap between constant and oracle: 0.85 and 0.1 here
    assert closed[0] > 0.7
    assert closed[0] > closed[1] + 0.3
    chosen = boosting.models_[0]
    assert chosen.max_depth in (1, 2, 3)
    assert 10 < chosen.max_iter <= 100


def test_boosting_stops_early_where_there_is_nothing_to_learn(few_trees):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 5)), rng.normal(size=150)
    assert QuantileBoosting(0.5).fit(X, y).models_[0].max_iter < 10


def test_line_finds_the_conditional_quantile():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)) * [1.0, 100.0]
    y = 1.0 + 2.0 * X[:, 0] + 0.01 * X[:, 1] + rng.uniform(-1, 1, size=500)
    model = LinearQuantile(0.75).fit(X, y)
    queries = rng.normal(size=(50, 2)) * [1.0, 100.0]
    true = 1.5 + 2.0 * queries[:, 0] + 0.01 * queries[:, 1]
    # standard error of a quantile of 500 uniforms: 0.04
    np.testing.assert_allclose(model.predict(queries), true, atol=0.2)
    oracle = 0.75 * 0.25  # of a uniform on an interval of length 2
    assert pinball(y, model.predict(X), 0.75) < 1.05 * oracle
    assert pinball(y, np.quantile(y, 0.75), 0.75) > 3 * oracle


def test_line_drops_features_that_only_make_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 25))
    y = X[:, 0] + rng.normal(size=80)
    line = LinearQuantile(0.6).fit(X, y).models_[0][-1]
    assert line.alpha > 0
    assert abs(line.coef_[0]) > 0.5
    assert np.sum(np.abs(line.coef_[1:]) < 1e-9) > 8


@pytest.mark.parametrize("kind", [QuantileBoosting, LinearQuantile])
def test_columns_have_levels_and_models_of_their_own(kind, few_trees):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = X @ [[1.0, 0.0], [0.0, 2.0]] + rng.normal(size=(60, 2))
    both = kind([0.2, 0.9]).fit(X, Y).predict(X)
    for column, level in enumerate((0.2, 0.9)):
        alone = kind(level).fit(X, Y[:, column]).predict(X)
        assert alone.shape == (60,)
        np.testing.assert_array_equal(both[:, column], alone)
        assert np.mean(Y[:, column] <= alone) == pytest.approx(level, abs=0.12)  # on 60 rows


# what holds for all of them


@pytest.mark.parametrize(
    "model",
    [
        QuantileBoosting(0.6, random_state=3),
        LinearQuantile(0.6, random_state=3),
        WeightedSAA(hr.Newsvendor(0.4, 0.6), "forest", random_state=3, sizes=(5, 20)),
        WeightedSAA(hr.Newsvendor(0.4, 0.6), "neighbours", random_state=3),
        WeightedSAA(hr.InventorySubstitution(0.4, 0.6, [[0.0]]), "neighbours", 3, sizes=(20,)),
    ],
    ids=["boosting", "linear", "forest", "neighbours", "inventory"],
)
def test_same_seed_same_decisions_also_from_a_pickle(model, few_trees):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = 5 + X[:, 0] + rng.uniform(size=60)
    decisions = model.fit(X, y).predict(X[:20])
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X[:20]), decisions)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X[:20]), decisions)
    constant = np.quantile(y, 0.6)
    assert pinball(y[:20], decisions, 0.6) < pinball(y[:20], constant, 0.6)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (QuantileBoosting([0.5, 0.5, 0.5]), r"one per column of y \(2\), got shape \(3,\)"),
        (LinearQuantile(1.0), "between 0 and 1, got 1.0"),
        (WeightedSAA(hr.Newsvendor(1, 1), "trees"), "one of 'forest', 'neighbours'; got 'trees'"),
        (WeightedSAA(hr.Newsvendor(1, 1), sizes=()), "at least one size"),
        (WeightedSAA(hr.Newsvendor(1, 1), sizes=(0,)), "sizes must be at least 1"),
        (WeightedSAA(hr.Newsvendor([1, 1, 1], 1)), "3 entries, one per product"),
        (WeightedSAA(hr.InventorySubstitution(1, 1, np.eye(2))), "outside the loss's outcome"),
    ],
)
def test_bad_input_is_refused(model, message):
    X, Y = np.random.default_rng(0).normal(size=(2, 20, 2))
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
