"""Kinds of warnings, so that they can be filtered by what they mean and not by their words."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class HedgerowWarning(UserWarning):
    """Something that a careful user wants to know; the base of all warnings of this package."""


class VacuousCausalityWarning(HedgerowWarning):
    """A causal model on a nominal where causality makes no difference."""


class ConstantFeatureWarning(HedgerowWarning):
    """Features that never vary, and are ignored."""


class ShortSeriesWarning(HedgerowWarning):
    """Series too short to have a row to learn from."""


class UnreadableSeriesWarning(HedgerowWarning):
    """Series of a panel cannot be read and were left out, as was asked for."""


class OutlierWarning(HedgerowWarning):
    """Values so far from all others that they look like typos."""


class OutsideWarning(HedgerowWarning):
    """Rows far outside of what a policy was trained on."""


class CrossingQuantilesWarning(HedgerowWarning):
    """Predicted quantiles that fall where their levels rise, and were sorted."""


class UselessRuleWarning(HedgerowWarning):
    """A learned rule that loses to one decision for all rows."""


class SeenRowsWarning(HedgerowWarning):
    """Rows that a policy was trained on, where rows that it has not seen are asked for."""


class WideRadiusWarning(HedgerowWarning):
    """A radius that allows far more than data of this kind do."""


class InfiniteValueWarning(HedgerowWarning):
    """A robust value that is +∞."""


class RecourseWarning(HedgerowWarning):
    """Complete recourse was not checked everywhere."""


class SolverWarning(HedgerowWarning):
    """A solver that cannot do for this model what it is made for."""


@contextmanager
def unsaid(*kinds: type[Warning]) -> Iterator[None]:
    """Keep warnings of these kinds to oneself: they are said elsewhere."""
    with warnings.catch_warnings():
        for kind in kinds:
            warnings.simplefilter("ignore", kind)
        yield
