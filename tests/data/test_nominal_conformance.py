"""What every nominal promises: masses that sum to 1, weights that count, no memory of order."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

import hedgerow as hr
from hedgerow.data import Nominal, TrainingTable, Units
from hedgerow.policy_file import Known, describe
from tests.data.nominals import check_shape, joint, mean_outcome
from tests.extending.parts import RecentNominal


@dataclass(frozen=True)
class Example:
    """A nominal, and what it promises beyond being one.

    ``any_order``: the order of rows does not matter. ``repeats``: a weight counts as so many rows.
    ``keeps_outcomes``: every row's outcome has its share of the mass. ``stored``: files hold it.
    """

    nominal: Nominal
    any_order: bool = True
    repeats: bool = True
    keeps_outcomes: bool = True
    stored: bool = True


RNG = np.random.default_rng(0)
X = np.repeat(RNG.normal(size=(25, 2)), RNG.integers(1, 4, 25), axis=0)
ROWS = len(X)
Y, WEIGHTS = RNG.gamma(4, 1, (ROWS, 2)), RNG.integers(1, 4, ROWS).astype(float)
FORECAST = hr.ResidualNominal(LinearRegression(), "constant", 4, folds=3)
GIVEN = hr.ScenarioNominal(X, Y[:, None] * [[0.8], [1.1], [1.5]], [1.0, 2.0, 0.0])
EXAMPLES = [
    Example(hr.EmpiricalNominal()),
    Example(hr.AdaptedNominal(6)),
    Example(hr.AdaptedNominal()),
    Example(hr.NeighbourNominal(4), keeps_outcomes=False),
    Example(FORECAST, keeps_outcomes=False, stored=False),
    Example(GIVEN, keeps_outcomes=False, stored=False),
    Example(RecentNominal(20.0), any_order=False, repeats=False, keeps_outcomes=False),
]
EVERY = pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: repr(e.nominal))


@EVERY
def test_masses_sum_to_one_and_entries_stand_together(example):
    nominal = example.nominal.build(X, Y, WEIGHTS)
    check_shape(nominal)
    assert nominal.outcomes.shape[1] == 2
    assert nominal.contexts.shape == (len(nominal.start), 2)
    np.testing.assert_array_equal(np.diff(nominal.entry_context) >= 0, True)
    np.testing.assert_array_equal(nominal.entry_place[nominal.start], 0)


@EVERY
def test_weights_count_by_their_proportion_only(example):
    first, second = (example.nominal.build(X, Y, w) for w in (WEIGHTS, 7.5 * WEIGHTS))
    np.testing.assert_allclose(joint(first), joint(second), rtol=1e-12)
    heavier = WEIGHTS.copy()
    heavier[Y[:, 0] > np.median(Y[:, 0])] *= 5
    assert mean_outcome(example.nominal.build(X, Y, heavier))[0] > mean_outcome(first)[0]


@EVERY
def test_rows_without_weight_are_not_there(example):
    weights = np.where(np.arange(ROWS) < 9, 0.0, WEIGHTS)
    first = example.nominal.build(X, Y, weights)
    second = example.nominal.build(X[9:], Y[9:], WEIGHTS[9:])
    np.testing.assert_allclose(joint(first), joint(second), rtol=1e-12)


@EVERY
def test_the_order_of_rows_does_not_matter_where_that_is_promised(example):
    order = np.random.default_rng(1).permutation(ROWS)
    first = joint(example.nominal.build(X, Y, WEIGHTS))
    second = joint(example.nominal.build(X[order], Y[order], WEIGHTS[order]))
    assert (first.shape == second.shape and np.allclose(first, second)) == example.any_order


@EVERY
def test_a_weight_counts_as_so_many_rows_where_that_is_promised(example):
    times = WEIGHTS.astype(int)
    first = joint(example.nominal.build(X, Y, WEIGHTS))
    repeated = (np.repeat(part, times, axis=0) for part in (X, Y))
    second = joint(example.nominal.build(*repeated, np.ones(times.sum())))
    assert (first.shape == second.shape and np.allclose(first, second)) == example.repeats


@EVERY
def test_outcomes_keep_their_shares_where_that_is_promised(example):
    mean = mean_outcome(example.nominal.build(X, Y, WEIGHTS))
    assert np.allclose(mean, np.average(Y, axis=0, weights=WEIGHTS)) == example.keeps_outcomes


@EVERY
def test_what_is_built_can_be_trained_on(example):
    nominal = example.nominal.build(X, Y, WEIGHTS)
    units = Units.measure(nominal, hr.Newsvendor(1.0, 2.0))
    table = TrainingTable.build(nominal, units, nominal.most_outcomes, np.float32)
    np.testing.assert_allclose(table.masses(), nominal.context_mass, atol=2.0**-31)


@EVERY
def test_files_and_clones_are_the_same_nominal(example):
    again = Known([RecentNominal]).revive(json.loads(json.dumps(describe(example.nominal))))
    first = joint(example.nominal.build(X, Y, WEIGHTS))
    for other in (again, clone(example.nominal)) if example.stored else (clone(example.nominal),):
        np.testing.assert_array_equal(joint(other.build(X, Y, WEIGHTS)), first)
    assert example.nominal.description().short


def test_what_is_missing_is_named():
    class Unfinished(Nominal):
        pass

    with pytest.raises(TypeError, match="build"):
        Unfinished()
