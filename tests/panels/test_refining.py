"""Factors on top of a shared rule."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.panels.refining import refine

LOSS = hr.Newsvendor(1.0, 3.0)


def _refined(true_factors, rows, seed=0):
    rng = np.random.default_rng(seed)
    series = len(true_factors)
    places = np.repeat(np.arange(series), rows)
    shared = rng.uniform(50, 100, len(places))
    demand = shared * np.asarray(true_factors)[places] * rng.uniform(0.98, 1.0, len(places))
    found = refine(
        shared[:, None],
        lambda z: np.asarray(LOSS(z, demand[:, None])),
        places,
        series,
        np.ones(len(places)),
    )
    return found, shared, demand, places


def test_factors_that_are_there_are_found_and_lower_the_cost():
    found, shared, demand, places = _refined([0.7, 1.0, 1.4], 400)
    assert np.isfinite(found.doubt)
    assert found.factors == pytest.approx([0.7, 1.0, 1.4], rel=0.05)  # grid steps of 2.5 %, doubt
    before = np.mean(LOSS(shared[:, None], demand[:, None]))
    after = np.mean(LOSS((shared * found.factors[places])[:, None], demand[:, None]))
    assert after < 0.3 * before


def test_without_a_lasting_difference_there_are_no_factors():
    rng = np.random.default_rng(1)
    places = np.repeat(np.arange(40), 12)
    shared = np.full(len(places), 50.0)
    demand = 50 * rng.lognormal(0, 0.5, len(places))
    z = np.quantile(demand, 0.75) / 50
    found = refine(
        z * shared[:, None],
        lambda z: np.asarray(LOSS(z, demand[:, None])),
        places,
        40,
        np.ones(len(places)),
    )
    assert np.abs(found.factors - 1).max() < 0.2


def test_a_series_of_few_rows_is_pulled_to_one():
    rng = np.random.default_rng(2)
    places = np.repeat([0, 1, 2], [400, 400, 4])
    shared = rng.uniform(50, 100, len(places))
    demand = shared * np.array([0.8, 1.25, 1.9])[places]
    found = refine(
        shared[:, None],
        lambda z: np.asarray(LOSS(z, demand[:, None])),
        places,
        3,
        np.ones(len(places)),
    )
    assert abs(found.factors[2] - 1) < 0.2 < abs(found.factors[1] - 1) + 0.05
