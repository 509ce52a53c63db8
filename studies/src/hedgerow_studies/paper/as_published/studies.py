"""The paper's two synthetic problems as published, and what each difference is worth.

newsvendor, inventory    every size: the rerun empirical risk, the released trainer of orders 1
                         and 2, Algorithm 1 as printed, and hedgerow's defaults, on the same draws

Prescriptiveness is against the *rerun* empirical risk of the same draw and rule, as it is meant,
clipped below at −100 %. Nothing is divided by a number from the paper's tables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from hedgerow.ambiguity import CausalSinkhorn
from hedgerow.data import EmpiricalNominal
from hedgerow.datasets import expected_newsvendor_loss, paper_inventory_costs
from hedgerow.estimator import RobustPolicy
from hedgerow.losses import InventorySubstitution, Loss, Newsvendor
from hedgerow.programs import program
from hedgerow.rules import SoftForest
from hedgerow.solvers import SCSC
from hedgerow_studies.paper import published
from hedgerow_studies.paper.as_published import histories, losses, oracles, rules
from hedgerow_studies.paper.as_published.training import BATCH, PASSES, Trainer, train
from hedgerow_studies.paper.study import Cell, Row, Study
from hedgerow_studies.paper.synthetic_problems import DRAWS, sizes

ERM, ALL_PAIRS, HEDGEROW = "ERM, rerun", "ERM, as released", "hedgerow, defaults"
"""The risk by the released recipe as it is meant, and as its line for the newsvendor has it."""
RELEASED = {1: "1-Causal-SDRO, as released", 2: "2-Causal-SDRO, as released"}
PRINTED, UNMOVED = "2-Causal-SDRO, Algorithm 1", "ERM, by the released trainer"
"""The printed algorithm; and the released trainer of order 2 on pairs that are not moved."""
METHODS = (ERM, ALL_PAIRS, *RELEASED.values(), UNMOVED, PRINTED, HEDGEROW)
NETWORK_METHODS = (ERM, *RELEASED.values())
STILL = 1e-8
"""An epsilon that moves nothing: by 0.0001 standard deviations."""
ADMISSIBLE = 1.05
"""Penalty of order 1 for the newsvendor: just above max(h, b), where values begin to be finite."""
INSTANCES = {"newsvendor": 10, "inventory": 5}
"""Draws of a size, as many as the released tables have."""
FEWER = {50: 4, ALL_PAIRS: 4, UNMOVED: 4, PRINTED: 2, HEDGEROW: 3, "network": 2}
"""The same of what takes long, by number of features, method or rule."""
CHUNK = 5_000
TEST_ROWS = {"tiny": 2_000, "quick": 20_000, "full": 20_000}


def parameters(problem: str, order: int) -> tuple[float, float]:
    """Published penalty and epsilon, in raw units."""
    penalty, epsilon = published.TUNED[problem][f"{order}-Causal-SDRO"]
    return penalty, float(epsilon or 0.0)


def recipe(problem: str, method: str) -> Trainer:
    """How a method of the released code is trained."""
    if method in (ERM, ALL_PAIRS):
        return Trainer("rows" if method == ERM else "pairs")
    if method == UNMOVED:
        return unmoved(problem)
    order = next(order for order, name in RELEASED.items() if name == method)
    return Trainer("released", order, *parameters(problem, order))


def unmoved(problem: str) -> Trainer:
    """Order 2 as released, but for ξ, which is 0: λε, and with it the clamp, stay what they are."""
    penalty, epsilon = parameters(problem, 2)
    return Trainer("released", 2, penalty * epsilon / STILL, STILL)


@dataclass(frozen=True)
class AsPublished(Study):
    """Every size of one problem."""

    what: ClassVar[str] = "As published"
    family: ClassVar[str | None] = "as_published"
    problem: str

    @property
    def title(self) -> str:
        """What is shown of which problem."""
        return f"{self.what}, {self.problem}"

    @property
    def source(self) -> str:
        """Its cells are those of no other study of the problem."""
        return f"as-published-{self.problem}"

    def cells(self, scale: str) -> list[Cell]:
        """One per draw, rule, method and size: a run that is stopped has all sizes."""
        places = sorted(sizes(self.problem, scale), key=lambda place: place[::-1])
        methods = [m for m in METHODS if m != ALL_PAIRS or self.problem == "newsvendor"]
        wanted = [("forest", method) for method in methods]
        wanted += [("network", method) for method in NETWORK_METHODS]
        if scale == "tiny":
            wanted = [("forest", ERM), ("forest", RELEASED[2])]
        return [
            {"rows": n, "features": d, "seed": seed, "scale": scale, "rule": rule, "method": method}
            for seed in range(DRAWS[scale])
            for rule, method in wanted
            for n, d in places
            if seed < self._draws(d, rule, method)
        ]

    def _draws(self, *about: Any) -> int:
        return min(FEWER.get(what, INSTANCES[self.problem]) for what in about)

    def run(self, cell: Cell) -> list[Row]:
        """Train one rule on one draw, and score it exactly and as released."""
        history = drawn(self.problem, cell)
        seed, method = cell["seed"], cell["method"]
        if method == PRINTED:
            decide = as_printed(self.problem, history, seed)
        elif method == HEDGEROW:
            policy = RobustPolicy(loss_of(self.problem), random_state=seed)
            decide = policy.fit(history.contexts, history.outcomes).predict
        else:
            trainer = recipe(self.problem, method)
            if cell["scale"] == "tiny":
                trainer = replace(trainer, passes=10)
            decide = trained(self.problem, trainer, cell["rule"], history, seed)
        return [scores(self.problem, history, decide)]

    def label(self, cell: Cell) -> str:
        """Method and size."""
        return f"{cell['method']}, {cell['rows']} × {cell['features']}"


def drawn(problem: str, cell: Cell) -> histories.History:
    """The draw of a cell."""
    scale = TEST_ROWS[cell["scale"]]
    return histories.draw(problem, cell["rows"], cell["features"], cell["seed"], scale)


def loss_of(problem: str) -> Loss:
    """The library's loss of a problem."""
    if problem == "newsvendor":
        return Newsvendor(losses.HOLDING, losses.STOCKOUT)
    costs = paper_inventory_costs()
    return InventorySubstitution(costs.holding, costs.stockout, costs.substitution)


def trained(
    problem: str, trainer: Trainer, rule: str, history: histories.History, seed: int
) -> Any:
    """Train as released; a function from contexts to decisions."""
    features, decisions = history.contexts.shape[1], history.outcomes.shape[1]
    start = rules.first(rule, features, decisions, np.random.default_rng([seed, 2]))
    learned = train(problem, trainer, start, history, seed)

    def decide(contexts: np.ndarray) -> np.ndarray:
        given = jnp.asarray(contexts, jnp.float32)
        parts = [given[at : at + CHUNK] for at in range(0, len(given), CHUNK)]
        return np.concatenate([np.asarray(_decided(learned, part)) for part in parts])

    return decide


@program
def _decided(learned: rules.Parameters, contexts: Any) -> Any:
    return rules.decide(learned, contexts)


def as_printed(
    problem: str,
    history: histories.History,
    seed: int,
    trackers: str = "printed",
    plain: bool = False,
    leaves: str = "constant",
    temperature: float = 1.0,
) -> Any:
    """Algorithm 1 by the library: the paper's forest and parameters of order 2.

    As many steps as released, of the same batches. ``plain`` takes them along the gradient itself
    with the step sizes of the paper's theorem; else Adam takes them, as everywhere in the library.
    ``trackers="per-context"`` minimises the paper's objective F instead.
    """
    penalty, epsilon = parameters(problem, 2)
    batch = BATCH[problem]
    steps = PASSES * max(len(history.contexts) // batch, 1)
    solver = SCSC(steps=steps, batch=batch, nodes=1)
    if plain:
        solver = SCSC.as_published(steps, min(1.0, 2 / np.sqrt(steps)), batch=batch, nodes=1)
    solver = solver.set_params(trackers=trackers)
    policy = RobustPolicy(
        loss_of(problem),
        CausalSinkhorn(penalty, epsilon, 2),
        SoftForest(rules.TREES, None, temperature, gates="random", leaves=leaves),
        EmpiricalNominal(),
        solver,
        random_state=seed,
    )
    return policy.fit(history.contexts, history.outcomes).predict


def scores(problem: str, history: histories.History, decide: Any) -> Row:
    """Loss, exact and as released, of a rule on the test rows, and both oracles."""
    decisions = np.asarray(decide(history.test_contexts), float).reshape(len(history.index), -1)
    z, y = jnp.asarray(decisions), jnp.asarray(history.test_outcomes)
    as_released = float(losses.trained_on(problem)(z, y).mean())
    exact = as_released
    if problem == "newsvendor":
        signal = oracles.signal(history.index)
        exact = float(expected_newsvendor_loss(decisions[:, 0], signal).mean())
    return {
        "loss": exact,
        "loss_as_released": as_released,
        "oracle": oracles.oracle(problem, history.index),
        "oracle_as_released": oracles.oracle_as_estimated(problem, history.index),
        "below_zero": float((decisions < 0).any(axis=1).mean()),
    }
