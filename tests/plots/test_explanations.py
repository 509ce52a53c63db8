"""What is drawn is what was computed: shares, steps, routes, probabilities; nothing is cut off."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer

import hedgerow as hr
from hedgerow import explain, plots
from hedgerow.describe.names import decision_names
from hedgerow.describe.numbers import number, percent
from hedgerow.plots.labels import fitted, width_of
from hedgerow.plots.sheet import THINNEST, WIDEST
from hedgerow.plots.style import COLOURS

ROWS, FEATURES = 80, ("VIX", "TNX", "CL", "GSPC", "DJI")
LONG = tuple(f"average outdoor temperature in ward {i:02d}, °C" for i in range(50))


def trained(features, decisions=1, depth=3, trees=1, loss=None):
    """A small forest, the contexts it was trained on, and the outcomes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(5, 3, (ROWS, len(features))), columns=list(features))
    signal = np.tanh((X.to_numpy() - 5) @ rng.normal(size=(len(features), decisions)) / 3)
    Y = 10 + 3 * signal + rng.normal(size=(ROWS, decisions))
    Y = Y[:, 0] if decisions == 1 else Y
    rule = hr.SoftForest(trees, depth, temperature=0.3)
    solver = hr.NestedSGD(steps=60, batch=16)
    loss = loss or hr.Newsvendor(1, 2)
    return hr.RobustPolicy(loss, hr.ERM(), rule, solver=solver, random_state=0).fit(X, Y), X, Y


@pytest.fixture(scope="module")
def small():
    return trained(FEATURES, trees=2)


@pytest.fixture(scope="module")
def wide():
    return trained(LONG, depth=4)


@pytest.fixture(scope="module")
def portfolio():
    return trained(FEATURES, 50, loss=hr.MeanVariance(5.0))


def words(fig):
    return [text for ax in fig.axes for text in ax.texts if text.get_text()]


def by_gid(fig, kind):
    """Patches or texts of the tree by their gid, such as "route 0 7"."""
    axes = fig.axes[0]
    found = {str(one.get_gid()): one for one in [*axes.patches, *axes.texts]}
    return {gid: one for gid, one in found.items() if gid.startswith(kind)}


def boxes(fig, texts):
    FigureCanvasAgg(fig).draw()
    return [text.get_window_extent() for text in texts]


def assert_on_the_page(fig, texts):
    for text, box in zip(texts, boxes(fig, texts), strict=True):
        inside = box.x0 >= 0 and box.y0 >= 0
        assert inside, text.get_text()
        assert box.x1 <= fig.bbox.width, text.get_text()
        assert box.y1 <= fig.bbox.height, text.get_text()


def assert_apart(fig, texts):
    found = boxes(fig, texts)
    for i, one in enumerate(found):
        for j in range(i):
            # a line's box holds ascenders and descenders that it may not have
            width = min(one.x1, found[j].x1) - max(one.x0, found[j].x0)
            height = min(one.y1, found[j].y1) - max(one.y0, found[j].y0)
            overlap = width > 1 and height > 0.25 * min(one.height, found[j].height)
            assert not overlap, (texts[i].get_text(), texts[j].get_text())


# --------------------------------------------------------------------------- trees


def test_routes_are_as_wide_as_they_are_probable_and_say_so_at_the_leaves(small):
    policy, X, _ = small
    fig = plots.tree(policy, X, tree=1, rows=[3, 10])
    chances = explain.routes(policy, X).probabilities[:, 1]
    drawn, written = by_gid(fig, "route"), by_gid(fig, "share")
    for rank, row in enumerate((3, 10)):
        for leaf, chance in enumerate(chances[row]):
            line = drawn.get(f"route {rank} {7 + leaf}")
            text = written.get(f"share {rank + 1} {leaf}")
            if chance < 0.001:
                assert line is None
                assert text is None
                continue
            assert line.get_linewidth() == pytest.approx(max(THINNEST, WIDEST * chance))
            assert to_hex(line.get_edgecolor()).upper() == COLOURS[rank]
            assert text.get_text() == percent(chance)
    # what comes to a gate is what leaves it
    for leaf, chance in enumerate(chances.mean(axis=0)):
        assert written[f"share 0 {leaf}"].get_text() == percent(chance)


@pytest.mark.parametrize(
    "depth", [1, 3, *(pytest.param(depth, marks=pytest.mark.slow) for depth in (2, 4))]
)
def test_branches_lead_where_routes_turn(depth):
    policy, X, _ = trained(FEATURES, depth=depth)
    fig = plots.tree(policy, X, rows=[0])
    gates = 2**depth - 1
    branches = by_gid(fig, "branch")
    assert len(branches) == 2 * gates
    reached = explain.routes(policy, X).probabilities[:, 0].mean(axis=0)
    for leaf in range(2**depth):
        node, turns = gates + leaf, []
        for level in range(depth, 0, -1):
            path = branches[f"branch {node}"].get_path().vertices
            turns.append(int(path[-1, 1] < path[0, 1]))
            node = 2 ** (level - 1) - 1 + (node - (2**level - 1)) % 2 ** (level - 1)
        assert turns[::-1] == [(leaf >> level) & 1 for level in range(depth)]
        width = branches[f"branch {gates + leaf}"].get_linewidth()
        assert width == pytest.approx(max(THINNEST, WIDEST * reached[leaf]))
    ends = [branches[f"branch {gates + leaf}"].get_path() for leaf in range(2**depth)]
    assert len({end.vertices[-1, 1] for end in ends}) == 2**depth


def test_gates_show_signed_shares_and_leaves_their_decisions(small):
    policy, _, _ = small
    fig = plots.tree(policy, top=3)
    texts = [text.get_text() for text in words(fig)]
    weights = np.asarray(policy.rule_.gate_weights, float)[0]
    shares = weights / np.abs(weights).sum(axis=1, keepdims=True)
    for gate in shares:
        largest = np.argmax(np.abs(gate))
        sign = "+" if gate[largest] > 0 else "−"
        assert f"{sign} {percent(abs(gate[largest]))}" in texts
        rest = np.sort(np.abs(gate))[:2].sum()
        assert f"± {percent(rest)}" in texts
    decided = explain.routes(policy, np.zeros((1, 5))).decisions[0, :, 0]
    for value in decided:
        assert number(value, 4, like=np.abs(decided).max()) in texts
    assert any("One of 2 trees" in text for text in texts)


def test_of_many_decisions_the_largest_are_named(portfolio):
    policy, X, _ = portfolio
    names = ["level", *(f"company number {i}" for i in range(50))]
    fig = plots.tree(policy, X, rows=[0], decisions=range(1, 51), decision_names=names, top=2)
    texts = [text.get_text() for text in words(fig)]
    leaves = explain.routes(policy, X).decisions[0]
    best = np.argsort(-leaves[:, 1:], axis=1)[:, :2] + 1
    for leaf in range(8):
        for k in best[leaf]:
            assert names[k] in texts
            assert number(leaves[leaf, k], 3, like=leaves[:, 1:].max()) in texts
    assert "level" not in texts
    assert decision_names(policy)[:4] == ["expected return", "asset 1", "asset 2", "asset 3"]


def test_a_tree_of_many_long_names_is_readable(wide):
    policy, X, _ = wide
    labels = ["a day in January on which it snowed all morning " * 2, "x₂", "$x_3$ and 5 $"]
    fig = plots.tree(policy, X, rows=[0, 1, 2], row_labels=labels, title="A very long title " * 20)
    texts = words(fig)
    assert_on_the_page(fig, texts)
    assert_apart(fig, texts)
    assert sum("…" in text.get_text() for text in texts) >= 15 * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tree": 2}, "tree must lie between 0 and 1; got 2"),
        ({"rows": [0, 1, 2, 3]}, "Up to 3 rows can be told apart in colour; got 4"),
        ({"rows": [ROWS]}, f"rows must lie between 0 and {ROWS - 1}; got {ROWS}"),
        ({"X": None, "rows": [0]}, "rows are rows of X: give X as well"),
        ({"rows": [0], "row_labels": ["a", "b"]}, "There are 1 rows, but 2 labels"),
        ({"decisions": [1]}, "decisions must lie between 0 and 0; got 1"),
        ({"decision_names": ["a", "b"]}, "Give a name to each of 1 decision; got 2"),
    ],
)
def test_trees_refuse_in_one_sentence(small, options, message):
    policy, X, _ = small
    with pytest.raises(ValueError, match=message):
        plots.tree(policy, **({"X": X} | options))


def test_what_cannot_be_drawn_as_a_tree_is_refused(small):
    deep, _, _ = trained(FEATURES, depth=5)
    with pytest.raises(ValueError, match="depth 5 has 32 leaves, too many for a page; trees up to"):
        plots.tree(deep)
    _, X, Y = small
    affine = hr.RobustPolicy(hr.Newsvendor(1, 2), hr.ERM(), hr.Affine()).fit(X, Y)
    with pytest.raises(TypeError, match=r"drawn as one; .* \(write AffineRule.trees\)"):
        plots.tree(affine)


# --------------------------------------------------------------------------- importance


def lengths(axes):
    """Lengths of the bars of every measure."""
    groups = [group for group in axes.containers if isinstance(group, BarContainer)]
    return [[bar.get_width() for bar in group] for group in groups]


def test_bars_are_shares_in_order(small):
    policy, X, _ = small
    found = explain.importance(policy, X)
    for fig in (plots.importance(policy, X), plots.importance(found)):
        axes = fig.axes[0]
        (bars,) = lengths(axes)
        np.testing.assert_allclose(bars, found.values[found.ranked()])
        assert sum(bars) == pytest.approx(1)
        names = [tick.get_text() for tick in axes.get_yticklabels()]
        assert names == [FEATURES[j] for j in found.ranked()]
        assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the largest on top
        assert axes.texts[0].get_text() == percent(found.values.max())


def test_measures_stand_side_by_side_with_their_correlation(small):
    policy, X, Y = small
    fig = plots.importance(policy, X, Y)
    ours = explain.importance(policy, X)
    other = explain.permutation_importance(policy, X, Y)
    order = ours.ranked()
    first, second = lengths(fig.axes[0])
    np.testing.assert_allclose(first, ours.values[order])
    np.testing.assert_allclose(second, other.values[order])
    legend = [text.get_text() for text in fig.axes[0].get_legend().get_texts()]
    correlation = np.corrcoef(ours.values, other.values)[0, 1]
    assert legend[0] == "mean absolute derivative"
    assert float(legend[1].split("correlation ")[1][:-1]) == pytest.approx(correlation, abs=1e-3)
    named = plots.importance({"one": ours, "two": other, "three": ours})
    assert len(lengths(named.axes[0])) == 3
    assert "three (correlation 1.000)" in named.axes[0].get_legend().get_texts()[2].get_text()


@pytest.mark.parametrize(
    ("top", "bars", "rest"), [(15, 16, 35), (48, 49, 2), (49, 50, 0), (50, 50, 0)]
)
def test_the_others_are_added_up(wide, top, bars, rest):
    policy, X, _ = wide
    found = explain.importance(policy, X)
    fig = plots.importance(found, top=top)
    (drawn,) = lengths(fig.axes[0])
    last = fig.axes[0].get_yticklabels()[-1].get_text()
    assert len(drawn) == bars
    assert sum(drawn) == pytest.approx(1)
    assert (last == f"… {rest} others") == bool(rest)


@pytest.mark.slow
def test_long_names_keep_both_ends_and_are_not_cut_off(wide):
    policy, X, Y = wide
    fig = plots.importance(policy, X, Y, title="Importance", share_label="share " * 30)
    axes = fig.axes[0]
    ticks = axes.get_yticklabels()
    assert len({tick.get_text() for tick in ticks}) == len(ticks)
    assert ticks[0].get_text().startswith("average")
    assert ticks[0].get_text().endswith(", °C")
    assert_on_the_page(fig, [*ticks, axes.xaxis.label, *axes.get_legend().get_texts()])
    assert_apart(fig, [*ticks, axes.xaxis.label, *axes.get_legend().get_texts()])


def test_importance_refuses_in_one_sentence(small, wide):
    policy, X, _ = small
    with pytest.raises(ValueError, match="give X as well"):
        plots.importance(policy)
    with pytest.raises(ValueError, match="Between 1 and 4 importances can be drawn; got 0"):
        plots.importance({})
    with pytest.raises(TypeError, match="policy must be a fitted"):
        plots.importance(3)
    with pytest.raises(
        TypeError, match=r"'one' must be what hedgerow\.explain\.importance returns"
    ):
        plots.importance({"one": X})
    with pytest.raises(ValueError, match="top must be at least 1"):
        plots.importance(policy, X, top=0)
    both = {"a": explain.importance(policy, X), "b": explain.importance(*wide[:2])}
    with pytest.raises(ValueError, match="of different features"):
        plots.importance(both)


# --------------------------------------------------------------------------- one decision


def steps(fig):
    """Left end, right end and sign of every step of a staircase."""
    bars = [bar for group in fig.axes[0].containers for bar in group]
    return np.array([(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars])


def test_the_staircase_leads_from_the_average_to_the_decision(small):
    policy, X, _ = small
    found = explain.attribute(policy, X.iloc[3], X)
    fig = plots.waterfall(found, decision_label="order", baseline_label="usual order")
    drawn = steps(fig)
    order = found.ranked()
    assert drawn[0, 0] == pytest.approx(found.baseline[0])
    np.testing.assert_allclose(drawn[1:, 0], drawn[:-1, 1], rtol=1e-12)
    np.testing.assert_allclose(drawn[:, 1] - drawn[:, 0], found.values[0, order], rtol=1e-9)
    assert drawn[-1, 1] == pytest.approx(policy.predict(X.iloc[[3]])[0], rel=1e-5)
    names = [tick.get_text() for tick in fig.axes[0].get_yticklabels()]
    context = X.iloc[3].to_numpy()
    expected = [f"{FEATURES[j]} = {number(context[j], 3)}" for j in order]
    assert names == ["usual order", *expected, "order"]
    bars = [bar for group in fig.axes[0].containers for bar in group]
    up = [to_hex(bar.get_facecolor()).upper() == COLOURS[1] for bar in bars]
    assert up == [value > 0 for value in found.values[0, order]]
    written = [text.get_text() for text in words(fig)]
    assert written[0].startswith(f"{found.baseline[0]:.1f}")
    assert written[1][0] in "+−"


def test_other_values_and_sums_of_decisions_take_the_same_form(portfolio):
    policy, X, _ = portfolio
    found = explain.attribute(policy, X.iloc[3], X)
    other = found.values[:, ::-1]
    drawn = steps(plots.waterfall(found, 2, values=other))
    sizes = np.sort(np.abs(found.values[2]))[::-1]
    np.testing.assert_allclose(np.abs(drawn[:, 1] - drawn[:, 0]), sizes, rtol=1e-9)
    drawn = steps(plots.waterfall(found, None))
    assert drawn[0, 0] == pytest.approx(found.baseline.sum())
    assert drawn[-1, 1] == pytest.approx(found.decision.sum())
    np.testing.assert_allclose(
        np.sort(drawn[:, 1] - drawn[:, 0]), np.sort(found.total), rtol=1e-6, atol=1e-9
    )


def test_a_staircase_of_many_features_adds_up_the_small_ones(wide):
    policy, X, _ = wide
    found = explain.attribute(policy, X.iloc[3], X)
    fig = plots.waterfall(found, top=12, title="Why")
    drawn = steps(fig)
    assert len(drawn) == 13
    assert drawn[-1, 1] == pytest.approx(found.decision[0])
    ticks = fig.axes[0].get_yticklabels()
    assert ticks[-2].get_text() == "… 38 others"
    for tick, feature in zip(ticks[1:-2], found.ranked(), strict=False):
        assert tick.get_text().endswith(f"= {number(found.context[feature], 3)}")
    assert_on_the_page(fig, [*ticks, *words(fig)])
    assert_apart(fig, [*ticks, *words(fig)])


def test_staircases_refuse_in_one_sentence(small):
    policy, X, _ = small
    found = explain.attribute(policy, X.iloc[3], X)
    with pytest.raises(ValueError, match="decision must lie between 0 and 0; got 1"):
        plots.waterfall(found, 1)
    with pytest.raises(ValueError, match=r"values must have shape \(1, 5\), as the attribution's"):
        plots.waterfall(found, values=np.ones(4))
    with pytest.raises(TypeError, match=r"attribution must be what explain\.attribute returns"):
        plots.waterfall(policy)


def test_two_attributions_are_points_around_the_diagonal(small):
    policy, X, _ = small
    one = explain.attribute(policy, X.iloc[3], X)
    two = one.values * np.array([1.1, 0.9, 1.2, 1.0, 0.8]) + 0.01
    fig = plots.attribution_scatter(one, two, title="Both")
    axes = fig.axes[0]
    points = axes.collections[0].get_offsets()
    np.testing.assert_allclose(points, np.column_stack([one.values[0], two[0]]))
    (line,) = axes.lines
    np.testing.assert_array_equal(*line.get_data())
    assert axes.get_xlim() == axes.get_ylim()
    texts = [text.get_text() for text in words(fig)]
    correlation = np.corrcoef(one.values[0], two[0])[0, 1]
    assert float(texts[0].removeprefix("correlation ")) == pytest.approx(correlation, abs=1e-3)
    assert FEATURES[one.ranked()[0]] in texts


def test_points_of_many_decisions_are_named_without_overlap(portfolio, wide):
    policy, X, _ = portfolio
    rows = [explain.attribute(policy, X.iloc[i], X).values for i in range(3)]
    noisy = np.array(rows) * np.random.default_rng(0).uniform(0.7, 1.3, (3, 51, 5))
    fig = plots.attribution_scatter(rows, noisy, names=FEATURES, top=12)
    assert len(fig.axes[0].collections[0].get_offsets()) == 3 * 51 * 5
    labelled = [text for text in words(fig) if "→" in text.get_text()]
    assert 1 <= len(labelled) <= 12
    flat = np.array(rows)
    _, k, j = np.unravel_index(np.argmax(np.maximum(np.abs(flat), np.abs(noisy))), flat.shape)
    assert labelled[0].get_text() == f"{FEATURES[j]} → decision {k + 1}"
    one = plots.attribution_scatter(rows, noisy, 4, names=FEATURES)
    assert len(one.axes[0].collections[0].get_offsets()) == 3 * 5
    found = explain.attribute(*wide[:1], wide[1].iloc[0], wide[1])
    crowded = plots.attribution_scatter(found, found.values * 1.1, top=20)
    for shown in (fig, crowded):
        assert_on_the_page(shown, words(shown))
        assert_apart(shown, words(shown))


def test_clouds_refuse_in_one_sentence():
    with pytest.raises(ValueError, match=r"shapes \(1, 3\) and \(1, 4\); they must be alike"):
        plots.attribution_scatter(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match="Give a name to each of 3 features; got 2"):
        plots.attribution_scatter(np.ones(3), np.ones(3), names=["a", "b"])
    with pytest.raises(ValueError, match="Give a name to each of 1 decision; got 2"):
        plots.attribution_scatter(np.ones(3), np.ones(3), decision_names=["a", "b"])
    with pytest.raises(ValueError, match="decision must lie between 0 and 0; got 2"):
        plots.attribution_scatter(np.ones(3), np.ones(3), 2)
    with pytest.raises(ValueError, match="first contains NaN"):
        plots.attribution_scatter([np.nan, 1.0], np.ones(2))
    flat = plots.attribution_scatter(np.ones(3), np.arange(3.0))
    assert words(flat)[0].get_text() == "correlation undefined"


# --------------------------------------------------------------------------- partial dependence


def test_the_features_that_count_most_get_a_curve_each(wide):
    policy, X, Y = wide
    fig = plots.partial_dependence(policy, X, Y=Y, decision_label="portions", title="Curves")
    found = explain.importance(policy, X)
    panels = [ax for ax in fig.axes if ax.axison]
    assert len(panels) == 6
    assert len({ax.get_ylim() for ax in panels}) == 1
    for ax, feature in zip(panels, found.ranked(), strict=False):
        assert ax.get_title(loc="left") == f"{percent(found.values[feature])} of importance"
        alone = plots.decision_curve(policy, X, int(feature), Y)
        np.testing.assert_allclose(ax.lines[2].get_ydata(), alone.axes[0].lines[2].get_ydata())
        assert ax.get_legend() is None
    labels = [ax.xaxis.label for ax in panels]
    assert len({label.get_text() for label in labels}) == 6
    assert_on_the_page(fig, [*labels, *fig.texts])
    assert_apart(fig, labels)
    assert "portions" in [text.get_text() for text in fig.texts] + [fig.get_supylabel()]


def test_features_of_curves_can_be_chosen(small):
    policy, X, _ = small
    fig = plots.partial_dependence(policy, X, ["CL", 0, "VIX", "DJI"])
    assert [ax.get_xlabel() for ax in fig.axes if ax.axison] == ["CL", "VIX", "VIX", "DJI"]
    assert fig.axes[0].get_title(loc="left") == ""
    with pytest.raises(ValueError, match="There is no feature to draw"):
        plots.partial_dependence(policy, X, [])
    with pytest.raises(ValueError, match="no feature 'wind'"):
        plots.partial_dependence(policy, X, ["wind"])


# --------------------------------------------------------------------------- all of them


def test_figures_can_be_drawn_side_by_side_and_change_nothing_global(small, tmp_path):
    policy, X, Y = small
    before = dict(matplotlib.rcParams)
    found = explain.attribute(policy, X.iloc[3], X)
    fig = matplotlib.figure.Figure(figsize=(14, 4), layout="constrained")
    left, middle, right = fig.subplots(1, 3)
    assert plots.importance(policy, X, Y, ax=left) is fig
    assert plots.waterfall(found, ax=middle) is fig
    assert plots.attribution_scatter(found, found, ax=right) is fig
    plots.save_figure(fig, tmp_path / "three.png")
    plots.save_figure(plots.tree(policy, X, rows=[0]), tmp_path / "tree.pdf")
    assert (tmp_path / "three.png").stat().st_size > 10_000
    assert dict(matplotlib.rcParams) == before
    assert plt.get_fignums() == []


def test_words_are_cut_in_the_middle_to_a_width():
    long = "average outdoor temperature, ward 17"
    short = fitted(long, 80, 9)
    assert width_of(short, 9) <= 80 < width_of(long, 9)
    assert short.startswith("av")
    assert short.endswith("17")
    assert "…" in short
    assert fitted("VIX", 80, 9) == "VIX"
    assert fitted("W" * 50, 5, 9) == "…"
