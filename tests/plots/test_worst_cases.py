"""What is drawn is what the worst cases say: densities, masses, moves, marginals and words."""

import re

import jax.numpy as jnp
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.quiver import Quiver

import hedgerow as hr
from hedgerow.plots import save_figure, worst_cases
from hedgerow.plots.panels import RED

ROWS = 18
SMOOTH = hr.CausalSinkhorn(penalty=1.0, epsilon=0.2)
MODELS = {
    "Causal-SDRO": SMOOTH,
    "Causal-WDRO": hr.CausalWasserstein(1.0),
    "KL-DRO": hr.KL(0.5),
}
LABELS = {"feature_label": "heat", "outcome_label": "sales", "decision_label": "order"}


def rule(x):
    return 3.0 + jnp.sin(x[0])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"temperature": rng.normal(size=ROWS)})
    Y = pd.Series(3 + np.sin(X.temperature) + 0.5 * rng.normal(size=ROWS), name="demand")
    return X, Y


def given(X, Y, **parts):
    parts = {"nominal": hr.AdaptedNominal(3)} | parts
    return hr.RobustPolicy.from_function(rule, hr.Newsvendor(0.6, 1.0), X, Y, **parts)


@pytest.fixture(scope="module")
def policy(data):
    return given(*data)


@pytest.fixture(scope="module")
def figure(policy, data):
    return worst_cases(policy, *data, MODELS, caption="A caption.", resolution=40, **LABELS)


def panels(fig):
    """Main, top and right axes of every panel."""
    axes = fig.axes[:-1]  # the last holds the legend
    return [axes[i : i + 3] for i in range(0, len(axes), 3)]


def under(ax, upright):
    """The integral of what a marginal shows."""
    if ax.patches:
        heights, edges, _ = ax.patches[0].get_data()
        return np.sum(heights * np.diff(edges))
    outline = ax.collections[0].get_paths()[0].vertices
    along, height = outline.T[::-1] if upright else outline.T
    top = height > 0
    order = np.argsort(along[top])
    return np.trapezoid(height[top][order], along[top][order])


@pytest.mark.slow
def test_marginals_integrate_to_one_and_share_one_scale(figure):
    for _, top, right in panels(figure):
        # the ends fainter than half a percent of the peak are left off the axes
        np.testing.assert_allclose(under(top, False), 1, atol=0.01)
        np.testing.assert_allclose(under(right, True), 1, atol=0.01)
    assert len({top.get_ylim() for _, top, _ in panels(figure)}) == 1
    assert len({right.get_xlim() for _, _, right in panels(figure)}) == 1


def test_the_colours_of_a_smooth_panel_are_its_density(figure, policy, data):
    main, top, _ = panels(figure)[0]
    (image,) = main.images
    density = np.asarray(image.get_array())
    x, y = (np.linspace(*lim, 40) for lim in (main.get_xlim(), main.get_ylim()))
    worst = hr.worst_case(policy, *data, ambiguity=SMOOTH)
    np.testing.assert_allclose(density[20, 7], worst.density(x[[7]], y[[20]])[0])
    # pixels are centred on the points of the grid
    left, right, low, high = image.get_extent()
    np.testing.assert_allclose([left, right], x[[0, -1]] + (x[1] - x[0]) / 2 * np.array([-1, 1]))
    np.testing.assert_allclose([low, high], y[[0, -1]] + (y[1] - y[0]) / 2 * np.array([-1, 1]))
    # and the grid is wide enough to hold the distribution
    np.testing.assert_allclose(density.sum() * (x[1] - x[0]) * (y[1] - y[0]), 1, atol=0.01)
    assert 0.5 * density.max() < image.norm.vmax < density.max()
    heights = top.collections[0].get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose(heights.max(), worst.marginal_x(x).max())


def test_arrows_run_from_nominal_points_to_where_they_are_moved(figure, policy, data):
    main = panels(figure)[1][0]
    (arrows,) = (artist for artist in main.collections if isinstance(artist, Quiver))
    assert arrows.N == ROWS
    worst = hr.worst_case(policy, *data, ambiguity=MODELS["Causal-WDRO"])
    np.testing.assert_allclose(arrows.XY, np.hstack([worst.from_x, worst.from_y]))
    ends = arrows.XY + np.column_stack([arrows.U, arrows.V])
    np.testing.assert_allclose(ends, np.hstack([worst.x, worst.y]))
    assert main.get_xlim()[0] < ends[:, 0].min() < ends[:, 0].max() < main.get_xlim()[1]
    assert main.get_ylim()[0] < ends[:, 1].min() < ends[:, 1].max() < main.get_ylim()[1]


def red_points(main):
    red = [c for c in main.collections if np.all(c.get_facecolor() == to_rgba(RED))]
    return [np.asarray(c.get_offsets()) for c in red if len(c.get_offsets()) > 1]


def test_nominal_points_are_red_where_the_worst_case_is_elsewhere(figure, policy):
    nominal = policy.nominal_
    x = np.repeat(nominal.contexts[:, 0], nominal.count)
    expected = np.column_stack([x, nominal.outcomes[nominal.entry_outcome, 0]])
    for main, _, _ in panels(figure)[:2]:
        (points,) = red_points(main)
        np.testing.assert_allclose(points, expected)
    assert not red_points(panels(figure)[2][0])


def test_reweighted_points_are_as_dark_as_their_mass(figure, policy, data):
    (points,) = panels(figure)[2][0].collections
    worst = hr.worst_case(policy, *data, ambiguity=MODELS["KL-DRO"])
    mass = np.asarray(points.get_array())
    np.testing.assert_allclose(mass, np.sort(worst.weights))  # the heaviest is drawn last
    np.testing.assert_allclose(
        points.get_offsets()[-1], [worst.x.flat[k := worst.weights.argmax()], worst.y.flat[k]]
    )
    brightness = points.to_rgba(mass)[:, :3].sum(axis=1)
    assert np.all(np.diff(brightness) <= 0)
    assert brightness[-1] < brightness[0] - 0.5


def test_panels_share_axes_and_show_the_decisions(figure):
    mains = [main for main, _, _ in panels(figure)]
    assert len({(main.get_xlim(), main.get_ylim()) for main in mains}) == 1
    for main, top, right in panels(figure):
        (line,) = main.lines
        x, decisions = line.get_data()
        np.testing.assert_allclose(decisions, 3 + np.sin(x), atol=1e-5)  # decided in float32
        assert top.get_xlim() == main.get_xlim()
        assert right.get_ylim() == main.get_ylim()


def test_titles_letters_losses_and_labels(figure, policy, data):
    for letter, (title, model), (main, top, _) in zip(
        "abc", MODELS.items(), panels(figure), strict=True
    ):
        assert top.get_title(loc="left") == f"({letter}) {title}"
        loss = hr.worst_case(policy, *data, ambiguity=model).expected_loss()
        assert [text.get_text() for text in top.texts] == [f"expected loss {loss:.3g}"]
        assert main.get_xlabel() == "heat"
        assert main.get_ylabel() == ("sales" if letter == "a" else "")
    words = [text.get_text() for text in figure.axes[-1].get_legend().get_texts()]
    assert words == ["nominal point", "moved to", "order", "density or mass, low to high"]
    assert figure.get_supxlabel() == "A caption."


def test_a_list_is_titled_by_its_models_and_axes_by_the_data(policy, data):
    fig = worst_cases(policy, *data, [hr.CausalWasserstein(1.0), hr.KL(0.5), hr.ERM()])
    titles = [top.get_title(loc="left") for _, top, _ in panels(fig)]
    assert titles == ["(a) Causal Wasserstein", "(b) KL", "(c) ERM"]
    main = panels(fig)[0][0]
    assert (main.get_xlabel(), main.get_ylabel()) == ("temperature", "demand")
    assert not main.lines
    words = [text.get_text() for text in fig.axes[-1].get_legend().get_texts()]
    assert words == ["nominal point", "moved to", "mass, low to high"]
    alone = worst_cases(policy, *data, hr.ERM())
    words = [text.get_text() for text in alone.axes[-1].get_legend().get_texts()]
    assert words == ["mass, low to high"]


def boxes(fig):
    canvas = FigureCanvasAgg(fig)
    canvas.draw()
    texts = [text for ax in fig.axes for text in (ax.xaxis.label, ax.yaxis.label, *ax.texts)]
    texts += [ax.title for ax in fig.axes] + [ax._left_title for ax in fig.axes]
    texts += [fig._supxlabel, fig.axes[-1].get_legend()]
    return [t.get_window_extent() for t in texts if not hasattr(t, "get_text") or t.get_text()]


@pytest.mark.parametrize("count", [1, 4])
def test_nothing_is_cut_off_or_overlaps(policy, data, count):
    long = "a name that goes on and on and on until it has said all there is to say"
    models = {f"{i} {long}": hr.KL(0.5 + i) for i in range(count)}
    words = dict.fromkeys(("feature_label", "outcome_label", "decision_label"), long)
    fig = worst_cases(policy, *data, models, caption=". ".join([long] * 4), **words)
    drawn = boxes(fig)
    for i, box in enumerate(drawn):
        assert min(box.x0, box.y0) >= 0
        assert box.x1 <= fig.bbox.width
        assert box.y1 <= fig.bbox.height
        assert not any(box.overlaps(other) for other in drawn[:i])


def test_marginals_are_aligned_with_their_panels(figure):
    FigureCanvasAgg(figure).draw()
    for main, top, right in panels(figure):
        a, b, c = (ax.get_position() for ax in (main, top, right))
        np.testing.assert_allclose([b.x0, b.x1, c.y0, c.y1], [a.x0, a.x1, a.y0, a.y1])
        assert b.y0 > a.y1
        assert c.x0 > a.x1


@pytest.mark.slow
def test_densities_stop_where_outcomes_do(data):
    X, Y = data
    loss = hr.Newsvendor(0.6, 1.0, outcome_support=(2.0, np.inf))
    Y = np.maximum(Y, 2.0)
    low = hr.RobustPolicy.from_function(rule, loss, X, Y)
    fig = worst_cases(low, X, Y, {"bounded": hr.Sinkhorn(penalty=1.0, epsilon=0.2)}, resolution=40)
    main = panels(fig)[0][0]
    density = np.asarray(main.images[0].get_array())
    y = np.linspace(*main.get_ylim(), 40)
    assert np.all(density[y < 2.0] == 0)
    assert density[np.argmax(y >= 2.0)].max() > 0


def test_a_fitted_policy_over_arrays_without_names(data):
    X, Y = (np.asarray(part, float) for part in data)
    solver = hr.NestedSGD(steps=5, batch=8)
    fitted = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), hr.Affine(), solver=solver)
    main = panels(worst_cases(fitted.fit(X, Y), X, Y[:, None], [hr.KL(0.5)]))[0][0]
    assert (main.get_xlabel(), main.get_ylabel()) == ("feature 0", "outcome")
    assert len(main.collections[0].get_offsets()) == ROWS


def test_matplotlib_is_left_as_it_was(policy, data, tmp_path):
    before = dict(matplotlib.rcParams)
    save_figure(worst_cases(policy, *data, [hr.KL(0.5)]), tmp_path / "worst.pdf")
    assert dict(matplotlib.rcParams) == before
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        ([], {}, "There is no model to draw"),
        ([hr.KL(1), hr.KL(2)], {}, "Two models have the same name; give titles"),
        ({"KL": "KL"}, {}, "Model 'KL' must be one such as hedgerow.KL(5); got 'KL'"),
        ([hr.KL(1)], {"resolution": 1}, "resolution must be at least 2, got 1"),
    ],
)
def test_bad_requests_get_one_sentence(policy, data, models, options, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        worst_cases(policy, *data, models, **options)


def test_policies_that_do_not_fit_on_two_axes_are_refused(data):
    X, Y = (np.asarray(part, float) for part in data)
    models = [hr.KL(0.5)]
    wide = given(np.hstack([X, X**2]), Y)
    with pytest.raises(ValueError, match=r"one feature and one outcome; this one has 2 and 1\."):
        worst_cases(wide, np.hstack([X, X**2]), Y, models)
    with pytest.warns(UserWarning, match="never vary"):
        still = given(0 * X, Y)
    with pytest.raises(ValueError, match="The feature has one value only"):
        worst_cases(still, 0 * X, Y, models)

    def cost(z, y):
        return jnp.abs(z[0] - y[0]) + z[1] ** 2

    two = hr.RobustPolicy.from_function(
        lambda x: jnp.stack([x[0], x[0]]), hr.CustomLoss(cost, hr.Free(2)), X, Y
    )
    with pytest.raises(ValueError, match="but this policy has 2; leave it out"):
        worst_cases(two, X, Y, models, decision_label="order")
    assert worst_cases(two, X, Y, models).axes
