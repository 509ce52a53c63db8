"""Rules with a map at their end: f(x) = map(raw(x)), the map being onto Z.

A rule says what its raw numbers are, and between which bounds they lie over a box of contexts. What
the map makes of them is the decision set's own (``DecisionSet.from_raw``, ``.image``,
``.page_blocks``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from hedgerow.describe.page_form import PageForm, asset
from hedgerow.describe.parts import Missing
from hedgerow.plain import Mapped
from hedgerow.plain.sums import RawNumbers
from hedgerow.rules.base import FittedRule
from hedgerow.rules.expansion import Expansion


class MappedRule(FittedRule):
    """f(x) = map(raw(x)) (abstract)."""

    def raw(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Numbers to be mapped, for every column of x."""
        raise NotImplementedError

    def raw_bounds(
        self, centre: Float[np.ndarray, " d"], width: Float[np.ndarray, " d"]
    ) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        """Bounds on them for all standardised contexts with |x − centre| ≤ width."""
        raise NotImplementedError

    def raw_expansion(self, n_features: int) -> Expansion | None:
        """What is certain of the raw numbers around any context."""
        return None

    def plain_raw(self) -> RawNumbers | None:
        """Numbers to be mapped, with NumPy alone."""
        return None

    def plain(self) -> Mapped | None:
        """The numbers and the map, if both are known."""
        raw, onto = self.plain_raw(), self.decision_set.plain()
        return None if raw is None or onto is None else Mapped(raw, onto)

    def hidden_units(self) -> int:
        """Units that one decision passes."""
        return 0

    def __call__(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Decide for every column of x."""
        return self.decision_set.from_raw(self.raw(x).T).T

    def bounds(self, centre: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The map of the bounds on raw numbers."""
        found = self.decision_set.image(*self.raw_bounds(centre, width))
        if found is None:
            needed = "Bounds on decisions need those of the map onto Z"
            raise Missing(self.decision_set, "image", needed)
        return found

    def expansion(self, n_features: int) -> Expansion | None:
        """That of the raw numbers, and the map."""
        found, image = self.raw_expansion(n_features), self.decision_set.image
        steepest = self.decision_set.steepest()
        if found is None or steepest is None:
            return None
        both: Any = image
        return replace(found, image=both, image_steepest=steepest)

    def page_form(self) -> PageForm:
        """What was learned, which ``mapped.js`` knows by its names, and the map."""
        blocks = self.decision_set.page_blocks()
        if blocks is None:
            needed = "A page that decides needs the map onto Z"
            raise Missing(self.decision_set, "page_blocks", needed)
        maps = ",\n".join(f"(parameters) => {{\n{block.script}\n}}" for block in blocks)
        learned = {name: np.asarray(getattr(self, name), np.float32) for name in self.trainable}
        return PageForm(
            f"const MAPS = [{maps}];\n{asset('hedgerow.rules', 'mapped.js')}",
            learned | {"blocks": [dict(block.parameters) for block in blocks]},
            self.hidden_units(),
        )
