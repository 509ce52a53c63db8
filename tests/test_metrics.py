"""Figures of merit against their definitions."""

import numpy as np
import pytest

from hedgerow import metrics


def test_prescriptiveness_is_the_share_of_the_gap_closed():
    assert metrics.prescriptiveness(0.6, 1.0, 0.6) == 1
    assert metrics.prescriptiveness(1.0, 1.0, 0.6) == 0
    assert metrics.prescriptiveness([0.7, 0.9], [1.0, 1.2], 0.6) == pytest.approx(0.6)
    assert metrics.prescriptiveness(1.4, 1.0, 0.6) == pytest.approx(-1)
    assert np.isnan(metrics.prescriptiveness(0.5, 0.6, 0.6))


def test_cvar_minimises_the_rockafellar_uryasev_function():
    returns = np.random.default_rng(0).normal(size=37)
    for tail in (0.01, 0.05, 0.3, 0.9):
        # the function is piecewise linear in the level with kinks at minus the returns
        least = min(level + np.maximum(-returns - level, 0).mean() / tail for level in -returns)
        assert metrics.cvar(returns, tail) == pytest.approx(least, rel=1e-12)
    assert metrics.cvar(returns, 1e-9) == pytest.approx(-returns.min())


def test_sharpe_is_annualised_and_undefined_without_risk():
    assert metrics.sharpe([1.0, 3.0]) == pytest.approx(np.sqrt(252) * 2)
    assert metrics.sharpe([1.0, 3.0], periods=12) == pytest.approx(np.sqrt(12) * 2)
    assert np.isnan(metrics.sharpe([1.0, 1.0]))


def test_drawdown_counts_from_the_highest_wealth_so_far():
    falls = metrics.drawdown([-0.5, 1.0, 0.1, -0.5])
    np.testing.assert_allclose(falls, [0.5, 0.0, 0.0, 0.5])


def test_turnover_is_one_when_everything_is_sold():
    assert metrics.turnover([1.0, 0.0], [0.0, 1.0]) == 1
    assert metrics.turnover([0.5, 0.5], [0.5, 0.5]) == 0
    with pytest.raises(ValueError, match="same assets, got 2 and 3"):
        metrics.turnover([0.5, 0.5], [0.5, 0.25, 0.25])


@pytest.mark.parametrize("bad", [[], [[1.0, 2.0]], [np.nan], "x", None])
def test_bad_input_is_refused(bad):
    with pytest.raises((ValueError, TypeError), match="returns"):
        metrics.sharpe(bad)
