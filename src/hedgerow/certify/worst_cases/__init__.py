"""In which scenario is it that bad? The distributions that attain robust values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from hedgerow import _checks
from hedgerow.ambiguity import Ambiguity, SinkhornAmbiguity
from hedgerow.certify.value import certify
from hedgerow.certify.worst_cases.base import Draws, WorstCase
from hedgerow.certify.worst_cases.discrete import DiscreteWorstCase, discrete_worst_case
from hedgerow.certify.worst_cases.smooth import SmoothWorstCase
from hedgerow.kernels.nodes import Reference

if TYPE_CHECKING:
    from hedgerow.estimator import RobustPolicy

__all__ = ["DiscreteWorstCase", "Draws", "SmoothWorstCase", "WorstCase", "worst_case"]


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
) -> WorstCase:
    """Return the distribution under which a fitted policy does as badly as its robust value says.

    Takes the parameters of ``robust_value``. A Sinkhorn model gives a ``SmoothWorstCase``; Causal
    Wasserstein, KL and ERM (the nominal distribution itself) give a ``DiscreteWorstCase``.
    """
    _checks.fitted_policy(policy)
    _checks.positive("tolerance", tolerance)
    problem = policy.problem(X, Y, ambiguity=ambiguity, sample_weight=sample_weight)
    key = jax.random.key(_checks.count("random_state", random_state, 0), impl="rbg")
    certificate = certify(problem, key, tolerance, reference)
    if not np.isfinite(certificate.robust.value):
        raise ValueError(
            "The robust value is infinite at this penalty, so no distribution attains it; raise "
            "the penalty."
        )
    if isinstance(certificate.moments.model, SinkhornAmbiguity):
        return SmoothWorstCase(certificate.robust, problem, certificate)
    with jax.enable_x64(True):
        return discrete_worst_case(problem, certificate)
