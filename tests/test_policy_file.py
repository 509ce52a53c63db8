"""Policy files: faithful, atomic, and safe to receive from strangers."""

import json

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import hedgerow as hr
from hedgerow import policy_file
from tests.problems import AUTO, QUICK, SMALL, history

LOSS = hr.Newsvendor(0.6, 1.0)


def fitted(loss=LOSS, **settings):
    X, y = history()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    settings = {"ambiguity": hr.Sinkhorn(5.0, 0.1, **AUTO), "rule": SMALL} | settings
    return hr.RobustPolicy(loss, solver=QUICK, random_state=0, **settings).fit(frame, y), frame, y


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"rule": hr.SoftForest(trees=3, depth=2, features_per_tree=2)},
        {"rule": hr.TwoLayer(8)},
        {"rule": hr.Affine(), "ambiguity": hr.KL(2.0)},
        {"rule": hr.Affine(), "ambiguity": hr.Sinkhorn(radius=1.5, epsilon=0.3)},
        {"rule": hr.Constant(), "ambiguity": hr.ERM()},
        {"rule": None, "nominal": hr.NeighbourNominal(3), "ambiguity": None},
        {
            "loss": hr.Newsvendor(
                0.6, 1.0, decision_set=hr.Box(0, np.inf), outcome_support=(0, np.inf)
            )
        },
    ],
    ids=str,
)
def test_round_trip_is_bit_identical(tmp_path, settings):
    policy, X, y = fitted(**settings)
    path = tmp_path / "demand.hedgerow"
    policy.save(path)
    again = hr.load(path)
    np.testing.assert_array_equal(again.predict(X), policy.predict(X))
    assert again.score(X, y) == policy.score(X, y)
    assert again.robust_value_ == policy.robust_value_
    assert list(again.feature_names_in_) == ["a", "b", "c"]
    assert again.status_ == policy.status_
    assert repr(again.loss) == repr(policy.loss)
    np.testing.assert_array_equal(again.history_, policy.history_)


def test_loaded_policy_can_be_fitted_again(tmp_path):
    policy, X, y = fitted()
    policy.save(tmp_path / "p")
    again = hr.load(tmp_path / "p").set_params(random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), policy.predict(X))


def test_custom_function_is_not_stored_and_said_so(tmp_path):
    loss = hr.CustomLoss(lambda z, y: jnp.sum(jnp.abs(z - y)), hr.Product(hr.Nonnegative(1)))
    policy, X, y = fitted(loss)
    policy.save(tmp_path / "p")
    again = hr.load(tmp_path / "p")
    np.testing.assert_array_equal(again.predict(X), policy.predict(X))
    with pytest.raises(hr.PolicyFileError, match=r"not stored.*hedgerow\.load"):
        again.score(X, y)
    assert hr.load(tmp_path / "p", loss=loss).score(X, y) == policy.score(X, y)


def test_file_is_plain_safetensors_with_json(tmp_path):
    policy, *_ = fitted()
    policy.save(tmp_path / "p")
    with safe_open(tmp_path / "p", framework="np") as file:
        about = json.loads(file.metadata()["hedgerow"])
    assert about["format"] == policy_file.FORMAT
    assert about["hedgerow"] == hr.__version__
    assert about["policy"]["loss"]["parameters"]["holding"] == 0.6


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_truncated_file(tmp_path, share):
    policy, *_ = fitted()
    path = tmp_path / "p"
    policy.save(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(hr.PolicyFileError, match="not a readable policy file"):
        hr.load(path)


def test_foreign_files(tmp_path):
    path = tmp_path / "p"
    path.write_text("date,demand\n2024-01-01,3\n")
    with pytest.raises(hr.PolicyFileError, match="not a readable policy file"):
        hr.load(path)
    save_file({"weights": np.zeros(3)}, path)
    with pytest.raises(hr.PolicyFileError, match="not one written by hedgerow"):
        hr.load(path)
    with pytest.raises(FileNotFoundError, match="no policy file"):
        hr.load(tmp_path / "nothing")


def test_newer_and_damaged_descriptions(tmp_path):
    path = tmp_path / "p"
    newer = json.dumps({"format": policy_file.FORMAT + 1, "hedgerow": "9.0"})
    save_file({"history": np.zeros(1)}, path, {"hedgerow": newer})
    with pytest.raises(hr.PolicyFileError, match=r"format 2.*written by hedgerow 9.0: upgrade"):
        hr.load(path)
    save_file({"history": np.zeros(1)}, path, {"hedgerow": "{"})
    with pytest.raises(hr.PolicyFileError, match="damaged description"):
        hr.load(path)
    save_file({"history": np.zeros(1)}, path, {"hedgerow": json.dumps({"format": 1})})
    with pytest.raises(hr.PolicyFileError, match="missing part"):
        hr.load(path)


def test_only_this_packages_components_are_revived():
    with pytest.raises(hr.PolicyFileError, match="'system'"):
        policy_file.revive({"component": "system", "parameters": {"command": "true"}})


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    policy, *_ = fitted()
    path = tmp_path / "p"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        policy.save(path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["p"]
