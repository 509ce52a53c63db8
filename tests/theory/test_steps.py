"""Steps are those of the theorem, and trackers bend the gradient no more than it says."""

import numpy as np
import pytest

from hedgerow.theory import compositional_constants, scsc_step_sizes
from tests.theory.problems import CONSTANTS, EXPONENT, derivatives_of_t2, draws_for_t2


def test_step_sizes_are_the_theorems():
    for steps in (100, 10**6):
        chosen = scsc_step_sizes(CONSTANTS, steps)
        weights = np.exp(chosen.log_error_weights)
        assert chosen.step_size == 1 / np.sqrt(steps)
        np.testing.assert_allclose(chosen.step_size, 2 * chosen.tracking / np.sum(weights**2))


def test_the_fewest_steps_are_where_tracking_becomes_a_weight():
    mild = compositional_constants(0.1, 1.0)
    fewest = round(np.exp(scsc_step_sizes(mild, 1).log_fewest_steps))
    assert fewest > 1
    assert scsc_step_sizes(mild, fewest).admissible
    assert not scsc_step_sizes(mild, fewest - 1).admissible
    usual = scsc_step_sizes(compositional_constants(1.0, 0.1), 10_000)
    assert not usual.admissible
    assert usual.log_fewest_steps > 12 * 10


def test_tracker_errors_bend_the_gradient_no_more_than_their_weights():
    rng = np.random.default_rng(2)
    (truth, masses), (tracked, _) = draws_for_t2(seed=3), draws_for_t2(seed=4)
    masses = np.broadcast_to(masses[:1], masses.shape)
    mean = np.exp(np.sum(masses * np.log(truth), axis=1))
    mean_tracked = np.exp(np.sum(masses * np.log(tracked), axis=1))
    y1 = np.exp(EXPONENT * rng.uniform(size=len(mean)))
    exact = derivatives_of_t2(truth, masses)[0] / mean[:, None]
    used = derivatives_of_t2(tracked, masses)[0] / y1[:, None]
    off = np.exp(CONSTANTS.log_gradients[2]) * np.linalg.norm(exact - used, axis=1)
    first, second = np.exp(scsc_step_sizes(CONSTANTS, 100).log_error_weights)
    errors = first * np.abs(y1 - mean_tracked), second * np.linalg.norm(tracked - truth, axis=1)
    assert np.all(off <= sum(errors))


def test_a_corrected_tracker_can_leave_the_domain_of_the_logarithm():
    low, high, tracking = 1.0, np.exp(EXPONENT), 0.2
    corrected = (1 - tracking) * (low + low - high) + tracking * low
    assert corrected < 0


def test_no_steps_are_refused():
    with pytest.raises(ValueError, match="steps must be at least 1"):
        scsc_step_sizes(CONSTANTS, 0)
