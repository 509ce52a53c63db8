"""Rules as released, each a pair of functions: first parameters, and decisions.

    forest    20 trees of depth ⌈log2 d⌉ + 1, gates N(0, 0.1²) in weights and biases, leaves
              U[0, 0.1]; decisions are not mapped onto anything; from the fourth tree on a fifth of
              the features, drawn for each tree, is hidden from it
    network   50·d hidden units shared by all decisions, softplus of sharpness 5 for ReLU, weights
              and biases U[−1/√fan, 1/√fan]   (the paper's text says 64·d units and ReLU)

The forest is the library's own, ``hedgerow.rules.forest.Forest``, at temperature 1.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hedgerow.decisions import Free
from hedgerow.rules.forest import Forest
from hedgerow_studies.paper.as_published.losses import softplus

TREES, SEEING_ALL, HIDDEN_SHARE, SPREAD = 20, 3, 0.2, 0.1
UNITS = 50

Parameters = dict[str, Any]


def depth(features: int) -> int:
    """Gates on a route, as printed and as released."""
    return math.ceil(math.log2(features)) + 1


def first(
    rule: str, features: int, decisions: int, rng: np.random.Generator, diverse: bool = True
) -> Parameters:
    """Draw parameters to begin with; trees of a forest that is not ``diverse`` see all features."""
    if rule == "network":
        return _network(features, decisions, rng)
    leaves = 2 ** depth(features)
    seen = np.ones((TREES, 1, features))
    hidden = int(HIDDEN_SHARE * features) if diverse else 0
    for tree in range(SEEING_ALL, TREES):
        seen[tree, 0, rng.permutation(features)[:hidden]] = 0.0
    drawn = {
        "weights": SPREAD * rng.standard_normal((TREES, leaves - 1, features)),
        "biases": SPREAD * rng.standard_normal((TREES, leaves - 1)),
        "leaves": SPREAD * rng.random((TREES, leaves, decisions)),
        "seen": seen,
    }
    return {name: jnp.asarray(part, jnp.float32) for name, part in drawn.items()}


def _network(features: int, decisions: int, rng: np.random.Generator) -> Parameters:
    units = UNITS * features
    first_layer, second_layer = features**-0.5, units**-0.5
    drawn = {
        "hidden": rng.uniform(-first_layer, first_layer, (units, features)),
        "bias": rng.uniform(-first_layer, first_layer, units),
        "output": rng.uniform(-second_layer, second_layer, (decisions, units)),
        "offset": rng.uniform(-second_layer, second_layer, decisions),
    }
    return {name: jnp.asarray(part, jnp.float32) for name, part in drawn.items()}


def decide(parameters: Parameters, contexts: Float[Array, "n d"]) -> Float[Array, "n k"]:
    """Decisions of either rule."""
    if "hidden" in parameters:
        layer = softplus(contexts @ parameters["hidden"].T + parameters["bias"])
        return layer @ parameters["output"].T + parameters["offset"]
    forest = Forest(
        gate_weights=parameters["weights"] * jax.lax.stop_gradient(parameters["seen"]),
        gate_biases=parameters["biases"],
        leaves=parameters["leaves"],
        features=None,
        temperature=jnp.ones(()),
        decision_set=Free(parameters["leaves"].shape[-1]),
    )
    return forest(contexts.T).T
