"""Components: the parts a policy is composed of, tunable by scikit-learn and traceable by JAX.

A loss, an ambiguity model, a rule, a nominal or a solver is a small object that

- declares its parameters as fields, as a dataclass does, and so gets its constructor; one with a
  constructor of its own keeps it;
- scikit-learn can read and set (``get_params``, ``set_params``, ``clone``), so that
  ``GridSearchCV(policy, {"ambiguity__penalty": [...]})`` works;
- JAX can take as an argument (a pytree): the fields named in ``traced`` are its leaves, every
  other field is static. Changing a traced field never recompiles anything.
"""

from __future__ import annotations

import copy
from abc import ABC
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self, dataclass_transform

import jax
import numpy as np
from sklearn.base import BaseEstimator

ABSENT: Any = None
"""Of a base: what its methods know by name and parts declare as a parameter, in their own order."""


_ON_REQUEST = "robust_value_"


def listed(estimator: Any, valued: bool) -> list[str]:
    """Return what ``dir`` lists: scikit-learn's own way asks for every attribute, and computes."""
    return [
        name
        for name in object.__dir__(estimator)
        if (valued if name == _ON_REQUEST else hasattr(estimator, name))
    ]


@dataclass_transform(eq_default=False, field_specifiers=(field,))
class Component(BaseEstimator, ABC):
    """Base of every part of a policy. Subclasses list their traced fields and check themselves."""

    traced: ClassVar[tuple[str, ...]] = ()
    unstored: ClassVar[tuple[str, ...]] = ()
    """Parameters that policy files leave out; a part that was read has their defaults."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Give the subclass a constructor, unless one was written, and register it with JAX."""
        super().__init_subclass__(**kwargs)
        constructed = next(base for base in cls.__mro__ if "__init__" in vars(base))
        if constructed is object or "__dataclass_fields__" in vars(constructed):
            dataclass(eq=False, repr=False)(cls)
        jax.tree_util.register_pytree_node(cls, _flatten, partial(_unflatten, cls))

    def __post_init__(self) -> None:
        self.inspect()

    def inspect(self) -> None:
        """Check what can be told before there are data: here, everything."""
        self.check()

    def check(self) -> None:
        """Raise one clear sentence if a field is not usable. Called when it is made and by fit."""

    @classmethod
    def restored(cls, **parameters: Any) -> Self:
        """Make the part from a file's parameters; one whose checks take long may put them off."""
        return cls(**parameters)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, unchecked (fields may be JAX arrays)."""
        changed = copy.copy(self)
        for name, value in changes.items():
            setattr(changed, name, value)
        return changed


def single(tree: Any) -> Any:
    """Return a tree with every float in float32; cast by numpy, which compiles nothing."""
    return _cast(tree, np.float32)


def double(tree: Any) -> Any:
    """Return a tree with every float in float64; to be asked for under ``jax.enable_x64``."""
    return _cast(tree, np.float64)


def _cast(tree: Any, dtype: Any) -> Any:
    """Arrays of their own on the device; ``jnp.asarray`` would compile a program for each shape."""

    def cast(leaf: Any) -> jax.Array:
        array = np.asarray(leaf)
        return jax.device_put(np.array(array, dtype if array.dtype.kind == "f" else array.dtype))

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
