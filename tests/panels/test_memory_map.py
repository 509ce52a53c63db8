"""Rows on disk are learned from as rows in memory are."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.fitting import default_ambiguity
from hedgerow.panels import memory_map
from hedgerow.panels.memory_map import MappedRows, learn_mapped, write_rows
from hedgerow.panels.pooled import learn_pooled

LOSS = hr.Newsvendor(1.0, 3.0)
NAMES = ("a", "b", "c")


def _rows(count, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 3)).astype(np.float32).astype(np.float64)
    y = np.maximum(0, 3 + x[:, 0] + np.abs(x[:, 1]) * rng.normal(size=count))
    return x, y.astype(np.float32).astype(np.float64)


def _mapped(folder, x, y, pieces=3):
    files = [folder / f"{i}.rows" for i in range(pieces)]
    for file, own in zip(files, np.array_split(np.arange(len(x)), pieces), strict=True):
        write_rows(file, x[own], y[own])
    return MappedRows.of(NAMES, files)


def _policy(**parts):
    return hr.RobustPolicy(
        LOSS, hr.ERM(), hr.SoftForest(trees=5), random_state=0, **parts
    ).set_params(solver=hr.NestedSGD(steps=600, batch=64))


def test_few_rows_are_learned_from_as_in_memory(tmp_path):
    x, y = _rows(300)
    found = learn_mapped(_policy(), _mapped(tmp_path, x, y), seeds=1)
    table = pd.DataFrame(x, columns=list(NAMES))
    expected = learn_pooled(_policy(), table, y, np.ones(300), None, seeds=1)
    assert np.array_equal(found.predict(table), expected.predict(table))


def test_every_row_is_equally_likely(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_map, "GATHERED", 10)
    x = np.arange(33.0)[:, None] * np.ones(3)
    rows, rng = _mapped(tmp_path, x, np.zeros(33)), np.random.default_rng(0)
    seen = np.zeros(33)
    for _ in range(4000):
        places = rows.gather(rng)[0][:, 0].astype(int)
        assert len(places) == 10
        assert np.all(np.diff(places) >= 0)
        seen += np.bincount(places, minlength=33)
    share = seen / 4000 / 10 * 33
    # 1,212 expected of each: a standard deviation of 3 %
    assert np.all(np.abs(share - 1) < 0.12)


@pytest.mark.parametrize(
    ("model", "solver"),
    [
        (hr.ERM(), hr.NestedSGD(steps=2400)),
        pytest.param(default_ambiguity(6000), hr.SCSC(steps=2400), marks=pytest.mark.slow),
    ],
)
def test_gathers_cost_on_new_rows_what_rows_in_memory_do(tmp_path, monkeypatch, model, solver):
    x, y = _rows(6000)
    table = pd.DataFrame(x, columns=list(NAMES))
    policy = _policy().set_params(solver=solver, ambiguity=model)
    whole = learn_pooled(policy, table, y, np.ones(len(y)), None, seeds=1)
    monkeypatch.setattr(memory_map, "GATHERED", 1024)
    gathered = learn_mapped(policy, _mapped(tmp_path, x, y), seeds=1)
    new, demand = _rows(20_000, seed=1)
    new = pd.DataFrame(new, columns=list(NAMES))
    a, b = (each.losses(new, demand).mean() for each in (gathered, whole))
    # over six seeds each, means of 0.9993 and 0.9983 with standard deviations of 0.0015 and 0.0007
    assert abs(a - b) < 0.008 * b


def test_a_file_of_other_features_is_refused(tmp_path):
    write_rows(tmp_path / "a.rows", np.ones((5, 2)), np.ones(5))
    with pytest.raises(ValueError, match="written for other features"):
        MappedRows.of(NAMES, [tmp_path / "a.rows"])
