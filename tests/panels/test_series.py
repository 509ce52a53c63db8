"""Series of a panel: who belongs together, and what is known of each."""

import numpy as np
import pandas as pd
import pytest

from hedgerow.panels.series import STATUSES, SeriesFacts, SeriesKeys, scale_of_relatives


def _table(values):
    return pd.DataFrame(values, columns=["store", "item"])


def test_values_are_compared_as_text_however_a_file_stored_them():
    keys = SeriesKeys.of(_table([(1, "a"), (1.0, "a"), (2, "b")]), ("store", "item"))
    assert keys.values == (("1", "a"), ("2", "b"))
    later = pd.DataFrame({"store": ["2", "1", "3"], "item": ["b", "a", "a"]})
    assert keys.places(later).tolist() == [1, 0, -1]
    assert keys.place((2, "b")) == 1
    with pytest.raises(ValueError, match=r"no series store 3, item a; .* store 1, item a"):
        keys.place((3, "a"))


def test_missing_group_columns_and_values_are_named():
    with pytest.raises(ValueError, match="no group column 'shop'"):
        SeriesKeys.of(_table([(1, "a")]), ("shop",))
    with pytest.raises(ValueError, match="'item' is empty in row 2"):
        SeriesKeys.of(_table([(1, "a"), (1, None)]), ("store", "item"))


def test_scales_are_means_that_typos_do_not_move_and_short_series_borrow():
    rng = np.random.default_rng(0)
    keys = SeriesKeys(("store", "item"), (("1", "a"), ("2", "a"), ("3", "b")))
    long, other = rng.uniform(90, 110, 400), rng.uniform(9, 11, 400)
    outcomes = np.concatenate([long, [1000.0], other])
    places = np.repeat([0, 1, 2], [400, 1, 400])
    facts = SeriesFacts.measure(outcomes, places, keys)
    relatives = scale_of_relatives(keys.values, np.array([long.mean(), 1000.0, 10.0]), keys.values)
    assert facts.scale[1] == pytest.approx((1000.0 + 4 * relatives[1]) / 5)
    spoilt = outcomes.copy()
    spoilt[7] *= 1000
    moved = SeriesFacts.measure(spoilt, places, keys)
    assert moved.scale[0] == pytest.approx(facts.scale[0], rel=2e-3)  # one row of 400 less
    assert [STATUSES[status] for status in facts.status] == ["learned", "short", "learned"]


def test_series_that_are_zero_constant_or_retired_are_called_so():
    keys = SeriesKeys(("item",), (("c",), ("r",), ("z",)))
    constant, zero = np.full(100, 7.0), np.zeros(100)
    retired = np.concatenate([np.arange(1.0, 41.0), np.zeros(60)])
    places = np.repeat([0, 1, 2], 100)
    facts = SeriesFacts.measure(np.concatenate([constant, retired, zero]), places, keys)
    assert [STATUSES[status] for status in facts.status] == ["constant", "retired", "zero"]
    assert facts.scale[2] == 0


def test_a_new_series_is_scaled_like_those_of_its_item():
    known = (("1", "a"), ("2", "a"), ("1", "b"))
    scales = np.array([10.0, 30.0, 500.0])
    found = scale_of_relatives(known, scales, (("9", "a"), ("9", "b"), ("9", "new")))
    assert found.tolist() == [20.0, 500.0, 30.0]
