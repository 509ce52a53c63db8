"""Every raw parameter lands in the set, and every point of the set can be had."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hedgerow import Box, Free, Nonnegative, Product, Simplex
from hedgerow.decisions.base import EDGE
from tests.oracles import double, gradient_by_differences, single

INF = np.inf
SETS = {
    "Free": Free(4),
    "Nonnegative": Nonnegative(4),
    "Box": Box([0.0, -INF, 2.0, -INF], [1.0, INF, INF, -3.0]),
    "narrow Box": Box([0.1, -1e4, 5.0, 1e-3], [0.3, 1e4, 5.01, 2e-3]),
    "Simplex": Simplex(4),
    "Product": Product(Box(0.0, 2.0), Simplex(2), Nonnegative(1)),
}
EVERY = pytest.mark.parametrize("decision_set", SETS.values(), ids=SETS)
RAW = arrays(np.float64, (5, 4), elements=st.floats(-60, 60))

onto = single(lambda decision_set, raw: decision_set.from_raw(raw))
onto_double = double(lambda decision_set, raw: decision_set.from_raw(raw))
back_double = double(lambda decision_set, point: decision_set.to_raw(point))


def inside(decision_set, point):
    """Membership by the sets' definitions, up to one rounding of float32."""
    if isinstance(decision_set, Product):
        a, b, c = decision_set.sets
        parts = (inside(a, point[..., :1]), inside(b, point[..., 1:3]), inside(c, point[..., 3:]))
        return np.all(parts, axis=0)
    if isinstance(decision_set, Box):
        low, high = decision_set.low, decision_set.high
        slack = 2e-7 * np.where(np.isfinite(low), np.abs(low), 0)
        slack = slack + 2e-7 * np.where(np.isfinite(high), np.abs(high), 0)
        return np.all((point >= low - slack) & (point <= high + slack), axis=-1)
    finite = np.all(np.isfinite(point), axis=-1)
    if isinstance(decision_set, Free):
        return finite
    positive = np.all(point >= 0, axis=-1) & finite
    if isinstance(decision_set, Nonnegative):
        return positive
    return positive & (np.abs(point.sum(axis=-1) - 1) < 1e-6)


def members(decision_set, seed):
    """Random points well inside each set, made without its own map."""
    rng = np.random.default_rng(seed)
    if isinstance(decision_set, Product):
        return np.concatenate([members(part, seed) for part in decision_set.sets], axis=-1)
    shape = (6, decision_set.dimension)
    if isinstance(decision_set, Free):
        return rng.normal(size=shape)
    if isinstance(decision_set, Nonnegative):
        return rng.gamma(2.0, size=shape) + 0.01
    if isinstance(decision_set, Simplex):
        return rng.dirichlet(np.full(shape[1], 5.0), size=6)
    low, high, away = decision_set.low, decision_set.high, rng.gamma(2.0, size=shape) + 0.01
    share = rng.uniform(0.01, 0.99, size=shape)
    point = np.where(np.isfinite(low), low + away, np.where(np.isfinite(high), high - away, away))
    both = np.isfinite(low) & np.isfinite(high)
    return np.where(
        both, np.where(both, low, 0) * (1 - share) + np.where(both, high, 0) * share, point
    )


@EVERY
@given(raw=RAW)
def test_every_raw_parameter_lands_in_the_set(decision_set, raw):
    point = onto(decision_set, raw)
    assert point.shape == raw.shape
    assert np.all(inside(decision_set, point))


@EVERY
@pytest.mark.parametrize("size", [1e3, 1e8])
def test_huge_raw_parameters_land_in_the_set(decision_set, size):
    raw = size * np.array([[-1.0, -1, -1, -1], [1, 1, 1, 1], [1, -1, 1, -1], [-1, 1, -1, 1]])
    assert np.all(inside(decision_set, onto(decision_set, raw)))


@EVERY
@given(seed=st.integers(0, 10_000))
def test_to_raw_inverts_from_raw(decision_set, seed):
    point = members(decision_set, seed)
    np.testing.assert_allclose(
        onto_double(decision_set, back_double(decision_set, point)), point, rtol=1e-9, atol=1e-9
    )
    assert np.all(decision_set.contains(point))


@EVERY
@given(raw=RAW)
def test_gradients_are_finite(decision_set, raw):
    gradient = gradients(raw, decision_set)
    assert np.all(np.isfinite(gradient))


gradients = single(jax.grad(lambda raw, decision_set: jnp.sum(decision_set.from_raw(raw))))


@EVERY
def test_gradients_are_difference_quotients(decision_set):
    raw, weights = np.random.default_rng(0).normal(size=(2, 4))

    value = double(lambda raw, decision_set: weights @ decision_set.from_raw(raw))
    numerical = gradient_by_differences(lambda r: value(r, decision_set), raw)
    exact = double(jax.grad(lambda raw: weights @ decision_set.from_raw(raw)))(raw)
    np.testing.assert_allclose(exact, numerical, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("decision_set", "point", "nearest"),
    [
        (Nonnegative(2), [0.0, 2.0], [EDGE, 2.0]),
        (Box(0.0, 10.0), [0.0], [10 * EDGE]),
        (Box(0.0, 10.0), [10.0], [10 * (1 - EDGE)]),
        (Box(0.0, 10.0), [12.0], [10 * (1 - EDGE)]),
        (Box(1.0, INF), [1.0], [1 + EDGE]),
        (Box(-INF, 1.0), [1.0], [1 - EDGE]),
        (Product(Free(1), Nonnegative(1)), [-5.0, 0.0], [-5.0, EDGE]),
    ],
)
def test_boundary_points_are_moved_a_little_inside(decision_set, point, nearest):
    raw = back_double(decision_set, np.array(point))
    assert np.all(np.isfinite(raw))
    np.testing.assert_allclose(onto_double(decision_set, raw), nearest, rtol=1e-9)


def test_corners_of_the_simplex_have_finite_parameters():
    raw = back_double(Simplex(3), np.array([1.0, 0.0, 0.0]))
    corner = onto_double(Simplex(3), raw)
    assert np.all(corner > 0)
    np.testing.assert_allclose(corner, [1.0, 0.0, 0.0], atol=EDGE)


@pytest.mark.parametrize(
    ("decision_set", "point", "answer"),
    [
        (Free(2), [1e9, -1e9], True),
        (Free(2), [np.inf, 0.0], False),
        (Nonnegative(2), [0.0, 3.0], True),
        (Nonnegative(2), [-0.01, 3.0], False),
        (Box([0, -INF], [1, 2]), [1.0, -1e9], True),
        (Box([0, -INF], [1, 2]), [1.01, 0.0], False),
        (Box([0, -INF], [1, 2]), [0.5, 2.01], False),
        (Box([0, -INF], [1, 2]), [-0.01, 0.0], False),
        (Simplex(3), [0.2, 0.3, 0.5], True),
        (Simplex(3), [0.2, 0.3, 0.6], False),
        (Simplex(3), [-0.2, 0.7, 0.5], False),
        (Product(Simplex(2), Nonnegative(1)), [0.4, 0.6, 8.0], True),
        (Product(Simplex(2), Nonnegative(1)), [0.4, 0.7, 8.0], False),
        (Product(Simplex(2), Nonnegative(1)), [0.4, 0.6, -8.0], False),
    ],
)
def test_contains(decision_set, point, answer):
    assert bool(decision_set.contains(np.array(point))) is answer
    both = decision_set.contains(np.array([point, point]))
    np.testing.assert_array_equal(both, [answer, answer])


def test_an_infinite_end_of_a_box_is_no_end():
    box = Box([0.0, -INF, -INF], [INF, 0.0, INF])
    raw = np.array([[30.0, -30.0, 30.0], [-30.0, 30.0, -30.0]])
    point = onto_double(box, raw)
    np.testing.assert_allclose(point, [[30, -30, 30], [0, 0, -30]], atol=1e-9)


def test_a_product_splits_its_coordinates_in_order():
    parts = Box(5.0, 6.0), Simplex(3), Free(2)
    whole, raw = Product(*parts), np.random.default_rng(0).normal(size=(7, 6))
    assert whole.dimension == 6
    pieces = raw[:, :1], raw[:, 1:4], raw[:, 4:]
    expected = [onto_double(part, piece) for part, piece in zip(parts, pieces, strict=True)]
    np.testing.assert_array_equal(onto_double(whole, raw), np.concatenate(expected, axis=1))
    np.testing.assert_array_equal(whole.scalable, [True, False, False, False, True, True])


@EVERY
@given(seed=st.integers(0, 10_000), raw=RAW)
def test_in_units_is_the_set_of_rescaled_decisions(decision_set, seed, raw):
    rng = np.random.default_rng(seed)
    unit = np.where(decision_set.scalable, np.exp(rng.uniform(-5, 5, 4)), 1.0)
    rescaled = decision_set.in_units(unit)
    assert rescaled.dimension == 4
    # what the working set makes is, times the unit, in the user's set; and the other way round
    assert np.all(inside(decision_set, onto_double(rescaled, raw) * unit))
    assert np.all(inside(rescaled, members(decision_set, seed) / unit))


def test_in_units_reaches_the_rescaled_ends():
    box = Box([0.0, -4.0], [10.0, INF]).in_units(np.array([5.0, 2.0]))
    np.testing.assert_array_equal(box.low, [0.0, -2.0])
    np.testing.assert_array_equal(box.high, [2.0, INF])


@pytest.mark.parametrize("kind", [Free, Nonnegative, Simplex])
def test_dimensions_must_be_counts(kind):
    with pytest.raises(ValueError, match="dimension must be at least"):
        kind(0)
    with pytest.raises(TypeError, match=r"dimension must be a whole number, got 1\.5"):
        kind(1.5)


def test_a_simplex_needs_two_coordinates():
    with pytest.raises(ValueError, match="dimension must be at least 2, got 1"):
        Simplex(1)


@pytest.mark.parametrize(("low", "high"), [(1.0, 0.0), (1.0, 1.0), ([0.0, 3.0], [1.0, 2.0])])
def test_an_empty_box_is_refused(low, high):
    with pytest.raises(ValueError, match="Box needs low < high in every coordinate"):
        Box(low, high)


def test_a_box_with_nan_is_refused():
    with pytest.raises(ValueError, match="Box must not contain NaN"):
        Box(np.nan, 1.0)


def test_a_product_of_nothing_or_of_numbers_is_refused():
    with pytest.raises(ValueError, match="Product needs at least one decision set"):
        Product()
    with pytest.raises(TypeError, match="Product's parts must be decision sets"):
        Product(Free(1), 2)


def test_a_set_prints_as_it_is_written():
    written = "Product(Free(2), Nonnegative(1), Box([0.0, -inf], [1.0, 2.0]), Simplex(3))"
    made = Product(Free(2), Nonnegative(1), Box([0, -np.inf], [1, 2]), Simplex(3))
    assert repr(made) == written


def test_a_box_with_ends_of_different_lengths_is_refused():
    with pytest.raises(ValueError, match="as many low ends as high ends, got 2 and 3"):
        Box([0, 0], [1, 1, 1])


def test_training_on_a_simplex_starts_where_every_share_can_grow():
    corner = Product(Free(1), Simplex(4))
    start = np.asarray(corner.from_raw(corner.start_raw(jnp.array([7.0, 1.0, 0.0, 0.0, 0.0]))))
    assert start[0] == 7
    assert start[1] == start.max(initial=0, where=[False, True, True, True, True])
    assert start[2:].min() > 0.05
