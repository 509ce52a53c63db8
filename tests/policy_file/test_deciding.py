"""What is read with NumPy alone decides as the whole policy does, and is as careful."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import hedgerow as hr
from hedgerow import policy_file, stored
from hedgerow.policy_file import deciding, describe, storage
from hedgerow.policy_file.deciding import SETS, plain_policy
from hedgerow.solvers import Solution
from tests.extending.parts import Pinball
from tests.fuzz import mutations
from tests.policy_file.files import contents, rewritten

rng = np.random.default_rng(0)
X = rng.normal((2020, 0, 0), 1, (40, 3))
Y = 20 + X[:, 1:2] + rng.uniform(0, 5, (40, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
NEWSVENDOR = hr.Newsvendor(1.0, 3.0)
COSTS = [[1.0, 3.0], [[1.0, 0.0], [0.0, 1.0]], [[1.0], [-1.0]], [[1.0], [-1.0]]]
BOX = hr.Box([5.0, -np.inf, 1.0], [30.0, 40.0, np.inf])
PRODUCT = hr.Product(hr.Free(1), hr.Box([0.0], [50.0]), hr.Nonnegative(1))


class Untrained(hr.SCSC):
    """Keeps the rule that training begins with: what was learned does not matter here."""

    def run(self, training, key, progress=None):
        return Solution(training.rule(training.start), np.linspace(3, 1, 5), "step limit")


def fitted(loss, rule, outcomes=1, X=X):
    """A policy whose rule's numbers are scattered."""
    policy = hr.RobustPolicy(loss, hr.ERM(), rule, solver=Untrained(), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hr.HedgerowWarning)
        policy.fit(X, Y[:, 0] if outcomes == 1 else Y[:, :outcomes])
    learned, rng = policy.rule_, np.random.default_rng(0)
    fields = {
        name: np.float32(rng.normal(size=np.shape(getattr(learned, name))))
        for name in learned.trainable
    }
    return policy.adopt(type(learned)(**(vars(learned) | fields)), rule).set_params(solver=None)


SUBSTITUTION = [[0.0, 1.7, 2.0], [np.inf, 0.0, 1.5], [np.inf, np.inf, 0.0]]
POLICIES = {
    "forest": lambda: fitted(NEWSVENDOR, None),
    "part of the features": lambda: fitted(
        NEWSVENDOR, hr.SoftForest(trees=3, depth=3, features_per_tree=2, temperature=0.5), X=FRAME
    ),
    "linear leaves": lambda: fitted(
        hr.Newsvendor(1.0, 3.0, decision_set=BOX), hr.SoftForest(3, 2, leaves="linear"), 3
    ),
    "linear leaves of some": lambda: fitted(
        NEWSVENDOR, hr.SoftForest(3, 2, features_per_tree=2, leaves="linear"), X=FRAME
    ),
    "scores": lambda: fitted(hr.MeanVariance(2.0), hr.ScoreForest(2, trees=3), 3),
    "affine in a box": lambda: fitted(
        hr.Newsvendor(1.0, 3.0, decision_set=BOX), hr.Affine(), 3, X=FRAME
    ),
    "forest in a box": lambda: fitted(
        hr.Newsvendor(1.0, 3.0, decision_set=BOX), hr.SoftForest(trees=2, depth=1), 3
    ),
    "network in a product": lambda: fitted(
        hr.Newsvendor(1.0, 3.0, decision_set=PRODUCT), hr.TwoLayer(4), 3
    ),
    "constant": lambda: fitted(
        hr.InventorySubstitution([1.0, 0.7, 0.6], [1.8, 1.6, 1.2], SUBSTITUTION), hr.Constant(), 3
    ),
}


@pytest.fixture(scope="module")
def policies(tmp_path_factory):
    """Policies with their files, by name."""
    folder, made = tmp_path_factory.mktemp("policies"), {}
    for name, make in POLICIES.items():
        path = folder / f"{name}.hedgerow"
        policy = make()
        policy.save(path)
        made[name] = policy, path
    return made


@pytest.fixture
def unlearned(monkeypatch):
    """As in a process that has not imported JAX."""
    monkeypatch.setattr(stored, "_learns", lambda: False)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
class TestDecisions:
    def test_saved_and_read_it_decides_the_same_bit_for_bit(self, policies, name, unlearned):
        policy, path = policies[name]
        data = FRAME if hasattr(policy, "feature_names_in_") else X
        again = hr.load(path)
        decisions = again.predict(data)
        assert type(again) is stored.StoredPolicy
        np.testing.assert_array_equal(decisions, policy.predict(data))
        assert decisions.shape == policy.predict(data).shape
        assert type(again.loss) is type(policy.loss)
        assert type(again) is hr.RobustPolicy
        np.testing.assert_array_equal(again.predict(data), decisions)

    def test_what_is_known_without_its_parts(self, policies, name, unlearned):
        policy, path = policies[name]
        again = hr.load(path)
        for known in ("n_features_in_", "n_outcomes_", "n_decisions_", "status_", "columns_"):
            assert getattr(again, known) == getattr(policy, known)
        assert type(again) is stored.StoredPolicy
        assert again.decision_names_ == policy.decision_names_

    def test_spoilt_files_are_refused_or_decide_in_their_set(self, policies, name):
        """Files with digests of their own; what is read here the whole reader takes as well, or
        refuses because of a part that deciding does not need.
        """
        path = policies[name][1]
        arrays, about = mutations.opened(path)
        read = 0
        for i in range(120):
            rng = np.random.default_rng([i, len(name)])
            way = mutations.spoil_arrays if i % 2 else mutations.spoil_description
            spoilt = path.with_name("spoilt")
            spoilt.write_bytes(way(rng, arrays, about))
            try:
                told = storage.read(spoilt)
            except policy_file.PolicyFileError:
                continue
            found = plain_policy(*told)
            if found is None:
                continue
            read += 1
            decisions = found.decide(X)
            assert np.all(np.isfinite(decisions))
            try:
                whole = hr.load(spoilt)
            except policy_file.PolicyFileError:
                continue
            np.testing.assert_array_equal(whole.predict(X).reshape(decisions.shape), decisions)
        assert read > 5


class TestBecoming:
    """Whatever else it is asked for, it is a ``RobustPolicy``."""

    @pytest.fixture
    def read(self, policies, unlearned):
        return hr.load(policies["forest"][1])

    @pytest.mark.parametrize(
        "ask",
        [
            lambda policy: isinstance(policy, hr.RobustPolicy),
            lambda policy: policy.rule_ is not None,
            lambda policy: clone(policy).loss.holding == 1.0,
            lambda policy: policy.score(X, Y[:, 0]) < 0,
            lambda policy: pickle.loads(pickle.dumps(policy)).n_features_in_ == 3,
            lambda policy: "rule_" in dir(policy),
            lambda policy: policy.get_params()["solver"] is None,
            lambda policy: hr.robust_value(policy, X, Y[:, 0]).value > 0,
            lambda policy: "def decide" in policy.to_python(),
        ],
    )
    def test_questions(self, read, ask):
        assert ask(read)
        assert isinstance(read, hr.RobustPolicy)

    def test_changes(self, read):
        read.verbose = True
        assert type(read) is hr.RobustPolicy
        assert read.verbose

    def test_what_is_not_there(self, read):
        with pytest.raises(
            AttributeError, match="'RobustPolicy' object has no attribute 'nothing'"
        ):
            _ = read.nothing

    @pytest.mark.parametrize(
        "odd",
        [
            X[:, :2], X[0], np.where(X > 2020, np.nan, X), X * 1e40, [["a", "b", "c"]],
            X.astype(object)[:0], np.array(["x"]), X.astype("datetime64[D]"), None,
        ],
        ids=range(9),
    )  # fmt: skip
    def test_odd_data_get_the_sentence_of_a_policy_in_memory(self, policies, read, odd):
        with pytest.raises((ValueError, TypeError)) as expected:
            policies["forest"][0].predict(odd)
        with pytest.raises((ValueError, TypeError)) as found:
            read.predict(odd)
        assert str(found.value) == str(expected.value)

    def test_lists_and_other_numbers_decide_the_same(self, policies, read):
        expected = policies["forest"][0].predict(X)
        for data in (X.tolist(), X.astype(object), np.asfortranarray(X)):
            np.testing.assert_array_equal(hr.load(policies["forest"][1]).predict(data), expected)
        single = read.predict(X.astype(np.float32))
        np.testing.assert_array_equal(single, read.predict(X.astype(np.float32).astype(float)))

    def test_names_are_looked_at(self, policies, unlearned):
        policy, path = policies["part of the features"]
        again = hr.load(path)
        with pytest.warns(UserWarning, match="does not have valid feature names") as told:
            again.predict(X)
        with pytest.warns(UserWarning, match="does not have valid feature names") as expected:
            policy.predict(X)
        assert str(told[0].message) == str(expected[0].message)
        assert type(again) is stored.StoredPolicy
        whole = FRAME.astype({"a": int})
        np.testing.assert_array_equal(again.predict(whole), policy.predict(whole))
        with pytest.raises(ValueError, match="feature names"):
            again.predict(FRAME[["c", "b", "a"]])


class TestWhatWaits:
    """Parts that deciding does not need are checked when they are asked for."""

    @pytest.fixture
    def copied(self, policies, tmp_path):
        path = tmp_path / "p"
        path.write_bytes(policies["forest"][1].read_bytes())
        return path

    def test_a_part_that_cannot_be_made_is_told_of_when_it_is_asked_for(self, copied, unlearned):
        arrays, about = contents(copied)
        about["policy"]["solver"] = describe(hr.SCSC())
        about["policy"]["solver"]["parameters"]["steps"] = -1
        rewritten(copied, arrays, about)
        policy = hr.load(copied)
        assert len(policy.predict(X)) == len(X)
        for _ in range(2):
            with pytest.raises(hr.PolicyFileError, match="describes something that cannot be made"):
                policy.set_params(random_state=0)

    def test_parts_of_others_are_asked_for_at_once(self, copied, unlearned):
        arrays, about = contents(copied)
        about["policy"]["loss"] = describe(Pinball((0.5,)))
        rewritten(copied, arrays, about)
        with pytest.raises(hr.PolicyFileError, match=r"parts=\[Pinball\]"):
            hr.load(copied)

    def test_a_rule_with_parameters_that_are_not_known_is_left_to_the_whole_reader(self, copied):
        arrays, about = contents(copied)
        assert plain_policy(arrays, about) is not None
        about["policy"]["rule"] = describe(hr.SoftForest())
        assert plain_policy(arrays, about) is not None
        about["policy"]["rule"]["parameters"]["kind"] = "new"
        assert plain_policy(arrays, about) is None


LOSSES = [
    NEWSVENDOR,
    hr.Newsvendor(1.0, 3.0, decision_set=BOX),
    hr.Newsvendor(1.0, 3.0, decision_set=PRODUCT),
    hr.InventorySubstitution([1.0, 0.7, 0.6], [1.8, 1.6, 1.2], SUBSTITUTION),
    hr.MeanVariance(2.0),
    hr.MeanCVaR(2.0, 0.9),
    hr.TwoStageLP(*COSTS, decision_set=hr.Nonnegative(1), senses=[">=", ">="]),
    hr.CustomLoss(max, hr.Simplex(3)),
    hr.MaxAffine([0.0, 0.0], [[1.0, 0.0], [-1.0, 2.0]], [[1.0], [2.0]]),
]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_sets_are_those_of_the_losses(loss):
    told = describe(loss)
    for outcomes in (1, 3):
        try:
            expected = loss.decisions_for(outcomes)
        except ValueError:
            continue
        found = SETS[told["component"]](told["parameters"], outcomes).onto
        raw = np.random.default_rng(0).normal(size=(expected.dimension, 5))
        np.testing.assert_array_equal(found.image(raw), expected.plain().image(raw))


def test_every_loss_with_a_set_is_known():
    made = {type(loss).__name__ for loss in LOSSES}
    assert {name.rpartition(".")[2] for name in SETS} == made
    assert set(deciding.RULES) == {
        f"hedgerow.{name}"
        for name in ("SoftForest", "ScoreForest", "Affine", "Constant", "TwoLayer")
    }


def test_no_jax_to_decide(policies, tmp_path):
    """In processes of their own: loading and predicting, and the command."""
    policy, path = policies["part of the features"]
    FRAME.to_csv(tmp_path / "new.csv", index=False)
    heavy = "{'jax', 'jaxlib', 'equinox', 'optax', 'sklearn', 'scipy', 'matplotlib', 'jaxtyping'}"
    python = f"""if True:
        import sys
        import hedgerow as hr, numpy as np, pandas as pd
        frame = pd.read_csv({str(tmp_path / "new.csv")!r})
        np.save({str(tmp_path / "z.npy")!r}, hr.load({str(path)!r}).predict(frame))
        assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)
    """
    command = f"""if True:
        import sys
        from hedgerow.cli import main
        sys.argv = ["hedgerow", "decide", {str(path)!r}, {str(tmp_path / "new.csv")!r},
                    "--out", {str(tmp_path / "z.csv")!r}]
        try:
            main()
        except SystemExit as stop:
            assert not stop.code
        assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)
        sys.argv[3], sys.argv[5] = "nothing.csv", {str(tmp_path / "none.csv")!r}
        try:
            main()
        except SystemExit as stop:
            assert stop.code == 1
    """
    for code in (python, command):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert "There is no file nothing.csv." in done.stderr
    expected = policy.predict(FRAME)
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), expected)
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "z.csv")["decision"], expected)
