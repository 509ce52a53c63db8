"""The worst world in words: what was made different is what is said, and nothing else."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.report.subject import Subject
from hedgerow.report.worlds import Drawn, worlds
from tests.report.conftest import invented

ROWS = 700


@pytest.fixture(scope="module")
def subject():
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-06", periods=ROWS)
    table = pd.DataFrame({"rain": rng.normal(size=ROWS), "party": rng.integers(0, 2, ROWS)})
    Y = pd.Series(50 + 8 * table["rain"] + rng.normal(0, 4, ROWS), name="demand")
    policy = invented(hr.Newsvendor(1, 3), table, Y, hr.Affine())
    return Subject.read(policy, table.set_index(days), Y)


def drawn(subject, change, seed=1):
    rng = np.random.default_rng(seed)
    source = rng.integers(0, ROWS, 6000)
    x, y = subject.contexts[source].copy(), subject.outcomes[source].copy()
    x, y, source = change(x, y, source, rng)
    return Drawn(subject, np.arange(ROWS), x, y, source)


def test_the_same_world_is_not_talked_about(subject):
    assert worlds(drawn(subject, lambda x, y, source, rng: (x, y, source))) == []


def test_busier_saturdays(subject):
    def busier(x, y, source, rng):
        y[source % 7 == 5] *= 1.18  # row 0 is a Monday
        return x, y, source

    found = worlds(drawn(subject, busier))
    assert any(one.startswith("Saturdays: demand is 1") and "higher" in one for one in found)
    assert not any("Mondays" in one for one in found)


def test_forecasts_that_tell_nothing(subject):
    def useless(x, y, source, rng):
        x[:, 0] = rng.permutation(x[:, 0])
        return x, y, source

    assert worlds(drawn(subject, useless)) == ["Rain no longer says anything about demand."]


def test_more_parties_and_a_higher_level(subject):
    def parties(x, y, source, rng):
        keep = (x[:, 1] == 1) | (rng.random(len(x)) < 0.5)
        return x[keep], 1.3 * y[keep], source[keep]

    found = worlds(drawn(subject, parties))
    assert found[0] == "Demand is 30\u00a0% higher on average."
    assert any(one.startswith("Days with party = 1 are more frequent") for one in found)
