"""Policies for places without hedgerow: what the files are, and what is refused."""

import sys

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.cli.commands import app
from hedgerow.describe.parts import Missing
from tests.extending.parts import Ordered, Pinball
from tests.problems import QUICK, SMALL, history
from tests.rules.outside import Tanh

X, y = history(60, 2)
TABLE = pd.DataFrame(
    {
        "sky": ["sun", "rain", "fog"] * 20,
        "day": pd.date_range("2026-01-01", periods=60).strftime("%Y-%m-%d"),
        "wind": X[:, 0],
    }
)


def fitted(rule=SMALL, loss=None, X=X):
    loss = loss or hr.Newsvendor(1.0, 3.0)
    return hr.RobustPolicy(loss, hr.ERM(), rule, solver=QUICK, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def policy():
    encoder = hr.TableEncoder().fit(TABLE)
    return fitted(X=encoder.transform(TABLE)).remember_columns(encoder, ['"""; import os'])


@pytest.fixture(scope="module")
def file(policy, tmp_path_factory):
    path = tmp_path_factory.mktemp("policy") / "p.hedgerow"
    policy.save(path)
    return path


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_python_module_takes_rows_of_the_table(policy, file, tmp_path):
    out = tmp_path / "decide_portions.py"
    assert run("export", file, "-o", out).exit_code == 0
    assert out.read_text() == policy.to_python()
    made = {}
    exec(compile(out.read_text(), out, "exec"), made)
    decided = [made["decide"](row) for row in TABLE.to_dict("records")]
    expected = policy.predict(policy.encoder_.transform(TABLE))
    np.testing.assert_allclose(decided, expected, rtol=1e-9)
    assert made["DECISIONS"] == ('"""; import os',)
    assert "newsvendor, holding 1, stockout 3" in made["__doc__"]
    assert "os" not in made


def test_an_onnx_model_takes_features(policy, file, tmp_path):
    out = tmp_path / "p.onnx"
    result = run("export", file, "-o", out, "--precision", "float32")
    assert result.stderr == f"Wrote {out}: 7 features in, decisions out.\n"
    features = policy.encoder_.transform(TABLE).to_numpy(np.float32)
    (found,) = onnxruntime.InferenceSession(out).run(None, {"contexts": features})
    expected = policy.predict(policy.encoder_.transform(TABLE))
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-5)
    policy.export(out)
    session = onnxruntime.InferenceSession(out)
    (found,) = session.run(None, {"contexts": policy.encoder_.transform(TABLE).to_numpy()})
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12)
    told = session.get_modelmeta().custom_metadata_map
    assert told["features"].split("\n")[0] == "'sky_fog'"


class TestRefused:
    def test_other_suffixes_and_files_that_are_there(self, policy, file, tmp_path):
        with pytest.raises(ValueError, match=r"must end in \.onnx or \.py"):
            policy.export(tmp_path / "p.txt")
        (tmp_path / "p.py").write_text("mine")
        assert run("export", file, "-o", tmp_path / "p.py").exit_code == 1
        assert (tmp_path / "p.py").read_text() == "mine"
        assert "no policy file" in run("export", tmp_path / "none", "-o", tmp_path / "q.py").stderr

    def test_without_onnx(self, policy, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "onnx", None)
        with pytest.raises(ImportError, match=r"pip install 'hedgerow\[onnx\]'"):
            policy.export(tmp_path / "p.onnx")
        assert not list(tmp_path.iterdir())

    def test_parts_without_a_plain_form_are_named(self):
        with pytest.raises(Missing, match=r"write TanhRule\.plain"):
            fitted(Tanh()).to_python()
        with pytest.raises(Missing, match=r"write Ordered\.plain"):
            fitted(hr.Affine(), Pinball((0.3, 0.8), Ordered(2))).to_python()
