"""In which scenario is it that bad? The distributions that attain robust values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from hedgerow import _checks
from hedgerow.ambiguity import Ambiguity
from hedgerow.certify.value import Evaluation, evaluated
from hedgerow.certify.worst_cases.base import Draws, WorstCase
from hedgerow.certify.worst_cases.discrete import DiscreteWorstCase, moved, reweighted
from hedgerow.certify.worst_cases.smooth import SmoothWorstCase
from hedgerow.describe.names import feature_names, outcome_names
from hedgerow.kernels import Reference

if TYPE_CHECKING:
    from hedgerow.estimator import RobustPolicy

__all__ = ["DiscreteWorstCase", "Draws", "SmoothWorstCase", "WorstCase", "attaining", "worst_case"]


def worst_case(
    policy: RobustPolicy,
    X: Any,
    Y: Any,
    *,
    ambiguity: Ambiguity | None = None,
    reference: tuple[Reference, Reference] | None = None,
    tolerance: float = 1e-3,
    sample_weight: Any = None,
    random_state: int = 0,
    censored: Any = None,
    at: Any = None,
) -> WorstCase:
    """Return the distribution under which a fitted policy does as badly as its robust value says.

    Takes the parameters of ``robust_value``. A Sinkhorn model gives a ``SmoothWorstCase``; Causal
    Wasserstein, KL and ERM (the nominal distribution itself) give a ``DiscreteWorstCase``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(50, 1, random_state=0)
    >>> X, y = data.data, data.target
    >>> policy = hr.RobustPolicy.from_function(lambda x: 3 + x[0], hr.Newsvendor(0.6, 1.0), X, y)
    >>> worst = hr.worst_case(policy, X, y, ambiguity=hr.KL(penalty=2.0))
    >>> value = hr.robust_value(policy, X, y, ambiguity=hr.KL(penalty=2.0))
    >>> bool(value.nominal < worst.expected_loss())
    True
    """
    found = evaluated(
        policy, X, Y, ambiguity, reference, tolerance, sample_weight, random_state, censored, at
    )
    policy = _checks.fitted_policy(policy)
    return replace(
        attaining(found),
        feature_names=tuple(feature_names(policy, X)),
        outcome_names=tuple(outcome_names(policy, Y)),
    )


def attaining(found: Evaluation) -> WorstCase:
    """Return the distribution that attains a value which was certified."""
    if not np.isfinite(found.robust.value):
        raise ValueError(
            "The robust value is infinite at this penalty, so no distribution attains it; raise "
            "the penalty."
        )
    with jax.enable_x64(True):
        return found.problem.working.worst_case(WorstCaseMaker(found))


class WorstCaseMaker:
    """The kinds of worst cases that a model chooses from (``Ambiguity.worst_case``)."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation

    def reweighted(self) -> DiscreteWorstCase:
        """The nominal points, weighted by the derivatives of the value in their losses."""
        return reweighted(self.evaluation)

    def moved(self) -> DiscreteWorstCase:
        """Each nominal point at its maximiser."""
        return moved(self.evaluation)

    def gibbs(self) -> SmoothWorstCase:
        """A mixture of kernels tilted by the loss."""
        return SmoothWorstCase(self.evaluation.robust, self.evaluation)
