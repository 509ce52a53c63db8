"""Why this decision: empirical integrated gradients (paper: ecsec-interpretability-local).

    φ_j = (1/N) Σ_i (x_j − x_j^i) ∫₀¹ ∂_j f( x^i + α(x − x^i) ) dα
    Σ_j φ_j = f(x) − (1/N) Σ_i f(x^i)                                (completeness)

What sets this decision apart from the average one, feature by feature, in the decision's own units.
The integrals are adaptive (``explain.quadrature``) or the rule's own (``path_integrals``); by how
much completeness fails in the end is part of the answer.

For comparison there are SHAP values: Shapley values of the game "which features are known". They
need many decisions where integrated gradients need a few gradients, and are exact only for few
features. The package ``shap`` computes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from hedgerow import _checks, _row_checks
from hedgerow._frames import require_pandas
from hedgerow.describe.display import Display
from hedgerow.describe.numbers import number
from hedgerow.explain.lens import gathered, lens_of

MOST_EXACT = 10
"""Features up to which SHAP values try every coalition."""


@dataclass(frozen=True, repr=False)
class Attribution(Display):
    """One decision, taken apart by features.

    Attributes
    ----------
    values : (decisions, features)
        What each feature adds to the average decision, in the decision's units.
    baseline : (decisions,)
        The mean decision over the background.
    decision : (decisions,)
        The decision explained.
    context : (features,)
        The input it was made for.
    completeness_error : float
        Largest |Σ_j values − (decision − baseline)| over decisions, in the decision's units.
    names : tuple of str
        What the features are called.
    """

    values: Float[np.ndarray, "k d"]
    baseline: Float[np.ndarray, " k"]
    decision: Float[np.ndarray, " k"]
    context: Float[np.ndarray, " d"]
    completeness_error: float
    names: tuple[str, ...]

    def _heading(self) -> str:
        ends = zip(self.decision, self.baseline, strict=True)
        told = [f"{number(made)} instead of {number(usual)}" for made, usual in ends]
        return f"Decided {', '.join(told)}"

    def _rows(self) -> tuple[list[str], list[Sequence[str]]]:
        order = np.argsort(-np.abs(self.values).sum(axis=0), kind="stable")
        rows = [
            (
                name,
                number(float(self.context[j])),
                *(number(float(v), 3, signed=True) for v in self.values[:, j]),
            )
            for j, name in ((j, self.names[j]) for j in order)
        ]
        return ["feature", "value", *self._decisions()], list(rows)

    def _decisions(self) -> list[str]:
        count = len(self.decision)
        return ["adds"] if count == 1 else [f"adds to {k}" for k in range(1, count + 1)]

    def to_frame(self) -> Any:
        """Return a pandas table with a row per feature: its value, and what it adds."""
        table = {"feature": list(self.names), "value": self.context}
        adds = dict(zip(self._decisions(), self.values, strict=True))
        return require_pandas().DataFrame(table | adds)

    def ranked(self, decision: int = 0) -> Int[np.ndarray, " d"]:
        """Features in the order of how much they count, the largest first."""
        return np.argsort(-np.abs(self.values[decision]), kind="stable")

    def grouped(self, groups: Mapping[str, Sequence[str]]) -> Attribution:
        """Add up features that stand for one thing, such as the seven of a one-hot weekday.

        ``groups`` maps what they are called together to the names of the features; features in no
        group stay as they are. The context of a group of several is NaN.
        """
        members = gathered(self.names, groups)
        return replace(
            self,
            values=np.stack([self.values[:, js].sum(axis=1) for js in members.values()], axis=1),
            context=np.array(
                [self.context[js[0]] if len(js) == 1 else np.nan for js in members.values()]
            ),
            names=tuple(members),
        )

    @property
    def total(self) -> Float[np.ndarray, " d"]:
        """Σ_k of the values, as in the paper's Figure 12."""
        return self.values.sum(axis=0)


def attribute(
    policy: Any, x: Any, background: Any, sample_weight: Any = None, tolerance: float = 1e-7
) -> Attribution:
    """Return what each feature adds to the average decision, for one context.

    Parameters
    ----------
    policy : RobustPolicy
        Any fitted policy.
    x : (features,)
        The context to explain.
    background : (rows, features)
        What it is compared with: the training data, or part of it.
    sample_weight : (rows,), optional
        How much each of them counts.
    tolerance : float
        Error allowed in every value, relative to the size of the decisions.
    """
    lens = lens_of(policy)
    limit = _checks.positive("tolerance", tolerance)
    one, rows = lens.context(x), lens.contexts(background)
    weights = _row_checks.weights(sample_weight, len(rows))
    weights = weights / weights.sum()
    decision, others = lens.decide(one[None])[0], lens.decide(rows)
    baseline = weights @ others
    size = max(float(np.abs(decision).max()), float(np.abs(others).max()), 1e-300)
    values = lens.line_integrals(
        lens.standard(rows), lens.standard(one[None])[0], weights, limit * size
    )
    error = np.abs(values.sum(axis=1) - (decision - baseline)).max()
    return Attribution(values, baseline, decision, one, float(error), lens.names)


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

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> hr.explain.shap_values(policy, data.data[:2], data.data[:20]).shape
    (2, 1, 2)
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
