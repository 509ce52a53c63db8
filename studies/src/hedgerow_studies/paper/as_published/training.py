"""Training as released: the empirical risk, and what the released trainer of Causal-SDRO does.

Both pass 300 times (portfolio: 400) through shuffled batches of 64 (inventory: 60; the last batch
is short).

**Empirical risk.** Adam at 0.05. For the newsvendor the released line subtracts demands of shape
(64, 1) from decisions of shape (64,), which is every demand from every decision: "pairs" here. Such
a rule is trained against demands that have nothing to do with its contexts. "rows" is the risk as
it is meant; the published baseline fits one or the other (``studies``).

**Causal-SDRO.** Pairs are moved, x̂ + ξ₁ and ŷ + ξ₂, one draw each, and with ℓ̃ = min(ℓ, s·λε)

    t = mean of exp(ℓ̃/λε) over the batch,
    y ← (1−β)(y + t − t of the last step) + β t,         c = t/y,
    g ← clip₄( g + c·∇ mean ℓ̃ ),                         θ ← θ − α g,

α = 1/√K, β = 2/√K, K = 300·⌊N/64⌋, s = 50 (inventory: 80), starting from y = 1 and t = 0. Three
things follow from that as it stands, and none is Algorithm 1:

1. The correction compares with the *last batch's* t. Then y − t shrinks by 1−β in every step,

        y_k = t_k + (1−β)^k      and      c_k = 1/(1 + (1−β)^k / t_k) → 1.

   The trackers have no effect after the first steps.
2. c is one number for the batch. Within it every row has the same weight, where the objective
   F weighs rows by exp(ℓ/λε). What is minimised is the plain mean of ℓ̃ over moved pairs: training
   on noisy copies of the data. λ is left in one place, the clamp s·λε, above which rows are
   ignored.
3. Gradients are never set to zero: g is the sum of all so far, cut to length 4 in each step, a
   momentum without decay that ends only where it is cut.

For portfolios the forest's sums g become steps of Adam, gates ten times as fast as leaves, both
pulled to 0 a little.

``Trainer.tilted`` and ``Trainer.fresh`` undo 2 and 3 one by one, for ``studies.Differences``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from hedgerow.programs import program
from hedgerow_studies.paper.as_published.losses import Loss, trained_on
from hedgerow_studies.paper.as_published.rules import Parameters, decide

PASSES, PORTFOLIO_PASSES = 300, 400
BATCH = {"newsvendor": 64, "inventory": 60, "portfolio": 64}
LARGEST = {"newsvendor": 50.0, "inventory": 80.0, "portfolio": 50.0}
"""s: losses are cut at so many λε."""
RATE, LONGEST = 0.05, 4.0
"""Of Adam; and the length to which the released trainer cuts its gradient."""
GATES, LEAVES = (10.0, 1e-4), (1.0, 1e-3)
"""Of a portfolio's forest: times the step size, and how hard parameters are pulled to 0."""
MOST_ROWS = {"newsvendor": 1000, "inventory": 800, "portfolio": 730}
"""Arrays are padded to this, so that all numbers of rows share one program."""
FIXED = "seen"
"""The parameter that is not learned: which features a tree sees."""


@dataclass(frozen=True)
class Trainer:
    """How a rule is trained.

    Parameters
    ----------
    kind : {"rows", "pairs", "released"}
        The empirical risk as meant, as its released line has it, or the released Causal-SDRO.
    order, penalty, epsilon : of the kernel and the exponent; only "released" has them.
    tilted : bool
        Rows weigh exp(ℓ̃/λε)/mean, as in the objective, instead of one number c for the batch.
    fresh : bool
        Gradients are set to zero after each step.
    smooth : bool
        The newsvendor's loss in training is the released one, not the printed one.
    passes : int
    rate : float
        Times the released step size.
    return_weight : float
        ω of a portfolio.
    """

    kind: str
    order: int = 2
    penalty: float = 1.0
    epsilon: float = 1.0
    tilted: bool = False
    fresh: bool = False
    smooth: bool = True
    passes: int = PASSES
    rate: float = 1.0
    return_weight: float = 0.0


def train(
    problem: str, trainer: Trainer, parameters: Parameters, history: Any, seed: int
) -> Parameters:
    """Return trained parameters."""
    rows = len(history.contexts)
    batch = BATCH[problem]
    taken, shares = _batches(rows, batch, trainer.passes, np.random.default_rng([seed, 1]))
    steps, room = len(taken), trainer.passes * -(-MOST_ROWS[problem] // batch)
    taken, shares = (_padded(part, room) for part in (taken, shares))
    tables = (_padded(part, MOST_ROWS[problem]) for part in (history.contexts, history.outcomes))
    contexts, outcomes = (jnp.asarray(table, jnp.float32) for table in tables)
    tracked = trainer.passes * max(rows // batch, 1)
    numbers = {
        "alpha": trainer.rate / np.sqrt(tracked),
        "risk_rate": trainer.rate * RATE,
        "beta": 2 / np.sqrt(tracked),
        "temperature": trainer.penalty * trainer.epsilon,
        "epsilon": trainer.epsilon,
        "return_weight": trainer.return_weight,
        "steps": steps,
    }
    numbers = {name: jnp.asarray(value) for name, value in numbers.items()}
    how = (problem, trainer.kind, trainer.order, trainer.tilted, trainer.fresh, trainer.smooth)
    data = contexts, outcomes, jnp.asarray(taken), jnp.asarray(shares, jnp.float32)
    return _run(parameters, data, numbers, jax.random.key(seed), how)


def _batches(
    rows: int, batch: int, passes: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of every step, and their shares in its mean: 0 where a short batch has none."""
    each = -(-rows // batch)
    taken = np.zeros((passes, each * batch), np.int32)
    for one in taken:
        one[:rows] = rng.permutation(rows)
    taken = taken.reshape(-1, batch)
    there = np.tile(np.arange(each * batch).reshape(each, batch) < rows, (passes, 1))
    return taken, there / there.sum(axis=1, keepdims=True)


def _padded(table: np.ndarray, rows: int) -> np.ndarray:
    return np.concatenate([table, np.zeros((rows - len(table), *table.shape[1:]), table.dtype)])


@program(static_argnames="how")
def _run(
    parameters: Parameters,
    data: tuple[Array, Array, Array, Array],
    numbers: dict[str, Array],
    key: Array,
    how: tuple[str, str, int, bool, bool, bool],
) -> Parameters:
    fixed = {name: part for name, part in parameters.items() if name == FIXED}
    learned = {name: part for name, part in parameters.items() if name != FIXED}
    contexts, outcomes, taken, shares = data
    problem, kind, order, tilted, fresh, smooth = how
    loss = trained_on(problem, smooth, numbers["return_weight"])
    by_adam = problem == "portfolio" and "leaves" in learned
    directions = optax.scale_by_adam()

    def risk(learned: Parameters, x: Array, y: Array, share: Array) -> Array:
        z = decide(learned | fixed, x)
        if kind == "pairs":
            each = loss(z[:, None, :], y[None, :, :])
            return share @ each @ share
        return share @ loss(z, y)

    def plain(i: Array, state: Any) -> Any:
        learned, memory = state
        place = taken[i]
        gradient = jax.grad(risk)(learned, contexts[place], outcomes[place], shares[i])
        moves, memory = directions.update(gradient, memory)
        step = numbers["risk_rate"]
        return jax.tree.map(lambda part, move: part - step * move, learned, moves), memory

    def released(i: Array, state: Any) -> Any:
        learned, (summed, memory) = state
        place, share = taken[i], shares[i]
        for_x, for_y = jax.random.split(jax.random.fold_in(key, i))
        x = contexts[place] + moved(for_x, contexts[place].shape, numbers["epsilon"], order)
        y = outcomes[place] + moved(for_y, outcomes[place].shape, numbers["epsilon"], order)
        objective = partial(batch_objective, (loss, LARGEST[problem], tilted), fixed)
        gradient = jax.grad(objective)(learned, x, y, share, i, numbers)
        summed = gradient if fresh else jax.tree.map(jnp.add, summed, gradient)
        summed = cut(summed)
        moves: Any = summed
        if by_adam:
            pulled = {name: part + _pace(name)[1] * learned[name] for name, part in summed.items()}
            moves, memory = directions.update(pulled, memory)
            moves = {name: _pace(name)[0] * part for name, part in moves.items()}
        step = numbers["alpha"]
        learned = jax.tree.map(lambda part, move: part - step * move, learned, moves)
        return learned, (summed, memory)

    if kind == "released":
        state = learned, (jax.tree.map(jnp.zeros_like, learned), directions.init(learned))
        return jax.lax.fori_loop(0, numbers["steps"], released, state)[0] | fixed
    begun = learned, directions.init(learned)
    return jax.lax.fori_loop(0, numbers["steps"], plain, begun)[0] | fixed


def _pace(name: str) -> tuple[float, float]:
    return LEAVES if name == "leaves" else GATES


def batch_objective(
    kind: tuple[Loss, float, bool],
    fixed: Parameters,
    learned: Parameters,
    x: Array,
    y: Array,
    share: Array,
    step: Array,
    numbers: dict[str, Array],
) -> Array:
    """What a step of the released trainer differentiates, its coefficient held fixed."""
    (trained, largest, tilted), temperature = kind, numbers["temperature"]
    loss = jnp.minimum(trained(decide(learned | fixed, x), y), largest * temperature)
    log_mean = jax.nn.logsumexp(loss / temperature, b=share)
    if tilted:
        weights = share * jnp.exp(loss / temperature - log_mean)
        return jnp.sum(jax.lax.stop_gradient(weights) * loss)
    coefficient = corrected(log_mean, step, numbers["beta"])
    scale = jnp.where(temperature < 1, 1.0, 1 / temperature)
    return jax.lax.stop_gradient(coefficient) * scale * (share @ loss)


def corrected(log_mean: Array, step: Array, beta: Array) -> Array:
    """The coefficient c = t/y = 1/(1 + (1−β)^k/t), k counted from 1."""
    return 1 / (1 + jnp.exp((step + 1) * jnp.log1p(-beta) - log_mean))


def moved(key: Array, shape: tuple[int, ...], epsilon: Array, order: int) -> Array:
    """ξ: Laplace of scale ε for order 1, normal of variance ε/2 for order 2."""
    if order == 1:
        return epsilon * jax.random.laplace(key, shape)
    return jnp.sqrt(epsilon / 2) * jax.random.normal(key, shape)


def cut(gradient: Parameters) -> Parameters:
    """Shorten to LONGEST all in all."""
    length = optax.global_norm(gradient)
    return jax.tree.map(lambda part: part * jnp.minimum(1.0, LONGEST / (length + 1e-6)), gradient)
