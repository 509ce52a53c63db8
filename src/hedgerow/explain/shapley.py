"""SHAP values, for comparison: Shapley values of the game "which features are known".

They need many decisions where integrated gradients need a few gradients, and are exact only for few
features. The package ``shap`` computes them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Float

from hedgerow import _checks
from hedgerow.explain.lens import lens_of

MOST_EXACT = 10
"""Features up to which every coalition is tried."""


def shap_values(
    policy: Any, X: Any, background: Any, random_state: int = 0
) -> Float[np.ndarray, "rows k d"]:
    """Return the SHAP values of each decision at each row of X, in the decision's units.

    Parameters
    ----------
    policy : RobustPolicy
    X : (rows, features)
        Contexts to explain; one may be given as (features,).
    background : (rows, features)
        What unknown features are drawn from, independently of the known ones.
    random_state : int
        Seed of the permutations used with more than ten features.
    """
    try:
        shap: Any = import_module("shap")
    except ImportError:
        raise ImportError(
            "SHAP values need the package shap, which is not installed: "
            "pip install 'hedgerow[explain]'."
        ) from None
    lens = lens_of(policy)
    seed = _checks.count("random_state", random_state, least=0)
    one = not hasattr(X, "columns") and np.ndim(X) == 1
    rows = lens.context(X)[None] if one else lens.contexts(X)
    known = lens.contexts(background)
    masker = shap.maskers.Independent(known, max_samples=len(known))
    algorithm = "exact" if len(lens.names) <= MOST_EXACT else "permutation"
    explainer = shap.Explainer(lens.decide, masker, algorithm=algorithm, seed=seed)
    found = explainer(rows, silent=True)
    return np.moveaxis(np.asarray(found.values).reshape(len(rows), len(lens.names), -1), 2, 1)
