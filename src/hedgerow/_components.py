"""Components: the parts a policy is composed of, tunable by scikit-learn and traceable by JAX.

A loss, an ambiguity model, a rule, a nominal or a solver is a small object that

- scikit-learn can read and set (``get_params``, ``set_params``, ``clone``), so that
  ``GridSearchCV(policy, {"ambiguity__penalty": [...]})`` works;
- JAX can take as an argument (a pytree): the fields named in ``traced`` are its leaves, every
  other field is static. Changing a traced field never recompiles anything.
"""

from __future__ import annotations

import copy
from abc import ABC
from functools import partial
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import BaseEstimator


class Component(BaseEstimator, ABC):
    """Base of every part of a policy. Subclasses list their traced fields and check themselves."""

    traced: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Register the subclass with JAX."""
        super().__init_subclass__(**kwargs)
        jax.tree_util.register_pytree_node(cls, _flatten, partial(_unflatten, cls))

    def check(self) -> None:
        """Raise one clear sentence if a field is not usable. Called by __init__ and by fit."""

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, unchecked (fields may be JAX arrays)."""
        changed = copy.copy(self)
        for name, value in changes.items():
            setattr(changed, name, value)
        return changed


def single(tree: Any) -> Any:
    """Return a tree with every float in float32; cast by numpy, which compiles nothing."""

    def cast(leaf: Any) -> jax.Array:
        array = np.asarray(leaf)
        return jnp.asarray(array.astype(np.float32) if array.dtype.kind == "f" else array)

    return jax.tree_util.tree_map(cast, tree)


def double(tree: Any) -> Any:
    """Return a tree with every float in float64; to be asked for under ``jax.enable_x64``."""

    def cast(leaf: Any) -> jax.Array:
        array = jnp.asarray(leaf)
        return array.astype(jnp.float64) if jnp.issubdtype(array.dtype, jnp.floating) else array

    return jax.tree_util.tree_map(cast, tree)


def _flatten(component: Component) -> tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]:
    fields = vars(component)
    leaves = tuple(fields[name] for name in component.traced)
    static = tuple(sorted((k, v) for k, v in fields.items() if k not in component.traced))
    return leaves, static


def _unflatten(cls: type, static: tuple[tuple[str, Any], ...], leaves: tuple[Any, ...]) -> Any:
    component = object.__new__(cls)
    vars(component).update(static)
    vars(component).update(zip(cls.traced, leaves, strict=True))
    return component
