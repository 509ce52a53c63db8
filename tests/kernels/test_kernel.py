"""Kernels have the densities they state, and every way of integrating under them agrees."""

import itertools
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import kstest, laplace, norm

from hedgerow.kernels.kernel import NEVER, Kernel, log_add
from hedgerow.kernels.nodes import Anchored, GaussQuadrature, MonteCarlo, Reference, Sobol
from tests.oracles import (
    central_difference,
    double,
    log_integral,
    nodes_in_double,
    nodes_in_single,
    single,
)


@dataclass(frozen=True)
class Case:
    """A one-dimensional kernel around a centre, in plain numbers; infinite ends are no ends."""

    order: int
    epsilon: float = 0.4
    scale: float = 1.5
    centre: float = 0.3
    low: float = -np.inf
    high: float = np.inf

    @property
    def width(self):
        return (
            self.epsilon * self.scale if self.order == 1 else self.scale * (self.epsilon / 2) ** 0.5
        )

    @property
    def kernel(self):
        if np.isinf([self.low, self.high]).all():
            return Kernel(self.order, np.float64(self.epsilon), np.array([self.scale]))
        return self.kernel_with_ends

    @property
    def kernel_with_ends(self):
        """The same with infinite ends spelled out: one compiled program for every support."""
        ends = np.array([self.low]), np.array([self.high])
        return Kernel(self.order, np.float64(self.epsilon), np.array([self.scale]), *ends)

    @property
    def centres(self):
        return np.array([self.centre])

    def exponent(self, u):
        return -(abs((u - self.centre) / self.scale) ** self.order) / self.epsilon

    def log_integral(self, extra, low, high, peaks=(), length=None):
        """log ∫ e^{extra(u)} · e^{−|(u−c)/s|^p/ε} du over [low, high] within the support."""
        low, high = max(low, self.low), min(high, self.high)
        peaks = np.clip([self.centre, *peaks], low, high)
        return log_integral(
            lambda u: extra(u) + self.exponent(u), low, high, peaks, length or self.width
        )

    def log_normaliser(self):
        return self.log_integral(lambda u: 0.0, -np.inf, np.inf)

    def log_tilted_mass(self, slope, anchor, low, high):
        tilted_peak, length = self.centre + slope * self.width**2, self.width
        if self.order == 1:
            rates = np.abs([slope + 1 / self.width, slope - 1 / self.width])
            tilted_peak, length = self.centre, max(1 / rates.min(), self.width)
        peaks = [p for p in (tilted_peak, low, high) if np.isfinite(p)]
        return (
            self.log_integral(lambda u: slope * (u - anchor), low, high, peaks, length)
            - self.log_normaliser()
        )

    def frozen(self):
        """SciPy's own account of the untruncated kernel."""
        return (laplace if self.order == 1 else norm)(self.centre, self.width)

    def distribution_function(self, u):
        below, above = self.frozen().cdf([self.low, self.high])
        return np.clip((self.frozen().cdf(u) - below) / (above - below), 0, 1)


SUPPORTS = {
    "unbounded": {},
    "half-bounded": {"low": 0.0},
    "bounded": {"low": -0.5, "high": 0.9},
    "at the end": {"low": 0.3},
}
CASES = [
    pytest.param(Case(order, **ends), id=f"p={order}, {name}")
    for order in (1, 2)
    for name, ends in SUPPORTS.items()
]


@st.composite
def cases(draw, most=2.0):
    """Any order, epsilon, scale, centre and support (the centre may be one of its ends)."""
    order = draw(st.sampled_from([1, 2]))
    epsilon = draw(st.floats(0.01, most))
    scale, centre = draw(st.floats(0.1, 10)), draw(st.floats(-5, 5))
    case = Case(order, epsilon, scale, centre)
    below = draw(st.none() | st.floats(0, 4))
    above = draw(st.none() | st.floats(0.1, 4))
    if below is not None:
        case = replace(case, low=centre - below * case.width)
    if above is not None:
        case = replace(case, high=centre + above * case.width)
    return case


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


# --------------------------------------------------------------------------- node rules


FUNCTIONS = {
    "u": lambda u: u,
    "u squared": lambda u: u**2,
    "exp(u/2)": lambda u: np.exp(u / 2),
}


def true_moment(case, function):
    """E of a positive or signed function by quadrature: shift it to be positive, then unshift."""
    shift = 200.0
    log_moment = case.log_integral(lambda u: np.log(function(u) + shift), -np.inf, np.inf)
    return np.exp(log_moment - case.log_normaliser()) - shift


@pytest.mark.parametrize("case", CASES)
def test_monte_carlo_draws_follow_the_kernel(case):
    nodes, _ = nodes_in_single(MonteCarlo(4096), case.kernel, case.centres, 0)
    assert kstest(nodes[:, 0], case.distribution_function).pvalue > 0.01


# Errors allowed, in standard errors of a mean of as many independent draws (that is sampling error,
# not rounding). Sobol points in one dimension are off by about 1/n, not by 1/√n.
@pytest.mark.parametrize(
    ("rule", "errors"), [(MonteCarlo(4096), 4.0), (Sobol(4096), 0.1)], ids=repr
)
@pytest.mark.parametrize("case", CASES)
def test_random_rules_integrate_within_their_error(case, rule, errors):
    nodes, log_weights = nodes_in_double(rule, case.kernel, case.centres, 0)
    assert nodes.shape == (4096, 1)
    assert logsumexp(log_weights) == pytest.approx(0, abs=1e-12)
    for name, function in FUNCTIONS.items():
        values, exact = function(nodes[:, 0]), true_moment(case, function)
        error = errors * values.std() / np.sqrt(len(values))
        assert np.exp(log_weights) @ values == pytest.approx(exact, abs=error), name


@given(cases(most=0.6), st.sampled_from(list(FUNCTIONS)))
def test_gauss_quadrature_is_exact(case, name):
    case = replace(case, scale=min(case.scale, 1.5))  # e^{u/2} must have a mean for p = 1
    case = replace(case, low=min(case.low, case.centre), high=max(case.high, case.centre))
    nodes, log_weights = nodes_in_double(GaussQuadrature(32), case.kernel, case.centres, 0)
    assert np.all((nodes >= case.low) & (nodes <= case.high))
    assert logsumexp(log_weights) == pytest.approx(0, abs=1e-12)
    value = np.exp(log_weights) @ FUNCTIONS[name](nodes[:, 0])
    assert value == pytest.approx(true_moment(case, FUNCTIONS[name]), abs=1e-7)


@pytest.mark.parametrize("order", [1, 2])
def test_gauss_quadrature_keeps_its_tails_in_single_precision(order):
    """Laguerre weights underflow float32, but not once they are logarithms."""
    case = Case(order, epsilon=0.1, scale=1.0, centre=0.0)
    slope = 0.9 / case.width
    nodes, log_weights = nodes_in_single(GaussQuadrature(32), case.kernel, case.centres, 0)
    value = logsumexp(np.float64(log_weights) + slope * np.float64(nodes[:, 0]))
    exact = -np.log(1 - 0.9**2) if order == 1 else 0.9**2 / 2
    # 5e-5: a tilt of nine tenths of the largest one is hard for 32 Laguerre nodes.
    assert value == pytest.approx(exact, abs=5e-5)


@pytest.mark.parametrize("rule", [MonteCarlo(4096), Sobol(4096), GaussQuadrature(12)], ids=repr)
@pytest.mark.parametrize(("order", "ends"), [(1, ([-0.5, -np.inf], [0.7, 2.0])), (2, (None, None))])
def test_coordinates_are_independent(rule, order, ends):
    """E exp(a·u) of a two-dimensional kernel is the product of its coordinates' own."""
    low, high = (None if end is None else np.array(end) for end in ends)
    scale, centre, slope = np.array([0.5, 2.0]), np.array([0.2, -0.4]), np.array([0.8, -0.3])
    kernel = Kernel(order, np.float64(0.4), scale, low, high)
    nodes, log_weights = nodes_in_double(rule, kernel, centre, 0)
    assert logsumexp(log_weights) == pytest.approx(0, abs=1e-12)
    value = logsumexp(log_weights + nodes @ slope)
    exact = 0.0
    for j in range(2):
        bounds = {} if low is None else {"low": low[j], "high": high[j]}
        case = Case(order, 0.4, scale[j], centre[j], **bounds)
        exact += case.log_tilted_mass(slope[j], 0.0, -np.inf, np.inf)
    # Sampling errors of the two random rules: 0.6/√4096 and about 1/4096, four times each.
    tolerance = {MonteCarlo: 0.04, Sobol: 1e-3, GaussQuadrature: 1e-8}[type(rule)]
    assert value == pytest.approx(exact, abs=tolerance)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "weights", [None, np.array([0.5, 0.1, 2.0, 0.4])], ids=["counting", "weighted"]
)
def test_reference_is_a_direct_sum(order, weights):
    rng = np.random.default_rng(0)
    points, centres, scale = rng.normal(size=(4, 2)), rng.normal(size=(3, 2)), np.array([0.5, 2.0])
    kernel, rule = Kernel(order, np.float64(0.7), scale), Reference(points, weights)
    nodes, log_weights = nodes_in_double(rule, kernel, centres, 0)
    for k, centre in enumerate(centres):
        terms = [
            (1.0 if weights is None else weights[j])
            * np.exp(-np.sum(np.abs((points[j] - centre) / scale) ** order) / 0.7)
            for j in range(4)
        ]
        np.testing.assert_allclose(np.exp(log_weights[k]), np.array(terms) / sum(terms), rtol=1e-12)
        np.testing.assert_array_equal(nodes[k], points)
        with jax.enable_x64(True):
            log_sum = rule.log_normaliser(jax.tree.map(jnp.asarray, kernel), jnp.asarray(centre))
        assert float(log_sum) == pytest.approx(np.log(sum(terms)), abs=1e-12)


def test_reference_survives_far_centres():
    """Every weight underflows 10⁴ away; their logarithms still tell the nearest point."""
    rule = Reference(np.array([[0.0], [1.0]]))
    kernel = Case(2, epsilon=0.1, scale=1.0).kernel
    _, log_weights = nodes_in_single(rule, kernel, np.array([1e4]), 0)
    assert np.exp(log_weights) == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize(("order", "ends"), [(1, (None, None)), (2, ([0.0, 2.0], [1.0, 5.0]))])
@pytest.mark.parametrize(
    "rule",
    [MonteCarlo(7), Sobol(7), GaussQuadrature(4), Reference(np.array([[0.3, 2.0], [0.6, -9.0]]))],
    ids=["MonteCarlo", "Sobol", "GaussQuadrature", "Reference"],
)
def test_a_zero_scale_pins_its_coordinate(rule, order, ends):
    low, high = (None if end is None else np.array(end) for end in ends)
    kernel = Kernel(order, np.float64(0.4), np.array([1.5, 0.0]), low, high)
    centre = np.array([[0.4, 2.0], [0.1, 3.0]])
    nodes, log_weights = nodes_in_double(rule, kernel, centre, 0)
    np.testing.assert_array_equal(nodes[..., 1], np.broadcast_to(centre[:, 1:], nodes.shape[:-1]))
    assert np.all(np.ptp(nodes[..., 0], axis=1) > 0)
    assert np.all(np.isfinite(log_weights))
    assert logsumexp(log_weights, axis=-1) == pytest.approx(np.zeros(2), abs=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_a_pinned_coordinate_adds_nothing_to_the_normaliser(order):
    ends = np.array([0.0, 2.0]), np.array([1.0, 5.0])
    pinned = Kernel(order, np.float64(0.4), np.array([1.5, 0.0]), *ends)
    alone = Case(order, 0.4, 1.5, 0.4, low=0.0, high=1.0)
    value = log_normaliser(pinned, np.array([0.4, 2.0]))
    assert value == pytest.approx(alone.log_normaliser(), abs=1e-9)


@pytest.mark.parametrize("rule", [MonteCarlo(16), Sobol(16)], ids=repr)
def test_random_rules_repeat_with_the_key_and_vary_with_the_centre(rule):
    case, centre = Case(2), np.array([[0.0], [0.0]])
    first, again = (nodes_in_double(rule, case.kernel, centre, 0)[0] for _ in range(2))
    other = nodes_in_double(rule, case.kernel, centre, 1)[0]
    np.testing.assert_array_equal(first, again)
    assert not np.any(first == other)
    assert not np.any(first[0] == first[1])


def test_an_anchored_rule_adds_the_centre_without_weight():
    case, centre = Case(2), np.array([[0.0], [2.0]])
    nodes, log_weights = nodes_in_double(Anchored(MonteCarlo(7)), case.kernel, centre, 0)
    plain_nodes, plain_weights = nodes_in_double(MonteCarlo(7), case.kernel, centre, 0)
    np.testing.assert_array_equal(nodes[:, :-1], plain_nodes)
    np.testing.assert_array_equal(nodes[:, -1], centre)
    np.testing.assert_array_equal(log_weights[:, :-1], plain_weights)
    np.testing.assert_array_equal(log_weights[:, -1], NEVER)


@pytest.mark.parametrize("rule", [MonteCarlo, Sobol, GaussQuadrature])
def test_a_rule_needs_at_least_one_node(rule):
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        rule(0)
    with pytest.raises(TypeError, match=r"n must be a whole number, got 2\.5"):
        rule(2.5)


def test_too_large_a_product_rule_names_alternatives():
    kernel = Kernel(2, np.float64(0.4), np.ones(6))
    with pytest.raises(ValueError, match=r"1073741824 nodes; use Sobol or MonteCarlo"):
        nodes_in_double(GaussQuadrature(32), kernel, np.zeros(6), 0)


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


@pytest.mark.parametrize("order", [1, 2])
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


@pytest.mark.parametrize("order", [1, 2])
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
