"""Watching: quiet streams, costs beyond the bound, columns that move; files; the page."""

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hedgerow as hr
from hedgerow.report.watching import write_watch_page
from tests.problems import AUTO, QUICK, SMALL, history


@pytest.fixture(scope="module")
def policy():
    model = hr.CausalSinkhorn(penalty=10, epsilon=0.05, **AUTO)
    policy = hr.RobustPolicy(
        hr.Newsvendor(1, 3), model, rule=SMALL, nominal=hr.EmpiricalNominal(), solver=QUICK,
        random_state=0,
    ).fit(*history(100, 2))  # fmt: skip
    return hr.remember(policy, *history(100, 2))


def test_new_rows_of_the_same_kind_are_quiet(policy):
    found = hr.watch(policy, *history(150, 2, seed=3), bound=10.0)
    assert (found.status, found.exit_code, found.alarm) == ("quiet", 0, None)
    assert found.distance == 0
    assert found.bound == 10.0


def test_higher_costs_pass_the_bound(policy):
    X, y = history(150, 2, seed=3)
    found = hr.watch(policy, X, y + 4)
    assert (found.status, found.exit_code) == ("beyond", 4)
    assert found.bound == policy.robust_value_.value
    assert "outcome" in found.moved
    assert found.distance > found.room
    assert "BEYOND" in str(found)


def test_a_feature_that_moves_is_named_unless_ignored(policy):
    X, y = history(200, 2, seed=3)
    X[:, 1] += 2
    found = hr.watch(policy, X, y, bound=100.0)
    assert (found.status, found.moved) == ("moved", ("feature 1",))
    assert found.exit_code == 3
    assert found.to_frame()["name"][0] == "feature 1"
    quiet = hr.watch(policy, X, y, bound=100.0, ignore="feature 1")
    assert (quiet.status, quiet.distance) == ("quiet", 0)


def test_rows_that_were_not_trained_on_show_residuals(policy):
    X, y = history(150, 2, seed=3)
    found = hr.watch(policy, X, y, history=history(100, 2, seed=9), bound=10.0)
    assert found.columns[-1].endswith("beyond decision")
    assert found.status == "quiet"


def test_the_distance_of_a_shift_is_the_shift_in_the_cost_s_scale(policy):
    X, y = history(400, 2, seed=3)
    found = hr.watch(policy, X, y + 10, recent=400)
    scale = policy.ambiguity_.y_scale[0]
    # both ends are samples: the shift is ten times what they differ by
    assert found.distances[2] * scale == pytest.approx(10, rel=0.08)


def test_files_keep_what_is_watched_by_and_no_rows(policy, tmp_path):
    policy.save(tmp_path / "p.hedgerow")
    again = hr.load(tmp_path / "p.hedgerow")
    X, y = history(100, 2)
    np.testing.assert_array_equal(again.reference_, policy.reference_)
    assert again.room_ == policy.room_ > 0
    known = {(round(a, 9), round(b, 9)) for a, b in X}
    kept = {(round(a, 9), round(b, 9)) for a, b in again.reference_[:, :2]}
    assert len(known & kept) < 20  # of 100: by chance one or two
    np.testing.assert_allclose(np.sort(again.reference_[:, 2]), np.sort(y))
    new = history(50, 2, seed=3)
    assert str(hr.watch(again, *new)) == str(hr.watch(policy, *new))


def test_what_is_missing_is_said(policy):
    X, y = history(20, 2, seed=3)
    with pytest.raises(ValueError, match="no column 'rain'"):
        hr.watch(policy, X, y, ignore=["rain"])
    with pytest.raises(ValueError, match="floor"):
        hr.watch(policy, X, y, floor=1e9)
    forgetful = hr.RobustPolicy(
        hr.Newsvendor(1, 3), hr.ERM(), rule=SMALL, solver=QUICK, nominal=hr.EmpiricalNominal()
    ).fit(*history(100, 2))
    with pytest.raises(ValueError, match=r"hedgerow\.remember"):
        hr.watch(forgetful, X, y)


def test_json_and_page(policy, tmp_path):
    X, y = history(60, 2, seed=3)
    found = hr.watch(policy, X, y + 4)
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["status"] == "beyond"
    page = write_watch_page(found, tmp_path / "w.html", "<new>.csv").read_text()
    assert "&lt;new&gt;.csv" in page
    assert "ALARM" in page
    assert "default-src 'none'" in page


def test_what_cannot_be_meant_is_refused(policy):
    X, y = history(20, 2, seed=3)
    with pytest.raises(TypeError, match=r"a pair \(X, Y\)"):
        hr.watch(policy, X, y, history=X)
    with pytest.raises(ValueError, match="recent must be at least 1"):
        hr.watch(policy, X, y, recent=0)
    with pytest.raises(TypeError, match="bound must be a number"):
        hr.watch(policy, X, y, bound="1")
    with pytest.raises(ValueError, match="promise must be finite"):
        hr.remember(policy, X, y, promise=float("nan"))


def test_an_infinite_value_bounds_nothing(policy, monkeypatch):
    monkeypatch.setattr(policy, "promise_", np.inf, raising=False)
    with pytest.raises(ValueError, match="infinite, so nothing bounds it"):
        hr.watch(policy, *history(20, 2, seed=3))


def test_a_pipeline_remembers_and_is_watched():
    X, y = history(100, 2)
    parts = {"rule": SMALL, "nominal": hr.EmpiricalNominal(), "solver": QUICK, "random_state": 0}
    policy = hr.RobustPolicy(hr.Newsvendor(1, 3), hr.KL(1.0), **parts)
    pipe = make_pipeline(StandardScaler(), policy).fit(X, y)
    assert hr.remember(pipe, X, y) is pipe
    found = hr.watch(pipe, *history(60, 2, seed=3))
    assert found.status == "quiet"
    np.testing.assert_allclose(found.means_before[:2], 0, atol=1e-9)  # standardised
