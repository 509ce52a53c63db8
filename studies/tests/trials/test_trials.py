"""Trials: the same truth for all, worlds that differ in one way, choices as promised."""

import math

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.datasets import (
    newsvendor_signal,
    oracle_inventory_decision,
    oracle_newsvendor_decision,
)
from hedgerow_studies.trials import contenders
from hedgerow_studies.trials.inventory_trial import InventoryDraw
from hedgerow_studies.trials.newsvendor_trial import AS_TRAINED, NewsvendorDraw


@pytest.fixture(scope="module")
def draw():
    return NewsvendorDraw(100, 5, seed=3, test_rows=20_000)


def test_the_oracle_is_judged_at_the_oracle_loss_and_is_best_nowhere_else(draw):
    def oracle(contexts):
        return oracle_newsvendor_decision(newsvendor_signal(contexts, draw.train.beta))

    found = draw.judge(oracle)
    assert found[AS_TRAINED]["mean"] == pytest.approx(draw.oracle(), rel=1e-12)
    # truth moves with the contexts, so the oracle loses nothing there but sampling error
    for world in ("contexts moved", "contexts wider"):
        assert found[world]["mean"] == pytest.approx(draw.oracle(), rel=0.03)
    for world in ("demand +25 %", "demand −25 %", "mean +1", "mean −1", "heavy tails"):
        assert found[world]["mean"] > 1.1 * draw.oracle()
    assert all(world["cvar"] > world["mean"] for world in found.values())


def test_worlds_differ_as_they_say(draw):
    _, demands = draw.worlds[AS_TRAINED]
    np.testing.assert_allclose(draw.worlds["mean +1"][1], demands + 1)
    heavy = draw.worlds["heavy tails"][1]
    assert heavy.min() >= 0
    assert np.quantile(heavy, 0.999) > 1.5 * np.quantile(demands, 0.999)
    # the noise keeps its median, not its shape: demand's own median moves by a few per cent
    assert np.median(heavy) == pytest.approx(np.median(demands), rel=0.05)
    slipped = draw.corrupted != draw.train.target
    assert 0 < slipped.mean() < 0.15
    np.testing.assert_allclose(draw.corrupted[slipped], 10 * draw.train.target[slipped])


@pytest.mark.slow
def test_one_search_is_read_three_ways():
    draw = NewsvendorDraw(60, 2, seed=0, test_rows=20_000)
    loss = hr.Newsvendor(0.6, 1.0)
    settings = {
        "penalties": (3.0, math.inf),
        "epsilons": (0.1,),
        "rules": [hr.Affine()],
        "solver": hr.SCSC(steps=50, batch=16, nodes=1),
        "cv": 3,
    }
    found = contenders.searched(loss, draw.train.data, draw.train.target, 0, **settings)
    assert set(found) == {contenders.CHOSEN, contenders.CAUTIOUS, contenders.TRUSTING}
    assert isinstance(found[contenders.TRUSTING].ambiguity, hr.ERM)
    for policy in found.values():
        assert policy.predict(draw.test.data[:3]).shape == (3,)


def test_levels_of_several_products():
    assert contenders.critical_levels(hr.Newsvendor(0.6, 1.0)) == pytest.approx(0.625)
    loss = InventoryDraw(20, 3, seed=0).loss
    np.testing.assert_allclose(
        contenders.critical_levels(loss), [1.8 / 2.8, 1.6 / 2.3, 1.2 / 1.8], rtol=1e-12
    )


def test_the_inventory_is_judged_beside_its_oracle():
    draw = InventoryDraw(50, 3, seed=1)
    best = draw.judge(lambda X: oracle_inventory_decision(draw.test.scale[: len(X)]))
    assert best["as trained"]["mean"] == pytest.approx(best["oracle"], rel=1e-6)
    few = draw.judge(lambda X: np.full((len(X), 3), 2.0), few=True)
    assert few["as trained"]["mean"] > few["oracle"]
