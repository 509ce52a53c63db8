"""Exact plans: least cost by brute force and by network simplex, causal and feasible."""

import numpy as np
import pytest
from scipy.optimize import linprog

from hedgerow.transport import DiscreteMeasure, causal_sinkhorn, exact, sinkhorn
from tests.transport.measures import (
    causality_error,
    check_feasible,
    cloud,
    cost,
    definition,
    same_context,
)


def brute_force(source, target, order):
    """The causal LP over all entries of the plan, one equation per pair of points of a context."""
    n, m = len(source), len(target)
    shape = (n, m)
    equations, right = [], []

    def equation(coefficients, value):
        equations.append(coefficients.ravel())
        right.append(value)

    for i in range(n):
        row = np.zeros(shape)
        row[i] = 1
        equation(row, source.weights[i])
    for j in range(m):
        column = np.zeros(shape)
        column[:, j] = 1
        equation(column, target.weights[j])
    first = same_context(source).argmax(axis=1)
    for i, k in enumerate(first):
        for members in np.unique(same_context(target), axis=0):
            difference = np.zeros(shape)
            difference[i] += members / source.weights[i]
            difference[k] -= members / source.weights[k]
            equation(difference, 0.0)
    found = linprog(
        cost(source, target, order).ravel(), A_eq=np.array(equations), b_eq=right, method="highs"
    )
    assert found.success
    return found.fun


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_causal_plans_cost_what_brute_force_finds(order, grid, seed):
    rng = np.random.default_rng(seed)
    shape = {"contexts": 3, "points": 3 if grid else 8, "grid": grid, "d_y": 1 + seed % 2}
    source, target = cloud(rng, **shape), cloud(rng, **shape)
    result = causal_sinkhorn(source, target, 0, order)
    np.testing.assert_allclose(result.value, brute_force(source, target, order), rtol=1e-8)
    np.testing.assert_allclose(result.distance, result.value ** (1 / order))
    assert result.status == "optimal"
    check_feasible(result.plan, source, target, 1e-9)
    assert causality_error(result.plan, source, target) <= 1e-9
    assert result.causality_error <= 1e-9
    assert result.marginal_error <= 1e-9
    expected = definition(result.plan, source, target, 0, order=order)
    np.testing.assert_allclose(result.value, expected, rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("grid", [False, True])
def test_network_simplex_finds_the_same_cost(order, grid):
    ot = pytest.importorskip("ot")
    rng = np.random.default_rng(3)
    source, target = (cloud(rng, 6, 6 if grid else 40, grid=grid) for _ in range(2))
    result = sinkhorn(source, target, 0, order)
    expected = ot.emd2(source.weights, target.weights, cost(source, target, order))
    np.testing.assert_allclose(result.value, expected, rtol=1e-9)
    check_feasible(result.plan, source, target, 1e-9)


def test_both_programmes_agree_where_both_apply(monkeypatch):
    rng = np.random.default_rng(4)
    source, target = cloud(rng, 5, 5, grid=True), cloud(rng, 5, 5, grid=True)
    direct = exact._direct(sinkhorn(source, target, 1.0)._problem)[0]
    two_legs = exact._two_legs(sinkhorn(source, target, 1.0)._problem)[0]
    costs = []
    for factors in (direct, two_legs):
        monkeypatch.setattr("hedgerow.transport.solvers.solve_exactly", lambda _, f=factors: (f, 0))
        costs.append(sinkhorn(source, target, 0).value)
    np.testing.assert_allclose(costs[0], costs[1], rtol=1e-10)


def test_what_causality_costs_by_hand():
    """One context, two outcomes: a causal plan has to send the context before it sees which."""
    source = DiscreteMeasure([0, 0], [-1, 1])
    target = DiscreteMeasure([-1, 1], [-1, 1])
    assert sinkhorn(source, target, 0).value == pytest.approx(1)
    assert causal_sinkhorn(source, target, 0).value == pytest.approx(3)
    assert sinkhorn(source, target, 0).causality_error == pytest.approx(0.5)


def test_masses_below_what_the_solver_resolves():
    weights = np.exp(-np.linspace(0, 400, 8))
    t = np.arange(8.0)
    source = DiscreteMeasure.grid(t, t, np.outer(weights, weights) / weights.sum() ** 2)
    target = DiscreteMeasure.grid(t + 0.5, t, np.outer(weights, weights) / weights.sum() ** 2)
    result = causal_sinkhorn(source, target, 0)
    assert np.isfinite(result.plan).all()
    check_feasible(result.plan, source, target, 1e-9)
    assert result.value == pytest.approx(0.25, abs=1e-9)


def test_a_programme_too_large_is_refused():
    rng = np.random.default_rng(5)
    many = DiscreteMeasure(rng.normal(size=1100), rng.normal(size=1100))
    with pytest.raises(ValueError, match=r"1,210,000 variables.*use epsilon > 0 or fewer points"):
        sinkhorn(many, many, 0)


def test_a_programme_that_was_not_solved_is_no_plan(monkeypatch):
    def give_up(*arguments, **options):
        found = linprog(*arguments, **options)
        found.status, found.message = 4, "Numerical difficulties encountered. "
        return found

    monkeypatch.setattr(exact, "linprog", give_up)
    point = DiscreteMeasure([0.0], [0.0])
    with pytest.raises(RuntimeError, match=r"exact plan was not found.*1 variables.*Numerical"):
        sinkhorn(point, point, 0)
