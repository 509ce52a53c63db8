"""The constant of the printed algorithm's rate, by hand; what the average methods take."""

import math

import numpy as np
import pytest

from hedgerow.theory import (
    SampleSizes,
    compositional_constants,
    saa_sample_sizes,
    scsc_convergence,
)

B, T, SLOPE, N = 0.4, 1.0, 0.7, 3
CONSTANTS = compositional_constants(B, T, SLOPE, N)
GIVEN = {"start_gap": 0.3, "start_errors": (0.1, 0.2), "loss_smoothness": 0.5}
VARIANCES = (0.01, 0.02, 0.03)


def by_hand():
    """In plain numbers, from the formulas of the module."""
    e = math.exp(B / T)
    c2, c3 = e, e / T * SLOPE * math.sqrt(N)
    s2 = math.sqrt(2) * e
    s3 = math.sqrt(N) * (e / T**2 * SLOPE**2 + e / T * 0.5)
    smooth = c2 * s3 + s2 * c3**2 + c2**2 * c3**2
    step = (c2 * c3) ** 2
    weights = (c3 * c2) ** 2 + (c3 * (s2 + c2**2)) ** 2
    start = 0.3 + 0.1**2 + 0.2**2
    noise = weights**2 / 2 * (0.02 + 0.03 * (1 + 2 * c2**2))
    middle = smooth * step / 2 + 2.3 * c3**2 * step + 4 * c2**2 * c3**2 * step
    return 2 * (start + middle + noise), smooth, weights**2 * (1 + 4 * c2**2) ** 2


def test_the_constant_is_that_of_the_formula():
    constant, smooth, fewest = by_hand()
    found = scsc_convergence(CONSTANTS, **GIVEN, variances=VARIANCES)
    assert found.constant == pytest.approx(constant, rel=1e-12)
    assert math.exp(found.log_smoothness) == pytest.approx(smooth, rel=1e-12)
    assert math.exp(found.log_fewest_steps) == pytest.approx(math.ceil(fewest), rel=1e-12)
    steps = math.ceil(fewest) + 1
    assert found.gradient_bound(steps) == pytest.approx(constant / math.sqrt(steps))
    assert found.gradient_bound(10) == math.inf
    needed = found.log_steps_for(0.01)
    assert math.exp(needed) == pytest.approx(constant**2 / 0.01**4, rel=1e-9)
    assert found.log_steps_for(1e9) == found.log_fewest_steps


def test_the_recursion_of_the_inner_tracker_holds_in_simulation():
    """E‖e'‖² ≤ (1−β)²‖e‖² + 2C²‖Δθ‖² + 2β²σ², of which the constant is made."""
    rng = np.random.default_rng(0)
    for beta, move in [(0.1, 0.3), (0.5, 0.05), (0.9, 1.0)]:
        draws = np.exp(rng.normal(0, 0.3, 200_000))
        t = lambda theta, draws=draws: draws * np.sin(theta)  # noqa: E731
        new, old, tracker = 1.0 + move, 1.0, 0.5
        mean = np.exp(0.3**2 / 2)
        error = tracker - mean * np.sin(old)
        after = (1 - beta) * (tracker + t(new) - t(old)) + beta * t(new) - mean * np.sin(new)
        slope, spread = np.mean(draws**2), np.var(t(new))
        bound = (1 - beta) ** 2 * error**2 + 2 * slope * move**2 + 2 * beta**2 * spread
        assert np.mean(after**2) <= bound


def test_it_overflows_into_logarithms():
    found = scsc_convergence(compositional_constants(1.0, 0.001), start_gap=1.0)
    assert found.constant == math.inf
    assert math.isfinite(found.log_constant)
    assert math.isfinite(found.log_steps_for(0.1))


def test_wrong_starts_are_refused():
    with pytest.raises(ValueError, match="two numbers"):
        scsc_convergence(CONSTANTS, start_gap=1.0, start_errors=(1.0,))
    with pytest.raises(ValueError, match="start_gap"):
        scsc_convergence(CONSTANTS, start_gap=-1.0)


def test_average_methods_take_what_the_paper_says():
    sizes = SampleSizes((math.log(10), math.log(20), math.log(30)))
    assert math.exp(sizes.log_descent_gradients()) == pytest.approx(6000)
    assert math.exp(sizes.log_descent_gradients(7)) == pytest.approx(42_000)
    assert math.exp(sizes.log_stochastic_gradients()) == pytest.approx(600)
    assert math.exp(sizes.log_stochastic_gradients(50)) == pytest.approx(30_000)


def test_they_grow_as_the_paper_says():
    """O(d³/δ⁶) and O(d²/δ⁴), up to logarithms: a tenth of δ brings 10⁶ and 10⁴."""
    rough, fine = (
        saa_sample_sizes(CONSTANTS, accuracy, 0.05, 1000, 10.0) for accuracy in (1e-2, 1e-3)
    )
    powers = [
        (fine.log_descent_gradients() - rough.log_descent_gradients()) / math.log(10),
        (fine.log_stochastic_gradients() - rough.log_stochastic_gradients()) / math.log(10),
    ]
    assert powers == pytest.approx([6, 4], abs=0.6)  # logarithms of 1/δ come on top
    few, many = (saa_sample_sizes(CONSTANTS, 0.01, 0.05, d, 10.0) for d in (1000, 10_000))
    powers = [
        (many.log_descent_gradients() - few.log_descent_gradients()) / math.log(10),
        (many.log_stochastic_gradients() - few.log_stochastic_gradients()) / math.log(10),
    ]
    assert powers == pytest.approx([3, 2], abs=0.1)
