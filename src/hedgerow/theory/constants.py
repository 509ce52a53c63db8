"""How steep the three levels of the robust objective are (paper: propos-lip-con).

The robust objective is three nested expectations (paper: dual-sco), with T = λε and 0 ≤ Ψ ≤ B,

    F(θ) = T · E_x̂ t1( E_ξ1 t2( E_ξ2 t3(θ) ) ),
    t1(z) = log z,   t2(v) = exp Σ_i p̂_i log v_i,   [t3(θ)]_i = exp( Ψ(f_θ(x̂+ξ1), ŷ_i+ξ2)/T ).

Every constant carries e^{B/T}, which overflows at ordinary losses, so all of it is kept as
logarithms.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from hedgerow import _checks

LARGEST_LOG = math.log(sys.float_info.max)
LARGEST_EXACT = 2.0**53
"""From here on floats skip whole numbers, and rounding a size up means nothing."""

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class CompositionalConstants:
    """How steep t1, t2 and t3 are (paper: propos-lip-con), after B, T, L_θ and n as given."""

    loss_bound: float
    temperature: float
    loss_lipschitz: float
    outcomes_per_context: float
    log_lipschitz: Triple
    """Log L1, L2, L3: 0, B/T and B/T − log T. L3 is per unit of the losses Ψ, not of θ."""
    log_smoothness: Triple
    """Log S1, S2, S3: 0, log √2 + B/T and B/T − 2 log T. S3 is per unit of the losses too."""
    log_gradients: Triple
    """Log C1, C2, C3: 0, B/T and log L3 + log L_θ + ½ log n. C3 does measure θ."""

    @property
    def objective_lipschitz(self) -> float:
        """F and its sample averages are L_θ-Lipschitz in θ, without any e^{B/T}.

        Each level is monotone and passes constants through: if no loss moves by more than c, F
        moves by at most c. The chain T·L1·C2·C3 bounds the same slope, larger by e^{2B/T}·√n.
        """
        return self.loss_lipschitz


def compositional_constants(
    loss_bound: float,
    temperature: float,
    loss_lipschitz: float = 1.0,
    outcomes_per_context: float = 1.0,
) -> CompositionalConstants:
    """Return the constants of t1, t2, t3 as the paper prints them (propos-lip-con).

    L1 = S1 = C1 = 1;  L2 = C2 = e^{B/T}, S2 = √2·L2;  L3 = e^{B/T}/T, S3 = L3/T, C3 = L3·L_θ·√n.

    Right on the domain [1, e^{B/T}] of z and v, and in the losses; attained for t1 and t3. Loose
    for t2, a concave function: S2 needs no √2, and with one outcome t2(v) = v, so L2 = 1, S2 = 0.

    Parameters
    ----------
    loss_bound : float
        B: losses lie in [0, B].
    temperature : float
        T = λε, penalty times epsilon, in units of the loss.
    loss_lipschitz : float
        L_θ: how fast the loss changes with the rule's parameters.
    outcomes_per_context : float
        n: outcomes that share a context. Their mean over contexts will do for C3, which bounds an
        expectation; sample sizes want the largest.

    Examples
    --------
    >>> from hedgerow import theory
    >>> constants = theory.compositional_constants(loss_bound=1.0, temperature=0.5)
    """
    bound = _checks.positive("loss_bound", loss_bound)
    scale = _checks.positive("temperature", temperature)
    slope = _checks.positive("loss_lipschitz", loss_lipschitz)
    outcomes = _checks.positive("outcomes_per_context", outcomes_per_context)
    if outcomes < 1:
        raise ValueError(f"outcomes_per_context must be at least 1, got {outcomes_per_context!r}.")
    exponent, log_scale = bound / scale, math.log(scale)
    log_inner = exponent - log_scale
    return CompositionalConstants(
        loss_bound=bound,
        temperature=scale,
        loss_lipschitz=slope,
        outcomes_per_context=outcomes,
        log_lipschitz=(0.0, exponent, log_inner),
        log_smoothness=(0.0, math.log(2) / 2 + exponent, log_inner - log_scale),
        log_gradients=(0.0, exponent, log_inner + math.log(slope) + math.log(outcomes) / 2),
    )


def logarithms(name: str, values: Sequence[float]) -> Triple:
    """Logarithms of three positive numbers."""
    if len(values) != 3:
        raise ValueError(f"{name} must be three numbers, one per level, got {len(values)}.")
    first, second, third = (math.log(_checks.positive(name, value)) for value in values)
    return first, second, third


def exponential(log_value: float) -> float:
    """Return the number, or inf where a float cannot hold it."""
    return math.exp(log_value) if log_value <= LARGEST_LOG else math.inf


def log_whole(needed: float, log_rate: float) -> float:
    """Log of the least whole number N >= 1 with N·rate >= needed."""
    if needed <= 0:
        return 0.0
    log_size = math.log(needed) - log_rate
    if log_size >= math.log(LARGEST_EXACT):
        return log_size
    return math.log(max(math.ceil(math.exp(log_size)), 1))
