"""What features, outcomes and decisions are called, wherever a person reads of them.

Names are those of the data at hand, else those that the policy was trained with. Failing both,
features are numbered by their column, from 0, as they would be asked for (``X[:, 0]``); outcomes,
decisions and trees are counted from 1, as people count.

Policies come as they are: any object with the attributes of a fitted ``RobustPolicy``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hedgerow.describe.numbers import counted

_STATUS = {
    "step limit": "ran to its step limit",
    "constant": "lost to the best constant decision, which is used instead",
}


def feature_names(policy: Any, X: Any = None) -> list[str]:
    """What the features are called by X or, failing that, by the policy."""
    names = getattr(X, "columns", None)
    if names is None:
        # asked in this way, a policy that was read stays one that only decides (``stored``)
        names = vars(policy).get("feature_names_in_")
    if names is None:
        names = [f"feature {j}" for j in range(policy.n_features_in_)]
    return [str(name) for name in names]


def outcome_names(policy: Any, Y: Any = None) -> list[str]:
    """What the outcomes are called by Y, by the policy's own table, or by their numbers."""
    names = _known_outcomes(policy, Y)
    if names is None:
        names = _numbered(policy.loss.description().outcome, policy.n_outcomes_)
    return names


def decision_names(policy: Any, Y: Any = None) -> list[str]:
    """What the decisions are called: by the loss, by the outcomes they prepare for, or by number.

    ``Y`` has the outcomes' names, where the policy's own are not meant.
    """
    named = policy.loss.decision_names(outcome_names(policy, Y)) or _known_outcomes(policy, Y)
    if named is None or len(named) != policy.n_decisions_:
        named = _numbered("decision", policy.n_decisions_)
    return [str(name) for name in named]


def checked_names(names: Sequence[str], count: int, noun: str) -> list[str]:
    """Names that were given for so many things, as texts; as many as there are things."""
    if len(names) != count:
        raise ValueError(f"Give a name to each of {counted(count, noun)}; got {len(names)}.")
    return [str(name) for name in names]


def training_words(policy: Any) -> str:
    """How training ended, and after how many steps."""
    return f"{_STATUS.get(policy.status_, policy.status_)}, {len(policy.history_):,} steps"


def _numbered(noun: str, count: int) -> list[str]:
    return [noun] if count == 1 else [f"{noun} {i}" for i in range(1, count + 1)]


def _known_outcomes(policy: Any, Y: Any) -> list[str] | None:
    names = getattr(Y, "columns", None)
    if names is None and getattr(Y, "name", None) is not None:
        names = [Y.name]
    if names is None:
        names = policy.outcome_names_
    if names is None or len(names) != policy.n_outcomes_:
        return None
    return [str(name) for name in names]
