"""Backtest figures: every method has its line and label, every holding its share."""

from itertools import pairwise

import numpy as np
import pandas as pd

from hedgerow_studies.portfolio import held, wealth

METHODS = [f"method {i}" for i in range(9)]


def tracks(days=120):
    rng = np.random.default_rng(0)
    dates = pd.bdate_range("2021-01-01", periods=days)
    return pd.DataFrame(rng.normal(0.05, 1, (days, 9)), index=dates, columns=METHODS)


def test_wealth_has_a_labelled_line_per_method_and_ends_where_it_should():
    found = tracks()
    fig = wealth(found, title="Wealth")
    above, below = fig.axes
    assert len([line for line in above.lines if len(line.get_xdata()) == 120]) == 9
    assert [text.get_text() for text in above.texts] == sorted(
        METHODS, key=lambda name: np.prod(1 + found[name] / 100)
    )
    grown = 100 * ((1 + found["method 3"] / 100).prod() - 1)
    np.testing.assert_allclose(above.lines[3].get_ydata()[-1], grown)
    assert below.lines[0].get_ydata().max() <= 0


def test_labels_do_not_overlap():
    flat = tracks() * 1e-3  # nine lines that end almost together
    fig = wealth(flat)
    fig.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in fig.axes[0].texts), key=lambda b: b.y0)
    assert all(low.y1 <= high.y0 + 2 for low, high in pairwise(boxes))


def test_holdings_fill_the_bars():
    rng = np.random.default_rng(0)
    rows = []
    for date in ("2021-01-04", "2021-02-01"):
        shares = rng.dirichlet(np.ones(20))
        rows += [(date, f"asset {i}", share) for i, share in enumerate(shares)]
    fig = held(pd.DataFrame(rows, columns=["date", "asset", "weight"]), title="Held")
    tops = [patch.get_y() + patch.get_height() for patch in fig.axes[0].patches]
    np.testing.assert_allclose(max(tops), 100)
    names = [text.get_text() for text in fig.legends[0].get_texts()]
    assert "12 others" in names
    assert len(names) == 9
