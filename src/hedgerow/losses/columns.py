"""Parameters of a loss that differ from row to row: read from columns of the contexts.

    Ψ_k(z, y) = Ψ(z, y; parameters = columns of x̂_k)

What is known when deciding is part of the context, costs included: the rule sees them as features,
and the loss reads them at the nominal context x̂_k, wherever the adversary moves it. A ``Column``
stands in the place of a number. In compiled programs it has no values of its own; they come with
the rows (``Batch.parameters``) and are put in its place one row at a time (``bound``), so a loss
never sees anything but a number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Self, TypeVar

import jax
import numpy as np
from jaxtyping import Array, Float

from hedgerow._components import Component
from hedgerow.describe.numbers import listed

L = TypeVar("L", bound=Component)


@jax.tree_util.register_pytree_node_class
class Column:
    """A column of X that a parameter of the loss is read from, row by row.

    Parameters
    ----------
    *columns : str or int
        The feature's name, or its position from 0. Several: one per product.

    Examples
    --------
    >>> import hedgerow as hr
    >>> loss = hr.Newsvendor(holding=hr.Column("holding_cost"), stockout=hr.Column("stockout_cost"))
    """

    __array_ufunc__ = None  # so that array * column asks the column

    def __init__(self, *columns: str | int) -> None:
        if not columns:
            raise ValueError('Column needs a name or a position, such as hedgerow.Column("cost").')
        for column in columns:
            if isinstance(column, bool) or not isinstance(column, str | int | np.integer):
                raise TypeError(
                    f"Column must be given a feature's name or its position, got {column!r}."
                )
        self.columns = tuple(
            column if isinstance(column, str) else int(column) for column in columns
        )
        self.positions: tuple[int, ...] | None = None
        self.factor: Any = np.float64(1.0)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter on one row."""
        several = (len(self.columns),) if len(self.columns) > 1 else ()
        return np.broadcast_shapes(several, np.shape(self.factor))

    @property
    def ndim(self) -> int:
        """How many axes the parameter has on one row."""
        return len(self.shape)

    def words(self) -> str:
        """The column's name or number, or those of several."""
        noun = "column" if len(self.columns) == 1 else "columns"
        return f"{noun} {listed(self.columns)}"

    def located(self, parameter: str, names: Sequence[str] | None, features: int) -> Self:
        """Return it knowing its positions among so many features with these names."""
        found = [self._position(column, parameter, names, features) for column in self.columns]
        return self._changed(positions=tuple(found))

    def values(self, contexts: Float[np.ndarray, "rows d"]) -> np.ndarray:
        """Return the parameter on every row, (rows, *shape)."""
        if self.positions is None:
            return self._refuse()
        read = contexts[:, list(self.positions)]
        read = read[:, 0] if len(self.columns) == 1 else read
        read = read.reshape(len(read), *(1,) * (self.ndim - read.ndim + 1), *read.shape[1:])
        return np.broadcast_to(read * self.factor, (len(read), *self.shape))

    def __mul__(self, factor: Any) -> Self:
        """The parameter in another unit."""
        return self._changed(factor=np.asarray(self.factor * np.asarray(factor)))

    __rmul__ = __mul__

    def __truediv__(self, unit: Any) -> Self:
        """The parameter in another unit."""
        return self * (1 / np.asarray(unit))

    def __neg__(self) -> Self:
        """The other sign."""
        return self * -1.0

    def _refuse(self, *_: Any) -> Any:
        """What the values are, only rows can tell."""
        raise TypeError(
            f"{self!r} has no values by itself: ask policy.losses(X, y), or policy.loss_on(X) for "
            "the loss of the rows of X."
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __rtruediv__ = __pow__ = __float__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Column) or self.tree_flatten()[1] != other.tree_flatten()[1]:
            return False
        return np.array_equal(self.factor, other.factor)

    def __hash__(self) -> int:
        return hash(self.columns)

    def __repr__(self) -> str:
        return f"Column({', '.join(map(repr, self.columns))})"

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Names and positions are static."""
        return (self.factor,), (self.columns, self.positions)

    @classmethod
    def tree_unflatten(cls, static: tuple[Any, ...], leaves: tuple[Any, ...]) -> Self:
        """Put it together again."""
        column = object.__new__(cls)
        (column.columns, column.positions), (column.factor,) = static, leaves
        return column

    def _changed(self, **changes: Any) -> Self:
        changed = object.__new__(type(self))
        vars(changed).update(vars(self) | changes)
        return changed

    def _position(
        self, column: str | int, parameter: str, names: Sequence[str] | None, features: int
    ) -> int:
        if isinstance(column, int):
            if not 0 <= column < features:
                raise ValueError(
                    f"{parameter} is read from column {column}, but X has {features} column(s), "
                    "counted from 0."
                )
            return column
        if names is None:
            raise ValueError(
                f"{parameter} is read from column {column!r}, but the columns of X have no names: "
                "hand X over as a table, or say which one it is, as in hedgerow.Column(3)."
            )
        if column not in list(names):
            raise ValueError(
                f"{parameter} is read from column {column!r}, which X does not have; it has "
                f"{listed(names)}."
            )
        return list(names).index(column)


def named_columns(loss: Component) -> Iterator[tuple[str, Column]]:
    """Yield parameters that are read from columns, by name, those of parts within included.

    In alphabetical order, which is the same however a loss was made.
    """
    for name, value in sorted(vars(loss).items()):
        if isinstance(value, Column):
            yield name, value
        elif isinstance(value, Component):
            yield from named_columns(value)


def located(loss: L, names: Sequence[str] | None, features: int) -> L:
    """Return a loss whose columns know their positions, or say which is not there."""
    return _filled(
        loss, [each.located(name, names, features) for name, each in named_columns(loss)]
    )


def parameters(loss: Component, contexts: np.ndarray) -> Float[np.ndarray, "rows p"] | None:
    """Return what the loss's columns hold on each row, side by side; None if it has none."""
    read = [column.values(contexts) for _, column in named_columns(loss)]
    if not read:
        return None
    return np.concatenate([values.reshape(len(contexts), -1) for values in read], axis=1)


def bound(loss: L, values: Float[Array, "*rows p"] | np.ndarray) -> L:
    """Return the loss with values, as ``parameters`` has them, in the place of its columns.

    Of one row each is a number, or one per product; of several, they have an axis of rows before.
    """
    parts, used = [], 0
    for _, column in named_columns(loss):
        size = math.prod(column.shape)
        part = values[..., used : used + size]
        parts.append(part.reshape((*part.shape[:-1], *column.shape))[()])  # a number if it is one
        used += size
    return _filled(loss, parts)


def _filled(loss: L, parts: list[Any]) -> L:
    """Put parts in the places of the columns, in the order of ``named_columns``."""
    remaining = iter(parts)

    def fill(component: Any) -> Any:
        changes = {}
        for name, value in sorted(vars(component).items()):
            if isinstance(value, Column):
                changes[name] = next(remaining)
            elif isinstance(value, Component):
                changes[name] = fill(value)
        return component.replace(**changes) if changes else component

    return fill(loss)
