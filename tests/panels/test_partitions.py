"""A panel in a folder of files: the same as a panel in one table."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.panels.engine import Engine
from hedgerow.panels.partitions import decide_partitions, files_of, fit_partitions

BY = ("store", "item")
FEATURES = hr.TimeFeatures("day", "sold", by=BY, lags=(3,), rolling=(7,), level=14, lead=3, step=1)


def _sales(stores=3, items=2, days=60, first=0, seed=0):
    rng = np.random.default_rng(seed)
    keys = [(s, i) for s in range(stores) for i in "ab"[:items]]
    return pd.DataFrame(
        {
            "store": np.repeat([s for s, _ in keys], days),
            "item": np.repeat([i for _, i in keys], days),
            "day": np.tile(np.arange(first, first + days), len(keys)),
            "sold": np.round(rng.gamma(4.0, 5.0, days * len(keys))),
        }
    )


def _panel(**settings):
    policy = hr.RobustPolicy(
        hr.Newsvendor(1, 3), hr.ERM(), hr.SoftForest(trees=4), random_state=0
    ).set_params(solver=hr.NestedSGD(steps=100))
    return hr.PanelPolicy(policy, BY, features=FEATURES, seeds=1, **settings)


def _split(table, folder):
    folder.mkdir()
    for store, own in table.groupby("store"):
        own.to_parquet(folder / f"part-{store}.parquet", index=False)
    return folder


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    parts = _split(_sales(), folder / "sales")
    return parts, fit_partitions(_panel(), parts, folder / "work"), folder


def test_partitions_teach_what_one_table_does(fitted):
    _, panel, _ = fitted
    whole = _panel().fit(_sales())
    exact = ["store", "item", "rows", "scale", "status"]
    pd.testing.assert_frame_equal(panel.series_[exact], whole.series_[exact])
    # rows on disk are float32, and training carries their rounding on: 0.1 % of mean losses
    assert np.allclose(panel.series_["loss"], whole.series_["loss"], rtol=0.01)
    assert np.allclose(panel.scatter_, whole.scatter_, atol=0.03)
    table = FEATURES.training(_sales())
    assert np.isclose(panel.losses(table).mean(), whole.losses(table).mean(), rtol=2e-3)


def test_a_partitioned_panel_goes_into_a_file(fitted, tmp_path):
    _, panel, _ = fitted
    panel.save(tmp_path / "p.hedgerow")
    table = FEATURES.training(_sales())
    assert np.array_equal(hr.load(tmp_path / "p.hedgerow").losses(table), panel.losses(table))


def test_decisions_are_written_file_by_file_and_kept(fitted, tmp_path):
    parts, panel, _ = fitted
    wanted = _split(_sales(days=3, first=60, seed=1).drop(columns="sold"), tmp_path / "wanted")
    files = decide_partitions(panel, wanted, tmp_path / "out", history=parts)
    assert [file.name for file in files] == [file.name for file in files_of(wanted)]
    found = pd.concat([pd.read_parquet(file) for file in files])
    rows = pd.concat([pd.read_parquet(file) for file in files_of(wanted)])
    expected = panel.predict(rows.reset_index(drop=True), _sales())
    assert np.allclose(found["decision"], expected, rtol=1e-6)
    before = {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in files}
    files[0].unlink()  # as if it had been killed before it
    rows = pd.read_parquet(files_of(wanted)[2])
    rows.iloc[:2].to_parquet(files_of(wanted)[2], index=False)
    decide_partitions(panel, wanted, tmp_path / "out", history=parts)
    assert files[0].read_bytes() == before[files[0]][1]
    assert files[1].stat().st_mtime_ns == before[files[1]][0]
    assert len(pd.read_parquet(files[2])) == 2


def test_a_series_in_two_files_is_refused(tmp_path):
    parts = _split(_sales(), tmp_path / "sales")
    pd.read_parquet(parts / "part-1.parquet").to_parquet(parts / "part-9.parquet", index=False)
    with pytest.raises(ValueError, match=r"store 1, item a stands in two files.*whole within one"):
        fit_partitions(_panel(), parts, tmp_path / "work")


def test_a_history_in_another_file_is_refused(fitted, tmp_path):
    parts, panel, _ = fitted
    wanted = tmp_path / "wanted"
    wanted.mkdir()
    rows = _sales(days=3, first=60).drop(columns="sold")
    rows[rows["store"] < 2].to_parquet(wanted / "part-0.parquet", index=False)
    with pytest.raises(ValueError, match=r"store 1, item a .* its history is in .*part-1"):
        decide_partitions(panel, wanted, tmp_path / "out", history=parts)


def test_files_that_do_not_fit_are_refused(tmp_path):
    parts = _split(_sales().assign(extra=1.0), tmp_path / "sales")
    odd = pd.read_parquet(parts / "part-1.parquet").drop(columns="extra")
    odd.to_parquet(parts / "part-1.parquet", index=False)
    plain = _panel().set_params(features=None)
    with pytest.raises(ValueError, match="same columns in one order"):
        fit_partitions(plain, parts, tmp_path / "work", y="sold")
    with pytest.raises(FileNotFoundError, match=r"no files that end in \.parquet"):
        fit_partitions(_panel(), tmp_path, tmp_path / "work")
    with pytest.raises(ValueError, match="strategy='pooled'"):
        fit_partitions(_panel(strategy="separate"), parts, tmp_path / "work")


@pytest.mark.slow
def test_processes_make_the_same_files(fitted, tmp_path):
    parts, panel, _ = fitted
    wanted = _split(_sales(days=3, first=60, seed=1).drop(columns="sold"), tmp_path / "wanted")
    here = decide_partitions(panel, wanted, tmp_path / "here", history=parts)
    there = decide_partitions(
        panel, wanted, tmp_path / "there", history=parts, engine=Engine(jobs=2)
    )
    assert [a.read_bytes() for a in here] == [b.read_bytes() for b in there]
