"""Policy files: faithful, atomic, open to parts of others, and safe to receive from strangers."""

import json
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.base import clone

import hedgerow as hr
from hedgerow import estimator, policy_file
from hedgerow.policy_file import Known, describe, path_of
from tests.extending.parts import ChiSquare, Ordered, Pinball
from tests.policy_file.files import FRAME, LOSS, fitted, renamed, same, y
from tests.problems import QUICK, SMALL, history


def test_round_trip_is_bit_identical(valued, tmp_path):
    valued.save(tmp_path / "p")
    again = hr.load(tmp_path / "p")
    same(again, valued)
    assert again.robust_value_ == valued.robust_value_


@pytest.mark.parametrize(
    "settings",
    [
        {"rule": SMALL},
        {"rule": hr.SoftForest(trees=3, depth=2, features_per_tree=2), "ambiguity": hr.ERM()},
        {"rule": hr.TwoLayer(8), "ambiguity": hr.ERM()},
        {"rule": hr.Affine(), "ambiguity": hr.KL(radius=0.3)},
        {"rule": hr.Constant(), "ambiguity": hr.CausalWasserstein(3.0)},
        {"rule": hr.Affine(), "ambiguity": hr.ERM(), "solver": hr.SAA(steps=5)},
        pytest.param(
            {"rule": None, "nominal": hr.NeighbourNominal(3), "ambiguity": None},
            marks=pytest.mark.slow,  # the defaults: twenty trees
        ),
        {
            "loss": hr.Newsvendor(
                0.6, 1.0, decision_set=hr.Box(0, np.inf), outcome_support=(0, np.inf)
            ),
            "ambiguity": hr.ERM(),
        },
    ],
    ids=str,
)
def test_every_kind_of_part_comes_back(tmp_path, settings):
    policy = fitted(**settings)
    policy.save(tmp_path / "p")
    same(hr.load(tmp_path / "p"), policy)


def test_loaded_policy_can_be_fitted_again(valued, tmp_path):
    valued.save(tmp_path / "p")
    again = hr.load(tmp_path / "p").set_params(random_state=0).fit(FRAME, y)
    np.testing.assert_array_equal(again.predict(FRAME), valued.predict(FRAME))


class TestRobustValue:
    """Computed when it is asked for, and at no other time."""

    @pytest.fixture
    def silent(self, monkeypatch):
        """A policy whose value nobody may ask for."""

        def refuse(*_, **__):
            raise AssertionError("a robust value was computed")

        policy = fitted(rule=hr.Affine(), ambiguity=hr.KL(2.0))
        monkeypatch.setattr(estimator, "certify", refuse)
        return policy

    def test_saving_computes_none_and_loading_says_so(self, silent, tmp_path):
        silent.save(tmp_path / "p")
        again = hr.load(tmp_path / "p")
        assert not again.has_robust_value_
        with pytest.raises(AttributeError, match=r"hedgerow\.robust_value\(policy, X, Y\)"):
            _ = again.robust_value_
        assert hr.robust_value(again, FRAME, y).value > 0

    def test_displaying_a_policy_computes_none(self, silent):
        """scikit-learn's display lists every attribute that `dir` names."""
        assert "history_" in dir(silent)
        assert "robust_value_" not in dir(silent)
        assert "RobustPolicy" in silent._repr_html_()
        assert "KL" in repr(silent)

    def test_what_has_been_asked_for_is_listed_and_kept(self, valued, tmp_path):
        assert "robust_value_" in dir(valued)
        valued.save(tmp_path / "p")
        assert "robust_value_" in dir(hr.load(tmp_path / "p"))


@pytest.fixture(scope="module")
def foreign():
    """Loss, decision set and model from outside."""
    return fitted(Pinball((0.3, 0.8), Ordered(2)), ambiguity=ChiSquare(2.0), rule=hr.Affine())


class TestPartsOfOthers:
    """Files name parts by import path; they import nothing."""

    def test_they_are_named_by_their_import_path(self, foreign, tmp_path):
        foreign.save(tmp_path / "p")
        with safe_open(tmp_path / "p", framework="np") as file:
            about = json.loads(file.metadata()["hedgerow"])["policy"]
        assert about["loss"]["component"] == "tests.extending.parts.pinball.Pinball"
        assert about["loss"]["parameters"]["decision_set"] == {
            "set": "tests.extending.parts.ordered.Ordered",
            "arguments": [2],
        }
        assert about["rule"]["component"] == "hedgerow.Affine"
        assert path_of(hr.Affine) == "hedgerow.Affine"

    def test_a_part_that_moved_is_known_by_its_name(self, foreign, tmp_path):
        foreign.save(tmp_path / "p")
        renamed(tmp_path / "p", "tests.extending.parts.pinball", "elsewhere")
        again = hr.load(tmp_path / "p", parts=[Pinball, Ordered, ChiSquare])
        np.testing.assert_array_equal(again.predict(FRAME), foreign.predict(FRAME))

    def test_nothing_is_imported(self, foreign, tmp_path):
        foreign.save(tmp_path / "p")
        renamed(tmp_path / "p", "tests.extending.parts.pinball.Pinball", "this.Zen")
        with pytest.raises(hr.PolicyFileError, match=r"a part this\.Zen.*parts=\[Zen\]"):
            hr.load(tmp_path / "p")
        assert "this" not in sys.modules

    def test_a_part_of_the_same_name_does_not_take_the_place_of_hedgerows(self):
        class Affine(hr.Constant):
            """Somebody else's."""

        assert type(Known([Affine]).revive(describe(hr.Affine()))) is hr.Affine
        assert type(Known([Affine]).revive(describe(Affine()))) is Affine

    def test_a_subclass_is_a_part_of_its_own(self):
        class Empirical(hr.EmpiricalNominal):
            """Somebody else's."""

        with pytest.raises(hr.PolicyFileError, match="Empirical"):
            Known().revive(describe(Empirical()))


def test_files_of_format_1_are_read(valued, tmp_path):
    """There parts were named by class alone, and a robust value was always there."""
    path = tmp_path / "p"
    valued.save(path)
    renamed(path, '"hedgerow.', '"', format=1)
    with safe_open(path, framework="np") as file:
        assert '"component": "Newsvendor"' in file.metadata()["hedgerow"]
    again = hr.load(path)
    same(again, valued)
    assert again.robust_value_ == valued.robust_value_


def test_custom_function_is_not_stored_and_said_so(tmp_path):
    loss = hr.CustomLoss(lambda z, y: jnp.sum(jnp.abs(z - y)), hr.Product(hr.Nonnegative(1)))
    policy = fitted(loss, rule=hr.Affine(), ambiguity=hr.ERM())
    policy.save(tmp_path / "p")
    again = hr.load(tmp_path / "p")
    np.testing.assert_array_equal(again.predict(FRAME), policy.predict(FRAME))
    with pytest.raises(hr.PolicyFileError, match=r"not stored.*hedgerow\.load"):
        again.score(FRAME, y)
    assert hr.load(tmp_path / "p", loss=loss).score(FRAME, y) == policy.score(FRAME, y)


def test_columns_are_remembered(valued, tmp_path):
    encoder = hr.TableEncoder().fit(FRAME)
    policy = clone(valued).fit(FRAME, y).remember_columns(encoder, ["demand"])
    policy.save(tmp_path / "p")
    again = hr.load(tmp_path / "p")
    assert again.outcome_names_ == ["demand"]
    assert again.encoder_.to_json() == encoder.to_json()
    assert valued.encoder_ is None


def test_file_is_plain_safetensors_with_json(valued, tmp_path):
    valued.save(tmp_path / "p")
    with safe_open(tmp_path / "p", framework="np") as file:
        about = json.loads(file.metadata()["hedgerow"])
    assert about["format"] == policy_file.FORMAT
    assert about["hedgerow"] == hr.__version__
    assert about["policy"]["loss"]["parameters"]["holding"] == 0.6


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_truncated_file(valued, tmp_path, share):
    path = tmp_path / "p"
    valued.save(path)
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
    with pytest.raises(hr.PolicyFileError, match=r"format 4.*written by hedgerow 9.0: upgrade"):
        hr.load(path)
    save_file({"history": np.zeros(1)}, path, {"hedgerow": "{"})
    with pytest.raises(hr.PolicyFileError, match="damaged description"):
        hr.load(path)
    save_file({"history": np.zeros(1)}, path, {"hedgerow": json.dumps({"format": 1})})
    with pytest.raises(hr.PolicyFileError, match="the description lacks 'ambiguity'"):
        hr.load(path)


def test_only_parts_are_revived():
    for name in ("system", "os.system", "hedgerow.RobustPolicy", "hedgerow.os"):
        with pytest.raises(hr.PolicyFileError, match="not one of hedgerow's"):
            Known().revive({"component": name, "parameters": {"command": "true"}})
    with pytest.raises(TypeError, match="parts must be classes"):
        Known([dict])


def test_failed_write_leaves_the_old_file(valued, tmp_path, monkeypatch):
    path = tmp_path / "p"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        valued.save(path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["p"]


def test_a_policy_that_ignores_a_constant_feature_comes_back(tmp_path):
    """Its resolved scale is 0, which nobody may give, but a file holds."""
    X, y = history()
    X[:, 1] = 3.0
    with pytest.warns(hr.ConstantFeatureWarning, match="never vary"):
        policy = hr.RobustPolicy(LOSS, None, SMALL, solver=QUICK, random_state=0).fit(X, y)
    policy.save(tmp_path / "policy.hedgerow")
    again = hr.load(tmp_path / "policy.hedgerow")
    np.testing.assert_array_equal(again.predict(X), policy.predict(X))
    np.testing.assert_array_equal(again.ambiguity_.x_scale, policy.ambiguity_.x_scale)
