"""What decision sets may know of themselves: blocks, nearest points, images, and their page."""

import json
import shutil
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.describe.page_form import asset
from hedgerow.losses.recourse import decision_blocks
from tests.rules.outside import Ball

SETS = [
    hr.Free(2),
    hr.Nonnegative(2),
    hr.Box([0.0, -np.inf, 1.0, -np.inf], [2.0, 5.0, np.inf, np.inf]),
    hr.Simplex(3),
    hr.Product(hr.Free(1), hr.Product(hr.Nonnegative(1), hr.Simplex(3))),
]
EVERY = pytest.mark.parametrize("decision_set", SETS, ids=repr)


def mapped(decision_set, raw):
    with jax.enable_x64(True):
        return np.asarray(decision_set.from_raw(jnp.asarray(raw, jnp.float64)))


@EVERY
def test_blocks_are_hulls_and_cones_inside_the_set(decision_set):
    rng, point = np.random.default_rng(0), np.full(decision_set.dimension, np.nan)
    for _ in range(50):
        for block in decision_set.blocks():
            share = rng.dirichlet(np.ones(len(block.points)))
            along = rng.exponential(size=len(block.directions))
            point[block.coordinates] = share @ block.points + along @ block.directions
        assert bool(decision_set.contains(point))
    assert decision_set.blocks(5)[0].first == 5


@EVERY
def test_the_nearest_point_is_in_the_set_and_nearest(decision_set):
    rng = np.random.default_rng(0)
    point = 3 * rng.normal(size=decision_set.dimension)
    found = decision_set.nearest(point)
    if found is None:
        assert not decision_set.scalable.all()  # shares are not nearest coordinate by coordinate
        return
    assert bool(decision_set.contains(found))
    others = mapped(decision_set, 3 * rng.normal(size=(500, decision_set.dimension)))
    assert np.all(np.abs(others - point) >= np.abs(found - point) - 1e-12)


@EVERY
def test_the_image_of_a_box_holds_what_comes_out_of_it(decision_set):
    rng = np.random.default_rng(0)
    low = rng.normal(size=decision_set.dimension)
    high = low + rng.uniform(0, 2, decision_set.dimension)
    least, most = decision_set.image(low, high)
    found = mapped(decision_set, rng.uniform(low, high, (500, decision_set.dimension)))
    assert np.all(found >= least - 1e-12)
    assert np.all(found <= most + 1e-12)
    corners = mapped(decision_set, np.stack([low, high]))
    if decision_set.scalable.all():  # maps of single coordinates: the ends are attained
        np.testing.assert_allclose([least, most], corners)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@EVERY
def test_the_page_maps_as_the_set_does(decision_set):
    raw = np.random.default_rng(0).normal(size=decision_set.dimension)
    blocks = decision_set.page_blocks()
    assert sum(block.parameters["size"] for block in blocks) == decision_set.dimension
    makers = ",".join(
        f"((parameters) => {{{block.script}}})({json.dumps(dict(block.parameters))})"
        for block in blocks
    )
    script = asset("hedgerow.report", "page/mathematics.js") + (
        f"const blocks = [{makers}]; const sizes = {[b.parameters['size'] for b in blocks]};"
        f"const raw = Float64Array.from({raw.tolist()}); const values = []; const slopes = [];"
        "let start = 0; blocks.forEach((block, i) => { const end = start + sizes[i];"
        "const own = raw.subarray(start, end); for (let k = 0; k < sizes[i]; k++) {"
        "values.push(block.value(own, k)); const found = block.slopes(own, k);"
        "slopes.push(block.alone ? [start + k, ...found] : [start, ...found]); } start = end; });"
        "console.log(JSON.stringify([values, slopes]));"
    )
    said = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True).stdout
    values, slopes = json.loads(said)
    np.testing.assert_allclose(values, mapped(decision_set, raw), rtol=1e-12)
    with jax.enable_x64(True):
        jacobian = np.asarray(jax.jacfwd(decision_set.from_raw)(jnp.asarray(raw)))
    for k, (first, *found) in enumerate(slopes):
        expected = np.zeros(decision_set.dimension)
        expected[first : first + len(found)] = found
        np.testing.assert_allclose(jacobian[k], expected, rtol=1e-12, atol=1e-15)


class TestFromOutside:
    """A set that has only what is required."""

    @pytest.mark.parametrize("decision_set", [Ball(2), hr.Product(hr.Free(1), Ball(2))], ids=repr)
    def test_it_offers_nothing_and_neither_do_products_with_it(self, decision_set):
        point = np.ones(decision_set.dimension)
        assert decision_set.blocks() is None
        assert decision_set.nearest(point) is None
        assert decision_set.image(point, point) is None
        assert decision_set.page_blocks() is None

    def test_what_a_second_stage_misses_is_named(self):
        with pytest.raises(TypeError, match=r"a Ball offers none \(write Ball.blocks\)"):
            decision_blocks(Ball(2))


def test_a_newsvendors_best_constant_is_moved_into_its_box():
    outcomes = np.random.default_rng(0).uniform(5, 9, (50, 2))
    loss = hr.Newsvendor(1, 3, decision_set=hr.Box([0.0, 0.0], [6.0, 20.0]))
    found = loss.best_constant(outcomes, np.ones(50))
    free = hr.Newsvendor(1, 3).best_constant(outcomes, np.ones(50))
    np.testing.assert_allclose(found, [6.0, free[1]])
