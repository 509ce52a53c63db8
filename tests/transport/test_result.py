"""Views of a plan are parts of the plan; a measure refuses what is none."""

import numpy as np
import pytest

from hedgerow.transport import DiscreteMeasure, causal_sinkhorn, sinkhorn
from tests.transport.measures import cloud


def example(solver, grid, epsilon):
    rng = np.random.default_rng(0)
    source, target = cloud(rng, 4, 6, grid=grid), cloud(rng, 3, 7, grid=grid)
    return solver(source, target, epsilon)


@pytest.mark.parametrize("solver", [causal_sinkhorn, sinkhorn])
@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_views_are_parts_of_the_plan(solver, grid, epsilon):
    result = example(solver, grid, epsilon)
    plan, source, target = result.plan, result.source, result.target
    np.testing.assert_array_equal(result.rows([3, 1]), plan[[3, 1]])
    np.testing.assert_array_equal(result.rows(slice(2, 5)), plan[2:5])
    pieces = list(result.blocks(size=4))
    np.testing.assert_array_equal(np.concatenate([block for _, block in pieces]), plan)
    for rows, block in pieces:
        np.testing.assert_array_equal(block, plan[rows])
    np.testing.assert_allclose(result.given(2), plan[2] / source.weights[2], rtol=1e-12)

    from_context = (source.x[None] == result.source_contexts[:, None]).all(-1).astype(float)
    to_context = (target.x[:, None] == result.target_contexts[None]).all(-1).astype(float)
    np.testing.assert_allclose(result.context_plan, from_context @ plan @ to_context, atol=1e-14)
    seen = source.y[4]
    chosen = (source.y == seen).all(-1)
    given = from_context[:, chosen] @ plan[chosen] @ to_context
    np.testing.assert_allclose(
        result.context_plan_given(seen), given / plan[chosen].sum(), atol=1e-14
    )


def test_a_large_plan_is_seen_through_views():
    t = np.linspace(-1, 1, 160)
    measure = DiscreteMeasure.grid(t, t)
    result = causal_sinkhorn(measure, measure, 1.0)
    with pytest.raises(ValueError, match=r"25,600 × 25,600 entries, too many to form"):
        _ = result.plan
    np.testing.assert_allclose(result.context_plan.sum(), 1)
    np.testing.assert_allclose(result.given(17).sum(), 1)
    assert next(result.blocks())[1].shape[1] == 25_600


def test_a_negative_value_has_no_root():
    result = example(sinkhorn, False, 50.0)
    assert result.value < 0
    with pytest.raises(ValueError, match=r"negative value has no root.*epsilon=0"):
        _ = result.distance


def test_printing_says_what_was_solved():
    said = repr(example(causal_sinkhorn, False, 0.3))
    assert said.startswith("Causal transport of 6 to 7 points\n  epsilon  0.3\n")
    measure = DiscreteMeasure([0, 0, 1], [-1, 1, 5])
    assert repr(measure) == "DiscreteMeasure(3 points, 2 contexts, d_x=1, d_y=1)"


def test_a_grid_pairs_every_context_with_every_outcome():
    weights = np.array([[0.1, 0.2, 0.3], [0.15, 0.05, 0.2]])
    measure = DiscreteMeasure.grid([10, 20], [[1, 0], [2, 0], [3, 0]], weights)
    assert measure.x.shape == (6, 1)
    assert measure.y.shape == (6, 2)
    at = (measure.x[:, 0] == 20) & (measure.y[:, 0] == 1)
    assert measure.weights[at] == pytest.approx(0.15)
    np.testing.assert_allclose(DiscreteMeasure.grid([1, 2], [1, 2]).weights, 0.25)


def test_weights_lose_their_rounding_and_nothing_else():
    weights = np.full(3, 1 / 3, dtype=np.float32)
    measure = DiscreteMeasure([1, 2, 3], [1, 2, 3], weights)
    assert measure.weights.sum() == pytest.approx(1, abs=1e-15)
    with pytest.raises(ValueError, match="read-only"):
        measure.weights[0] = 1
    given = np.ones(2)
    DiscreteMeasure(given, given)
    given[0] = 2  # what the user passed in stays the user's


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1, 2, 3]), "got 2 rows of x and 3 of y"),
        (([[[1]]], [1]), r"x must have one row per point.*shape \(1, 1, 1\)"),
        (([], []), "at least one point"),
        (([1, np.nan], [1, 2]), "x contains NaN"),
        (([1, 2], [1, np.inf]), "y contains inf"),
        (([1, 2], [1, 2], [0.5]), r"one entry per point \(2\)"),
        (([1, 2], [1, 2], [1.5, -0.5]), "weights must not be negative"),
        (([1, 2], [1, 2], [1, 2]), "weights must sum to 1, got 3; divide them by their sum"),
        (([1, 2], [1, 2], [0, 0]), "weights must sum to 1, got 0"),
        (([1, 2], [1, 2], "even"), "weights must hold numbers only, got 'even'"),
        (([[1, 2], [3]], [1, 2]), "x must be a table, but its rows differ in length"),
        ((None, [1, 2]), "x must be numeric, got None"),
    ],
)
def test_what_is_no_measure(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        DiscreteMeasure(*arguments)


def test_what_is_no_grid():
    with pytest.raises(ValueError, match=r"one row per x and one column per y, \(2, 3\)"):
        DiscreteMeasure.grid([1, 2], [1, 2, 3], np.ones((3, 2)) / 6)


FLAT = DiscreteMeasure([0, 1], [0, 1])
FAR = DiscreteMeasure([0, 1e200], [0, 1])
DEEP = DiscreteMeasure([[0, 0], [1, 1]], [0, 1])


@pytest.mark.parametrize("solver", [causal_sinkhorn, sinkhorn])
@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((FLAT, FLAT, -0.1), {}, ValueError, "epsilon must not be negative, got -0.1"),
        ((FLAT, FLAT, np.nan), {}, ValueError, "epsilon must be finite"),
        ((FLAT, FLAT, "1"), {}, TypeError, "epsilon must be a number"),
        ((FLAT, FLAT, 1, 0.5), {}, ValueError, "order must be at least 1, got 0.5"),
        ((FLAT, DEEP, 1), {}, ValueError, "equally many columns of x, got 1 and 2"),
        ((FLAT, [0, 1], 1), {}, TypeError, "target must be a hedgerow.DiscreteMeasure"),
        ((FLAT, FLAT, 1), {"x_scale": 0}, ValueError, "x_scale must be greater than 0"),
        ((FLAT, FLAT, 1), {"x_scale": "auto"}, TypeError, "got 'auto'; only ambiguity models"),
        ((FLAT, FLAT, 1), {"y_scale": None}, TypeError, "y_scale must hold numbers only"),
        ((FLAT, FAR, 1), {}, ValueError, "so far apart that their cost overflows"),
        ((FLAT, FAR, 0), {}, ValueError, "so far apart that their cost overflows"),
        ((DEEP, DEEP, 1), {"x_scale": [1, 1, 1]}, ValueError, r"one number per column \(2\)"),
        ((FLAT, FLAT, 1), {"tolerance": 0}, ValueError, "tolerance must be greater than 0"),
        ((FLAT, FLAT, 1), {"max_sweeps": 0}, ValueError, "max_sweeps must be at least 1"),
    ],
)
def test_what_cannot_be_solved(solver, arguments, options, error, message):
    with pytest.raises(error, match=message):
        solver(*arguments, **options)


def test_an_outcome_to_condition_on_is_a_number_per_column():
    result = sinkhorn(FLAT, FLAT, 1.0)
    with pytest.raises(TypeError, match="outcome must hold numbers only, got 'low'"):
        result.context_plan_given("low")
    with pytest.raises(ValueError, match=r"one per column of y \(1\), got shape \(2,\)"):
        result.context_plan_given([0.0, 1.0])


def test_a_point_without_mass_has_no_conditional():
    source = DiscreteMeasure([0, 1], [0, 1], [1, 0])
    result = sinkhorn(source, FLAT, 1.0)
    np.testing.assert_array_equal(result.rows([1]), 0)
    with pytest.raises(ValueError, match="Source point 1 has weight 0"):
        result.given(1)
