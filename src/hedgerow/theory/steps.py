"""Which steps stochastic gradients may take (paper: theo-scsc-conver).

K steps along the gradient of F/T use one step size α and one tracking weight β, both constant and
both set by the constants of t1, t2 and t3 (``constants``). β overflows, so it is a logarithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hedgerow import _checks
from hedgerow.theory.constants import CompositionalConstants, exponential, log_whole


@dataclass(frozen=True)
class StepSizes:
    """Constant step sizes of K steps (paper: theo-scsc-conver)."""

    steps: int
    step_size: float
    """α = 1/√K, for steps along the gradient of F/T."""
    log_tracking: float
    """Log of β = α(A1² + A2²)/2, the weight of the newest estimate in a tracker."""
    log_error_weights: tuple[float, float]
    """Log A1, A2: how much an error in tracker y1, in tracker y2, may bend the gradient."""
    log_fewest_steps: float
    """Log of the least K with β ≤ 1. Below it the theorem's steps do not exist."""

    @property
    def tracking(self) -> float:
        """β; inf where a float cannot hold it."""
        return exponential(self.log_tracking)

    @property
    def admissible(self) -> bool:
        """Whether β is a weight at all: at most 1."""
        return self.log_tracking <= 0


def scsc_step_sizes(constants: CompositionalConstants, steps: int) -> StepSizes:
    """Return the step sizes α = 2β/(A1² + A2²) = 1/√K of K steps (paper: theo-scsc-conver).

    The paper takes A1 and A2 from Chen, Sun & Yin 2021 (Theorem 3) without saying what they are.
    They follow from what they have to do. With tracker errors e1 = |y1 − E t2(y2)| and
    e2 = ‖y2 − φ2‖, the product of gradients at y1, y2 instead of φ1, φ2 is off by at most

        A1·e1 + A2·e2,      A1 = C3·C2·S1,      A2 = C3·(C1·S2 + C2²·S1),

    and α‖∇F‖·A_j·e_j ≤ α²A_j²/(4β)·‖∇F‖² + β·e_j² leaves half of the descent α‖∇F‖² exactly when
    α = 2β/(A1² + A2²), while the trackers forget β·e_j² a step.

    The theorem needs trackers in [1, e^{B/T}], and corrected ones can leave it, below 0 even; it
    also takes Ψ(f_θ) to be smooth in θ, which a newsvendor is not. Read its steps as an existence
    statement: β ≤ 1 asks for K ≥ (A1² + A2²)²/4, of order e^{12·B/T}.

    Parameters
    ----------
    constants : CompositionalConstants
        What ``compositional_constants`` returned.
    steps : int
        K, how many steps are taken.

    Examples
    --------
    >>> from hedgerow import theory
    >>> constants = theory.compositional_constants(loss_bound=1.0, temperature=1.0)
    >>> theory.scsc_step_sizes(constants, steps=500).admissible
    False
    """
    count = _checks.count("steps", steps)
    c1, c2, c3 = constants.log_gradients
    s1, s2, _ = constants.log_smoothness
    first = c3 + c2 + s1
    second = c3 + float(np.logaddexp(c1 + s2, 2 * c2 + s1))
    log_half_sum = float(np.logaddexp(2 * first, 2 * second)) - math.log(2)
    return StepSizes(
        steps=count,
        step_size=1 / math.sqrt(count),
        log_tracking=log_half_sum - math.log(count) / 2,
        log_error_weights=(first, second),
        log_fewest_steps=log_whole(1.0, -2 * log_half_sum),
    )
