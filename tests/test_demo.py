"""The demonstration on two stores and little training: its files, its figures, its words."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import hedgerow as hr
from hedgerow import demo
from hedgerow.demo import findings, telling
from hedgerow.demo.findings import Month, Saving


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "made" / "here"
    screen = Console(file=io.StringIO(), width=80, highlight=False)
    found = demo.run(folder, seed=1, steps=150, console=screen, open_page=False, stores=2)
    return found, screen.file.getvalue(), folder


@pytest.fixture(scope="module")
def orders(result):
    table = pd.read_csv(result[2] / "orders.csv", parse_dates=["date"])
    spare = (table["order"] - table["demand"]).clip(lower=0)
    short = (table["demand"] - table["order"]).clip(lower=0)
    # orders are rounded to tenths and costs to cents, and a missing tenth counts threefold
    np.testing.assert_allclose(table["cost"], spare + 3 * short, atol=0.16)
    return table


@pytest.mark.slow
def test_files_are_written_and_agree_with_one_another(result, orders):
    found, _, folder = result
    names = ["orders.csv", "policy.hedgerow", "report.html"]
    assert sorted(file.name for file in folder.iterdir()) == names
    assert sorted(found.files) == [folder / name for name in names]
    assert len(orders) == 2 * 3 * 365
    assert str(orders["date"].min().date()) == demo.TEST_FROM
    sales = hr.datasets.load_bakery()
    sales = sales[sales["store"].isin(orders["store"])]
    last = sales["date"] == sales["date"].max()
    again = hr.load(folder / "policy.hedgerow").predict(
        sales[last].drop(columns="demand"), history=sales[~last]
    )
    tomorrow = orders[orders["date"] == orders["date"].max()]
    np.testing.assert_allclose(again, tomorrow["order"], atol=0.051)


@pytest.mark.slow
def test_savings_are_those_of_the_orders(result, orders):
    quantile, naive = result[0].facts.savings
    assert quantile.own == pytest.approx(orders["cost"].sum() / 365, rel=2e-3)
    sales = hr.datasets.load_bakery()
    sales = sales[sales["store"].isin(orders["store"])]
    week_ago = sales.assign(date=sales["date"] + pd.Timedelta(days=7)).rename(
        columns={"demand": "before"}
    )
    both = orders.merge(week_ago[["store", "product", "date", "before"]])
    over = both["before"] - both["demand"]
    cost = over.clip(lower=0) + 3 * (-over).clip(lower=0)
    assert naive.other == pytest.approx(cost.sum() / 365, rel=1e-9)
    assert quantile.error > 0


@pytest.mark.slow
def test_changed_months_are_chosen_by_sales_alone(result, orders):
    months = result[0].facts.months
    sales = hr.datasets.load_bakery()
    sales = sales[sales["store"].isin(orders["store"])]
    by_month = sales.groupby(sales["date"].dt.to_period("M"))["demand"].sum()
    ratio = by_month[-12:].to_numpy() / by_month[-24:-12].to_numpy()
    largest = np.sort(np.argsort(-np.abs(np.log(ratio)))[: findings.CHANGED])
    assert [month.change for month in months] == pytest.approx((ratio - 1)[largest].tolist())


@pytest.mark.slow
def test_the_certified_value_is_the_promise(result):
    facts = result[0].facts
    found, value = facts.promise.calibration, facts.promise.value
    assert found.level == 0.9
    assert found.nominal < found.promise
    assert value.lower <= value.value <= value.upper
    assert value.value == pytest.approx(found.promise, rel=1e-2)  # the tolerance of calibrate
    assert 0 <= facts.kept <= facts.weeks == 52


@pytest.mark.slow
def test_reasons_add_up_to_the_largest_order(result, orders):
    facts = result[0].facts
    tomorrow = orders[orders["date"] == orders["date"].max()]
    assert facts.reason.order == pytest.approx(tomorrow["order"].max(), abs=0.051)
    total = sum(part for _, part in facts.reason.parts)
    assert facts.reason.usual + total == pytest.approx(facts.reason.order, rel=1e-3)


@pytest.mark.slow
def test_the_output_fits_eighty_columns_and_says_what_it_is(result):
    _, text, folder = result
    lines = [line.rstrip() for line in text.splitlines() if str(folder) not in line]
    assert max(map(len, lines)) <= 80
    words = " ".join(text.split())
    for said in ("1. Tomorrow", "2. Money", "3. When the world changed", "4. How bad", "5. Why"):
        assert said in words
    assert re.search(r"The year kept it in \d+ of 52 weeks", words)
    assert "report.html" in words


@pytest.mark.parametrize(
    ("saving", "expected"),
    [
        (Saving("Seasonal naive", 80.0, 100.0, 5.0), "20\u00a0% less[/] (20 € ± 5)"),
        (Saving("Seasonal naive", 120.0, 100.0, 5.0), "20\u00a0% more[/] (20 € ± 5)"),
        (Saving("Seasonal naive", 99.0, 100.0, 5.0), "1 € ± 5, which may be chance"),
    ],
)
def test_money_is_said_whichever_way_it_came_out(saving, expected):
    assert expected in telling.money_words(saving)


@pytest.mark.parametrize(
    ("gaps", "expected"),
    [
        ([50, 60, -1], "clearly less in 2 of 3, clearly more in none."),
        ([50, -60, 1], "clearly less in 1 of 3, clearly more in 1."),
        ([1, -1, 0], "In none of them is the difference beyond chance."),
    ],
)
def test_changed_months_are_said_whichever_way_they_came_out(gaps, expected):
    months = [Month("May 2018", 0.2, 100.0, 100.0 + gap, 10.0) for gap in gaps]
    assert expected in telling.months_words(months)


def test_the_costliest_tenth_within_a_radius():
    share = findings._tenth_within(0.05)
    divergence = share * np.log(share / 0.1) + (1 - share) * np.log((1 - share) / 0.9)
    assert share > 0.1
    assert divergence == pytest.approx(0.05, rel=1e-9)


def test_no_window_is_opened_without_a_terminal(monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    assert not demo._can_open()  # pytest holds the output
    monkeypatch.setattr("sys.stdout", type("Terminal", (), {"isatty": lambda self: True})())
    monkeypatch.setattr("sys.platform", "linux")
    assert demo._can_open()
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not demo._can_open()
