"""Histories and test sets as the released generators make them.

    newsvendor   x ~ N(0, Σ), y = s(x) + N(0, 1); the *pair* is drawn again while y ≤ 0
    inventory    y₁ ~ Exp(rate e^u), y₂ ~ Gamma(2, scale e^u), y₃ ~ Gamma(4, scale e^u), u = βᵀx

and contexts standardised with the training rows' moments. ``hedgerow.datasets`` reads the paper's
text otherwise in two places: it redraws the noise while the context stays, and takes e^u for the
scale of all three demands. Here y₁ falls where y₂ and y₃ rise, so that the problem is another one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hedgerow.datasets import make_inventory, make_newsvendor, newsvendor_signal

TEST_ROWS = 50_000
SMALL = 1e-8
"""Added to standard deviations, as released."""


@dataclass(frozen=True)
class History:
    """One truth: training rows and test rows, contexts standardised.

    ``index`` is βᵀx of the test rows, all that demand depends on.
    """

    contexts: Float[np.ndarray, "n d"]
    outcomes: Float[np.ndarray, "n k"]
    test_contexts: Float[np.ndarray, "m d"]
    test_outcomes: Float[np.ndarray, "m k"]
    index: Float[np.ndarray, " m"]


def draw(problem: str, rows: int, features: int, seed: int, test_rows: int = TEST_ROWS) -> History:
    """Draw a truth with its training and test rows; the same seed gives the same ones."""
    rng = np.random.default_rng([seed, rows, features, problem == "inventory"])
    make = {"newsvendor": _newsvendor, "inventory": _inventory}[problem]
    beta = rng.uniform(-0.1, 0.1, features)
    (contexts, outcomes), (test_contexts, test_outcomes) = (
        make(count, beta, rng) for count in (rows, test_rows)
    )
    mean, deviation = contexts.mean(axis=0), contexts.std(axis=0, ddof=1) + SMALL
    return History(
        (contexts - mean) / deviation,
        outcomes,
        (test_contexts - mean) / deviation,
        test_outcomes,
        test_contexts @ beta,
    )


def _newsvendor(
    rows: int, beta: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs, those without positive demand drawn again."""
    contexts, demands = np.empty((0, len(beta))), np.empty(0)
    while len(demands) < rows:
        # the library's contexts; its demands are conditioned on the context, so they are not used
        seed = int(rng.integers(2**31))
        more = make_newsvendor(2 * rows + 50, len(beta), beta=beta, random_state=seed).data
        demand = newsvendor_signal(more, beta) + rng.standard_normal(len(more))
        contexts = np.concatenate([contexts, more[demand > 0]])
        demands = np.concatenate([demands, demand[demand > 0]])
    return contexts[:rows], demands[:rows, None]


def _inventory(
    rows: int, beta: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs; the first product's mean demand is 1 over the scale of the others."""
    seed = int(rng.integers(2**31))
    drawn = make_inventory(rows, len(beta), beta=beta, random_state=seed)
    unit = drawn.target / drawn.scale[:, None]
    return drawn.data, unit * scales(np.log(drawn.scale))


def scales(index: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
    """Scales of the three demands at an index u: e^−u, e^u, e^u."""
    return np.exp(np.outer(index, [-1.0, 1.0, 1.0]))
