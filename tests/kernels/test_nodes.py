"""Node rules integrate under their kernels: by sampling, by quadrature, by exact sums."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import kstest

from hedgerow.kernels import (
    NEVER,
    Anchored,
    GaussQuadrature,
    Kernel,
    MonteCarlo,
    Reference,
    Scattered,
    Sobol,
)
from tests.kernels.cases import CASES, Case, cases
from tests.oracles import nodes_in_double, nodes_in_single

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


def test_panels_reach_what_is_far_away():
    """E exp(a·u) with a tilt of 30 standard deviations, where Hermite nodes are long over."""
    case = Case(2, epsilon=0.02, scale=1.0, centre=0.0)
    slope = 30 / case.width
    exact = (slope * case.width) ** 2 / 2
    for rule, right in (
        (GaussQuadrature(8, panels=32, reach=np.float64(45 * case.width)), True),
        (GaussQuadrature(32), False),
    ):
        nodes, log_weights = nodes_in_double(rule, case.kernel, case.centres, 0)
        found = logsumexp(log_weights + slope * nodes[:, 0])
        assert (abs(found - exact) < 1e-8) == right


def test_places_are_common_to_all_centres_and_have_no_weight():
    """A place differs from a centre in the coordinates that are moved, unless they are pinned."""
    kernel = Kernel(2, np.float64(0.4), np.array([1.5, 1.0, 0.0]))
    places, moved = (
        np.array([[9.0, 8.0, 7.0], [-9.0, -8.0, -7.0]]),
        np.array([[1, 0, 1], [1, 1, 1]]),
    )
    centre = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    rule = Scattered(MonteCarlo(5), places, moved.astype(bool))
    nodes, log_weights = nodes_in_double(rule, kernel, centre, 0)
    plain, plain_weights = nodes_in_double(MonteCarlo(5), kernel, centre, 0)
    np.testing.assert_array_equal(nodes[:, :5], plain)
    np.testing.assert_array_equal(log_weights[:, :5], plain_weights)
    for k, (_, own, fixed) in enumerate(centre):
        np.testing.assert_array_equal(nodes[k, 5:], [[9.0, own, fixed], [-9.0, -8.0, fixed]])
    np.testing.assert_array_equal(log_weights[:, 5:], NEVER)


def test_only_a_reference_measure_is_one():
    measure = Reference(np.zeros((1, 1)))
    assert measure.reference() is measure
    for rule in (MonteCarlo(3), Sobol(3), GaussQuadrature(3), Anchored(measure)):
        assert rule.reference() is None
