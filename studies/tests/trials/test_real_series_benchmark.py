"""The benchmark of real series from end to end: cells are kept, tables are printed."""

import numpy as np
import pandas as pd
import pytest
from benchmarks import real_series as benchmark
from benchmarks.real_series_report import days, finished

from hedgerow_studies.trials import series_policies, series_rivals
from hedgerow_studies.trials.real_series import restaurant

PACKAGES = {"LightGBM": "lightgbm", "quantile forest": "quantile_forest", "EBM": "interpret"}


def test_two_dishes_are_computed_once_and_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(series_policies, "grown_training", lambda rows: {"steps": 5, "batch": 8})
    given = ["restaurant", "--series", "2", "--stockouts", "3", "--out", str(tmp_path)]
    given += ["--methods", "weekday quantile", "hedgerow, grown"]
    benchmark.main(given)
    printed = capsys.readouterr().out
    assert "| weekday quantile | 1.000 |" in printed
    assert "4 4 " in printed
    assert len(list(tmp_path.iterdir())) == 4
    benchmark.main([*given, "--report"])
    again = capsys.readouterr().out
    assert again == printed[printed.index("\n### restaurant") :]


@pytest.mark.parametrize("name", series_rivals.RIVALS)
def test_rivals_order_about_the_quantile(name, monkeypatch):
    pytest.importorskip(PACKAGES.get(name, "sklearn"))
    monkeypatch.setattr(series_rivals, "ROUNDS", (20,))
    monkeypatch.setattr(series_rivals, "LEAVES", (8,))
    monkeypatch.setattr(series_rivals, "HISTOGRAM_ROUNDS", (20,))
    monkeypatch.setattr(series_rivals, "LEAF_SIZES", (20,))
    monkeypatch.setattr(series_rivals, "TREES", 10)
    monkeypatch.setattr(series_rivals, "EBM", {"outer_bags": 1, "max_rounds": 20})
    panel = restaurant(["steak"])
    found = series_rivals.RIVALS[name](panel, 0.75, False, 0)
    assert found.orders.shape == (192,)
    assert 0.55 < np.mean(found.orders >= panel.test["demand"]) < 0.95


def test_methods_are_compared_on_the_same_series_only():
    panel = restaurant(["steak", "lamb"])

    def cell(method, series):
        known = {"panel": "restaurant", "stockout": 3.0, "method": method, "series": series}
        return days(known, {"orders": [40.0] * 192}, panel)

    some = [cell("whole", "steak"), cell("whole", "lamb"), cell("partial", "steak")]
    kept, lacking = finished(pd.concat(some))
    assert set(kept["method"]) == {"whole"}
    assert lacking == ["partial, per series, finished on 1 of 2 series"]
