"""Page forms: what a report's page computes with, a script and its numbers.

A rule offers one from ``page_form``. ``script`` is the body of a JavaScript function of
``parameters`` that returns the rule:

    decide(u)                    decisions, in working units, for a standardised context u
    slopes(from, to, k, span)    optional: ∫₀¹ ∂f_k/∂u dα from one point to another, one number per
                                 feature; else the page differentiates ``decide`` numerically.
                                 Points are { u, decision, prepared }; span is the decisions' size
    prepare(u)                   optional: what of a point is computed once, its ``prepared``
    trees                        optional: the trees that the page draws (``rules/forest.js``)

The script may use ``sigmoid``, ``softplus``, ``dot`` and the Gauss–Legendre nodes ``GAUSS`` of the
page; it can load nothing, and the page's content security policy names it by its hash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class PageForm:
    """A rule, or a block of a decision set, as a page computes with it.

    Attributes
    ----------
    script : str
        JavaScript; see the module.
    parameters : dict
        Plain values, and numpy arrays that the script sees as flat ``Float64Array``: those of
        float32 travel as such, all others in float64.
    units : int
        Gates or hidden units that one decision passes, so that reasons keep up with a slider.
    trees : bool
        Whether there are trees to draw.
    """

    script: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    units: int = 0
    trees: bool = False


def asset(package: str, name: str) -> str:
    """The text of a file that lies in a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")
