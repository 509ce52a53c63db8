"""Histories become the nominal distributions they should, whatever their order, units or ties."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hedgerow import AdaptedNominal, EmpiricalNominal, NeighbourNominal
from hedgerow.data.nominal import tie_labels
from tests.data.nominals import as_table, check_shape, entries, mean_outcome

# --------------------------------------------------------------------------- exact ties


@given(
    arrays(np.float64, (14, 2), elements=st.sampled_from([0.0, -0.0, 1.0, 0.1, -1e300])),
    arrays(np.float64, (14, 2), elements=st.integers(-5, 5).map(float)),
    arrays(np.float64, 14, elements=st.sampled_from([0.0, 0.5, 1.0, 3.0])),
)
def test_grouping_is_that_of_unique_rows(X, Y, weights):
    weights[0] = 1.0
    nominal = EmpiricalNominal().build(X, Y, weights)
    check_shape(nominal)
    kept = weights > 0
    contexts, labels = np.unique(X[kept] + 0.0, axis=0, return_inverse=True)
    table = as_table(nominal)
    assert len(nominal.contexts) == len(contexts) == len(table)
    for k, context in enumerate(contexts):
        mine = labels.ravel() == k
        mass, pairs = table[tuple(context)]
        own = weights[kept][mine]
        assert mass == pytest.approx(own.sum() / weights.sum())
        outcomes = [y for y, _ in pairs]
        assert outcomes == sorted(outcomes)
        seen, place = np.unique(Y[kept][mine] + 0.0, axis=0, return_inverse=True)
        shares = np.bincount(place.ravel(), own / own.sum())
        expected = np.column_stack([seen[:, 0], shares])  # equal rows are one
        np.testing.assert_allclose(pairs, expected, rtol=1e-9)


def test_negative_zero_is_zero():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [-0.0, -1.0]])
    nominal = EmpiricalNominal().build(X, np.arange(3.0)[:, None], np.ones(3))
    assert sorted(nominal.count) == [1, 2]


def test_rows_that_differ_in_their_last_bit_are_not_ties():
    X = np.array([[1.0], [np.nextafter(1.0, 2.0)], [1.0]])
    nominal = EmpiricalNominal().build(X, np.arange(3.0)[:, None], np.ones(3))
    assert sorted(nominal.count) == [1, 2]


def test_a_weight_counts_as_so_many_rows():
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 3, (30, 1)).astype(float), rng.normal(size=(30, 2))
    weights = rng.integers(0, 4, 30)
    weighted = EmpiricalNominal().build(X, Y, weights.astype(float))
    repeated = EmpiricalNominal().build(
        np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0), np.ones(weights.sum())
    )
    np.testing.assert_allclose(mean_outcome(weighted), mean_outcome(repeated))
    order, other = (np.argsort(nominal.contexts[:, 0]) for nominal in (weighted, repeated))
    np.testing.assert_allclose(weighted.context_mass[order], repeated.context_mass[other])


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(1)
    X, Y = rng.integers(0, 4, (40, 2)).astype(float), rng.normal(size=(40, 1))
    weights, order = rng.random(40), rng.permutation(40)
    first = as_table(EmpiricalNominal().build(X, Y, weights))
    second = as_table(EmpiricalNominal().build(X[order], Y[order], weights[order]))
    assert first.keys() == second.keys()
    for context, (mass, pairs) in first.items():
        assert second[context][0] == pytest.approx(mass)
        np.testing.assert_allclose(second[context][1], pairs)


def test_rows_without_weight_are_dropped():
    X, Y = np.array([[1.0], [1.0], [2.0]]), np.array([[5.0], [7.0], [9.0]])
    nominal = EmpiricalNominal().build(X, Y, np.array([1.0, 0.0, 1.0]))
    assert nominal.most_outcomes == 1
    np.testing.assert_array_equal(np.sort(nominal.outcomes[nominal.entry_outcome, 0]), [5, 9])


def test_one_row_is_a_nominal():
    nominal = EmpiricalNominal().build(np.ones((1, 3)), np.ones((1, 1)), np.ones(1))
    check_shape(nominal)
    assert nominal.count.tolist() == [1]


@pytest.mark.parametrize("distinct", [1, 4, 10_000])
@pytest.mark.parametrize("constant_first", [False, True])
def test_labels_number_the_contexts_in_lexicographic_order(distinct, constant_first):
    """So neither the order of the rows nor the units of the features have a say in training."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, distinct, (300, 3)) / 7 - 1
    X[rng.random(300) < 0.1] = -0.0
    X[rng.random(300) < 0.1] = 0.0
    if constant_first:
        X[:, 0] = 0.1
    expected = np.unique(X + 0.0, axis=0, return_inverse=True)[1].ravel()
    np.testing.assert_array_equal(tie_labels(X), expected)
    np.testing.assert_array_equal(tie_labels(X * [1000.0, 0.01, 3.7]), expected)


@pytest.mark.parametrize("digits", [0, 12], ids=["many ties", "no ties"])
def test_grouping_takes_about_n_log_n(digits):
    rng = np.random.default_rng(3)

    def seconds(rows):
        X = np.round(rng.normal(size=(rows, 5)), digits)
        Y, weights = rng.normal(size=(rows, 1)), np.ones(rows)
        start = time.process_time()
        EmpiricalNominal().build(X, Y, weights)
        return time.process_time() - start

    small = min(seconds(25_000) for _ in range(4))
    large = min(seconds(200_000) for _ in range(2))
    # Eight times the rows are about 9.5 times the work; quadratic work would be 64 times.
    assert large / small < 30


# --------------------------------------------------------------------------- adapted


def history(seed, rows=120, features=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    X[rng.random(rows) < 0.3] = X[0]  # ties
    Y, weights = rng.gamma(2.0, size=(rows, 2)), rng.random(rows) + 0.1
    order = np.lexsort((Y[:, 0], *X.T[::-1]))  # as nominals put them, so that entries are rows
    return X[order], Y[order], weights[order]


@given(st.integers(0, 10_000), st.integers(1, 200))
def test_adapted_cells_are_few_whole_and_centred(seed, cells):
    X, Y, weights = history(seed)
    nominal = AdaptedNominal(cells).build(X, Y, weights)
    check_shape(nominal)
    assert len(nominal.contexts) <= cells
    np.testing.assert_allclose(mean_outcome(nominal), weights @ Y / weights.sum())
    cell = np.empty(len(X), int)
    cell[nominal.entry_outcome] = np.repeat(np.arange(len(nominal.contexts)), nominal.count)
    for k in range(len(nominal.contexts)):
        mine = cell == k
        centre = np.average(X[mine], axis=0, weights=weights[mine])
        np.testing.assert_allclose(nominal.contexts[k], centre, atol=1e-12)
        rows, mass = entries(nominal, k)
        np.testing.assert_allclose(mass, weights[rows] / weights[mine].sum())
    ties = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    for tie in np.unique(ties):
        assert len(np.unique(cell[ties == tie])) == 1  # equal contexts are never separated


def test_adapted_cells_are_about_equally_full():
    rng = np.random.default_rng(0)
    X, Y = rng.exponential(size=(1000, 4)), rng.normal(size=(1000, 1))
    nominal = AdaptedNominal(16).build(X, Y, np.ones(1000))
    assert len(nominal.contexts) == 16
    assert nominal.count.min() >= 1000 // 16
    assert nominal.count.max() <= 1000 // 16 + 1


def test_by_default_there_are_about_root_n_cells():
    X, Y, weights = history(0, rows=200)
    X = np.random.default_rng(9).normal(size=X.shape)
    assert len(AdaptedNominal().build(X, Y, weights).contexts) == 15  # ⌈√200⌉


def test_with_enough_cells_the_adapted_nominal_is_the_empirical_one():
    X, Y, weights = history(1)
    adapted = AdaptedNominal(len(X)).build(X, Y, weights)
    empirical = EmpiricalNominal().build(X, Y, weights)
    order, other = (np.lexsort(nominal.contexts.T) for nominal in (adapted, empirical))
    np.testing.assert_allclose(adapted.contexts[order], empirical.contexts[other], atol=1e-12)
    np.testing.assert_allclose(adapted.context_mass[order], empirical.context_mass[other])


def test_more_cells_come_nearer_to_the_data():
    X, Y, weights = history(2, rows=400)
    spread = []
    for cells in (1, 4, 16, 64):
        nominal = AdaptedNominal(cells).build(X, Y, weights)
        centre = np.repeat(nominal.contexts, nominal.count, axis=0)
        spread.append(np.abs(centre - X[nominal.entry_outcome]).mean())
    assert np.all(np.diff(spread) < 0)


@pytest.mark.parametrize("kind", [AdaptedNominal(9), NeighbourNominal(7)], ids=repr)
def test_units_of_the_features_do_not_matter(kind):
    X, Y, weights = history(3)
    unit, shift = np.array([1000.0, 0.01, 3.7]), np.array([5.0, -2.0, 1e4])
    X = np.sort(np.random.default_rng(3).normal(size=X.shape), axis=0)
    first, second = (kind.build(data, Y, weights) for data in (X, X * unit + shift))
    np.testing.assert_array_equal(first.entry_outcome, second.entry_outcome)
    np.testing.assert_allclose(first.entry_mass, second.entry_mass)
    np.testing.assert_allclose(first.contexts * unit + shift, second.contexts, rtol=1e-9)


def test_a_constant_feature_stays_exactly_constant():
    """Were it off by a rounding error, standardising would blow that error up to a feature."""
    X, Y, weights = history(4, rows=300)
    X[:, 1] = 0.1
    nominal = AdaptedNominal().build(X, Y, weights)
    assert np.all(nominal.contexts[:, 1] == 0.1)


# --------------------------------------------------------------------------- neighbours


def nearest(X, k):
    """Brute force: the k rows nearest to each, features counted in standard deviations."""
    constant = X.max(axis=0) == X.min(axis=0)
    scaled = (X - X[0]) / np.where(constant, 1.0, X.std(axis=0))
    distance = np.square(scaled[:, None] - scaled[None]).sum(axis=-1)
    return np.sort(np.argsort(distance, axis=1)[:, :k], axis=1)


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.integers(1, 60))
def test_neighbours_are_those_of_brute_force(seed, k):
    rng = np.random.default_rng(seed)
    X, Y, weights = rng.normal(size=(50, 3)), rng.normal(size=(50, 2)), rng.random(50) + 0.1
    X = X[np.argsort(X[:, 0])] * [1.0, 100.0, 0.001]
    nominal = NeighbourNominal(k).build(X, Y, weights)
    check_shape(nominal)
    k = min(k, 50)
    assert np.all(nominal.count == k)
    np.testing.assert_array_equal(nominal.contexts, X)
    np.testing.assert_allclose(nominal.context_mass, weights / weights.sum())
    found = np.sort(nominal.entry_outcome.reshape(50, k), axis=1)
    np.testing.assert_array_equal(found, nearest(X, k))
    np.testing.assert_allclose(
        nominal.entry_mass.reshape(50, k),
        weights[nominal.entry_outcome.reshape(50, k)]
        / weights[nominal.entry_outcome.reshape(50, k)].sum(axis=1, keepdims=True),
    )


@pytest.mark.parametrize("column", ["constant", "far from zero"])
@pytest.mark.parametrize("k", [5, 150])
def test_awkward_columns_do_not_spoil_neighbours(column, k):
    """Large k makes scikit-learn expand squares, where large common offsets would cancel."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X = X[np.argsort(X[:, 0])]
    X[:, 3] = 0.1 if column == "constant" else 1.7e9 + X[:, 3]
    nominal = NeighbourNominal(k).build(X, np.zeros((200, 1)), np.ones(200))
    found = np.sort(nominal.entry_outcome.reshape(200, k), axis=1)
    np.testing.assert_array_equal(found, nearest(X, k))


def test_every_context_is_its_own_neighbour():
    X, Y, weights = np.arange(8.0)[:, None], np.zeros((8, 1)), np.ones(8)
    nominal = NeighbourNominal(1).build(X, Y, weights)
    np.testing.assert_array_equal(nominal.entry_outcome, np.arange(8))


def test_neighbours_without_weight_are_not_borrowed():
    X, Y = np.array([[0.0], [0.1], [5.0]]), np.array([[1.0], [2.0], [3.0]])
    nominal = NeighbourNominal(2).build(X, Y, np.array([1.0, 0.0, 1.0]))
    assert len(nominal.contexts) == 2
    assert set(nominal.outcomes[nominal.entry_outcome, 0]) == {1.0, 3.0}


# --------------------------------------------------------------------------- errors


@pytest.mark.parametrize(("kind", "name"), [(AdaptedNominal, "cells"), (NeighbourNominal, "k")])
def test_counts_must_be_counts(kind, name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        kind(0)
    with pytest.raises(TypeError, match=rf"{name} must be a whole number, got 2\.5"):
        kind(2.5)
