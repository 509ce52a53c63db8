"""Kernels have the densities they state, and closed forms are the integrals they stand for."""

import itertools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from hedgerow.kernels.kernel import NEVER, Kernel, log_add
from tests.kernels.cases import Case, cases
from tests.oracles import (
    central_difference,
    double,
    single,
)

log_normaliser = double(lambda kernel, centre: kernel.log_normaliser(centre))
from_uniform = double(lambda kernel, centre, uniform: kernel.from_uniform(centre, uniform))
from_uniform_single = single(lambda kernel, centre, uniform: kernel.from_uniform(centre, uniform))


def tilted(kernel, slope, anchor, low, high, centre):
    return kernel.log_tilted_mass(slope, anchor, low, high, centre)


log_tilted_mass = double(tilted)


def tilted_mass(case, *arguments):
    """log_tilted_mass of one case, called with and returning plain numbers (float64)."""
    columns = (np.array([argument]) for argument in arguments)
    return float(log_tilted_mass(case.kernel_with_ends, *columns, case.centres)[0])


# --------------------------------------------------------------------------- the kernel itself


@given(cases())
def test_log_normaliser_is_the_integral(case):
    assert log_normaliser(case.kernel, case.centres) == pytest.approx(
        case.log_normaliser(), abs=1e-9
    )


@given(
    epsilon=st.floats(0.001, 10),
    scales=st.lists(st.floats(0.01, 100), min_size=3, max_size=3),
)
def test_log_normaliser_on_all_of_space(epsilon, scales):
    scales, centre = np.array(scales), np.zeros((2, 3))
    first, second = (Kernel(order, np.float64(epsilon), scales) for order in (1, 2))
    assert log_normaliser(first, centre) == pytest.approx(
        np.full(2, np.log(2 * epsilon * scales).sum()), abs=1e-12
    )
    assert log_normaliser(second, centre) == pytest.approx(
        np.full(2, np.log(np.pi * epsilon * scales**2).sum() / 2), abs=1e-12
    )


@given(cases(), st.floats(1e-6, 1 - 1e-6))
def test_from_uniform_inverts_the_distribution_function(case, level):
    point = from_uniform(case.kernel, case.centres, np.array([level])).item()
    assert case.low <= point <= case.high
    log_mass = case.log_integral(lambda u: 0.0, -np.inf, point, [point]) - case.log_normaliser()
    assert np.exp(log_mass) == pytest.approx(level, abs=1e-9)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("centre", [0.0, 1e-3, 0.1, 0.6, 1.0])
@pytest.mark.parametrize("ends", [(-np.inf, np.inf), (0.0, np.inf), (-np.inf, 1.0), (0.0, 1.0)])
def test_the_most_extreme_uniforms_give_finite_points(order, centre, ends):
    """Levels next to 0 and 1 round to them in float32 and must not send a node to infinity."""
    limits = np.finfo(np.float32)
    uniforms = np.array([[limits.tiny], [limits.epsneg], [1 - limits.eps], [1 - limits.epsneg]])
    case = Case(order, epsilon=0.1, scale=1.0, centre=centre, low=ends[0], high=ends[1])
    points = from_uniform_single(case.kernel, case.centres, uniforms)
    assert np.all(np.isfinite(points))
    assert np.all((points >= ends[0]) & (points <= ends[1]))


@pytest.mark.parametrize("order", [1, 2])
def test_a_pinned_coordinate_adds_nothing_to_the_normaliser(order):
    ends = np.array([0.0, 2.0]), np.array([1.0, 5.0])
    pinned = Kernel(order, np.float64(0.4), np.array([1.5, 0.0]), *ends)
    alone = Case(order, 0.4, 1.5, 0.4, low=0.0, high=1.0)
    value = log_normaliser(pinned, np.array([0.4, 2.0]))
    assert value == pytest.approx(alone.log_normaliser(), abs=1e-9)


# --------------------------------------------------------------------------- closed forms


@st.composite
def tilts(draw):
    """A kernel with a slope it can bear and an interval that meets its support."""
    case = draw(cases())
    # |slope·width| < 1 is what p = 1 allows on an unbounded support; p = 2 bears anything.
    steepest = 0.95 if case.order == 1 else 8.0
    slope = draw(st.floats(-steepest, steepest)) / case.width
    anchor = case.centre + draw(st.floats(-5, 5)) * case.width
    low = case.centre + draw(st.just(-np.inf) | st.floats(-6, 5)) * case.width
    length = draw(st.just(np.inf) | st.floats(0.01, 6)) * case.width
    high = low + length if np.isfinite(low) else case.centre + draw(st.floats(-5, 6)) * case.width
    return case, slope, anchor, low, high


def overlap(case, low, high):
    return (min(high, case.high) - max(low, case.low)) / case.width


@given(tilts())
def test_log_tilted_mass_is_the_integral(tilt):
    case, slope, anchor, low, high = tilt
    value = tilted_mass(case, slope, anchor, low, high)
    if overlap(case, low, high) <= 0:
        assert value == NEVER
    elif overlap(case, low, high) > 1e-6:
        exact = case.log_tilted_mass(slope, anchor, low, high)
        assert value == pytest.approx(exact, abs=1e-7, rel=1e-9)


@given(tilts(), st.floats(0.05, 0.95))
def test_masses_of_adjoining_intervals_add_up(tilt, share):
    case, slope, anchor, low, high = tilt
    low, high = max(low, case.centre - 8 * case.width), min(high, case.centre + 8 * case.width)
    if overlap(case, low, high) <= 1e-3:
        return
    middle = low + share * (high - low)
    parts = [tilted_mass(case, slope, anchor, *ends) for ends in ((low, middle), (middle, high))]
    whole = tilted_mass(case, slope, anchor, low, high)
    assert logsumexp(parts) == pytest.approx(whole, abs=1e-8, rel=1e-10)


@given(cases())
def test_without_a_tilt_the_whole_mass_is_one(case):
    assert tilted_mass(case, 0.0, 3.0, -np.inf, np.inf) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("order", "ends", "open_low", "open_high"),
    [
        (2, (-np.inf, np.inf), True, False),
        (2, (-np.inf, np.inf), False, True),
        (2, (-np.inf, np.inf), True, True),
        (2, (-1.0, np.inf), True, False),
        (1, (-np.inf, np.inf), False, True),
    ],
)
def test_none_is_an_infinite_end(order, ends, open_low, open_high):
    """Among them the whole tail of a Gaussian on all of space, which has a formula of its own."""
    case = Case(order, low=ends[0], high=ends[1])
    steepest = 0.95 if order == 1 else 30.0
    for slope in np.linspace(-steepest, steepest, 7) / case.width:
        for place in (-60.0, -3.0, 0.0, 1.0, 60.0):
            position = case.centre + place * case.width
            given = [None if no_end else np.array([position]) for no_end in (open_low, open_high)]
            named = log_tilted_mass(
                case.kernel, np.array([slope]), np.array([0.1]), *given, case.centres
            )[0]
            spelled = -np.inf if open_low else position, np.inf if open_high else position
            exact = tilted_mass(case, slope, 0.1, *spelled)
            assert named == pytest.approx(exact, abs=1e-9, rel=1e-12)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("distance", [5.0, 20.0, 100.0, 600.0])
@pytest.mark.parametrize("length", [0.01, 1.0, np.inf])
@pytest.mark.parametrize("side", [-1, 1])
def test_far_tails(order, distance, length, side):
    """Masses down to exp(−180000), where the distribution function itself is long 0 or 1."""
    case = Case(order)
    ends = np.sort(case.centre + side * case.width * np.array([distance, distance + length]))
    slope = side * 0.3 / case.width
    value = tilted_mass(case, slope, 0.1, *ends)
    assert value == pytest.approx(case.log_tilted_mass(slope, 0.1, *ends), rel=1e-9, abs=1e-7)
    assert value < -0.6 * distance


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("place", [-30.0, -6.0, -0.2, 0.0, 0.2, 6.0, 30.0])
@pytest.mark.parametrize("length", [1e-9, 1e-6, 2.9e-5, 3.1e-5, 1e-3])
def test_thin_intervals_are_density_times_length(order, place, length):
    case = Case(order)
    low = case.centre + place * case.width
    high = low + length * case.width
    slope = 0.5 / case.width
    midpoint = (low + high) / 2
    density = case.exponent(midpoint) - case.log_normaliser() + slope * (midpoint - 0.1)
    # The midpoint rule is off by (length·steepness)²/24, or by length where it meets the kink of a
    # Laplace density; subtracting the centre rounds the ends by 1e-16, relative to the length.
    exact, tolerance = density + np.log(high - low), (length * (2 + abs(place))) ** 2
    tolerance += 1e-15 * (1 + abs(place)) / length + 1e-9
    tolerance += length if order == 1 and place == 0 else 0.0
    assert tilted_mass(case, slope, 0.1, low, high) == pytest.approx(exact, abs=tolerance)


ENDS = [(-np.inf, np.inf), (-1.0, 2.0), (0.3, np.inf), (-3.0, -2.5)]


@pytest.mark.parametrize("slope", [-1e3, -40.0, 40.0, 1e3])
@pytest.mark.parametrize("ends", ENDS)
def test_slopes_beyond_what_exp_can_hold(slope, ends):
    case = Case(2)
    value = tilted_mass(case, slope, 0.1, *ends)
    assert value == pytest.approx(case.log_tilted_mass(slope, 0.1, *ends), rel=1e-9)
    bounded = replace(case, order=1, low=-4.0, high=3.0)
    value = tilted_mass(bounded, slope, 0.1, *ends)
    assert value == pytest.approx(bounded.log_tilted_mass(slope, 0.1, *ends), rel=1e-9)


@pytest.mark.parametrize("slope", [-1e6, 1e6])
@pytest.mark.parametrize("ends", ENDS)
def test_slopes_beyond_what_quadrature_can_hold(slope, ends):
    """p = 2: the whole tilted mass, (slope·width)²/2 = 2·10¹¹, or what gathers at the steep end."""
    case = Case(2)
    end = max(ends) if slope > 0 else min(ends)
    if np.isinf(end):
        exact = (slope * case.width) ** 2 / 2 + slope * (case.centre - 0.1)
    else:
        rate = abs(slope - (end - case.centre) / case.width**2)
        exact = slope * (end - 0.1) + case.frozen().logpdf(end) - np.log(rate)
    assert tilted_mass(case, slope, 0.1, *ends) == pytest.approx(exact, rel=1e-12)


# --------------------------------------------------------------------------- single precision

NAMES = ("slope", "anchor", "low", "high", "centre")
ROWS = 400


def masses_and_gradients(kernel, columns):
    """Masses of all rows, and the derivatives of each row's mass by its own five arguments."""

    def total(columns):
        masses = tilted(kernel, *columns)
        return jnp.sum(masses), masses

    gradients, masses = jax.grad(total, has_aux=True)(columns)
    return masses, gradients


in_double, in_single = double(masses_and_gradients), single(masses_and_gradients)


def many_tilts(order):
    """Random slopes and intervals around a kernel on [0, 3], with the awkward ones among them."""
    rng = np.random.default_rng(order)
    centre = rng.uniform(0, 3, ROWS)
    low = rng.uniform(-1, 3, ROWS)
    high = low + rng.exponential(1.0, ROWS) * rng.choice([1e-3, 0.1, 1.0], ROWS)
    slope, anchor = rng.uniform(-8, 8, ROWS), rng.uniform(-1, 4, ROWS)
    low[:40], high[40:80] = -np.inf, np.inf
    low[80:100], high[80:100] = -2.0, -1.0  # outside the support
    low[100:120], high[100:120] = -1.0, 0.0  # touching it
    high[120:140] = low[120:140]  # empty
    low[140:150], high[140:150] = 0.0, 1e-8  # thinner than single precision tells
    centre[140:145], centre[150:160], centre[160:170] = 0.0, 0.0, 3.0
    high[170:180], low[180:190] = centre[170:180], centre[180:190]  # meeting the centre
    columns = (slope, anchor, low, high, centre)
    return [column.astype(np.float32).astype(np.float64)[:, None] for column in columns]


@pytest.mark.slow
@pytest.mark.parametrize("order", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_single_precision_is_finite_and_right(order):
    kernel = Case(order, epsilon=0.5, scale=1.0, low=0.0, high=3.0).kernel_with_ends
    columns = many_tilts(order)
    (exact, exact_gradients), (masses, gradients) = (
        f(kernel, columns) for f in (in_double, in_single)
    )
    inner = np.minimum(columns[3], 3) - np.maximum(columns[2], 0)
    thick = inner > 2e-3
    assert thick.sum() > 200
    assert np.all(np.isfinite(masses))
    np.testing.assert_array_equal(masses[inner <= 0], np.float32(NEVER))
    # 5e-4: rounding of 1e-7 in the ends, relative to intervals down to 2e-3.
    np.testing.assert_allclose(masses[thick], exact[thick], atol=5e-4, rtol=1e-5)
    for j, name in enumerate(NAMES):
        assert np.all(np.isfinite(gradients[j])), name
        np.testing.assert_array_equal(gradients[j][inner <= 0], 0.0, err_msg=name)
        # 1e-3: the same rounding.
        np.testing.assert_allclose(
            gradients[j][thick], exact_gradients[j][thick], rtol=1e-3, atol=1e-3, err_msg=name
        )


@pytest.mark.parametrize("order", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_gradients_are_difference_quotients(order):
    kernel = Case(order, epsilon=0.5, scale=1.0, low=0.0, high=3.0).kernel_with_ends
    columns = many_tilts(order)
    gradients = in_double(kernel, columns)[1]
    _, _, low, high, centre = columns
    # Where the ends of interval and support coincide there are two one-sided derivatives.
    smooth = np.minimum(high, 3) - np.maximum(low, 0) > 2e-3
    for end in (low, high, centre):
        smooth &= (np.abs(end) > 1e-3) & (np.abs(end - 3) > 1e-3)
    assert smooth.sum() > 200
    for j, name in enumerate(NAMES):

        def moved(values, j=j):
            return in_double(kernel, [*columns[:j], values, *columns[j + 1 :]])[0]

        numerical = central_difference(moved, columns[j], 1e-6)
        np.testing.assert_allclose(
            gradients[j][smooth], numerical[smooth], rtol=1e-5, atol=2e-5, err_msg=name
        )


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("temperature", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("ends", [(-np.inf, np.inf), (0.0, np.inf), (0.0, 1e6)])
def test_single_precision_never_overflows(order, temperature, ends):
    """Slopes of ±1/λε with λε down to 1e-4, and positions (hence losses) up to 10⁶."""
    epsilon = temperature / 2  # λ = 2 > 1: admissible for p = 1
    case = Case(order, epsilon=epsilon, scale=1.0, low=ends[0], high=ends[1])
    positions = np.array([0.0, 1e-6, 1e-3, 0.5, 1.0, 40.0, 3e3, 1e5, 9e5, 1e6])
    grid = np.array(list(itertools.product(positions, positions, [-1, 1], [0, 1])))
    anchor, centre, sign, whole = grid.T[:, :, None]
    slope = sign / temperature
    low = np.where((sign > 0) & (whole == 0), anchor, -np.inf)
    high = np.where((sign < 0) & (whole == 0), anchor, np.inf)
    columns = [slope, anchor, low, high, centre]
    masses, gradients = in_single(case.kernel_with_ends, columns)
    exact = in_double(case.kernel_with_ends, columns)[0]
    assert np.all(np.isfinite(masses))
    # An interval from 0 to 1e-6 is less than nothing in float32, seen from a centre of 0.5 or more.
    seen = (np.minimum(high, ends[1]) - np.maximum(low, ends[0])) > 1e-5 * np.abs(centre)
    np.testing.assert_allclose(masses[seen], exact[seen], rtol=2e-5, atol=1e-4)
    for gradient in gradients:
        assert np.all(np.isfinite(gradient))


# --------------------------------------------------------------------------- sums of exponentials


def test_log_add_shares_out_its_gradient_at_any_size():
    """σ(a − b) and σ(b − a); the gradients of jnp.logaddexp sum to 2 here."""
    a, b = np.array([0.0, 1e9, 1e9, NEVER, -5.0]), np.array([1.0, 1e9, 2e9, 3.0, NEVER])
    np.testing.assert_allclose(single(log_add)(a, b), np.logaddexp(a, b), rtol=1e-6)
    gradients = single(jax.grad(lambda a, b: jnp.sum(log_add(a, b)), (0, 1)))(a, b)
    shares = np.array([1 / (1 + np.e), 0.5, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(gradients, [shares, 1 - shares], rtol=1e-6)


# --------------------------------------------------------------------------- open directions


def test_only_coordinates_without_an_end_keep_their_scale():
    scale, epsilon = np.array([0.1, 2.0, 0.3]), jnp.ones(())
    for side in Kernel(1, epsilon, scale).open_scales:
        np.testing.assert_array_equal(side, scale)
    low, high = np.array([-np.inf, 0.0, -1.0]), np.array([np.inf, np.inf, 1.0])
    falling, rising = Kernel(1, epsilon, scale, low, high).open_scales
    np.testing.assert_array_equal(falling, [0.1, 0.0, 0.0])
    np.testing.assert_array_equal(rising, [0.1, 2.0, 0.0])
    assert falling.dtype == np.float64  # whatever JAX computes in


def test_a_gaussian_is_whole():
    plain = {order: Kernel(order, jnp.ones(()), jnp.ones(1)) for order in (1, 2)}
    cut = Kernel(2, jnp.ones(()), jnp.ones(1), jnp.zeros(1), jnp.ones(1))
    assert [plain[1].gaussian, plain[2].gaussian, cut.gaussian] == [False, True, False]
