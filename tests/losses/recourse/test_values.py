"""The engine of two-stage programs: every value is what a linear-programming solver finds."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from hedgerow import Box, Free, Nonnegative, Product, Simplex
from hedgerow.decisions import interval_blocks
from hedgerow.losses.recourse import Recourse, StandardForm, VertexPool, decision_blocks

INF = np.inf


def everywhere(outcomes):
    return interval_blocks("y", np.full(outcomes, -INF), np.full(outcomes, INF))


def upward(outcomes):
    return interval_blocks("y", np.zeros(outcomes), np.full(outcomes, INF))


def random_program(seed, rows=3, columns=7, decisions=2, outcomes=2):
    """Complete recourse (columns ±e_i at a price) with a few random columns besides."""
    rng = np.random.default_rng(seed)
    extra = rng.integers(-2, 3, (rows, columns - 2 * rows)).astype(float)
    matrix = np.hstack([np.eye(rows), -np.eye(rows), extra])
    cost = np.concatenate([rng.integers(1, 6, 2 * rows), rng.integers(0, 4, extra.shape[1])])
    return {
        "recourse_cost": cost.astype(float),
        "recourse_matrix": matrix,
        "technology": rng.normal(size=(rows, decisions)),
        "outcome_matrix": rng.normal(size=(rows, outcomes)),
        "constant": rng.normal(size=rows),
        "first_stage_cost": rng.normal(size=decisions),
    }


def engine(program, decision_set=None, outcomes=None, **options):
    form = StandardForm.read(**program)
    decision_set = decision_set or Free(form.technology.shape[1])
    blocks = decision_blocks(decision_set)
    blocks += everywhere(form.outcome_matrix.shape[1]) if outcomes is None else outcomes
    return Recourse(form, blocks, **options)


def by_solver(program, z, y, senses=None):
    """Values and duals row by row, from scipy."""
    matrix = program["recourse_matrix"]
    senses = np.array(senses or ["="] * len(matrix))
    right = program["constant"] + y @ program["outcome_matrix"].T - z @ program["technology"].T
    sign = np.where(senses == ">=", -1.0, 1.0)[:, None]
    equal = senses == "="
    values = []
    for row in right:
        solution = linprog(
            program["recourse_cost"],
            A_ub=(sign * matrix)[~equal],
            b_ub=(sign[:, 0] * row)[~equal],
            A_eq=matrix[equal],
            b_eq=row[equal],
            method="highs",
        )
        values.append(solution.fun if solution.status == 0 else INF)
    return np.array(values) + z @ program["first_stage_cost"]


def points(program, rows, seed=0):
    rng = np.random.default_rng(seed)
    return (
        3 * rng.normal(size=(rows, program["technology"].shape[1])),
        3 * rng.normal(size=(rows, program["outcome_matrix"].shape[1])),
    )


# --------------------------------------------------------------------------- exact values


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(0, 5))
def test_values_are_those_of_a_solver(seed, rows, extra):
    """Small integer costs: many vertices are degenerate."""
    program = random_program(seed, rows, 2 * rows + extra)
    recourse = engine(program)
    z, y = points(program, 10, seed)
    expected = by_solver(program, z, y)
    np.testing.assert_allclose(recourse.values(z, y), expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_enumeration_finds_exactly_the_vertices(seed):
    """Against trying every choice of m columns."""
    program = random_program(seed, 3, 9)
    recourse = engine(program)
    form = recourse.form
    found = set()
    for columns in combinations(range(form.matrix.shape[1]), 3):
        basis = form.matrix[:, columns]
        if abs(np.linalg.det(basis)) > 1e-9:
            vertex = np.linalg.solve(basis.T, form.cost[list(columns)])
            if np.all(vertex @ form.matrix <= form.cost + 1e-9):
                found.add(tuple(np.round(vertex, 8) + 0.0))
    assert recourse.enumerated
    assert {tuple(np.round(v, 8) + 0.0) for v in recourse.vertices} == found


@settings(max_examples=15)
@given(st.integers(0, 1000))
def test_gradients_are_subgradients_in_both_arguments(seed):
    """Jointly: Ψ(z', y') ≥ Ψ(z, y) + g_z·(z' − z) + g_y·(y' − y), which also is convexity."""
    program = random_program(seed % 7, 3, 8)
    recourse = engine(program)
    (z, y), (z2, y2) = points(program, 20, seed), points(program, 20, seed + 1)
    value, in_z, in_y = recourse.values_and_gradients(z, y)
    bound = value + np.sum(in_z * (z2 - z), axis=1) + np.sum(in_y * (y2 - y), axis=1)
    assert np.all(recourse.values(z2, y2) >= bound - 1e-9)


def test_gradients_are_the_solvers_duals_where_unique():
    program = random_program(3, 4, 12)
    recourse = engine(program)
    z, y = points(program, 50)
    right = recourse.form.right_hand_sides(z, y)
    duals = np.array(
        [
            linprog(recourse.form.cost, A_eq=recourse.form.matrix, b_eq=r).eqlin.marginals
            for r in right
        ]
    )
    _, in_z, in_y = recourse.values_and_gradients(z, y)
    np.testing.assert_allclose(in_y, duals @ recourse.form.outcome_matrix, atol=1e-9)
    slopes = recourse.form.first_stage_cost - duals @ recourse.form.technology
    np.testing.assert_allclose(in_z, slopes, atol=1e-9)


def test_batch_axes_broadcast():
    program = random_program(1)
    recourse = engine(program)
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(4, 1, 2)), rng.normal(size=(5, 2))
    value, in_z, in_y = recourse.values_and_gradients(z, y)
    assert (value.shape, in_z.shape, in_y.shape) == ((4, 5), (4, 5, 2), (4, 5, 2))
    assert value[2, 3] == pytest.approx(float(recourse.values(z[2, 0], y[3])), rel=1e-12)
    with pytest.raises(ValueError, match="z must have 2 entries along its last axis"):
        recourse.values(np.ones(3), y)
    with pytest.raises(TypeError, match="z must hold numbers only, got 'all'"):
        recourse.values("all", y)
    with pytest.raises(ValueError, match=r"equally many rows.*shapes \(3, 2\) and \(5, 2\)"):
        recourse.values(np.ones((3, 2)), y)


# --------------------------------------------------------------------------- walks and pools


def test_walking_is_as_exact_as_enumeration():
    program = random_program(5, 4, 16)
    whole, walked = engine(program), engine(program, limit=3)
    assert whole.enumerated
    assert not walked.enumerated
    z, y = points(program, 300)
    expected = whole.values_and_gradients(z, y)
    for got, want in zip(walked.values_and_gradients(z, y), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)
    pool = VertexPool(walked)
    assert 1 < pool.grow(z, y).vertices <= len(whole.vertices)
    with pytest.raises(ValueError, match="too many dual vertices to list"):
        _ = walked.vertices


def test_growth_reports_the_gap_and_closes_it():
    program = random_program(5, 4, 16)
    pool = VertexPool(engine(program, limit=3))
    z, y = points(program, 200)
    constant, in_y, in_z = pool.pieces()
    before = np.max(constant + y @ in_y.T + z @ in_z.T, axis=1)
    first = pool.grow(z, y)
    constant, in_y, in_z = pool.pieces()
    after = np.max(constant + y @ in_y.T + z @ in_z.T, axis=1)
    expected = by_solver(program, z, y)
    np.testing.assert_allclose(after, expected, rtol=1e-9, atol=1e-9)
    assert first.gap == pytest.approx(np.max(expected - before), rel=1e-9)
    assert first.rows == 200
    assert first.solves == np.sum(expected - before > 1e-6)
    assert pool.grow(z, y)._replace(gap=0.0) == (200, 0, 0.0, first.vertices)
    assert VertexPool(engine(program)).grow(z, y)[:3] == (200, 0, 0.0)


def test_a_pool_that_forgets_bases_stays_exact():
    program = random_program(5, 4, 16)
    pool = engine(program, limit=3)
    pool.bases.capacity = 8
    z, y = points(program, 3000)
    np.testing.assert_allclose(
        pool.values(z, y), engine(program).values(z, y), rtol=1e-10, atol=1e-10
    )


def test_rows_that_do_not_settle_are_solved_by_highs(monkeypatch):
    program = random_program(5, 4, 16)
    pool = engine(program, limit=3)
    monkeypatch.setattr("hedgerow.losses.recourse.bases.STEPS_PER_ROW_OF_MATRIX", 0)
    z, y = points(program, 20)
    np.testing.assert_allclose(pool.values(z, y), by_solver(program, z, y), rtol=1e-9, atol=1e-9)
    grown = VertexPool(pool)
    grown.grow(z, y)
    assert grown.grow(z, y).solves == 0


# --------------------------------------------------------------------------- reading a program


def test_sparse_matrices_are_the_dense_ones():
    program = random_program(2)
    sparse = dict(program)
    for name in ("recourse_matrix", "technology", "outcome_matrix"):
        sparse[name] = sp.csr_array(program[name])
    z, y = points(program, 10)
    np.testing.assert_array_equal(engine(sparse).values(z, y), engine(program).values(z, y))


@pytest.mark.parametrize("senses", [("<=", ">=", "="), (">=", ">=", "<="), ("<=", "=", "=")])
def test_senses_add_slacks(senses):
    program = random_program(4)
    z, y = points(program, 20)
    values = engine({**program, "senses": senses}).values(z, y)
    np.testing.assert_allclose(values, by_solver(program, z, y, senses), rtol=1e-9, atol=1e-9)


def test_rows_that_follow_from_others_are_dropped():
    program = random_program(6)
    mix = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [2, -1, 0], [0, 0, 0]])
    doubled = dict(program)
    for name in ("recourse_matrix", "technology", "outcome_matrix", "constant"):
        doubled[name] = mix @ program[name]
    assert StandardForm.read(**doubled).matrix.shape == (3, 7)
    z, y = points(program, 10)
    np.testing.assert_allclose(engine(doubled).values(z, y), engine(program).values(z, y))
    doubled["constant"] = doubled["constant"] + np.array([0, 0, 0, 1.0, 0])
    with pytest.raises(ValueError, match=r"is a combination of its other rows, but its right-hand"):
        StandardForm.read(**doubled)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recourse_cost": np.ones(3)}, r"recourse_cost must have one entry per column .*\(7\)"),
        ({"technology": np.ones((2, 2))}, r"technology must have one row per row .*\(3\), got 2"),
        ({"outcome_matrix": np.ones((4, 2))}, "outcome_matrix must have one row per row"),
        ({"recourse_matrix": np.ones(3)}, "recourse_matrix must be a matrix"),
        ({"constant": np.ones(2)}, "constant must have one entry per row"),
        ({"first_stage_cost": np.ones(5)}, "first_stage_cost must have one entry per column"),
        ({"recourse_cost": np.full(7, np.nan)}, "recourse_cost contains NaN"),
        ({"senses": ("=", "<=")}, r"senses must name one of .* per row"),
        ({"senses": ("=", "<=", "<")}, "senses must be one of"),
        ({"senses": 3}, "senses must name one of"),
        ({"recourse_cost": None}, "recourse_cost must have one entry per column"),
        ({"technology": "none"}, "technology must hold numbers only, got 'none'"),
        ({"recourse_matrix": [[1.0, 2.0], [1.0]]}, "recourse_matrix must hold numbers only"),
    ],
)
def test_wrong_input_is_named(change, message):
    with pytest.raises((ValueError, TypeError), match=message):
        StandardForm.read(**{**random_program(0), **change})


# --------------------------------------------------------------------------- well-posedness

ONE_WAY = {
    "recourse_cost": [1.0, 2.0],
    "recourse_matrix": [[1.0, 1.0]],
    "technology": [[1.0]],
    "outcome_matrix": [[1.0]],
}
"""w1 + w2 = y − z, so there is a recourse exactly where y ≥ z."""


def test_a_cost_without_lower_bound_is_refused():
    with pytest.raises(ValueError, match="The recourse cost is unbounded below"):
        engine({**ONE_WAY, "recourse_cost": [1.0, -2.0], "recourse_matrix": [[1.0, -1.0]]})


def test_an_open_direction_without_recourse_is_named():
    with pytest.raises(ValueError, match=r"No recourse exists far along z\[0\] → \+∞"):
        engine(ONE_WAY, Nonnegative(1), upward(1))
    with pytest.raises(ValueError, match=r"No recourse exists far along y\[0\] → −∞"):
        engine(ONE_WAY, Box(0.0, 1.0))


def test_a_corner_without_recourse_is_named():
    outcomes = interval_blocks("y", np.array([2.0]), np.array([9.0]))
    for limit in (100, 0):
        with pytest.raises(ValueError, match=r"at z = \[3.0\], y = \[2.0\]"):
            engine(ONE_WAY, Box(0.0, 3.0), outcomes, limit=limit)


@pytest.mark.parametrize("limit", [100, 0])
def test_relatively_complete_recourse_is_enough(limit):
    """−T points out of the cone, but never far enough within the box."""
    outcomes = interval_blocks("y", np.array([3.0]), np.array([INF]))
    recourse = engine(ONE_WAY, Box(0.0, 3.0), outcomes, limit=limit)
    assert recourse.values([1.0], [4.0]) == pytest.approx(3.0)
    assert recourse.values([3.0], [3.0]) == pytest.approx(0.0)


@pytest.mark.parametrize("limit", [100, 0])
def test_outside_the_checked_sets_the_value_is_infinite(limit):
    recourse = engine(
        ONE_WAY, Box(0.0, 3.0), interval_blocks("y", np.array([3.0]), [INF]), limit=limit
    )
    value, in_z, _ = recourse.values_and_gradients([[3.0], [1.0]], [[2.0], [2.0]])
    np.testing.assert_allclose(value, [INF, 1.0])
    np.testing.assert_array_equal(np.isnan(in_z), [[True], [False]])


@pytest.mark.parametrize("limit", [100, 0])
def test_simplexes_and_products_are_checked_at_their_corners(limit):
    program = {**ONE_WAY, "technology": [[1.0, -1.0, 1.0]]}
    allowed = Product(Simplex(2), Box(0.0, 1.0))
    fine = interval_blocks("y", np.array([2.0]), np.array([3.0]))
    engine(program, allowed, fine, limit=limit)
    short = interval_blocks("y", np.array([1.9]), np.array([3.0]))
    with pytest.raises(ValueError, match=r"at z = \[1.0, 0.0, 1.0\], y = \[1.9\]"):
        engine(program, allowed, short, limit=limit)


def test_too_many_corners_are_sampled_and_said_so():
    rows = np.full((1, 13), 1.0)
    program = {**ONE_WAY, "technology": rows}
    outcomes = interval_blocks("y", np.array([13.0]), np.array([INF]))
    with pytest.warns(UserWarning, match="4096 random corners"):
        engine(program, Box(np.zeros(13), np.ones(13)), outcomes, limit=0)


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_largest_slopes_are_those_of_the_vertices(seed):
    program = random_program(seed % 5, 3, 8)
    falls, rises = engine(program, limit=2).largest_slopes()
    slopes = engine(program).pieces()[1]
    np.testing.assert_allclose(falls, -slopes.min(axis=0), atol=1e-9)
    np.testing.assert_allclose(rises, slopes.max(axis=0), atol=1e-9)


def test_a_slope_without_bound_is_infinite():
    recourse = engine(ONE_WAY, Box(0.0, 1.0), interval_blocks("y", np.array([1.0]), [INF]))
    falls, rises = recourse.largest_slopes()
    np.testing.assert_array_equal(falls, [INF])
    np.testing.assert_allclose(rises, [1.0])
