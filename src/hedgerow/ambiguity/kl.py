"""KL-DRO: reweight the nominal points (paper: lem-worst-kl).

λ · log E_P̂ exp( Ψ(f(x̂), ŷ)/λ )
"""

from __future__ import annotations

from jaxtyping import Array, Float

from hedgerow.ambiguity.base import Batch, Perturbed, Setting, Tilt
from hedgerow.ambiguity.reductions import LogOfMean
from hedgerow.ambiguity.reweighting import Reweighting
from hedgerow.describe.parts import ModelDescription


class KL(Reweighting):
    """Kullback–Leibler ambiguity around the nominal distribution.

    Parameters
    ----------
    penalty : float or None
        λ, in units of ``loss_scale``.
    radius : float, "auto", "calibrated", Calibrated or None
        ρ > 0, instead of a penalty: the largest divergence D(P ‖ P̂) that is guarded against.
    loss_scale : float or "auto"
        1: λ in the loss's own units, as in the paper. "auto": in units of the mean loss of the best
        constant decision.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(loss, hr.KL(penalty=2), hr.Affine(), solver=hr.SCSC(steps=50))
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    def risk(self, losses: Float[Array, "*g"], mass: Float[Array, "*g"]) -> Float[Array, ""]:
        """λ log E exp(loss/λ)."""
        return self.reduction().value(losses / self.penalty, mass)

    def description(self) -> ModelDescription:
        """Against other frequencies."""
        return ModelDescription(
            "KL divergence", "rows of the history may occur more or less often than they did"
        )

    def reduction(self) -> LogOfMean:
        """One logarithm, which solvers can follow."""
        return LogOfMean(self.penalty)

    def tilt(self, perturbed: Perturbed, setting: Setting, batch: Batch) -> Tilt:
        """Losses where the data are, in units of λ."""
        found = super().tilt(perturbed, setting, batch)
        return found._replace(exponents=found.exponents / self.penalty)
