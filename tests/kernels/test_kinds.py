"""Kernels of other orders, of norms, of categories and of counts: normalised, drawn, tilted."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from hedgerow.kernels import (
    GaussQuadrature,
    Kernel,
    MonteCarlo,
    PowerKernel,
    RadialKernel,
    Sobol,
    StillKernel,
    kernel_of,
    lattice,
    mixed,
)
from tests.oracles import double, log_integral, nodes_in_double

EPSILON, SCALE, CENTRE = 0.4, 1.5, 0.3
ORDERS = (1.2, 1.5, 3.0, 6.0)
log_normaliser = double(lambda kernel, centre: kernel.log_normaliser(centre))
log_density = double(lambda kernel, centre, point: kernel.log_density(centre, point))
tilted = double(lambda kernel, *at: kernel.log_tilted_mass(*at))
cost = double(lambda kernel, centre, point: kernel.cost(centre, point))
proximal = double(lambda kernel, *at: kernel.proximal(*at))


def power(order, low=-np.inf, high=np.inf):
    ends = np.array([low]), np.array([high])
    return PowerKernel.of(order, np.float64(EPSILON), np.array([SCALE]), *ends)


@pytest.mark.parametrize("ends", [(-np.inf, np.inf), (0.0, np.inf), (-0.5, 0.9)])
@pytest.mark.parametrize("order", ORDERS)
def test_power_kernel_is_normalised_and_drawn(order, ends):
    kernel, centre = power(order, *ends), np.array([CENTRE])
    own = stats.gennorm(order, CENTRE, SCALE * EPSILON ** (1 / order))
    below, above = own.cdf(ends)
    whole = 2 * SCALE * EPSILON ** (1 / order) * math.gamma(1 + 1 / order) * (above - below)
    assert log_normaliser(kernel, centre) == pytest.approx(math.log(whole), abs=1e-12)
    nodes = nodes_in_double(Sobol(4096), kernel, centre, 0)[0][:, 0]
    # Sobol points are off by about 1/n, which is not rounding
    gap = stats.kstest(nodes, lambda u: (own.cdf(u) - below) / (above - below)).statistic
    assert gap < 2 / 4096
    assert np.all((nodes >= ends[0]) & (nodes <= ends[1]))


@pytest.mark.parametrize("order", [1.05, *ORDERS])
def test_exponentials_under_a_power_kernel_equal_adaptive_quadrature(order):
    rng = np.random.default_rng(0)
    kernel, unit = power(order), SCALE * EPSILON ** (1 / order)
    for _ in range(6):
        k = rng.uniform(-1.02, 1.02) if order < 1.3 else rng.uniform(-6, 6)
        kink, slope = CENTRE + 2 * unit * rng.normal(), k / unit
        top = np.sign(k) * (abs(k) / order) ** (1 / (order - 1))
        length = max(1.0, (order * (order - 1) * abs(top) ** (order - 2)) ** -0.5)
        for low, high in ((-np.inf, kink), (kink, np.inf)):
            found = tilted(kernel, slope, kink, low, high, np.array([CENTRE]))[0]
            ends = (np.array([low, high]) - CENTRE) / unit
            exact = log_integral(
                lambda v, k=k: k * v - abs(v) ** order,
                *ends,
                np.clip([0.0, top], *ends),
                length,
            )
            exact += slope * (CENTRE - kink) - math.log(2 * math.gamma(1 + 1 / order))
            # 32 nodes a stretch: |v|^p has a kink in a high derivative at 0
            assert found == pytest.approx(exact, abs=2e-6)


@pytest.mark.parametrize(("near", "order"), [(1 + 1e-7, 1), (2 - 1e-7, 2), (2 + 1e-7, 2)])
def test_orders_run_into_the_closed_forms(near, order):
    plain = Kernel(order, np.float64(EPSILON), np.array([SCALE]))
    whole = PowerKernel.of(near, np.float64(EPSILON), np.array([SCALE]))
    centre = np.array([CENTRE])
    assert log_normaliser(whole, centre) == pytest.approx(log_normaliser(plain, centre), abs=1e-6)
    at = 0.9, 0.5, -np.inf, 0.5, centre
    assert tilted(whole, *at) == pytest.approx(tilted(plain, *at), abs=1e-5)  # |1 − p| times O(10)
    points = [nodes_in_double(Sobol(64), kernel, centre, 0)[0] for kernel in (whole, plain)]
    np.testing.assert_allclose(*points, atol=1e-4)  # of a table with steps of 0.01


@pytest.mark.parametrize("order", [1.0, 1.5, 3.0])
@pytest.mark.parametrize("q", [1, 2, math.inf])
def test_radial_kernel_is_normalised_and_drawn(q, order):
    scale = np.array([1.5, 0.0, 0.7, 1.0])
    kernel, centre = RadialKernel.of(q, order, np.float64(EPSILON), scale), np.zeros(4)
    ball = {1: 4 / 3, 2: 4 / 3 * math.pi, math.inf: 8.0}[q] * scale[scale > 0].prod()
    shells, _ = quad(lambda r: 3 * r**2 * math.exp(-(r**order) / EPSILON), 0, 60, limit=200)
    assert log_normaliser(kernel, centre) == pytest.approx(math.log(ball * shells), abs=1e-8)
    nodes = nodes_in_double(Sobol(4096), kernel, centre, 0)[0]
    assert np.all(nodes[:, 1] == 0)
    radii = cost(kernel, centre, nodes) / EPSILON
    # points of three dimensions, whose error of order log³n/n is not rounding
    assert stats.kstest(radii, stats.gamma(3 / order).cdf).statistic < 0.01
    assert np.abs(nodes.mean(axis=0)).max() < 0.01
    moved = nodes[:, scale > 0] / scale[scale > 0]
    shares = np.abs(moved) / np.abs(moved).sum(axis=1, keepdims=True)
    assert shares.mean(axis=0) == pytest.approx(np.full(3, 1 / 3), abs=0.01)


def test_what_coincides_is_one_kernel():
    scale = np.ones(3)
    for order, norm in ((2, 2), (1, 1), (2, None), (1, None)):
        assert type(kernel_of(order, norm, 1.0, scale)) is Kernel
    for norm in (1, 2, math.inf):
        assert type(kernel_of(2, norm, 1.0, np.ones(1))) is Kernel
        assert type(kernel_of(1.5, norm, 1.0, np.ones(1))) is PowerKernel


@pytest.mark.parametrize(
    "kernel",
    [
        PowerKernel.of(1.5, np.float64(1.0), np.array([0.5, 2.0])),
        PowerKernel.of(3.0, np.float64(1.0), np.array([0.5, 2.0])),
        *(RadialKernel.of(q, 1.5, np.float64(1.0), np.array([0.5, 2.0])) for q in (1, 2, math.inf)),
        RadialKernel.of(math.inf, 1.0, np.float64(1.0), np.array([0.5, 2.0])),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_proximal_step_is_a_minimum(kernel):
    home, point, uphill = np.zeros(2), np.array([0.4, -1.0]), np.array([3.0, 0.7])
    size, penalty = np.array([0.3]), 0.8
    found = proximal(kernel, home, point, uphill, size, penalty)
    scale = np.asarray(kernel.scale)
    stepped = point / scale + size * scale * uphill

    def height(u):
        return np.sum((u / scale - stepped) ** 2) / (2 * size[0]) + penalty * kernel.cost(home, u)

    rng = np.random.default_rng(0)
    others = found + 0.01 * rng.normal(size=(200, 2))
    assert min(height(other) for other in others) > height(found) - 1e-9


def test_admissible_penalties_are_dual_norms():
    scale, slope = np.array([0.5, 2.0]), np.array([3.0, 1.0])
    none = np.zeros(2)
    for q, expected in ((1, 2.0), (2, math.hypot(1.5, 2.0)), (math.inf, 3.5)):
        linear = kernel_of(1, q, 1.0, scale)
        assert linear.outweighing(slope, none) == pytest.approx(expected, rel=1e-12)
        assert math.isinf(linear.outweighing(slope, none, 2))
        square = kernel_of(2, q, 1.0, scale)
        assert square.outweighing(slope, none) == 0
        assert square.outweighing(slope, none, 2) == pytest.approx(expected**2, rel=1e-12)
        angles = np.linspace(0, np.pi / 2, 4001)
        rays = np.column_stack([np.cos(angles), np.sin(angles)])
        seen = np.max((rays @ slope) / linear.ray_cost(rays))
        assert expected * 0.999 < seen <= expected * (1 + 1e-9)  # the best of some directions
    between = kernel_of(1.5, None, 1.0, scale)
    assert between.outweighing(slope, none) == 0
    assert math.isinf(between.outweighing(slope, none, 2))
    assert kernel_of(3, None, 1.0, scale).outweighing(slope, none, 2) == 0


# --------------------------------------------------------------------------- categories, counts

VALUES = np.eye(3)


def weekdays(mismatch=0.2, values=VALUES, fixed=(4,), smooth=None):
    scale = np.array([1.2, 0.0, 0.0, 0.0, 0.0])
    smooth = smooth or Kernel(2, np.float64(EPSILON), scale)
    return mixed(smooth, [((1, 2, 3), values, mismatch)], list(fixed))


HOME = np.array([0.3, 0.0, 1.0, 0.0, 2.0])


@pytest.mark.parametrize("rule", [MonteCarlo(64), Sobol(64), GaussQuadrature(16)], ids=repr)
def test_a_mixed_kernel_sums_over_its_values(rule):
    kernel = weekdays()
    nodes, log_weights = nodes_in_double(rule, kernel, HOME, 0)
    weights = np.exp(log_weights)
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert np.all(nodes[:, 4] == 2.0)
    away = math.exp(-0.2 / EPSILON)
    shares = np.array([away, 1, away]) / (1 + 2 * away)
    assert weights @ nodes[:, 1:4] == pytest.approx(shares, abs=1e-12)
    assert set(map(tuple, nodes[:, 1:4])) == set(map(tuple, VALUES))
    whole = log_normaliser(Kernel(2, np.float64(EPSILON), np.array([1.2])), HOME[:1])
    assert log_normaliser(kernel, HOME) == pytest.approx(whole + math.log(1 + 2 * away), abs=1e-12)


def test_drawn_combinations_are_weighted_right():
    """More combinations than are summed over: a mean of weights is 1, and so are shares."""
    variables = [((3 * i, 3 * i + 1, 3 * i + 2), VALUES, 0.1) for i in range(4)]
    kernel = mixed(Kernel(2, np.float64(0.5), np.zeros(12)), variables, [])
    home = np.tile([1.0, 0.0, 0.0], 4)
    assert kernel.summed() is None
    nodes, log_weights = nodes_in_double(Sobol(8192), kernel, home, 0)
    weights = np.exp(log_weights)
    assert weights.sum() == pytest.approx(1, abs=0.02)  # drawn
    away = math.exp(-0.2)
    assert weights @ nodes[:, 0] == pytest.approx(1 / (1 + 2 * away), abs=0.02)


def test_a_single_value_or_an_infinite_mismatch_is_fixed():
    fixed = mixed(Kernel(2, np.float64(EPSILON), np.array([1.2, 0, 0, 0, 0])), [], [1, 2, 3, 4])
    for kernel in (weekdays(values=HOME[None, 1:4]), weekdays(mismatch=math.inf)):
        assert log_normaliser(kernel, HOME) == pytest.approx(log_normaliser(fixed, HOME), abs=1e-12)
        nodes, log_weights = nodes_in_double(Sobol(8), kernel, HOME, 0)
        here = np.all(nodes[:, 1:4] == HOME[1:4], axis=1)
        assert np.exp(log_weights[~here]).sum() == 0
        own, own_weights = nodes_in_double(Sobol(8), fixed, HOME, 0)
        np.testing.assert_allclose(nodes[here], own, atol=1e-15)
        np.testing.assert_allclose(log_weights[here], own_weights, atol=1e-15)


def test_density_is_that_of_what_was_declared():
    kernel = weekdays()
    friday = np.array([0.5, 0.0, 0.0, 1.0, 2.0])
    impossible = [[0.5, 0, 0.5, 0.5, 2], [0.5, 0, 1, 0, 3]]  # no weekday; another fixed value
    assert np.exp(log_density(kernel, HOME, np.array(impossible))) == pytest.approx([0, 0])
    along = np.exp(log_density(kernel, HOME, friday))
    plain = stats.norm(0.3, 1.2 * math.sqrt(EPSILON / 2)).pdf(0.5)
    away = math.exp(-0.2 / EPSILON)
    assert along == pytest.approx(plain * away / (1 + 2 * away), rel=1e-12)


@pytest.mark.parametrize("order", [1, 1.5, 2])
def test_counts_are_summed_exactly(order):
    step, scale = 0.4, 0.9
    low = np.array([0.0])
    along = kernel_of(order, None, np.float64(0.3), np.array([scale]), low, np.array([np.inf]))
    kernel, centre = lattice(along, np.zeros(1), np.array([step])), np.array([1.7])
    points = step * np.arange(256)
    terms = -(np.abs((points - 1.7) / scale) ** order) / 0.3
    whole = np.log(np.exp(terms).sum())
    assert log_normaliser(kernel, centre) == pytest.approx(whole, abs=1e-12)
    kink, slope = 1.6, -0.8  # a lattice point: counted on one side only
    below = tilted(kernel, slope, kink, -np.inf, kink, centre)
    above = tilted(kernel, slope, kink, kink, np.inf, centre)
    each = terms + slope * (points - kink) - whole
    assert np.exp(below) + np.exp(above) == pytest.approx(np.exp(each).sum(), rel=1e-12)
    nodes = nodes_in_double(Sobol(512), kernel, centre, 0)[0]
    assert np.abs(nodes / step - np.round(nodes / step)).max() < 1e-12
    mean = np.exp(terms - whole) @ points
    assert nodes.mean() == pytest.approx(mean, abs=0.01)  # Sobol points


def test_what_is_still_stays():
    kernel = StillKernel(2.0, np.float64(0.3), np.zeros(1))
    centre = np.array([1.7])
    assert log_normaliser(kernel, centre) == 0
    assert tilted(kernel, 2.0, 1.0, -np.inf, np.inf, centre) == pytest.approx([1.4])
    assert nodes_in_double(Sobol(8), kernel, centre, 0)[0].tolist() == [[1.7]]


def test_a_norm_on_a_bounded_support_is_refused_in_a_sentence():
    kernel = kernel_of(2, math.inf, np.float64(1.0), np.ones(2), np.zeros(2), np.full(2, np.inf))
    with pytest.raises(ValueError, match="no exact kernel on a bounded support: leave norm out"):
        kernel.log_normaliser(jnp.zeros(2))


def test_orders_share_one_program():
    seen = []

    @jax.jit
    def normaliser(kernel, centre):
        seen.append(1)
        return kernel.log_normaliser(centre)

    for order in (1.3, 1.5, 3.0):
        normaliser(PowerKernel.of(order, np.float32(0.4), np.ones(2)), np.zeros(2))
    assert len(seen) == 1
