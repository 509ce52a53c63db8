"""Reading markets: alignment without looking ahead, and one sentence for every defect."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from studies.tests.portfolio.markets import tables

from hedgerow_studies.portfolio import index_covariates, make_market, read_market, sp500_market


def written(tmp_path, returns, covariates):
    paths = tmp_path / "returns.csv", tmp_path / "covariates.csv"
    for table, path in zip((returns, covariates), paths, strict=True):
        table.to_csv(path, index_label="date")
    return paths


def test_a_day_is_decided_on_with_the_close_before_it():
    returns, levels = tables()
    found = make_market(returns, levels)
    np.testing.assert_allclose(found.returns, 100 * returns.to_numpy())
    for day in (0, 1, 70, 159):
        known = levels[levels.index < returns.index[day]].iloc[-1]
        np.testing.assert_array_equal(found.covariates[day], known)


def test_files_in_any_order_and_format_give_the_same_market(tmp_path):
    returns, levels = tables()
    first = read_market(*written(tmp_path, returns, levels))
    shuffled = returns.sample(frac=1, random_state=0)
    assert read_market(*written(tmp_path, shuffled, levels)).fingerprint() == first.fingerprint()
    returns.to_csv(tmp_path / "r.csv.gz", index_label="date")
    levels.reset_index(names="date").to_parquet(tmp_path / "c.parquet")
    again = read_market(tmp_path / "r.csv.gz", tmp_path / "c.parquet")
    np.testing.assert_allclose(again.returns, first.returns, rtol=1e-12)
    percent = read_market(*written(tmp_path, 100 * returns, levels), percent=True)
    np.testing.assert_allclose(percent.returns, first.returns, rtol=1e-12)


def test_prices_become_simple_returns():
    returns, levels = tables()
    prices = 50 * (1 + returns).cumprod()
    found = make_market(prices, levels, prices=True)
    np.testing.assert_allclose(found.returns, 100 * returns.to_numpy()[1:], rtol=1e-9)


def test_without_an_earlier_close_the_first_day_is_left_out():
    returns, levels = tables()
    found = make_market(returns, levels.iloc[1:])
    assert found.dates[0] == np.datetime64(returns.index[1], "D")


def test_other_numbers_have_another_fingerprint():
    returns, levels = tables()
    before = make_market(returns, levels).fingerprint()
    returns.iat[7, 1] += 1e-9
    assert make_market(returns, levels).fingerprint() != before


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda r, c: (pd.concat([r, r.iloc[[3]]]), c), "returns.csv: 2020-01-06 occurs more"),
        (lambda r, c: (r, pd.concat([c, c.iloc[3:6]])), "as do 2 other dates"),
        (lambda r, c: (r, c.assign(**{"level 0": np.nan})), "level 0 is missing on 161 day"),
        (lambda r, c: (r, c.drop(c.index[40:60])), "dates of the two tables do not match"),
        (lambda r, c: (r, c.iloc[30:]), "covariates are needed from the trading day before"),
        (lambda r, c: (r * 1000, c), "loss of more than everything"),
        (lambda r, c: (r.assign(A0="high"), c), "'A0' holds something other than numbers"),
        (lambda r, c: (r.assign(A0=np.inf), c), "infinite"),
        (lambda r, c: (r[["A0"]], c), "at least 2 assets, got 1"),
        (lambda r, c: (r.iloc[:, :0], c), "has only the column 'date'"),
        (lambda r, c: (r.set_axis([f"day {i}" for i in range(len(r))]), c), "must hold dates"),
    ],
)
def test_defects_are_refused_in_one_sentence(tmp_path, spoil, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_market(*written(tmp_path, *spoil(*tables())))


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda r, c: (r.to_numpy(), c), "returns must be a pandas DataFrame with dates"),
        (lambda r, c: (r, c.reset_index(drop=True)), "covariates must be a pandas DataFrame with"),
        (lambda r, c: (r.iloc[:0], c), "returns has no rows"),
        (lambda r, c: (r, c.iloc[:, :0]), "covariates has no columns"),
        (lambda r, c: (r, c.iloc[:1]), "dates of the two tables do not match"),
        (lambda r, c: (r, c.assign(day=c.index)), "'day' holds something other than numbers"),
        (lambda r, c: (r.astype(str), c), "'A0' holds something other than numbers"),
        (lambda r, c: (pd.concat([r, r], axis=1), c), "more than one column called 'A0'"),
        (
            lambda r, c: (pd.concat([r, r.set_axis(r.index + pd.Timedelta(hours=5))]), c),
            "2020-01-01 occurs more than once",
        ),
    ],
)
def test_tables_that_are_no_market_are_refused(spoil, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        make_market(*spoil(*tables()))


def test_one_price_makes_no_return():
    returns, levels = tables()
    with pytest.raises(ValueError, match="a return needs the prices of two days"):
        make_market(1 + returns.iloc[:1], levels, prices=True)
    with pytest.raises(ValueError, match="Prices are not in percent"):
        make_market(1 + returns, levels, prices=True, percent=True)


def test_a_day_is_the_one_that_is_written():
    """In New York the 2nd begins at 05:00 of the 2nd in London; 20200102 is the 2nd, too."""
    returns, levels = tables()
    there = make_market(returns.tz_localize("America/New_York"), levels)
    assert there.fingerprint() == make_market(returns, levels).fingerprint()


def test_dates_without_dashes_are_read(tmp_path, recwarn):
    returns, levels = tables()
    plain = returns.set_axis(returns.index.strftime("%Y%m%d"))
    found = read_market(*written(tmp_path, plain, levels))
    assert found.fingerprint() == read_market(*written(tmp_path, returns, levels)).fingerprint()
    assert not list(recwarn)


def test_markets_are_aligned_and_in_order():
    found = make_market(*tables())
    with pytest.raises(ValueError, match=r"returns must have a row for each of 160 days"):
        replace(found, returns=found.returns[1:])
    with pytest.raises(ValueError, match="must increase"):
        replace(found, dates=found.dates[::-1])


def test_prices_at_or_below_zero_are_refused():
    returns, levels = tables()
    prices = 50 * (1 + returns).cumprod()
    prices.iat[4, 2] = -37.63
    with pytest.raises(ValueError, match=r"price of A2 on 2020-01-07 is -37\.63"):
        make_market(prices, levels, prices=True)


def test_covariates_of_an_index_use_the_past_only():
    index = pd.Series(
        100 * np.exp(np.random.default_rng(0).normal(0, 0.01, 400).cumsum()),
        index=pd.bdate_range("2019-01-01", periods=400),
    )
    before = index_covariates(index)
    assert not before.isna().any().any()
    changed = index.copy()
    changed.iloc[350:] *= 2
    after = index_covariates(changed)
    pd.testing.assert_frame_equal(before.loc[: index.index[349]], after.loc[: index.index[349]])
    assert not before.iloc[-1].equals(after.iloc[-1])


def test_the_sample_market_needs_no_files():
    pytest.importorskip("skfolio", reason="the extra 'portfolio' is not installed")
    found = sp500_market()
    assert len(found.assets) == 20
    assert np.isfinite(found.returns).all()
    assert np.isfinite(found.covariates).all()
    assert str(found.dates[-1]) == "2022-12-28"
