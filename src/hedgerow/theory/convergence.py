"""How fast the printed algorithm converges, its constant written out (paper: theo-scsc-conver).

    (1/K) Σ_k E‖∇F(θ_k)‖² ≤ C_const/√K,      hence ≤ ε² after K = C_const²/ε⁴ steps.

The paper takes C_const from Chen, Sun & Yin 2021 (Theorem 3), which has it inside an O(·). It
follows, for F/T and with α = 2β/A = 1/√K, A = A1² + A2², from V_k = F(θ_k) − F* + e1² + e2²:

- a step has E‖·‖² ≤ G² = (C1 C2 C3)², and F bends by at most L, so F falls by
  α‖∇F‖² − α‖∇F‖(A1 e1 + A2 ẽ2) − ½Lα²G², of which Young's inequality leaves ½α‖∇F‖² and takes
  β(e1² + ẽ2²); ẽ2 ≤ e2 + C3‖θ_k − θ_{k−1}‖, since the printed step uses the tracker of the step
  before: ẽ2² ≤ (3/2)e2² + 3C3²α²G²;
- e2'² ≤ (1−β)²e2² + 2C3²α²G² + 2β²σ3²,
  e1'² ≤ (1−β)²e1² + 4C2²C3²α²G² + 4C2²β²(σ3² + e2²) + 2β²σ2²,
  because in y' = (1−β)(y + t(θ) − t(θ_old)) + β t(θ) all but (1−β)·e has mean 0.

Once β(1 + 4C2²) ≤ ½ nothing of e1² and e2² remains, and summing up, with β = ½Aα,

    C_const = 2·[ V_0 + ½L G² + (23/10)·C3²G² + 4C2²C3²G² + ½A²(σ2² + σ3²(1 + 2C2²)) ],
    L       = C1·C2·S3' + C1·S2·C3² + S1·C2²·C3²,    S3' = √n·(S3·L_θ² + L3·S_θ).

(3βC3²α²G² is at most (3/10)·C3²α²G², as C2 ≥ 1.) It is the constant of the theorem as stated, in
which all contexts share their trackers; DESIGN's finding that this is another problem stands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow import _checks
from hedgerow.theory.constants import CompositionalConstants, exponential, log_whole, logarithms
from hedgerow.theory.sampling import range_variances
from hedgerow.theory.steps import scsc_step_sizes

Terms = tuple[float, ...]


@dataclass(frozen=True)
class ConvergenceBound:
    """What K steps of the printed algorithm promise, for the gradient of F/T.

    ``log_constant`` is log C_const; ``log_fewest_steps`` the log of the least K for which the
    promise holds.
    """

    log_constant: float
    log_fewest_steps: float
    log_smoothness: float
    """Log L: how F/T bends in θ."""

    @property
    def constant(self) -> float:
        """C_const; inf where a float cannot hold it."""
        return exponential(self.log_constant)

    def gradient_bound(self, steps: int) -> float:
        """Bound the mean of E‖∇F/T‖² over so many steps; inf below the fewest that count."""
        log_steps = math.log(_checks.count("steps", steps))
        if log_steps < self.log_fewest_steps:
            return math.inf
        return exponential(self.log_constant - log_steps / 2)

    def log_steps_for(self, accuracy: float) -> float:
        """Log of the least K with C_const/√K ≤ ε² (part (ii)), ε being the accuracy.

        As many gradients of each of t1, t2 and t3 are taken, and three times as many samples drawn.
        """
        log_accuracy = math.log(_checks.positive("accuracy", accuracy))
        return max(log_whole(1.0, 4 * log_accuracy - 2 * self.log_constant), self.log_fewest_steps)


def scsc_convergence(
    constants: CompositionalConstants,
    *,
    start_gap: float,
    start_errors: Sequence[float] = (0.0, 0.0),
    loss_smoothness: float = 0.0,
    variances: Sequence[float] | None = None,
) -> ConvergenceBound:
    """Return C_const, which the paper leaves open (theo-scsc-conver).

    Parameters
    ----------
    constants : CompositionalConstants
    start_gap : float
        (F(θ_0) − F*)/T: how far from the minimum training begins.
    start_errors : (e1, e2)
        |y1 − E t2(y2)| and ‖y2 − φ2(θ_0)‖ at the start.
    loss_smoothness : float
        S_θ: how fast the gradient of the loss changes with θ; 0 for losses affine in θ. The
        theorem asks for one, so it says nothing of losses with kinks.
    variances : (σ1², σ2², σ3²) or None
        None: bounded by the ranges of t1, t2 and t3, as in ``saa_sample_sizes``; σ1² plays no part.

    Examples
    --------
    >>> from hedgerow import theory
    >>> constants = theory.compositional_constants(loss_bound=1.0, temperature=1.0)
    >>> bound = theory.scsc_convergence(constants, start_gap=1.0)
    """
    gap = _checks.nonnegative("start_gap", start_gap)
    errors = [_checks.nonnegative("start_errors", error) for error in start_errors]
    if len(errors) != 2:
        raise ValueError(f"start_errors must be two numbers, e1 and e2, got {len(errors)}.")
    bend = _checks.nonnegative("loss_smoothness", loss_smoothness)
    _, log_s2, log_s3 = constants.log_smoothness
    _, _, log_l3 = constants.log_lipschitz
    _, c2, c3 = constants.log_gradients
    spread = range_variances(constants) if variances is None else logarithms("variances", variances)
    own = math.log(constants.outcomes_per_context) / 2 + _sum(
        log_s3 + 2 * math.log(constants.loss_lipschitz), log_l3 + _log(bend)
    )
    smoothness = _sum(c2 + own, log_s2 + 2 * c3, 2 * c2 + 2 * c3)
    step = 2 * (c2 + c3)
    first, second = scsc_step_sizes(constants, 1).log_error_weights
    weight = _sum(2 * first, 2 * second)
    constant = math.log(2) + _sum(
        _log(gap),
        *(2 * _log(error) for error in errors),
        smoothness + step - math.log(2),
        math.log(2.3) + 2 * c3 + step,
        math.log(4) + 2 * c2 + 2 * c3 + step,
        2 * weight - math.log(2) + _sum(spread[1], spread[2] + _sum(0.0, math.log(2) + 2 * c2)),
    )
    # β = A/(2√K) and β(1 + 4 C2²) ≤ 1/2
    fewest = log_whole(1.0, -2 * (weight + _sum(0.0, math.log(4) + 2 * c2)))
    return ConvergenceBound(constant, fewest, smoothness)


def _sum(*logs: float) -> float:
    """Log of a sum, from logs."""
    return float(np.logaddexp.reduce(logs))


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
