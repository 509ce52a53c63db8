"""One look: the level holds with columns of single series, and where values are missing."""

import numpy as np
import pytest

from hedgerow.monitoring.look import Streams, Terms, look

TERMS = Terms(bound=1.0, level=0.1, floor=0.0, ignore=(), recent=30, seed=0)


def streams(rng, days=120, shift=0.0):
    """Two columns of all and five single series, of which a third is missing; costs of mean 1."""
    before, now = rng.normal(size=(100, 7)), rng.normal(size=(days, 7))
    now[:, 3] += shift
    for values in (before, now):
        values[:, 2:][rng.random((len(values), 5)) < 1 / 3] = np.nan
    names = ["rain", "beyond", *"abcde"]
    single = np.arange(7) >= 2
    return Streams(rng.exponential(size=days), before, now, names, np.ones(7), 2.0, None, single)


@pytest.mark.slow
def test_false_alarms_stay_below_the_level():
    rng = np.random.default_rng(0)
    alarms = [look(streams(rng), TERMS).status != "quiet" for _ in range(200)]
    assert np.mean(alarms) <= TERMS.level


def test_a_series_that_moves_is_named_though_days_are_missing():
    found = look(streams(np.random.default_rng(1), shift=1.5), TERMS)
    assert (found.status, found.moved) == ("moved", ("b",))
    assert found.distances[3] == pytest.approx(1.5, abs=0.6)  # of some twenty values
    assert np.argmax(found.distances) == 3


def test_what_cannot_be_meant_is_refused():
    for wrong, error in (
        ({"recent": 0}, "recent must be at least 1"),
        ({"recent": -1}, "recent must be at least 1"),
        ({"level": 1.0}, "less than 1"),
        ({"floor": float("nan")}, "floor must be finite"),
    ):
        with pytest.raises(ValueError, match=error):
            Terms(**({**TERMS.__dict__, **wrong})).check()
