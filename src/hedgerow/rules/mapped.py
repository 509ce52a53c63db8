"""What rules with a map at their end share: f(x) = map(raw(x)), the map being onto Z.

The map of their raw numbers, bounds on it, and how a page computes it. All are the decision set's
own (``DecisionSet.from_raw``, ``.image``, ``.page_blocks``).
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hedgerow.decisions import DecisionSet
from hedgerow.describe.page_form import PageForm, asset
from hedgerow.describe.parts import Missing


def through(decision_set: DecisionSet, raw: Float[Array, "k rows"]) -> Float[Array, "k rows"]:
    """Send raw outputs, rows last, through the map onto the decision set."""
    return jnp.moveaxis(decision_set.from_raw(jnp.moveaxis(raw, 0, -1)), -1, 0)


def image(
    decision_set: DecisionSet, low: Float[np.ndarray, " k"], high: Float[np.ndarray, " k"]
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Bounds on the map of raw numbers between low and high."""
    found = decision_set.image(low, high)
    if found is None:
        raise Missing(decision_set, "image", "Bounds on decisions need those of the map onto Z")
    return found


def mapped_form(decision_set: DecisionSet, units: int = 0, **parameters: Any) -> PageForm:
    """A page form of raw numbers, which ``mapped.js`` knows by their names, and the map."""
    blocks = decision_set.page_blocks()
    if blocks is None:
        raise Missing(decision_set, "page_blocks", "A page that decides needs the map onto Z")
    maps = ",\n".join(f"(parameters) => {{\n{block.script}\n}}" for block in blocks)
    return PageForm(
        f"const MAPS = [{maps}];\n{asset('hedgerow.rules', 'mapped.js')}",
        {name: np.asarray(value, np.float32) for name, value in parameters.items()}
        | {"blocks": [dict(block.parameters) for block in blocks]},
        units,
    )
