"""The newsvendor's values, its closed-form log-moment, and where its robust value is finite."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import logsumexp

from hedgerow import Box, CustomLoss, Free, Newsvendor, Nonnegative, Simplex
from hedgerow.kernels.kernel import Kernel
from hedgerow.kernels.nodes import GaussQuadrature, MonteCarlo
from tests.oracles import (
    double,
    gradient_by_differences,
    log_integral,
    nodes_in_double,
    single,
)


def plain(z, y, h, b):
    """The definition, one product."""
    return h * max(z - y, 0) + b * max(y - z, 0)


def moment(loss, z, y, kernel, temperature):
    return loss.closed_moments(kernel).log_moment(z, y, temperature)


def moments_and_gradients(z, y, temperature, loss, kernel):
    """Log-moments of all rows, and their derivatives by each row's z and y and by temperature."""

    def total(z, y, temperature):
        moments = moment(loss, z, y, kernel, temperature)
        return jnp.sum(moments), moments

    gradients, moments = jax.grad(total, (0, 1, 2), has_aux=True)(z, y, temperature)
    return moments, gradients


log_moment, in_single = double(moment), single(moments_and_gradients)
in_double = double(moments_and_gradients)
ROWS = 36  # of every batch in single precision, so that one compiled program serves them all


def one_product(order, epsilon, low=-np.inf, high=np.inf):
    """The kernel of one product with s_y = 1, without ends where p = 2 has a shorter formula."""
    ends = np.array([low]), np.array([high])
    if order == 2 and np.isinf(ends).all():
        ends = None, None
    return Kernel(order, np.float32(epsilon), np.ones(1, np.float32), *ends)


# --------------------------------------------------------------------------- values


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
    st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
    st.lists(st.floats(0, 100), min_size=3, max_size=3),
    st.lists(st.floats(0.01, 100), min_size=3, max_size=3),
)
def test_values_are_the_definition(z, y, h, b):
    loss = Newsvendor(holding=h, stockout=b)
    expected = sum(plain(*numbers) for numbers in zip(z, y, h, b, strict=True))
    assert loss(np.array(z), np.array(y)) == pytest.approx(expected, rel=1e-12)
    assert loss([z, y], [y, y]) == pytest.approx([expected, 0.0], rel=1e-12)


def test_scalar_costs_on_flat_arrays_are_rows_of_one_product():
    loss = Newsvendor(holding=1.0, stockout=3.0)
    np.testing.assert_array_equal(loss([2.0, 2.0, 2.0], [1.0, 2.0, 4.0]), [1.0, 0.0, 6.0])
    np.testing.assert_array_equal(loss([[2.0], [2.0]], [[1.0], [4.0]]), [1.0, 6.0])
    assert loss(2.0, 4.0) == 6.0


def test_costs_per_product_on_flat_arrays_are_one_row():
    assert Newsvendor([1.0, 2.0], 3.0)([2.0, 2.0], [1.0, 4.0]) == 7.0


def test_batch_axes_broadcast():
    loss, rng = Newsvendor([1.0, 2.0], [3.0, 0.5]), np.random.default_rng(0)
    z, y = rng.normal(size=(4, 1, 2)), rng.normal(size=(5, 2))
    values = loss(z, y)
    assert values.shape == (4, 5)
    assert values[3, 1] == loss(z[3, 0], y[1])


def test_numpy_stays_in_double_precision_and_jax_stays_traceable():
    loss = Newsvendor(0.1, 0.3)
    assert loss(np.array([1.0]), np.array([2.0])).dtype == np.float64
    assert float(jax.jit(loss)(jnp.array([1.0]), jnp.array([2.0]))[0]) == pytest.approx(0.3)


# --------------------------------------------------------------------------- log-moments


@st.composite
def problems(draw, products):
    """Costs, decisions, outcomes, kernel and an admissible temperature."""

    def numbers(low, high):
        return np.array([draw(st.floats(low, high)) for _ in range(products)])

    order = draw(st.sampled_from([1, 2]))
    epsilon, scale = draw(st.floats(0.05, 1.0)), numbers(0.2, 2.0)
    h, b = numbers(0.1, 2.0), numbers(0.1, 2.0)
    # p = 1 needs λ > s·max(h, b); λ is kept 5 % clear of it (p = 2 bears any λ).
    smallest = np.max(scale * np.maximum(h, b)) if order == 1 else 0.0
    penalty = 1.05 * smallest + draw(st.floats(0.3, 3.0))
    z, y = numbers(-1.0, 3.0), numbers(0.0, 3.0)
    # With p = 1 an infinite end is the same as none; with p = 2 no ends have a shorter formula.
    low, high = None, None
    if order == 1 or draw(st.booleans()):
        low = np.where([draw(st.booleans()) for _ in range(products)], 0.0, -np.inf)
        high = np.where([draw(st.booleans()) for _ in range(products)], 3.5, np.inf)
    kernel = Kernel(order, np.float64(epsilon), scale, low, high)
    return h, b, z, y, kernel, penalty * epsilon


def by_quadrature(h, b, z, y, kernel, temperature):
    """log E exp(Ψ/t): one adaptive quadrature per product, cut at the kink z and the centre y."""
    total = 0.0
    width = np.asarray(kernel.epsilon * kernel.scale)
    if kernel.order == 2:
        width = kernel.scale * np.sqrt(kernel.epsilon / 2)
    for j in range(len(z)):
        low, high = (-np.inf, np.inf) if kernel.low is None else (kernel.low[j], kernel.high[j])
        peaks, length = [z[j], y[j]], width[j]
        if kernel.order == 2:
            peaks += [y[j] - h[j] / temperature * length**2, y[j] + b[j] / temperature * length**2]
        else:
            length = 1 / (1 / length - max(h[j], b[j]) / temperature)
        peaks = np.clip(peaks, low, high)

        def log_kernel(u, j=j):
            return -(abs((u - y[j]) / kernel.scale[j]) ** kernel.order) / kernel.epsilon

        def log_tilted(u, j=j):
            return plain(z[j], u, h[j], b[j]) / temperature + log_kernel(u)

        total += log_integral(log_tilted, low, high, peaks, length)
        total -= log_integral(log_kernel, low, high, [y[j]], width[j])
    return total


@given(problems(products=3))
def test_closed_form_is_quadrature(problem):
    h, b, z, y, kernel, temperature = problem
    value = log_moment(Newsvendor(h, b), z, y, kernel, temperature)
    assert value == pytest.approx(by_quadrature(*problem), rel=1e-8, abs=1e-8)


SUPPORTS = {"unbounded": (None, None), "half": (0.0, np.inf), "bounded": (0.0, 3.5)}


def gallery(order, support, products):
    """A few fixed problems: below, at and above demand; demand at the edge of its support."""
    low, high = (
        None if end is None else np.full(products, end, dtype=float) for end in SUPPORTS[support]
    )
    h, b = np.array([0.6, 1.0, 0.2])[:products], np.array([1.0, 0.4, 1.5])[:products]
    kernel = Kernel(order, np.float64(0.3), np.array([1.0, 0.5, 0.8])[:products], low, high)
    y = np.array([[0.0, 1.0, 3.0], [1.0, 0.5, 2.0], [2.5, 3.5, 0.1]])[:, :products]
    z = np.array([[1.0, 0.9, 1.0], [1.0, 2.0, 3.0], [0.2, 3.0, 0.1]])[:, :products]
    return Newsvendor(h, b), z, y, kernel, np.float64(4.0 * 0.3)


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("order", [1, 2])
def test_closed_form_is_sampling(order, support):
    loss, z, y, kernel, temperature = gallery(order, support, 3)
    nodes, _ = nodes_in_double(MonteCarlo(20_000), kernel, y, 3)
    for row in range(3):
        closed = log_moment(loss, z[row], y[row], kernel, temperature)
        terms = np.exp(loss(z[row], nodes[row]) / temperature)
        error = terms.std() / terms.mean() / np.sqrt(20_000)
        # Sampling error: four standard errors of a mean of 20000 draws.
        assert error < 0.01
        assert closed == pytest.approx(np.log(terms.mean()), abs=4 * error)


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("order", [1, 2])
def test_closed_form_is_gauss_quadrature(order, support):
    loss, z, y, kernel, temperature = gallery(order, support, 1)
    nodes, log_weights = nodes_in_double(GaussQuadrature(120), kernel, y, 0)
    for row in range(3):
        on_nodes = logsumexp(log_weights[row] + loss(z[row], nodes[row]) / temperature)
        # 1e-3: a kink between two nodes costs Gauss rules, which know nothing of it, about 1/n².
        closed = log_moment(loss, z[row], y[row], kernel, temperature)
        assert on_nodes == pytest.approx(closed, abs=1e-3)
        exact = by_quadrature(loss.holding, loss.stockout, z[row], y[row], kernel, temperature)
        assert closed == pytest.approx(exact, rel=1e-8, abs=1e-8)


def test_log_moment_broadcasts_decisions_against_outcomes():
    loss, z, y, kernel, temperature = gallery(2, "half", 3)
    crossed = log_moment(loss, z[:, None], y[None], kernel, temperature)
    for i, j in product(range(3), range(3)):
        alone = log_moment(loss, z[i], y[j], kernel, temperature)
        assert crossed[i, j] == pytest.approx(alone, abs=1e-12)


@pytest.mark.slow
@given(problems(products=3))
def test_gradients_are_difference_quotients(problem):
    h, b, z, y, kernel, temperature = problem
    # Clear of the support's ends, where derivatives are one-sided.
    assume(np.all(np.abs(z) > 1e-4) and np.all(y > 1e-4))
    loss = Newsvendor(h, b)
    _, gradients = in_double(z, y, temperature, loss, kernel)
    by_z = gradient_by_differences(lambda p: log_moment(loss, p, y, kernel, temperature), z)
    by_y = gradient_by_differences(lambda p: log_moment(loss, z, p, kernel, temperature), y)
    by_t = gradient_by_differences(lambda p: log_moment(loss, z, y, kernel, p[0]), [temperature])
    np.testing.assert_allclose(gradients[0], by_z, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(gradients[1], by_y, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(gradients[2], by_t[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("order", [1, 2])
def test_an_order_that_equals_demand_has_its_gradient_too(order):
    """The Laplace kernel has its kink there, and a rule that starts at a quantile starts there."""
    loss, _, _, kernel, temperature = gallery(order, "half", 3)
    point = np.array([0.7, 1.0, 2.0])
    _, gradients = in_double(point, point, temperature, loss, kernel)
    by_z = gradient_by_differences(lambda p: log_moment(loss, p, point, kernel, temperature), point)
    np.testing.assert_allclose(gradients[0], by_z, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("ends", [(-np.inf, np.inf), (0.0, np.inf), (0.0, 3.5)])
@pytest.mark.parametrize("order", [1, 2])
def test_slopes_rise_from_stockout_to_holding(order, ends):
    """G is convex in z: its slope runs from −b/t far below demand to h/t far above it."""
    z, y = np.linspace(-6, 11.5, ROWS)[:, None], np.full((ROWS, 1), 1.5)
    kernel, loss = one_product(order, 0.3, *ends), Newsvendor(np.array([0.6]), np.array([1.0]))
    slopes = in_single(z, y, 0.6, loss, kernel)[1][0][:, 0]
    assert np.all(np.diff(slopes) > -1e-5)
    assert slopes[0] == pytest.approx(-1.0 / 0.6, rel=1e-5)
    assert slopes[-1] == pytest.approx(0.6 / 0.6, rel=1e-5)


# --------------------------------------------------------------------------- extremes, float32


def supremum(z, y, h, b, penalty, order, low=-np.inf, high=np.inf):
    """sup_u Ψ(z, u) − λ|u − y|^p: what λε·G tends to as ε → 0. Peaks are where slopes vanish."""
    candidates = [z, y, y - h / (2 * penalty), y + b / (2 * penalty), low, high]
    return max(
        plain(z, u, h, b) - penalty * abs(u - y) ** order
        for u in np.clip(candidates, low, high)
        if np.isfinite(u)
    )


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("ends", [(-np.inf, np.inf), (0.0, np.inf), (0.0, 2e6)])
@pytest.mark.parametrize(("h", "b"), [(1.0, 1.0), (0.6, 1.0), (1.0, 0.0), (30.0, 10.0)])
def test_small_temperatures_give_the_supremum(order, ends, h, b):
    """λε = 1e-4 with losses up to 10⁶ and more, in float32, far on either side of demand."""
    temperature, penalty = 1e-4, 2.0 * max(h, b)
    positions = np.array([0.0, 1e-3, 1.0, 50.0, 1e3, 1e6])
    z, y = (np.float32(grid).reshape(-1, 1) for grid in np.meshgrid(positions, positions))
    kernel = one_product(order, temperature / penalty, *ends)
    loss = Newsvendor(np.array([h]), np.array([b]))
    moments, gradients = in_single(z, y, temperature, loss, kernel)
    expected = [supremum(*pair, h, b, penalty, order, *ends) for pair in np.hstack([z, y])]
    # It is approached up to λε·log(…), some 25 λε here; single precision adds 1e-5 of it.
    np.testing.assert_allclose(temperature * moments, expected, rtol=1e-5, atol=25 * temperature)
    for gradient in gradients:
        assert np.all(np.isfinite(gradient))
    slopes = gradients[0] * temperature
    assert np.all((slopes > -b * (1 + 1e-5) - 1e-5) & (slopes < h * (1 + 1e-5) + 1e-5))


@pytest.mark.parametrize("order", [1, 2])
def test_a_unit_worth_a_million(order):
    """Costs of 10⁶ a unit at λε = 1e-4: exponents of 10¹⁰ and more, all finite."""
    penalty, cost = 4e6, np.array([1e6])
    z, y = np.repeat([0.0, 1.0, 2.0], 12)[:, None], np.ones((ROWS, 1))
    kernel = one_product(order, 1e-4 / penalty)
    moments, gradients = in_single(z, y, 1e-4, Newsvendor(cost, cost), kernel)
    at_demand = supremum(1.0, 1.0, 1e6, 1e6, penalty, order)
    away = supremum(0.0, 1.0, 1e6, 1e6, penalty, order)
    np.testing.assert_allclose(
        1e-4 * moments, np.repeat([away, at_demand, away], 12), rtol=1e-5, atol=25e-4
    )
    below, at, above = np.split(gradients[0][:, 0], 3)
    np.testing.assert_allclose(below, -1e10, rtol=1e-5)
    np.testing.assert_allclose(above, 1e10, rtol=1e-5)
    # The kink itself is narrower than float32 tells: any slope between its sides is right.
    assert np.all(np.abs(at) <= 1e10 * (1 + 1e-5))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("temperature", [0.3, 1e-2, 1e-4])
def test_orders_at_and_beyond_the_ends_of_the_support(order, temperature):
    """There one of the two pieces is empty, and its gradient must be 0, not NaN."""
    grid = np.array(
        list(product([-1.0, 0.0, 1e-8, 5.0, 6.0, 100.0], [0.0, 0.1, 1.0, 2.0, 4.0, 5.0]))
    )
    z, y = grid.T[:, :, None]
    loss = Newsvendor(np.array([1.0]), np.array([2.0]))
    moments, gradients = in_single(z, y, temperature, loss, one_product(order, 0.1, 0.0, 5.0))
    assert np.all(np.isfinite(moments))
    assert all(np.all(np.isfinite(gradient)) for gradient in gradients)
    expected = np.where(z < 1, -2 / temperature, 1 / temperature)
    np.testing.assert_allclose(gradients[0], expected, rtol=1e-5)


# --------------------------------------------------------------------------- the best constant


@given(
    st.integers(0, 10_000),
    st.floats(0.05, 5),
    st.floats(0.05, 5),
    st.booleans(),
)
def test_best_constant_is_the_minimiser(seed, h, b, weighted):
    rng = np.random.default_rng(seed)
    outcomes = rng.integers(-3, 9, (12, 2)).astype(float)  # ties and negative demand included
    weights = rng.integers(0, 4, 12).astype(float) if weighted else np.ones(12)
    weights[0] = 1.0
    loss = Newsvendor([h, 1.0], [b, 2.0])
    constant = loss.best_constant(outcomes, weights)
    assert np.all(constant >= 0)
    for j in range(2):

        def mean_loss(z, j=j):
            values = [plain(z, y, [h, 1.0][j], [b, 2.0][j]) for y in outcomes[:, j]]
            return np.dot(weights, values)

        # A piecewise linear function is least at one of its kinks, or at the edge 0.
        least = min(mean_loss(z) for z in [0.0, *outcomes[outcomes[:, j] >= 0, j]])
        assert mean_loss(constant[j]) == pytest.approx(least, rel=1e-10, abs=1e-10)


def test_best_constant_counts_a_weight_as_so_many_rows():
    rng = np.random.default_rng(5)
    outcomes, weights = rng.gamma(2.0, size=(40, 1)), rng.integers(0, 5, 40)
    loss = Newsvendor(0.7, 1.9)
    np.testing.assert_array_equal(
        loss.best_constant(outcomes, weights.astype(float)),
        loss.best_constant(np.repeat(outcomes, weights, axis=0), np.ones(weights.sum())),
    )


def test_best_constant_obeys_its_box():
    outcomes = np.linspace(0, 10, 101)[:, None]
    loss = Newsvendor(1.0, 1.0, decision_set=Box(6.0, 8.0))
    # 5e-3: the box's end is reached only in the limit of the map onto it.
    assert loss.best_constant(outcomes, np.ones(101)) == pytest.approx([6.0], abs=5e-3)
    inside = Newsvendor(1.0, 1.0, decision_set=Box(2.0, 8.0))
    assert inside.best_constant(outcomes, np.ones(101)) == pytest.approx([5.0])


# --------------------------------------------------------------------------- well-posedness


OUTCOMES = np.linspace(0.0, 4.0, 9)[:, None]


def smallest(loss, order, y_scale, outcomes=OUTCOMES):
    constant = np.zeros(outcomes.shape[1])
    cost = loss.outcome_cost(order, np.broadcast_to(np.asarray(y_scale, float), constant.shape))
    return loss.smallest_penalty(cost, constant, outcomes)


def value_on(loss, penalty, low, high):
    """λε·G on a finite support, p = 1 with s_y = 1.5 and ε = 0.2."""
    kernel = Kernel(1, np.float64(0.2), np.array([1.5]), np.array([low]), np.array([high]))
    z, y = np.array([1.0]), np.array([2.0])
    return 0.2 * penalty * log_moment(loss, z, y, kernel, 0.2 * penalty)


@pytest.mark.parametrize(("h", "b"), [(1.0, 3.0), (2.0, 0.5)])
def test_below_the_smallest_penalty_the_value_grows_without_bound(h, b):
    loss = Newsvendor(h, b)
    bound = smallest(loss, 1, [1.5])
    assert bound == 1.5 * max(h, b)
    above = [value_on(loss, 1.05 * bound, -reach, reach) for reach in (100.0, 200.0, 400.0)]
    below = [value_on(loss, 0.95 * bound, -reach, reach) for reach in (100.0, 200.0, 400.0)]
    np.testing.assert_allclose(above, above[0], rtol=1e-3)  # e^(−0.05·100) of it is still to come
    assert above[2] - above[1] < 1e-6
    # Just below the bound each further unit of room is worth max(h, b) − λ/s: 5 % of max(h, b).
    assert below[1] - below[0] == pytest.approx(0.05 * max(h, b) * 100, rel=1e-2)
    assert below[2] - below[1] == pytest.approx(0.05 * max(h, b) * 200, rel=1e-2)


def test_a_bounded_side_of_the_support_is_no_danger():
    h, b = 1.0, 3.0
    cases = {
        (0.0, np.inf): 1.5 * b,
        (-np.inf, 9.0): 1.5 * h,
        (0.0, 9.0): 0.0,
        (-np.inf, np.inf): 1.5 * b,
    }
    for support, bound in cases.items():
        assert smallest(Newsvendor(h, b, outcome_support=support), 1, [1.5]) == bound
    # and indeed: demand cut at 9, a penalty between s·h and s·b has a finite value
    loss, penalty = Newsvendor(h, b), 1.2 * 1.5 * h
    near, far = (value_on(loss, penalty, -reach, 9.0) for reach in (200.0, 400.0))
    assert penalty < 1.5 * b
    assert far == pytest.approx(near, rel=1e-6)


def test_smallest_penalty_of_several_products_is_the_largest():
    loss = Newsvendor([1.0, 2.0, 0.1], [0.5, 1.0, 3.0])
    outcomes = np.ones((4, 3))
    assert smallest(loss, 1, [1.0, 1.0, 1.0], outcomes) == 3.0
    assert smallest(loss, 1, [1.0, 5.0, 1.0], outcomes) == 10.0
    assert smallest(loss, 2, [1.0, 5.0, 1.0], outcomes) == 0.0


# --------------------------------------------------------------------------- units


@given(
    st.lists(st.floats(0.01, 1000), min_size=4, max_size=4),
    st.floats(0.001, 1e4),
    st.integers(0, 1000),
)
def test_in_units_is_the_same_loss(units, loss_unit, seed):
    rng = np.random.default_rng(seed)
    z, y = rng.gamma(2.0, size=(5, 2)), rng.gamma(2.0, size=(5, 2))
    loss = Newsvendor([0.5, 2.0], 1.3)
    y_unit, z_unit = np.array(units[:2]), np.array(units[2:])
    same = loss.in_units(y_unit, y_unit, loss_unit)
    assert isinstance(same, Newsvendor)
    np.testing.assert_allclose(same(z / y_unit, y / y_unit), loss(z, y) / loss_unit, rtol=1e-9)
    other = loss.in_units(y_unit, z_unit, loss_unit)
    np.testing.assert_allclose(other(z / z_unit, y / y_unit), loss(z, y) / loss_unit, rtol=1e-9)


def test_decisions_are_counted_like_demand_unless_they_have_no_units():
    unit = np.array([2.0, 5.0])
    np.testing.assert_array_equal(Newsvendor(1, 1).decision_unit(unit, unit), unit)
    shares = Newsvendor(1, 1, decision_set=Simplex(2))
    np.testing.assert_array_equal(shares.decision_unit(unit, unit), [1.0, 1.0])


def test_the_decision_set_has_one_order_per_product():
    assert isinstance(Newsvendor(1, 2).decisions_for(3), Nonnegative)
    assert Newsvendor([1, 2], 2).decisions_for(2).dimension == 2
    assert Newsvendor(1, 2, decision_set=Free(2)).decisions_for(2) == Free(2)


def test_support_is_spread_over_products():
    low, high = Newsvendor(1, 2, outcome_support=(0, [5, 6])).support_for(2)
    np.testing.assert_array_equal(low, [0, 0])
    np.testing.assert_array_equal(high, [5, 6])
    assert Newsvendor(1, 2).support_for(2) is None


# --------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("holding", "stockout", "error", "words"),
    [
        (-1.0, 1.0, ValueError, "holding must not be negative"),
        (1.0, [1.0, -2.0], ValueError, "stockout must not be negative"),
        (np.nan, 1.0, ValueError, "holding contains NaN; it must be finite"),
        (1.0, np.inf, ValueError, "stockout contains inf; it must be finite"),
        (0.0, 0.0, ValueError, "holding and stockout are both 0"),
        ([1.0, 0.0], [1.0, 0.0], ValueError, "holding and stockout are both 0"),
        ([1.0, 2.0], [1.0, 2.0, 3.0], ValueError, "holding has 2 entries but stockout has 3"),
        ("cheap", 1.0, TypeError, "holding must hold numbers only"),
        (1.0, [], ValueError, "stockout must be a number or one number per product"),
        (1.0, [[1.0]], ValueError, "stockout must be a number or one number per product"),
    ],
)
def test_bad_costs_are_refused(holding, stockout, error, words):
    with pytest.raises(error, match=words):
        Newsvendor(holding, stockout)


def test_a_wrong_number_of_products_is_refused():
    with pytest.raises(ValueError, match=r"stockout has 3 entries.*Y has 2 column"):
        Newsvendor(1.0, [1.0, 2.0, 3.0]).decisions_for(2)
    with pytest.raises(ValueError, match=r"decision_set has dimension 1.*Y has 2 column"):
        Newsvendor(1.0, 1.0, decision_set=Free(1)).decisions_for(2)
    with pytest.raises(ValueError, match=r"outcome_support has 3 coordinates.*Y has 2 column"):
        Newsvendor(1.0, 1.0, outcome_support=([0, 0, 0], np.inf)).support_for(2)


@pytest.mark.parametrize("support", [(1.0, 0.0), (0.0, 0.0)])
def test_an_empty_support_is_refused(support):
    with pytest.raises(ValueError, match="outcome_support needs low < high"):
        Newsvendor(1.0, 1.0, outcome_support=support).support_for(1)


def test_a_custom_loss_offers_no_closed_form():
    kernel = one_product(2, 0.5)
    assert Newsvendor(1.0, 1.0).closed_moments(kernel) is not None
    assert CustomLoss(lambda z, y: z[0] * y[0], Free(1)).closed_moments(kernel) is None


def tilted(loss, uniform, z, y, kernel, temperature):
    return loss.closed_moments(kernel).tilted_outcome(uniform, z, y, temperature)


def worst(loss, z, y, kernel, penalty):
    return loss.best_response(kernel)(z, y, penalty)


TILTED, WORST = double(tilted), double(worst)


@pytest.mark.parametrize("support", [None, (0.0, np.inf), (0.0, 6.0)])
@pytest.mark.parametrize("order", [1, 2])
def test_tilted_outcomes_have_the_tilted_distribution(order, support):
    """Level u of the distribution function, against cumulated density on a fine grid."""
    loss, temperature = Newsvendor(0.6, 1.0), 0.45
    ends = (None, None) if support is None else tuple(np.array([end]) for end in support)
    kernel = Kernel(order, np.float64(0.3), np.array([1.1]), *ends)
    levels = np.array([1e-3, 0.1, 0.5, 0.9, 0.999])
    z, y = np.full((5, 1), 2.5), np.full((5, 1), 1.0)
    found = TILTED(loss, levels[:, None], z, y, kernel, temperature)[:, 0]
    low, high = support or (-np.inf, np.inf)
    grid = np.linspace(max(low, -30), min(high, 30), 2_000_001)
    exponent = (0.6 * np.maximum(2.5 - grid, 0) + np.maximum(grid - 2.5, 0)) / temperature
    exponent -= np.abs((grid - 1.0) / 1.1) ** order / 0.3
    density = np.exp(exponent - exponent.max())
    below = np.cumsum(density) - density / 2
    assert np.interp(found, grid, below / density.sum()) == pytest.approx(levels, abs=5e-6)


@pytest.mark.parametrize("support", [None, (0.0, 4.0)])
@pytest.mark.parametrize("order", [1, 2])
def test_worst_outcome_beats_a_grid(order, support):
    loss, penalty, scale = Newsvendor(0.6, 1.0), 1.3, 0.9
    ends = (None, None) if support is None else tuple(np.array([end]) for end in support)
    cost = Kernel(order, np.float64(1.0), np.array([scale]), *ends)
    rng = np.random.default_rng(0)
    z, y = rng.uniform(-1, 5, (40, 1)), rng.uniform(0, 4, (40, 1))
    found = WORST(loss, z, y, cost, penalty)
    low, high = support or (-20, 20)
    grid = np.concatenate([np.linspace(low, high, 20_001), y[:, 0]])[:, None, None]

    def gain(u):
        return loss(z, u) - penalty * np.sum(np.abs((u - y) / scale) ** order, axis=-1)

    best = gain(grid).max(axis=0)
    assert np.all((found >= low) & (found <= high))
    assert np.all(gain(found) >= best - 1e-12)
    assert gain(found) == pytest.approx(best, abs=1e-5)


def test_small_penalties_send_outcomes_to_the_ends_of_their_support():
    cost = Kernel(1, np.float64(1.0), np.array([1.0]), np.array([0.0]), np.array([9.0]))
    z, y = np.array([[2.0]]), np.array([[2.0]])
    assert WORST(Newsvendor(0.6, 1.0), z, y, cost, 0.3)[0, 0] == 9.0
    assert WORST(Newsvendor(5.0, 0.1), z, y, cost, 0.3)[0, 0] == 0.0
