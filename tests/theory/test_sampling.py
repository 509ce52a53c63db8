"""Sizes and failure probabilities are inverse, grow as they should, and their units match."""

import math
import re

import numpy as np
import pytest

from hedgerow.theory import (
    SampleSizes,
    compositional_constants,
    saa_failure_probability,
    saa_sample_sizes,
)
from tests.theory.problems import BOUND, CONSTANTS, EXPONENT, OUTCOMES, TEMPERATURE

PROBLEM = {"accuracy": 0.1, "dimension": 20, "diameter": 3.0}


@pytest.mark.parametrize("net", ["explicit", "printed"])
@pytest.mark.parametrize("temperature", [10.0, 0.8, 0.02])
def test_sizes_and_failure_probability_are_inverse(net, temperature):
    constants = compositional_constants(BOUND, temperature, 1.5, OUTCOMES)
    for failure in (0.5, 1e-6):
        sizes = saa_sample_sizes(constants, failure=failure, net=net, **PROBLEM)
        bound = saa_failure_probability(constants, sizes, net=net, **PROBLEM)
        # below, because sizes are whole numbers; the first is some thousands here
        assert 0.95 * failure < bound <= failure * (1 + 1e-9)


def test_fewer_samples_fail_more_often():
    sizes = saa_sample_sizes(CONSTANTS, failure=0.1, **PROBLEM).sizes
    enough = saa_failure_probability(CONSTANTS, sizes, **PROBLEM)
    for level in range(3):
        fewer = [size * (0.99 if i == level else 1) for i, size in enumerate(sizes)]
        assert saa_failure_probability(CONSTANTS, fewer, **PROBLEM) > 1.5 * enough
    assert saa_failure_probability(CONSTANTS, (10, 10, 10), **PROBLEM) == 1


def test_the_sizes_are_the_formula():
    n1, n2, n3 = saa_sample_sizes(CONSTANTS, failure=0.1, **PROBLEM).sizes
    base = np.log(2 * 3 / 0.1) + 20 * np.log1p(8 * 1.5 * 3.0 / 0.1)
    unit = 144 * 2 * TEMPERATURE**2 / 0.1**2
    variance = ((np.exp(EXPONENT) - 1) / 2) ** 2
    assert n1 == np.ceil(unit * (EXPONENT / 2) ** 2 * base)
    np.testing.assert_allclose(n2, unit * variance * (base + np.log(n1)), rtol=1e-6)
    wide = np.exp(2 * EXPONENT) * OUTCOMES * variance
    np.testing.assert_allclose(n3, unit * wide * (base + np.log(n1 * n2 * OUTCOMES)), rtol=1e-9)


def test_more_is_needed_for_more():
    def total(bound=BOUND, temperature=TEMPERATURE, slope=1.5, outcomes=3, **changes):
        constants = compositional_constants(bound, temperature, slope, outcomes)
        return saa_sample_sizes(constants, **({"failure": 0.1} | PROBLEM | changes)).log_total

    usual = total()
    for harder in [
        {"accuracy": 0.05},
        {"failure": 0.01},
        {"dimension": 21},
        {"diameter": 4.0},
        {"bound": 2.1},
        {"temperature": 0.7},
        {"slope": 1.6},
        {"outcomes": 4},
        {"slack": 0.5},
        {"net_constant": 10.0},
    ]:
        assert total(**harder) > usual, harder


def test_sizes_grow_with_the_inverse_square_of_the_accuracy():
    near, far = (
        saa_sample_sizes(CONSTANTS, failure=0.1, **PROBLEM | {"accuracy": accuracy}).sizes
        for accuracy in (1e-5, 1e-4)
    )
    growth = np.divide(near, far)  # 100, and a logarithm: the net grows too
    assert np.all((growth > 100) & (growth < 130))


def test_units_of_the_loss_do_not_matter_unless_the_net_is_the_printed_one():
    def log_sizes(unit, net):
        constants = compositional_constants(BOUND * unit, TEMPERATURE * unit, 1.5 * unit, OUTCOMES)
        problem = PROBLEM | {"accuracy": PROBLEM["accuracy"] * unit}
        return saa_sample_sizes(constants, failure=0.1, net=net, **problem).log_sizes

    np.testing.assert_allclose(log_sizes(1, "explicit"), log_sizes(1e3, "explicit"), atol=1e-4)
    assert log_sizes(1, "printed")[0] > log_sizes(1e3, "printed")[0] + 0.5


def test_given_variances_are_used_and_the_default_is_the_range():
    half_range = (np.exp(EXPONENT) - 1) / 2
    ranges = ((EXPONENT / 2) ** 2, half_range**2, OUTCOMES * half_range**2)
    usual = saa_sample_sizes(CONSTANTS, failure=0.1, **PROBLEM)
    same = saa_sample_sizes(CONSTANTS, failure=0.1, variances=ranges, slack=0, **PROBLEM)
    np.testing.assert_allclose(usual.log_sizes, same.log_sizes, rtol=1e-12)
    safer = saa_sample_sizes(CONSTANTS, failure=0.1, variances=ranges, **PROBLEM)
    np.testing.assert_allclose(safer.sizes[0] / usual.sizes[0], 1.5, rtol=1e-4)


def test_the_explicit_net_is_large_enough():
    # a greedy net over a disc of diameter 1 never needs more points than (1 + D/υ)²
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.5, 0.5, size=(20_000, 2))
    points = points[np.linalg.norm(points, axis=1) <= 0.5]
    for radius in (0.5, 0.2, 0.1):
        left, net = points, 0
        while len(left):
            left = left[np.linalg.norm(left - left[0], axis=1) > radius]
            net += 1
        assert net <= (1 + 1 / radius) ** 2


def test_sizes_beyond_floats_keep_their_logarithms():
    sizes = saa_sample_sizes(compositional_constants(5.0, 0.01), failure=0.1, **PROBLEM)
    assert sizes.sizes[2] == sizes.total == math.inf
    assert 2000 < sizes.log_total < sizes.log_evaluations < 4000
    assert isinstance(sizes, SampleSizes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: saa_sample_sizes(CONSTANTS, 0.1, 1.5, 3, 1.0), "failure must be at most 1"),
        (lambda: saa_sample_sizes(CONSTANTS, 0.1, 0.1, 3, 1.0, net="fine"), "net must be one of"),
        (
            lambda: saa_sample_sizes(CONSTANTS, 0.1, 0.1, 3, 1.0, variances=(1, 1)),
            "variances must be three numbers, one per level, got 2",
        ),
        (
            lambda: saa_failure_probability(CONSTANTS, (1, 0, 1), 0.1, 3, 1.0),
            "sizes must be greater than 0",
        ),
    ],
)
def test_refusals_are_one_sentence(call, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        call()
