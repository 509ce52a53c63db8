"""Cutting planes: the least weighted mean is the one that a single linear program finds."""

import numpy as np
import pytest
from scipy.optimize import linprog

from hedgerow import Box, Free, Product, Simplex
from hedgerow.losses.recourse import cutting_planes, minimise_mean


def weighted_distances(outcomes):
    """Ψ(z, y) = Σ_j |y_j − z_j| and a subgradient in z."""

    def evaluate(z):
        return np.abs(outcomes - z).sum(axis=1), np.sign(z - outcomes)

    return evaluate


def least_by_one_program(outcomes, share, bounds, sums):
    """min Σ w_i t_ij over (z, t) with t ≥ ±(y − z)."""
    rows, size = outcomes.shape
    eye, stacked = np.eye(rows * size), np.tile(np.eye(size), (rows, 1))
    right = outcomes.ravel()
    found = linprog(
        np.concatenate([np.zeros(size), np.repeat(share, size)]),
        A_ub=np.block([[-stacked, -eye], [stacked, -eye]]),
        b_ub=np.concatenate([-right, right]),
        A_eq=None if sums is None else [np.concatenate([sums, np.zeros(rows * size)])],
        b_eq=None if sums is None else [1.0],
        bounds=[*bounds, *[(None, None)] * rows * size],
    )
    return found.fun


SETS = {
    "free": (Free(3), [(None, None)] * 3, None),
    "box": (Box([0.0] * 3, [0.4] * 3), [(0.0, 0.4)] * 3, None),
    "simplex and box": (
        Product(Simplex(2), Box([0.0], [0.3])),
        [(0.0, None), (0.0, None), (0.0, 0.3)],
        np.array([1.0, 1.0, 0.0]),
    ),
}


@pytest.mark.parametrize("fails", [False, True], ids=["warm", "after a failure"])
@pytest.mark.parametrize("name", SETS)
def test_least_mean_is_that_of_one_program(name, fails, monkeypatch):
    decision_set, bounds, sums = SETS[name]
    rng = np.random.default_rng(0)
    outcomes, weights = rng.normal(0.5, 1.0, size=(40, 3)), rng.uniform(size=40)
    if fails:
        solved, tries = cutting_planes._Master._solved, iter([True, False])
        monkeypatch.setattr(
            cutting_planes._Master, "_solved", lambda self: solved(self) and next(tries, True)
        )
    found = minimise_mean(weighted_distances(outcomes), weights, decision_set)
    share = weights / weights.sum()
    value = share @ weighted_distances(outcomes)(found)[0]
    assert value == pytest.approx(least_by_one_program(outcomes, share, bounds, sums), rel=1e-7)


def test_where_it_starts_does_not_matter():
    rng = np.random.default_rng(1)
    outcomes, weights = 1e4 + rng.normal(size=(30, 2)), np.ones(30)
    evaluate = weighted_distances(outcomes)
    near = minimise_mean(evaluate, weights, Free(2), 1.0, outcomes[0])
    far = minimise_mean(evaluate, weights, Free(2))
    assert evaluate(near)[0].sum() == pytest.approx(evaluate(far)[0].sum(), rel=1e-8)


def test_a_program_that_cannot_be_solved_is_named(monkeypatch):
    monkeypatch.setattr(cutting_planes._Master, "_solved", lambda self: False)
    with pytest.raises(RuntimeError, match="master program was not solved"):
        minimise_mean(weighted_distances(np.ones((3, 2))), np.ones(3), Free(2))
