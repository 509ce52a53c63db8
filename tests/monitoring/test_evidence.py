"""Evidence: exact levels, the formula written out, ranks that are uniform."""

import numpy as np
import pytest
from scipy.stats import kstest

from hedgerow.monitoring import conformal_ranks, evidence
from hedgerow.monitoring.evidence import STAKES


def test_wealth_is_the_mixture_over_stakes_and_beginnings():
    payoffs = np.random.default_rng(0).uniform(-1, 2, size=12)
    expected = []
    for t in range(1, 13):
        total = 1 / (t + 1)  # what still waits
        for s in range(1, t + 1):
            bets = [np.prod(1 + g * payoffs[s - 1 : t]) for g in STAKES]
            total += np.mean(bets) / (s * (s + 1))
        expected.append(np.log(total))
    np.testing.assert_allclose(evidence(payoffs), expected, rtol=1e-10)


def test_evidence_is_a_fair_game_at_the_bound():
    """E[M_t] = 1 where payoffs have mean 0: over all sequences of two outcomes."""
    steps = 8
    sequences = np.array(np.meshgrid(*[[-1.0, 1.0]] * steps)).reshape(steps, -1).T
    final = np.exp([evidence(sequence)[-1] for sequence in sequences])
    assert final.mean() == pytest.approx(1, rel=1e-10)


def test_false_alarms_stay_below_the_level_at_the_bound_itself():
    rng = np.random.default_rng(0)
    alarms = [evidence(rng.exponential(size=200) - 1).max() >= np.log(20) for _ in range(600)]
    assert np.mean(alarms) <= 0.05


def test_ranks_of_exchangeable_values_are_uniform_and_independent():
    rng = np.random.default_rng(0)
    ranks = np.concatenate(
        [conformal_ranks(rng.integers(4, size=30), rng.integers(4, size=40), i) for i in range(60)]
    )
    assert kstest(ranks, "uniform").pvalue > 0.01
    pairs = ranks.reshape(60, 40)
    assert abs(np.corrcoef(pairs[:, :-1].ravel(), pairs[:, 1:].ravel())[0, 1]) < 0.06


def test_looking_again_changes_nothing():
    rng = np.random.default_rng(0)
    known, new = rng.integers(5, size=50), rng.integers(5, size=30)
    np.testing.assert_array_equal(
        conformal_ranks(known, new)[:10], conformal_ranks(known, new[:10])
    )


def test_payoffs_below_minus_one_are_refused():
    with pytest.raises(ValueError, match="at least −1"):
        evidence(np.array([-1.5]))
