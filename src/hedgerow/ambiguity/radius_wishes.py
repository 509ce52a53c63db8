"""Radii that are found rather than given, and what a radius allows.

``radius="auto"``: how far the means of as many rows are uncertain, with probability 95 %,

    transport:   ρ^p = least + ‖Δ‖_p^p  at  ‖Δ‖_2² = χ²_k·mean((spread/scale)²)/n, k columns, n rows
    divergence:  ρ = χ²_1/(2n)

so it falls with the root of rows, grows with that of features, and is no wider in a hundred
features than their means are (robust Wasserstein profiles: Blanchet, Kang & Murthy 2019; empirical
likelihood: Duchi, Glynn & Namkoong 2021). ``radius="calibrated"``, or ``Calibrated(level=…)``: the
smallest one whose value covers the next rows' mean cost (``certify.calibration``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from hedgerow import _checks
from hedgerow._components import Component

CERTAIN = 0.95


class Moves(NamedTuple):
    """What a radius allows, if all of it is spent in one way.

    ``outcomes``, ``contexts``: by how much a share of rows may be moved in one column alone, in the
    data's units. ``frequency``: how often what is now a tenth of rows may occur. None: not at all.
    """

    outcomes: Float[np.ndarray, " y"] | None = None
    contexts: Float[np.ndarray, " d"] | None = None
    frequency: float | None = None


class RadiusWish(Component):
    """How a radius is to be found (abstract): ``found_by`` chooses a way of the finder."""

    def found_by(self, finder: Any) -> Any:
        """Return the finder's answer."""
        raise NotImplementedError


class Usual(RadiusWish):
    """As far as means of so many rows and columns are uncertain."""

    def found_by(self, finder: Any) -> Any:
        """By the spreads of columns and the number of rows."""
        return finder.usual()


class Calibrated(RadiusWish):
    """The smallest radius whose certified value bounds the next rows' mean cost.

    Parameters
    ----------
    level : float
        Probability of the promise.
    horizon : int or None
        Rows that the promise is about; None: as many as leave enough blocks for the level.
    held_out : {"folds", "rolling"}
        Which rows judge: folds of blocks, or what comes after (time).
    folds : int
        Folds, or origins in time. The policy is trained twice in each.

    Examples
    --------
    >>> import hedgerow as hr
    >>> model = hr.KL(radius=hr.Calibrated(level=0.9, horizon=10))
    >>> model.radius.level
    0.9
    """

    level: float = 0.9
    horizon: int | None = None
    held_out: str = "folds"
    folds: int = 5

    def check(self) -> None:
        """All are in range."""
        if _checks.fraction("level", self.level) == 1:
            raise ValueError(f"level must be less than 1: nothing is certain; got {self.level!r}.")
        if self.horizon is not None:
            _checks.count("horizon", self.horizon)
        _checks.one_of("held_out", self.held_out, ("folds", "rolling"))
        _checks.count("folds", self.folds, 2)

    def found_by(self, finder: Any) -> Any:
        """By calibration on what was held out."""
        return finder.calibrated(self)


WISHES: dict[str, RadiusWish] = {"auto": Usual(), "calibrated": Calibrated()}


def wish_of(radius: Any) -> RadiusWish | None:
    """Return how a radius is to be found; None: it is a number, or there is none."""
    if isinstance(radius, str):
        return WISHES[_checks.one_of("radius", radius, tuple(WISHES))]
    return radius if isinstance(radius, RadiusWish) else None
