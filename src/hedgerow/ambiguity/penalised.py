"""Models with a price or a limit: a penalty λ on moving the distribution, or a hard radius ρ.

A penalty subtracts λ times the discrepancy from what the adversary gains. A radius forbids more
than ρ of it, and makes the penalty the dual variable (paper: Eq:MCO:whole):

    v = inf_λ { λ·ρ̄ + F_λ },    ρ̄ = ρ^p − (the least discrepancy any distribution has).

That least discrepancy is 0 unless the model smears points out. A radius below it leaves no
distribution at all, and is refused (paper: theo-strong-duality).
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.stats import chi2

from hedgerow import _checks
from hedgerow.ambiguity.base import Ambiguity, Budget, Setting
from hedgerow.ambiguity.radius_wishes import CERTAIN, RadiusWish, wish_of
from hedgerow.data import NominalDistribution, Units
from hedgerow.losses import Loss

PENALTIES = (1e-6, 1e10)
"""Working units within which a penalty can be told from none, and from infinity, in float32."""
LARGEST_RADIUS = 1e6


class InadmissiblePenaltyError(ValueError):
    """A penalty under which the robust value is infinite; the sentence names the smallest.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(50, 1, random_state=0)
    >>> model = hr.Sinkhorn(penalty=0.5, order=1)  # must exceed the larger of the two costs
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), model)
    >>> try:
    ...     policy.fit(data.data, data.target)
    ... except hr.InadmissiblePenaltyError:
    ...     print("refused before any training")
    refused before any training
    """


class InfeasibleRadiusError(ValueError):
    """A radius within which no distribution lies; the sentence names the smallest.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(50, 1, random_state=0)
    >>> model = hr.Sinkhorn(radius=0.01, epsilon=0.01)  # blurring alone takes more than that
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), model)
    >>> try:
    ...     policy.fit(data.data, data.target)
    ... except hr.InfeasibleRadiusError:
    ...     print("refused before any training")
    refused before any training
    """


class PenalisedAmbiguity(Ambiguity):
    """Shared by models with a penalty λ, counted in units of ``loss_scale``, or a radius ρ."""

    traced = ("penalty", "radius", "loss_scale")
    penalty: Any = None
    _: KW_ONLY
    radius: Any = None
    loss_scale: Any = 1.0

    def check(self) -> None:
        """There is a penalty or a radius, in range."""
        wished = self.radius_wish() is not None
        _checks.penalty_or_radius(self.penalty, 1.0 if wished else self.radius)
        _checks.scale("loss_scale", self.loss_scale)

    def radius_wish(self) -> RadiusWish | None:
        """How the radius is to be found, if it is no number."""
        return wish_of(self.radius)

    def usual_radius(self, units: Units, rows: int) -> float:
        """χ²_1/(2n): the divergence within which a mean of so many rows is uncertain."""
        return float(chi2.ppf(CERTAIN, 1) / (2 * rows))

    def resolve(self, units: Units, loss: Loss, nominal: NominalDistribution) -> Self:
        """Turn an automatic loss scale into a number."""
        if isinstance(self.loss_scale, str):
            return self.replace(loss_scale=units.loss_unit)
        return self

    def in_units(self, units: Units) -> Self:
        """λ in units of the working loss; under a radius it is still to be found."""
        if self.penalty is None:
            return self.replace(loss_scale=1.0)
        unit = units.loss_unit / float(self.loss_scale)
        _checks.within_reach("penalty", self.penalty, unit, *PENALTIES)
        penalty = self.penalty * np.float64(self.loss_scale) / units.loss_unit
        return self.replace(penalty=penalty, loss_scale=1.0)

    def smallest_penalty(self, units: Units, loss: Loss, nominal: NominalDistribution) -> float:
        """Penalty, in the loss's units, above which the robust value is finite; inf if none is."""
        return 0.0

    def radius_unit(self, units: Units) -> float:
        """The radius at which points move by about as much as the data are spread."""
        return 1.0

    def settled(self, found: Any) -> Self:
        """Return the model with the radius that was found, if it is to be found."""
        return self if self.radius_wish() is None else self.within(found.radius)

    def within(self, radius: float) -> Self:
        """Return the model with this radius in place of its penalty."""
        return self.replace(penalty=None, radius=radius)

    def power(self, radius: float) -> float:
        """Put a radius on the discrepancy's own scale: ρ^p for transport."""
        return radius

    def root(self, discrepancy: float) -> float:
        """Return the radius of a discrepancy: the inverse of ``power``."""
        return discrepancy

    def least_discrepancy(
        self, units: Units, loss: Loss, nominal: NominalDistribution, setting: Setting
    ) -> float:
        """0: the nominal distribution itself."""
        return 0.0

    def budget(
        self, units: Units, loss: Loss, nominal: NominalDistribution, setting: Setting
    ) -> Budget | None:
        """ρ̄ and the smallest penalty."""
        if self.radius is None:
            return None
        if self.radius_wish() is not None:
            raise ValueError(
                f"radius={self.radius!r} is found when a policy is fitted with it; here give a "
                "number, such as the radius of hedgerow.calibrate."
            )
        _checks.within_reach("radius", self.radius, self.radius_unit(units), 0.0, LARGEST_RADIUS)
        least = self.least_discrepancy(units, loss, nominal, setting)
        excess = self.power(float(self.radius)) - least
        if excess < 0:
            smallest = self.root(least)
            digits = 10.0 ** (7 - math.floor(math.log10(smallest)))
            raise InfeasibleRadiusError(
                f"radius={self.radius:.9g} is too small: no distribution lies within it, since "
                "smearing points out takes more than that by itself; the smallest feasible radius "
                f"is {math.ceil(smallest * digits) / digits:.9g}."
            )
        return Budget(excess, self.smallest_penalty(units, loss, nominal) / units.loss_unit)
