"""Radii that are to be found: what ``fit`` does about ``radius="auto"`` and "calibrated".

calibrated: rules that trust their data say which radius ρ₁ would have covered their costs; the
policy is trained at ρ₁, in every fold and on all rows; its own held-out costs give the promise and
the radius ρ₂ at which its certified value is that promise, which is the one that is kept.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from sklearn.base import clone

from hedgerow._warnings import HedgerowWarning, OutlierWarning, unsaid
from hedgerow.ambiguity import ERM, Ambiguity, Calibrated, RadiusWish
from hedgerow.certify.calibration import SMALLEST, calibrate
from hedgerow.certify.promise import Calibration
from hedgerow.certify.radii import usual_radius
from hedgerow.certify.reaching import with_radius

if TYPE_CHECKING:
    from hedgerow.estimator import RobustPolicy


@dataclass(frozen=True)
class Settled:
    """A trained policy, the radius that is kept, and how it was found."""

    policy: RobustPolicy
    radius: float
    calibration: Calibration | None = None


@dataclass(frozen=True)
class RadiusFinder:
    """The ways to find a radius that a wish chooses from (``RadiusWish.found_by``)."""

    policy: RobustPolicy
    X: Any
    Y: Any
    sample_weight: Any
    censored: Any

    def usual(self) -> Settled:
        """How far the means of so many rows are uncertain."""
        with unsaid(OutlierWarning):  # training says it
            posed = self.policy.posed(self.X, self.Y, self.sample_weight, self.censored)
        radius = usual_radius(posed[0], posed[2])
        trained = self.trained(with_radius(self._model, radius), loud=True)
        return Settled(trained, radius)

    def calibrated(self, wish: Calibrated) -> Settled:
        """By what policies cost on blocks that they have not seen."""
        if self.sample_weight is not None or self.censored is not None:
            given = "sample_weight" if self.sample_weight is not None else "censored"
            raise ValueError(
                "radius='calibrated' counts blocks of rows that were seen in full and count alike; "
                f"it does not understand {given}: give a radius as a number."
            )
        asked: dict[str, Any] = {
            "level": wish.level,
            "horizon": wish.horizon,
            "held_out": wish.held_out,
            "folds": wish.folds,
            "ambiguity": self._model,
        }
        trusting = self.trained(ERM())
        with unsaid(OutlierWarning):
            first = calibrate(trusting, self.X, self.Y, **asked).model
        hedged = self.trained(first, loud=True)
        with unsaid(OutlierWarning):
            found = calibrate(hedged, self.X, self.Y, **asked)
        if found.radius == float("inf"):
            raise ValueError(
                f"No radius of {type(self._model).__name__} covers a mean cost of "
                f"{found.promise:.6g}: the worst case around these data costs less. Take a model "
                "that moves points, a lower level or a longer horizon."
            )
        return Settled(hedged, max(found.radius, SMALLEST), found)

    @property
    def _model(self) -> Ambiguity:
        return with_radius(cast(Any, self.policy.ambiguity), 1.0)

    def trained(self, model: Ambiguity, *, loud: bool = False) -> RobustPolicy:
        """Return the policy with another model, trained."""
        other = cast(Any, clone(self.policy)).set_params(ambiguity=model)
        with warnings.catch_warnings():
            if not loud:
                warnings.simplefilter("ignore", HedgerowWarning)
            return other.fit(self.X, self.Y, self.sample_weight, self.censored)


def settle(wish: RadiusWish, *about: Any) -> Settled:
    """Find a radius for a policy on a history (X, Y, sample_weight, censored)."""
    return wish.found_by(RadiusFinder(*about))
