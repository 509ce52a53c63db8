import struct
import sys
from importlib import import_module

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import hedgerow as hr
from hedgerow import plots

DAYS = ("MON", "TUE", "SUN")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    day = rng.integers(0, 3, 60)
    X = pd.DataFrame({"temperature": rng.uniform(0, 30, 60), "closed": rng.integers(0, 2, 60)})
    for i, name in enumerate(DAYS):
        X[f"weekday_{name}"] = (day == i).astype(float)
    Y = pd.Series(10 + X.temperature + 5 * day + rng.uniform(0, 4, 60), name="demand")
    return X, Y


@pytest.fixture(scope="module")
def policy(data):
    return _policy(hr.Affine()).fit(*data)


def _policy(rule):
    solver = hr.NestedSGD(steps=200, batch=8, learning_rate=0.1)
    return hr.RobustPolicy(hr.Newsvendor(1, 2), hr.ERM(), rule, solver=solver, random_state=0)


def _labels(fig):
    return [text.get_text() for text in fig.axes[0].get_legend().get_texts()]


def _lines(fig, label):
    return [line for line in fig.axes[0].lines if line.get_label() == label]


def test_the_curve_is_the_partial_dependence(policy, data):
    X, Y = data
    fig = plots.decision_curve(policy, X, "temperature", Y)
    axes = fig.axes[0]
    assert axes.get_xlabel() == "temperature"
    assert axes.get_ylabel() == "decision for demand"
    assert _labels(fig) == ["decision: mean and middle 80 %", "observed demand"]
    (line,) = _lines(fig, "decision: mean and middle 80 %")
    where, height = line.get_data()
    assert (where[0], where[-1]) == (X.temperature.min(), X.temperature.max())
    by_hand = policy.predict(X.assign(temperature=where[7])).mean()
    np.testing.assert_allclose(height[7], by_hand, rtol=1e-6)
    assert height[-1] > height[0] + 10
    points = axes.collections[-2].get_offsets()
    np.testing.assert_allclose(points, np.column_stack([X.temperature, Y]))


def test_the_band_holds_the_middle_of_the_rows(policy, data):
    X, _ = data
    fig = plots.decision_curve(policy, X, 0)
    low, high = (line.get_ydata() for line in fig.axes[0].lines[:2])
    at_left = policy.predict(X.assign(temperature=X.temperature.min()))
    np.testing.assert_allclose([low[0], high[0]], np.percentile(at_left, [10, 90]), rtol=1e-6)


@pytest.mark.parametrize(
    ("feature", "ticks", "label"),
    [
        ("closed", ["0", "1"], "closed"),
        ("weekday", list(DAYS), "weekday"),
        ([f"weekday_{day}" for day in DAYS], list(DAYS), "weekday"),
    ],
)
def test_few_values_get_dots_not_lines(policy, data, feature, ticks, label):
    fig = plots.decision_curve(policy, data[0], feature)
    axes = fig.axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ticks
    assert axes.get_xlabel() == label
    (dots,) = axes.lines
    assert dots.get_linestyle() == "None"
    assert len(dots.get_xdata()) == len(ticks)


def test_one_hot_groups_are_set_as_a_whole_or_taken_as_observed(policy, data):
    X, Y = data
    sunday = X.assign(weekday_MON=0.0, weekday_TUE=0.0, weekday_SUN=1.0)
    (dots,) = plots.decision_curve(policy, X, "weekday").axes[0].lines
    np.testing.assert_allclose(dots.get_ydata()[2], policy.predict(sunday).mean(), rtol=1e-6)
    (dots,) = plots.decision_curve(policy, X, "weekday", Y, kind="observed").axes[0].lines
    rows = X.weekday_SUN == 1
    np.testing.assert_allclose(dots.get_ydata()[2], policy.predict(X[rows]).mean(), rtol=1e-6)
    without = X[~rows]
    (dots,) = plots.decision_curve(policy, without, "weekday", kind="observed").axes[0].lines
    assert len(dots.get_xdata()) == 2


def test_policies_are_compared_by_name(policy, data):
    X, Y = data
    constant = _policy(hr.Constant()).fit(X, Y)
    fig = plots.decision_curve({"one": policy, "other": constant}, X, "temperature")
    assert _labels(fig) == ["one: mean and middle 80 %", "other: mean and middle 80 %"]
    (flat,) = _lines(fig, "other: mean and middle 80 %")
    assert np.ptp(flat.get_ydata()) < 1e-6 < np.ptp(_lines(fig, _labels(fig)[0])[0].get_ydata())


def test_several_decisions_and_arrays_without_names(data):
    X, Y = (part.to_numpy() for part in data)
    both = np.column_stack([Y, 100 - Y])
    policy = _policy(hr.Affine()).fit(X, both)
    fig = plots.decision_curve(policy, X, 0, both, decision=1)
    assert fig.axes[0].get_xlabel() == "feature 0"
    (line,) = _lines(fig, "decision: mean and middle 80 %")
    assert line.get_ydata()[0] > line.get_ydata()[-1] + 5
    with pytest.raises(ValueError, match="decision must lie between 0 and 1; got 2"):
        plots.decision_curve(policy, X, 0, decision=2)


@pytest.mark.parametrize(
    ("feature", "options", "message"),
    [
        ("wind", {}, "no feature 'wind'; the features are temperature, closed"),
        (["weekday_MON", "wind"], {}, "no feature 'wind'"),
        (9, {}, "between 0 and 4; got 9"),
        (["closed", "weekday_MON"], {}, "not one-hot"),
        ("temperature", {"kind": "observed"}, "at most 12 values"),
        ("temperature", {"kind": "other"}, "kind must be one of"),
    ],
)
def test_bad_requests_get_one_sentence(policy, data, feature, options, message):
    with pytest.raises(ValueError, match=message):
        plots.decision_curve(policy, data[0], feature, **options)
    with pytest.raises(ValueError, match="X must have 5 features; got shape"):
        plots.decision_curve(policy, data[0].to_numpy()[:, :2], "temperature")
    with pytest.raises(ValueError, match="Between 1 and 4 policies"):
        plots.decision_curve({}, data[0], feature)


def test_the_training_curve_shows_history_status_and_robust_value(policy):
    fig = plots.training_curve(policy, loss_label="euros a day", title="Training")
    axes = fig.axes[0]
    each, smooth, final = axes.lines
    np.testing.assert_array_equal(each.get_ydata(), policy.history_)
    assert np.std(np.diff(smooth.get_ydata())) < np.std(np.diff(policy.history_)) / 2
    np.testing.assert_allclose(smooth.get_ydata()[100], policy.history_[97:104].mean())
    assert final.get_ydata() == [policy.robust_value_.value]
    low, high = axes.get_ylim()
    assert low < policy.robust_value_.value < high
    words = " ".join(text.get_text() for text in axes.texts)
    assert "200 steps" in words
    assert f"{policy.robust_value_.value:#.4g}" in words
    assert axes.get_ylabel() == "objective (euros a day)"
    assert axes.get_title(loc="left") == "Training"


def test_given_axes_are_drawn_on(policy, data):
    fig = matplotlib.figure.Figure()
    left, right = fig.subplots(1, 2)
    assert plots.training_curve(policy, ax=left) is fig
    assert plots.decision_curve(policy, data[0], 0, ax=right) is fig
    assert left.lines
    assert right.lines


def test_matplotlib_is_left_as_it_was(policy, data, tmp_path):
    before = dict(matplotlib.rcParams)
    plots.save_figure(plots.decision_curve(policy, *data[:1], "temperature"), tmp_path / "a.png")
    plots.save_figure(plots.training_curve(policy), tmp_path / "b.pdf")
    assert dict(matplotlib.rcParams) == before
    assert plt.get_fignums() == []


def test_figures_are_saved_whole_at_a_fixed_size(policy, data, tmp_path, monkeypatch):
    path = tmp_path / "figure.png"
    fig = plots.decision_curve(policy, data[0], "weekday", data[1], title="A title")
    plots.save_figure(fig, path)
    png = path.read_bytes()
    assert struct.unpack(">II", png[16:24]) == (1280, 800)
    assert len(png) > 20_000
    pixels = matplotlib.image.imread(path)[..., :3]
    assert 0.5 < np.mean(np.all(pixels == 1, axis=-1)) < 0.99  # mostly paper, but not blank
    plots.save_figure(fig, tmp_path / "figure.pdf")
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(ValueError, match=r"must end in \.png or \.pdf"):
        plots.save_figure(fig, tmp_path / "figure.gif")

    def half(self, target, **_):
        target.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", half)
    with pytest.raises(OSError, match="disk full"):
        plots.save_figure(fig, path)
    assert path.read_bytes() == png
    assert sorted(file.name for file in tmp_path.iterdir()) == ["figure.pdf", "figure.png"]


def test_nothing_is_cut_off_even_with_long_names(data):
    X, Y = data
    long = "average outdoor temperature between noon and eight in the evening, degrees"
    named = X.rename(columns={"temperature": long})
    Y = Y.rename("portions of " + "very " * 20 + "big steak")
    policy = _policy(hr.Affine()).fit(named, Y)
    fig = plots.decision_curve({"a policy of long standing " * 3: policy}, named, long, Y)
    FigureCanvasAgg(fig).draw()
    width, height = fig.bbox.width, fig.bbox.height
    for text in (fig.axes[0].xaxis.label, fig.axes[0].yaxis.label, fig.axes[0].get_legend()):
        box = text.get_window_extent()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("hedgerow.plots")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'hedgerow\[plots\]'"):
        import_module("hedgerow.plots")
