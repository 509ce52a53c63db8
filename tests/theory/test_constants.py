"""t1, t2 and t3 are no steeper than their constants, and where they attain them."""

import re

import numpy as np
import pytest

from hedgerow.theory import compositional_constants
from tests.theory.problems import (
    BOUND,
    CONSTANTS,
    EXPONENT,
    OUTCOMES,
    TEMPERATURE,
    derivatives_of_t2,
    draws_for_t2,
)


def test_t1_and_t3_attain_their_constants_at_the_ends_of_their_domains():
    z = np.exp(np.linspace(0, EXPONENT, 1001))
    losses = np.linspace(0, BOUND, 1001)
    first, second = np.exp(losses / TEMPERATURE) / np.array([[TEMPERATURE], [TEMPERATURE**2]])
    for level, slopes, curvatures in [(0, 1 / z, 1 / z**2), (2, first, second)]:
        np.testing.assert_allclose(np.log(slopes.max()), CONSTANTS.log_lipschitz[level])
        np.testing.assert_allclose(np.log(curvatures.max()), CONSTANTS.log_smoothness[level])


def test_t2_keeps_its_constants_with_room_to_spare():
    v, masses = draws_for_t2()
    gradients, hessians = derivatives_of_t2(v, masses)
    slopes = np.linalg.norm(gradients, axis=1)
    eigenvalues = np.linalg.eigvalsh(hessians)
    printed = np.exp(CONSTANTS.log_lipschitz[1])
    assert slopes.max() <= printed
    assert np.abs(eigenvalues).max() <= np.exp(CONSTANTS.log_smoothness[1])
    assert eigenvalues.max() < 1e-9 * printed  # concave, so the √2 in S2 is not needed:
    assert np.abs(eigenvalues).max() <= printed
    # with b = B/T: the curvature is at most max_p p·e^{b(1−p)} = e^{b−1}/b
    assert np.abs(eigenvalues).max() <= np.exp(EXPONENT - 1) / EXPONENT
    assert slopes.max() < 0.2 * printed


def test_with_one_outcome_t2_is_the_identity():
    v, masses = draws_for_t2()
    gradients, hessians = derivatives_of_t2(v, 0 * masses + [1, 0, 0])
    np.testing.assert_allclose(gradients, 0 * v + [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(hessians, 0, atol=1e-12)


def test_in_the_parameters_t3_keeps_c3_but_not_l3():
    # Ψ_i = slope_i·θ, all at the largest loss: rows of the Jacobian are e^{B/T}/T·slope_i
    slope = CONSTANTS.loss_lipschitz * np.ones((OUTCOMES, 1))
    steepest = np.linalg.norm(np.exp(EXPONENT) / TEMPERATURE * slope, 2)
    np.testing.assert_allclose(np.log(steepest), CONSTANTS.log_gradients[2])
    assert np.log(steepest) > CONSTANTS.log_lipschitz[2] + 0.9


def test_t3_is_not_smooth_in_the_parameters_of_a_newsvendor():
    def slope(order, demand=1.0):  # of exp(Ψ/T), Ψ = |order − demand|
        loss = abs(order - demand)
        return np.sign(order - demand) * np.exp(loss / TEMPERATURE) / TEMPERATURE

    jumps = [(slope(1 + h) - slope(1 - h)) / (2 * h) for h in (1e-1, 1e-3, 1e-5)]
    assert jumps[0] > np.exp(CONSTANTS.log_smoothness[2]) / 10
    assert jumps[2] > 1e3 * np.exp(CONSTANTS.log_smoothness[2])


def nested_average(losses, masses):
    """F of a table of losses (contexts, context moves, outcomes, outcome moves)."""
    inner = np.log(np.mean(np.exp(losses / TEMPERATURE), axis=-1)) @ masses
    return TEMPERATURE * np.mean(np.log(np.mean(np.exp(inner), axis=-1)))


def test_the_objective_moves_no_more_than_the_losses_do():
    rng = np.random.default_rng(1)
    ratios = []
    for _ in range(300):
        masses = rng.dirichlet(np.ones(OUTCOMES))
        before, after = BOUND * rng.uniform(size=(2, 3, 4, OUTCOMES, 5)) ** rng.uniform(0.1, 4)
        moved = abs(nested_average(after, masses) - nested_average(before, masses))
        ratios.append(moved / np.abs(after - before).max())
    assert max(ratios) <= 1
    # and exactly as much when every loss moves alike
    alike = nested_average(before + 0.3, masses) - nested_average(before, masses)
    np.testing.assert_allclose(alike, 0.3)


def test_the_printed_product_misses_the_slope_of_the_loss():
    # without moves F is the loss itself, slope·θ on [0, B/slope]; L1·L2·L3 does not know the slope
    steep = compositional_constants(loss_bound=1.0, temperature=10.0, loss_lipschitz=5.0)
    assert steep.objective_lipschitz == 5.0
    assert np.exp(sum(steep.log_lipschitz)) < 0.13


def test_constants_stay_finite_as_logarithms():
    constants = compositional_constants(5.0, 1e-3)
    assert constants.log_lipschitz[1] == 5000
    np.testing.assert_allclose(constants.log_smoothness[2], 5000 + 2 * np.log(1e3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compositional_constants(0.0, 1.0), "loss_bound must be greater than 0"),
        (lambda: compositional_constants(1.0, -1.0), "temperature must be greater than 0"),
        (lambda: compositional_constants(1.0, 1.0, 1.0, 0.5), "must be at least 1, got 0.5"),
    ],
)
def test_refusals_are_one_sentence(call, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        call()
