"""Policies to save, and files written by somebody who knows the format."""

import json

import numpy as np
import pandas as pd
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import hedgerow as hr
from hedgerow import policy_file
from tests.problems import AUTO, QUICK, SMALL, history

LOSS = hr.Newsvendor(0.6, 1.0)
X, y = history()
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


def fitted(loss=LOSS, **settings):
    quick = {"ambiguity": hr.Sinkhorn(5.0, 0.1, **AUTO), "rule": SMALL, "solver": QUICK}
    return hr.RobustPolicy(loss, random_state=0, **(quick | settings)).fit(FRAME, y)


def same(again, policy):
    np.testing.assert_array_equal(again.predict(FRAME), policy.predict(FRAME))
    assert again.score(FRAME, y) == policy.score(FRAME, y)
    assert list(again.feature_names_in_) == ["a", "b", "c"]
    assert again.status_ == policy.status_
    assert repr(again.loss) == repr(policy.loss)
    assert repr(again.ambiguity_) == repr(policy.ambiguity_)
    np.testing.assert_array_equal(again.history_, policy.history_)


def renamed(path, old, new, **changes):
    """Rewrite a file's description: a text replaced throughout, and some entries."""
    arrays, about = contents(path)
    about = json.loads(json.dumps(about).replace(old, new))
    rewritten(path, arrays, about | changes)


def contents(path):
    """Arrays and description, without the digest."""
    with safe_open(path, framework="np") as file:
        about = json.loads(file.metadata()["hedgerow"])
    about.pop("sha256", None)
    return load_file(path), about


def rewritten(path, arrays, about):
    """Write a file as somebody would who knows the format, the digest included."""
    if about.get("format", 1) >= 3:
        about = about | {"sha256": policy_file.digest(arrays, about)}
    save_file(arrays, path, {"hedgerow": json.dumps(about)})
