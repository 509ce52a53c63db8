"""Parts as somebody else might write them: no more than is required, and one with its page form."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

import hedgerow as hr
from hedgerow.decisions import DecisionSet
from hedgerow.describe.page_form import PageForm
from hedgerow.rules import FittedRule, Rule


class TanhRule(FittedRule):
    """f(x) = map(A tanh(x) + c)."""

    trainable: ClassVar[tuple[str, ...]] = ("matrix", "offset")
    matrix: jnp.ndarray
    offset: jnp.ndarray
    decision_set: DecisionSet

    def __call__(self, x):
        raw = self.matrix @ jnp.tanh(x) + self.offset[:, None]
        return self.decision_set.from_raw(raw.T).T


class Tanh(Rule):
    kind = TanhRule

    def build(self, key, start):
        matrix = jnp.zeros((len(start.raw), start.n_features), start.raw.dtype)
        return self.kind(matrix=matrix, offset=start.raw, decision_set=start.decision_set)


class PagedTanhRule(TanhRule):
    """The same on a page, for free decisions."""

    def page_form(self):
        script = """
        const { matrix, offset } = parameters;
        return {
          decide: (u) => offset.map((c, k) => c + dot(matrix, k * u.length, u.map(Math.tanh))),
        };
        """
        parameters = {"matrix": np.asarray(self.matrix), "offset": np.asarray(self.offset)}
        return PageForm(script, parameters)


class PagedTanh(Tanh):
    kind = PagedTanhRule


class Ball(DecisionSet):
    """The unit ball, by z = raw / sqrt(1 + |raw|²)."""

    size: int = eqx.field(static=True)

    @property
    def dimension(self):
        return self.size

    def from_raw(self, raw):
        return raw / jnp.sqrt(1 + jnp.sum(raw**2, axis=-1, keepdims=True))

    def to_raw(self, point):
        point = 0.99 * jnp.asarray(point)
        return point / jnp.sqrt(1 - jnp.sum(point**2, axis=-1, keepdims=True))

    def contains(self, point, tolerance=1e-6):
        return jnp.sum(jnp.asarray(point) ** 2, axis=-1) <= 1 + tolerance

    @property
    def scalable(self):
        return np.zeros(self.size, dtype=bool)

    def in_units(self, unit):
        return self


def distance(z, y):
    return ((z - y) ** 2).sum(-1)


def in_ball(outcomes=2):
    """A loss whose decisions lie in a set that offers nothing but what is required."""
    return hr.CustomLoss(distance, Ball(outcomes))
