"""The map of a search shows the losses it found and frames what it chose."""

import math

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.plots import search_map


def fitted(rows, chosen):
    """A search with made-up results."""
    search = hr.RobustPolicyCV(hr.Newsvendor(1, 2))
    names = ("penalty", "epsilon", "steps", "mean_loss")
    search.results_ = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    search.best_params_ = chosen
    return search


ROWS = [
    (2.0, 0.1, 100, 5.0),
    (2.0, 0.1, 200, 4.0),
    (2.0, 0.3, 100, 3.0),
    (9.0, 0.1, 100, 2.0),
    (9.0, 0.3, 100, 6.0),
    (math.inf, None, 100, 7.0),
]


def test_cells_are_the_best_over_steps_and_the_choice_is_framed():
    fig = search_map(fitted(ROWS, {"penalty": 9.0, "epsilon": 0.1, "steps": 100}))
    axes = fig.axes[0]
    shown = np.asarray(axes.images[0].get_array())
    np.testing.assert_array_equal(shown, [[4.0, 2.0, 7.0], [3.0, 6.0, 7.0]])
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["2", "9", "∞"]
    frame = axes.patches[0]
    assert (frame.get_x(), frame.get_y(), frame.get_height()) == (0.5, -0.5, 1)


def test_the_empirical_risk_is_a_column():
    fig = search_map(fitted(ROWS, {"penalty": math.inf, "steps": 100}))
    assert fig.axes[0].patches[0].get_height() == 2


def test_no_epsilon_no_map():
    with pytest.raises(ValueError, match="no model with an epsilon"):
        search_map(fitted([(math.inf, None, 100, 7.0)], {"penalty": math.inf, "steps": 100}))
