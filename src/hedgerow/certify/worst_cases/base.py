"""What every worst case offers: its expected loss, densities, marginals and draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hedgerow import _checks
from hedgerow._frames import require_pandas
from hedgerow.certify.value import RobustValue
from hedgerow.data.units import Units
from hedgerow.describe.display import Display, Facts
from hedgerow.describe.numbers import number

if TYPE_CHECKING:
    from hedgerow.certify.worst_cases.discrete import DiscreteWorstCase


class _Pair(NamedTuple):
    x: np.ndarray
    y: np.ndarray


class Draws(_Pair):
    """Points drawn from a worst case: unpacks as ``x, y``.

    Attributes
    ----------
    x, y : (n, features), (n, outcomes)
        The points, in the data's units.
    source : (n,)
        The context of the nominal distribution each point was moved from.
    effective_sample_size : float
        Candidates that effectively stood behind each draw of x, on average; infinite if draws are
        exact. Below about 30, treat the draws with care.
    """

    source: np.ndarray
    effective_sample_size: float

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray, source: np.ndarray, effective: float) -> Draws:
        """Put the parts together."""
        draws = cls(x, y)
        draws.source, draws.effective_sample_size = source, effective
        return draws


@dataclass(frozen=True, repr=False)
class WorstCase(Display):
    """A distribution that attains a robust value (abstract).

    Attributes
    ----------
    robust : RobustValue
        The value it attains, with its penalty and discrepancy.
    feature_names, outcome_names : tuple of str
        What columns of x and y are called, where somebody knows.
    """

    robust: RobustValue
    feature_names: tuple[str, ...] = field(default=(), kw_only=True)
    outcome_names: tuple[str, ...] = field(default=(), kw_only=True)

    def _heading(self) -> str:
        return f"Worst case with expected loss {number(self.robust.expected_loss)}"

    def _facts(self) -> Facts:
        return [("instead of", f"{number(self.robust.nominal)}, if nothing changes")]

    def to_frame(self, rows: int = 1000, seed: int = 0) -> Any:
        """Return points and their weights as a pandas table: all of them, or so many draws.

        ``rows`` and ``seed`` are those of draws, where the mass is spread by a density.
        """
        found = self.points()
        if found is None:
            x, y = self.sample(rows, seed)
            weights = np.full(len(x), 1 / max(len(x), 1))
        else:
            x, y, weights = found.x, found.y, found.weights
        features = self.feature_names or [f"feature {j}" for j in range(x.shape[1])]
        outcomes = self.outcome_names or [f"outcome {j + 1}" for j in range(y.shape[1])]
        return require_pandas().DataFrame(
            np.column_stack([x, y, weights]), columns=[*features, *outcomes, "weight"]
        )

    def expected_loss(self) -> float:
        """Return the expected loss under the worst case."""
        return self.robust.expected_loss

    @property
    def discrepancy(self) -> float:
        """R_p^p from the nominal distribution (KL: the divergence): how much of it is used."""
        return 0.0 if self.robust.discrepancy is None else self.robust.discrepancy

    def points(self) -> DiscreteWorstCase | None:
        """Return the points that carry all of the mass; None if it is spread by a density."""
        return None

    def density(self, x: Any, y: Any) -> np.ndarray:
        """Return the density at points (x, y); the mass there if the worst case is discrete."""
        raise NotImplementedError

    def marginal_x(self, x: Any) -> np.ndarray:
        """Return the density (or mass) of the context alone."""
        raise NotImplementedError

    def marginal_y(self, y: Any) -> np.ndarray:
        """Return the density (or mass) of the outcome alone."""
        raise NotImplementedError

    def sample(self, n: int, seed: int = 0) -> Draws:
        """Draw n points."""
        raise NotImplementedError


def to_users(units: Units, x: np.ndarray, home: np.ndarray) -> np.ndarray:
    """Contexts in the data's units; a feature that never varied stays at home."""
    return np.where(units.x_factor > 0, units.x_centre + x * units.x_spread, home)


def rows(name: str, values: Any, columns: int) -> np.ndarray:
    """Return a matrix of points; a 1-D array is one column, or one row if there are several."""
    array = _checks.numeric(name, values)
    if array.ndim < 2 and (columns == 1 or array.size == columns):
        array = array.reshape(-1, columns)
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name} must have {columns} column(s), got shape {np.shape(values)}.")
    return array
