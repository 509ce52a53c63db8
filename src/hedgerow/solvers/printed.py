"""Algorithm 1 to the letter (paper: algo-SCSC-ML): one tracker y₁ and one vector y₂ for all.

With t3 ∈ ℝⁿ the exponentials of a context's n outcomes, t2(v) = exp Σ_i p̂_i log v_i and t1 = log,

    y₂ ← (1−β)·( y₂ + t3(θ_k) − t3(θ_{k−1}) ) + β·t3(θ_k)                       (y2-update)
    y₁ ← (1−β)·( y₁ + t2(y₂ new) − t2(y₂ old) ) + β·t2(y₂ new)                  (y1-update)
    θ  ← θ − α·∇t1(y₁ old)·∇t2(y₂ old)·∇t3(θ_k)                                 (theta-update)

Place i of y₂ is the i-th outcome of whatever context is drawn. A step with several contexts and
nodes takes their averages of t2 and t3; ``batch=1, nodes=1, outcome_nodes=1`` is one draw each. The
first draw is where trackers begin.

What it minimises. y₂ᵢ follows E t3ᵢ over *all* contexts and y₁ follows E t2(y₂), where F has a pair
of its own for every context. With n equally likely outcomes t2(y₂)/y₁ settles at 1, and what is
left is the gradient of

    T · (1/n) Σ_i log E_x̂ E_ξ exp( Ψ(f(x̂+ξ1), ŷ_i+ξ2)/T ),

a tilt of all contexts together, which depends on the order in which outcomes are listed; with one
outcome per context it is that of ``trackers="shared"``.

Numbers. exp(Ψ/T) leaves floats at ordinary losses, so trackers are kept as logarithms, and the sums
above are taken relative to their largest term: nothing overflows. A difference can take a tracker
to 0 or below, where t1 and t2 have no logarithm and the algorithm has no next step. There the
difference is left out, and training goes on; a warning says how often.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int

from hedgerow._warnings import HedgerowWarning, SolverWarning
from hedgerow.ambiguity import Inner
from hedgerow.data import Batch
from hedgerow.describe.parts import offered
from hedgerow.kernels import NEVER
from hedgerow.solvers.training import At, Objective, Parameters, Step

CANCELLED = 1e-6
"""What float32 leaves of numbers of order 1 that cancel: no more than this is told from 0."""
NEEDED = 'trackers="printed" follows the averages that stand inside one another in the objective'


class PrintedMemory(NamedTuple):
    """Logarithms of both trackers, the last step's parameters, and how often it was left out."""

    outer: Float[Array, ""]
    inner: Float[Array, " n"]
    previous: Parameters
    left_out: Int[Array, ""]


def printed_memory(objective: Objective, parameters: Parameters) -> PrintedMemory:
    """Return trackers that remember nothing yet."""
    inner = jnp.full(objective.table.most_outcomes, NEVER, jnp.float32)
    zero = jnp.zeros((), jnp.int32)
    return PrintedMemory(jnp.asarray(NEVER, jnp.float32), inner, parameters, zero)


def printed_step(
    objective: Objective, at: At, drawn: tuple[Batch, Array], share: ArrayLike
) -> Step:
    """One step; ``share`` is β."""
    batch, key = drawn
    memory: PrintedMemory = at.memory
    now, before = (
        _inner(objective, parameters, batch, key) for parameters in (at.parameters, memory.previous)
    )
    seen = jnp.any(_counted(now, batch) > 0, axis=0)
    newest, last = _log_outcomes(now, batch), _log_outcomes(before, batch)
    old = jnp.where(memory.inner > NEVER / 2, memory.inner, newest)
    followed, wrong = _corrected(old, newest, last, share)
    fresh = jnp.where(seen, followed, memory.inner)
    products = _log_products(fresh, now), _log_products(old, now)
    above, below = (jax.nn.logsumexp(jnp.log(batch.mass) + product) for product in products)
    outer = jnp.where(memory.outer > NEVER / 2, memory.outer, below)
    settled, none = _corrected(outer, above, below, share)

    def surrogate(parameters: Parameters) -> tuple[Array, Array]:
        """A function with the printed direction as its gradient; and T·t1(y₁)."""
        made = _inner(objective, parameters, batch, key)
        logs = products[1][:, None] - outer - jnp.where(seen, old, 0.0)
        exponents = made.log_moments + made.log_weights[:, None, :] + logs[:, :, None]
        each = (batch.mass[:, None] * made.shares)[:, :, None]
        weights = jax.lax.stop_gradient(each * jnp.exp(jnp.where(each > 0, exponents, NEVER)))
        temperature = jnp.asarray(made.temperature)
        reserved = objective.reserved(parameters)
        value = temperature * outer
        moved = jax.lax.stop_gradient(temperature) * jnp.sum(weights * made.log_moments)
        return value + moved + reserved, value + reserved

    gradient, value = jax.grad(surrogate, has_aux=True)(at.parameters)
    left_out = memory.left_out + (jnp.any(wrong & seen) | none)
    return Step(gradient, value, PrintedMemory(settled, fresh, at.parameters, left_out))


def printed_remarks(memory: PrintedMemory, steps: int) -> Iterator[HedgerowWarning]:
    """Whether the algorithm would have come to an end."""
    count = int(memory.left_out)
    if count:
        yield SolverWarning(
            f"In {count:,} of {steps:,} steps the printed correction took a tracker to 0 or below, "
            "where it has no logarithm, and was left out; smaller steps make that rarer, and "
            'trackers="per-context" corrects by ratios, which cannot.'
        )


def _inner(objective: Objective, parameters: Parameters, batch: Batch, key: Array) -> Inner:
    model, setting = objective.at(parameters), objective.setting.at(batch)
    perturbed = model.perturb(objective.rule(parameters), setting, batch, key)
    return offered(model.inner(perturbed, setting, batch), model, "inner", NEEDED)


def _counted(inner: Inner, batch: Batch) -> Float[Array, "b n"]:
    """What a context counts in the average of every outcome that it has."""
    return jnp.where(inner.shares > 0, batch.mass[:, None], 0.0)


def _log_outcomes(inner: Inner, batch: Batch) -> Float[Array, " n"]:
    """Log of this step's t3; of outcomes that no context of the batch has, 0."""
    counted = _counted(inner, batch)
    within = jax.nn.logsumexp(inner.log_moments + inner.log_weights[:, None, :], axis=-1)
    total = jnp.sum(counted, axis=0)
    within = jnp.where(counted > 0, within, 0.0)
    summed = jax.nn.logsumexp(within, axis=0, b=counted)
    return jnp.where(total > 0, summed - jnp.log(jnp.where(total > 0, total, 1.0)), 0.0)


def _log_products(trackers: Float[Array, " n"], inner: Inner) -> Float[Array, " b"]:
    """Log of t2 of each context."""
    return jnp.sum(jnp.where(inner.shares > 0, inner.shares * trackers, 0.0), axis=1)


def _corrected(old: Array, now: Array, last: Array, share: ArrayLike) -> tuple[Array, Any]:
    """log( (1−β)(e^old + e^now − e^last) + β e^now ), and where there is none.

    There it is log( (1−β) e^old + β e^now ).
    """
    top = jnp.maximum(jnp.maximum(old, now), last)
    own, new, gone = (jnp.exp(part - top) for part in (old, now, last))
    exact = (1 - share) * (own + new - gone) + share * new
    wrong = exact < CANCELLED
    plain = (1 - share) * own + share * new
    return top + jnp.log(jnp.where(wrong, jnp.maximum(plain, 1e-37), exact)), wrong
