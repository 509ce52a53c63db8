"""What parts say of themselves, and what is said of a part that does not offer what is asked.

A loss, an ambiguity model or a nominal returns one of these from ``description()``. All fields have
defaults that suit a part nobody has described; the command, figures and reports show no others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hedgerow.describe.numbers import number

SETTINGS = {
    "penalty": "price that a distribution pays per unit of distance from the data; the smaller, "
    "the more the policy hedges",
    "radius": "how far from the data a distribution may be; the larger, the more the policy hedges",
    "epsilon": "how much a shifted row is blurred",
    "order": "power of the distance: 1 counts it as such, 2 squared; the larger, the more a "
    "large shift costs",
}
"""What the settings of ambiguity models mean."""


@dataclass(frozen=True)
class LossDescription:
    """What a loss is about, in words.

    Attributes
    ----------
    short : str
        A few words for the command: "newsvendor, holding 1, stockout 3".
    costs : str
        What a decision costs, as the beginning of a sentence.
    decides : str
        What is decided on, before a list of the outcomes; empty: the decisions are listed.
    outcome : str
        What an outcome without a name is called; with several they are counted.
    """

    short: str
    costs: str
    decides: str = ""
    outcome: str = "outcome"


@dataclass(frozen=True)
class ModelDescription:
    """What an ambiguity model hedges against, in words.

    Attributes
    ----------
    name : str
        What it is called: "Causal Sinkhorn distance".
    idea : str
        What may happen to the history, as the end of a sentence; may be empty.
    hedges : bool
        Whether it hedges against anything at all.
    columns : str
        What columns do in a worst case, as a sentence; empty: nothing was said of them.
    """

    name: str
    idea: str = ""
    hedges: bool = True
    columns: str = ""


@dataclass(frozen=True)
class NominalDescription:
    """How a nominal treats rows of history, in words.

    Attributes
    ----------
    short : str
        A few words for the command: "adapted: contexts gathered in cells".
    rows : str
        What becomes of the rows, after "around the rows of this report"; may be empty.
    """

    short: str
    rows: str = ""


class Missing(TypeError):
    """A part does not offer what is asked of it; the sentence names the method to write."""

    def __init__(self, part: Any, method: str, needed: str, instead: str = "") -> None:
        kind = type(part).__name__
        article = "an" if kind[:1] in "AEIOU" else "a"
        super().__init__(
            f"{needed}; {article} {kind} offers none (write {kind}.{method}){instead}."
        )


def offered(found: Any, part: Any, method: str, needed: str, instead: str = "") -> Any:
    """Return what a part has offered, or say which method it lacks."""
    if found is None:
        raise Missing(part, method, needed, instead)
    return found


def settings_of(model: Any) -> dict[str, float]:
    """The settings of an ambiguity model that it has and that are set."""
    given = {name: getattr(model, name, None) for name in SETTINGS}
    return {name: float(value) for name, value in given.items() if value is not None}


def settings_words(model: Any) -> str:
    """The settings beside each other: "penalty 10, epsilon 0.1, order 2, norm ∞"."""
    words = [f"{name} {number(value)}" for name, value in settings_of(model).items()]
    norm = getattr(model, "norm", None)
    if norm is not None:
        pair = norm if isinstance(norm, tuple | list) else (norm,)
        shown = " and ".join("none" if one is None else number(one) for one in pair)
        words.append(f"norm {shown}")
    return ", ".join(words)
