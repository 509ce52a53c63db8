"""Where outcomes may be moved: anywhere in their support, those of censored rows upwards only.

    W_ki ∝ exp(−‖(y − ŷ_ki)/s_y‖_p^p/ε)   on   y ≥ low_ki

A censored row was at least so much, so whatever it really was lies in [low, ∞); a kernel that put
mass below would hedge against what cannot have been. The bound is each entry's own (``Batch.low``)
and so is the kernel: what a loss knows of one kernel is asked for every entry. Without censored
rows all entries share one kernel, and everything is asked once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow.ambiguity.base import Batch, Setting
from hedgerow.kernels import AbstractKernel
from hedgerow.losses import Loss


def outcome_nodes(
    setting: Setting, batch: Batch, key: PRNGKeyArray
) -> tuple[Float[Array, "b n j y"], Float[Array, "b n j"]]:
    """Nodes around outcomes, and their log-weights."""
    kernel, nodes = setting.moving().outcome, setting.outcome_nodes
    if nodes is None:
        raise ValueError("This setting has no nodes around outcomes: the loss needs none.")
    if batch.low is None:
        return nodes(kernel, batch.outcomes, key)
    if nodes.reference() is not None:
        refuse_reference()
    keys = jax.random.split(key, batch.outcomes.shape[:2])
    each = jax.vmap(jax.vmap(lambda y, low, key: nodes(kernel.above(low), y, key)))
    return each(batch.outcomes, batch.low, keys)


def refuse_reference() -> NoReturn:
    """Say that censored outcomes and discrete reference measures do not go together."""
    raise ValueError(
        "Censored outcomes are moved upwards only, and a discrete reference measure may have no "
        "points there: leave reference out, or fit without censored."
    )


def closed_log_moments(
    setting: Setting, decisions: Float[Array, "b m k"], batch: Batch, temperature: Any
) -> Float[Array, "b m n"]:
    """G_ki at decisions, where the loss has a closed form."""

    def log_moment(loss: Loss, kernel: AbstractKernel, z: Array, y: Array) -> Array:
        closed: Any = loss.closed_moments(kernel)
        return closed.log_moment(z, y, temperature)

    return _at_each(log_moment, setting, decisions, batch)


def best_responses(
    setting: Setting, decisions: Float[Array, "b m k"], batch: Batch, penalty: Any
) -> Float[Array, "b m n y"] | None:
    """The worst outcomes at a price, where the loss knows them; None: it does not."""
    if setting.loss.best_response(setting.moving().outcome) is None:
        return None

    def respond(loss: Loss, kernel: AbstractKernel, z: Array, y: Array) -> Array:
        response: Any = loss.best_response(kernel)
        rows = jnp.broadcast_shapes(z.shape[:-1], y.shape[:-1])
        return jnp.broadcast_to(response(z, y, penalty), (*rows, y.shape[-1]))

    return _at_each(respond, setting, decisions, batch)


def tilted_outcomes(
    setting: Setting,
    uniform: Float[Array, "r y"],
    decisions: Float[Array, "r k"],
    home: Float[Array, "r y"],
    low: Float[Array, "r y"] | None,
    temperature: Any,
) -> Float[Array, "r y"]:
    """One outcome around each of some, drawn from its kernel tilted by the loss."""
    kernel = setting.moving().outcome

    def draw(loss: Loss, kernel: AbstractKernel, uniform: Array, z: Array, y: Array) -> Array:
        closed: Any = loss.closed_moments(kernel)
        return closed.tilted_outcome(uniform, z, y, temperature)

    if low is None:
        return draw(setting.loss, kernel, uniform, decisions, home)
    return setting.loss.mapped(
        lambda loss, low, *rest: draw(loss, kernel.above(low), *rest), low, uniform, decisions, home
    )


def _at_each(
    asked: Callable[[Loss, AbstractKernel, Array, Array], Array],
    setting: Setting,
    decisions: Float[Array, "b m k"],
    batch: Batch,
) -> Float[Array, "b m n ..."]:
    """What is asked of a loss, kernel, decisions and outcome: of every entry's own kernel."""
    kernel = setting.moving().outcome
    if batch.low is None:
        return asked(setting.loss, kernel, decisions[:, :, None, :], batch.outcomes[:, None])

    def of_entries(loss: Loss, decisions: Array, outcomes: Array, low: Array) -> Array:
        return jax.vmap(
            lambda z, y, low: asked(loss, kernel.above(low), z, y[None]),
            in_axes=(None, 0, 0),
            out_axes=1,
        )(decisions, outcomes, low)

    return setting.loss.mapped(of_entries, decisions, batch.outcomes, batch.low)
