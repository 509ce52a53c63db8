"""What a planner does now, against a slow and obvious loop."""

import numpy as np
import pandas as pd
import pytest

from hedgerow import baselines


def panel(seed, series=4, length=90):
    """Series of different beginnings with gaps, rows in no order."""
    rng = np.random.default_rng(seed)
    groups, dates = np.divmod(np.arange(series * length), length)
    kept = (rng.random(len(dates)) < 0.8) & (dates > 12 * groups)
    rows = rng.permutation(np.flatnonzero(kept))
    return groups[rows], dates[rows] + 17_000, rng.poisson(20, size=len(rows)).astype(float)


def wanted_rows(series=5, length=110):
    """Every series on every day, and one series and some days that history does not know."""
    groups, dates = np.divmod(np.arange(series * length), length)
    return groups, dates + 16_995


def known(history, group, day, season, lead):
    """Outcomes of the same place in the season that are known, the oldest first."""
    groups, dates, outcomes = history
    kept = (groups == group) & (dates <= day - lead) & ((day - dates) % season == 0)
    return outcomes[kept][np.argsort(dates[kept])]


@pytest.mark.parametrize(("season", "lead"), [(7, 1), (7, 7), (7, 8), (1, 3), (30, 2)])
def test_seasonal_naive_is_the_last_known(season, lead):
    history, wanted = panel(0), wanted_rows()
    orders = baselines.seasonal_naive(history, wanted, season, lead)
    seen = [known(history, *row, season, lead) for row in zip(*wanted, strict=True)]
    expected = [past[-1] if len(past) else np.nan for past in seen]
    np.testing.assert_array_equal(orders, expected)
    assert np.isnan(orders).any()
    assert np.isfinite(orders).mean() > 0.3


@pytest.mark.parametrize(("last", "lead"), [(4, 1), (26, 3), (1, 14)])
def test_same_weekday_quantile_is_that_of_the_last_few(last, lead):
    history, wanted = panel(1), wanted_rows()
    levels = np.random.default_rng(0).uniform(size=len(wanted[0]))
    levels[:2] = 0.0, 1.0
    orders = baselines.same_weekday_quantile(history, wanted, levels, last, lead)
    expected = []
    for group, day, level in zip(*wanted, levels, strict=True):
        past = known(history, group, day, 7, lead)[-last:]
        expected.append(np.quantile(past, level) if len(past) else np.nan)
    np.testing.assert_allclose(orders, expected, rtol=1e-12)


def test_many_rows_are_decided_in_blocks(monkeypatch):
    history, wanted = panel(2), wanted_rows()
    whole = baselines.same_weekday_quantile(history, wanted, 0.75, last=5)
    monkeypatch.setattr(baselines, "_BLOCK", 5 * 8)
    np.testing.assert_array_equal(
        baselines.same_weekday_quantile(history, wanted, 0.75, last=5), whole
    )


@pytest.mark.parametrize("lead", [1, 5, 9])
def test_the_future_changes_nothing(lead):
    groups, dates, outcomes = panel(3)
    for day in (17_030, 17_061):
        wanted = (np.arange(4), np.full(4, day))
        later = dates > day - lead
        assert later.any()
        others = np.where(later, 1e6, outcomes)
        for decide in (
            lambda history, wanted=wanted: baselines.seasonal_naive(history, wanted, lead=lead),
            lambda history, wanted=wanted: baselines.same_weekday_quantile(
                history, wanted, 0.9, lead=lead
            ),
        ):
            before = decide((groups, dates, outcomes))
            np.testing.assert_array_equal(decide((groups, dates, others)), before)
            np.testing.assert_array_equal(
                decide((groups[~later], dates[~later], outcomes[~later])), before
            )


def test_the_day_that_has_just_become_known_counts():
    history = (["a"] * 8, np.arange(8), np.arange(8.0))
    assert baselines.seasonal_naive(history, (["a"], [14]), lead=7) == 7
    assert baselines.seasonal_naive(history, (["a"], [14]), lead=8) == 0


def test_tables_give_what_arrays_give():
    groups, dates, outcomes = panel(4)
    table = pd.DataFrame({"store": groups // 2, "item": np.array(["x", "y"])[groups % 2]})
    table["date"], table["demand"] = (
        dates.astype("datetime64[D]").astype("datetime64[ns]"),
        outcomes,
    )
    rows = wanted_rows(series=4)
    asked = pd.DataFrame({"store": rows[0] // 2, "item": np.array(["x", "y"])[rows[0] % 2]})
    stamps = pd.to_datetime(rows[1], unit="D")
    history = (table[["store", "item"]], table["date"], table["demand"])
    np.testing.assert_array_equal(
        baselines.seasonal_naive(history, (asked, stamps)),
        baselines.seasonal_naive((groups, dates, outcomes), rows),
    )


def test_without_history_nothing_is_known():
    empty = (np.empty(0, dtype=int), np.empty(0, dtype=int), np.empty(0))
    assert np.isnan(baselines.seasonal_naive(empty, ([1], [3]))).all()
    assert np.isnan(baselines.same_weekday_quantile(empty, ([1], [3]), 0.5)).all()
    assert baselines.same_weekday_quantile(panel(0), empty[:2], 0.5).shape == (0,)


HISTORY = (["a", "a"], [1, 2], [3.0, 4.0])


@pytest.mark.parametrize(
    ("history", "wanted", "settings", "sentence"),
    [
        ((["a", "a"], [1, 1], [3.0, 4.0]), (["a"], [8]), {}, r"1 row\(s\) of history have the gr"),
        ((["a", "a"], [1, 2], [3.0, np.nan]), (["a"], [8]), {}, "outcomes is nan in row 1"),
        ((["a", "a"], [1, 2], [3.0]), (["a"], [8]), {}, r"of history must be of one length, got"),
        (HISTORY, (["a"], [8, 9]), {}, r"of wanted must be of one length, got \[1, 2\]"),
        (HISTORY, ([["a", "b"]], [8]), {}, "the same columns"),
        (HISTORY, (["a"], [8]), {"lead": 0}, "lead must be at least 1"),
        (HISTORY, (["a"], [8]), {"last": 0}, "last must be at least 1"),
        (HISTORY, (["a"], [8]), {"level": 1.2}, "level must lie between 0 and 1, got 1.2"),
    ],
)
def test_bad_tables_get_their_sentence(history, wanted, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        baselines.same_weekday_quantile(history, wanted, **{"level": 0.5, **settings})
