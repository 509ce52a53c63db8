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
import operator
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, Self, TypeVar

import jax
import numpy as np
from jaxtyping import Array, Float

from hedgerow._components import Component
from hedgerow.describe.numbers import listed

L = TypeVar("L", bound=Component)
Term = tuple[str | int, ...]
"""One column, or one per product."""


@jax.tree_util.register_pytree_node_class
class Column:
    """A column of X that a parameter of the loss is read from, row by row.

    Columns can be added, subtracted and multiplied by numbers, as in
    ``0.9 * Column("price") - Column("cost")``.

    Parameters
    ----------
    *columns : str or int
        The feature's name, or its position from 0. Several: one per product.

    Examples
    --------
    >>> import hedgerow as hr
    >>> loss = hr.Newsvendor(holding=hr.Column("holding_cost"), stockout=hr.Column("stockout_cost"))
    >>> loss.replace(stockout=0.4 * hr.Column("price"))
    Newsvendor(holding=Column('holding_cost'), stockout=0.4 * Column('price'))
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
        self.terms: tuple[Term, ...] = (
            tuple(column if isinstance(column, str) else int(column) for column in columns),
        )
        self.positions: tuple[tuple[int, ...], ...] | None = None
        self.factors: tuple[Any, ...] = (np.float64(1.0),)
        self.constant: Any = np.float64(0.0)

    @classmethod
    def combined(cls, terms: Sequence[Sequence[str | int]], factors: Any, constant: Any) -> Self:
        """Return Σ factor · columns + constant."""
        if not terms or len(terms) != len(factors):
            raise ValueError("A combination of columns needs a factor for each of them.")
        parts = [cls(*term) * factor for term, factor in zip(terms, factors, strict=True)]
        return reduce(operator.add, parts) + constant

    @property
    def columns(self) -> tuple[str | int, ...]:
        """Every column that is read, once."""
        return tuple(dict.fromkeys(column for term in self.terms for column in term))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter on one row."""
        several = [(len(term),) if len(term) > 1 else () for term in self.terms]
        return np.broadcast_shapes(*several, *map(np.shape, self.factors), np.shape(self.constant))

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
        found = (
            tuple(_position(column, parameter, names, features) for column in term)
            for term in self.terms
        )
        return self._changed(positions=tuple(found))

    def values(self, contexts: Float[np.ndarray, "rows d"]) -> np.ndarray:
        """Return the parameter on every row, (rows, *shape)."""
        if self.positions is None:
            return self.refuse()
        found = np.broadcast_to(self.constant, (len(contexts), *self.shape)).astype(np.float64)
        for at, factor in zip(self.positions, self.factors, strict=True):
            read = contexts[:, list(at)]
            read = read if len(at) > 1 else read[:, 0]
            axes = (1,) * (self.ndim - read.ndim + 1)
            found = found + read.reshape(len(read), *axes, *read.shape[1:]) * factor
        return found

    def __mul__(self, factor: Any) -> Self:
        """The parameter in another unit."""
        factor = self._number(factor)
        factors = tuple(np.asarray(own * factor) for own in self.factors)
        return self._changed(factors=factors, constant=np.asarray(self.constant * factor))

    __rmul__ = __mul__

    def __truediv__(self, unit: Any) -> Self:
        """The parameter in another unit."""
        return self * (1 / np.asarray(unit))

    def __neg__(self) -> Self:
        """The other sign."""
        return self * -1.0

    def __add__(self, other: Any) -> Self:
        """The sum with a number or with other columns."""
        if not isinstance(other, Column):
            return self._changed(constant=np.asarray(self.constant + self._number(other)))
        return self._changed(
            terms=self.terms + other.terms,
            positions=None,
            factors=self.factors + other.factors,
            constant=np.asarray(self.constant + other.constant),
        )

    __radd__ = __add__

    def __sub__(self, other: Any) -> Self:
        """The difference."""
        return self + -1.0 * other

    def __rsub__(self, other: Any) -> Self:
        """The difference."""
        return -self + other

    def _number(self, other: Any) -> np.ndarray:
        """A number, or one per product."""
        return (
            self.refuse() if isinstance(other, Column) or np.ndim(other) > 1 else np.asarray(other)
        )

    def refuse(self, *_: Any) -> Any:
        """Say that only rows can tell what the values are."""
        raise TypeError(
            f"{self!r} has no values by itself: ask policy.losses(X, y), or policy.loss_on(X) for "
            "the loss of the rows of X."
        )

    __rtruediv__ = __pow__ = __float__ = __lt__ = __le__ = __gt__ = __ge__ = refuse

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Column) or self.tree_flatten()[1] != other.tree_flatten()[1]:
            return False
        pairs = zip(self.tree_flatten()[0], other.tree_flatten()[0], strict=True)
        return all(np.array_equal(*pair) for pair in pairs)

    def __hash__(self) -> int:
        return hash(self.terms)

    def __repr__(self) -> str:
        words = ""
        for term, factor in zip(self.terms, self.factors, strict=True):
            negative = np.ndim(factor) == 0 and bool(factor < 0)
            size = np.abs(factor) if negative else np.asarray(factor)
            sign = "-" if negative else "+"
            words += f" {sign} " if words else "-" * negative
            words += "" if np.all(size == 1) else f"{size.tolist()} * "
            words += f"Column({', '.join(map(repr, term))})"
        if np.any(self.constant != 0):
            words += f" + {np.asarray(self.constant).tolist()}"
        return words

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Names and positions are static."""
        return (self.constant, *self.factors), (self.terms, self.positions)

    @classmethod
    def tree_unflatten(cls, static: tuple[Any, ...], leaves: tuple[Any, ...]) -> Self:
        """Put it together again."""
        column = object.__new__(cls)
        column.terms, column.positions = static
        column.constant, *factors = leaves
        column.factors = tuple(factors)
        return column

    def _changed(self, **changes: Any) -> Self:
        changed = object.__new__(type(self))
        vars(changed).update(vars(self) | changes)
        return changed


def _position(column: str | int, parameter: str, names: Sequence[str] | None, features: int) -> int:
    """Where a column is among the features, or say that it is not."""
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
