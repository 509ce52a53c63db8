"""How many samples the averages of the robust objective need (paper: theo-saa-sample).

A sample average draws N1 contexts, N2 moves of a context and N3 moves of outcomes, one number for
each of the three nested expectations of ``constants``. Sizes overflow, so they are logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow import _checks
from hedgerow.theory.constants import (
    LARGEST_EXACT,
    CompositionalConstants,
    Triple,
    exponential,
    log_whole,
    logarithms,
)


@dataclass(frozen=True)
class SampleSizes:
    """Whole sample sizes, as natural logarithms; the properties are floats and may be inf.

    ``log_sizes`` holds log N1 (contexts), log N2 (moves of a context), log N3 (moves of outcomes).
    """

    log_sizes: Triple

    @property
    def sizes(self) -> Triple:
        """N1, N2, N3."""
        sizes = [exponential(log_size) for log_size in self.log_sizes]
        first, second, third = (round(n) if n < LARGEST_EXACT else n for n in sizes)
        return first, second, third

    @property
    def log_total(self) -> float:
        """Log of N1 + N2 + N3, the draws: the paper's sample complexity."""
        return float(np.logaddexp.reduce(self.log_sizes))

    @property
    def total(self) -> float:
        """N1 + N2 + N3."""
        return exponential(self.log_total)

    @property
    def log_evaluations(self) -> float:
        """Log of N1·N2·N3: how often one look at the sample average evaluates t3."""
        return sum(self.log_sizes)

    def log_descent_gradients(self, iterations: float = 1.0) -> float:
        """Log of the gradients of t3 that gradient descent on the sample average takes.

        N1·N2·N3 an iteration: O(d_θ³/δ⁶) up to logarithms (paper, after theo-saa-sample).
        """
        return self.log_evaluations + math.log(_checks.positive("iterations", iterations))

    def log_stochastic_gradients(self, iterations: float = 1.0) -> float:
        """Log of the same for stochastic gradients without bias.

        One context an iteration, and all moves and outcomes of it, for a logarithm of an average is
        right for none of its parts alone: N2·N3, O(d_θ²/δ⁴) up to logarithms.
        """
        _, moves, outcomes = self.log_sizes
        return moves + outcomes + math.log(_checks.positive("iterations", iterations))


def saa_sample_sizes(
    constants: CompositionalConstants,
    accuracy: float,
    failure: float,
    dimension: int,
    diameter: float,
    *,
    net: str = "explicit",
    net_constant: float = 1.0,
    variances: Sequence[float] | None = None,
    slack: float | None = None,
) -> SampleSizes:
    """How many samples make the sample average's minimiser δ-optimal (paper: theo-saa-sample).

    The theorem bounds the probability of failing by

        2Q · ( N1·N2·n·e^{−N3·r3} + N1·e^{−N2·r2} + e^{−N1·r1} ),   r_j = δ²/(144(2+κ)·T²c_j²σ_j²),

    with c = (1, L1, L1·L2) and Q points in a net over the parameters. Each term set to α/3 gives

        N1 = [log 2Q + log 3/α]/r1,   N2 = [… + log N1]/r2,   N3 = [… + log N1·N2·n]/r3,

    rounded up. The printed part (ii) hides 144(2+κ)T² in O(1): without T² the units do not match.

    Parameters
    ----------
    constants : CompositionalConstants
    accuracy : float
        δ: how far from the minimum of F the result may be, in units of the loss.
    failure : float
        α: with which probability it may be farther.
    dimension, diameter : int, float
        Number of parameters d_θ, and the diameter D_Θ of the set they lie in.
    net : {"explicit", "printed"}
        How Q is counted. "explicit": (1 + 8·L_θ·D_Θ/δ)^d_θ, because F and its sample averages are
        L_θ-Lipschitz and a packing of a set of diameter D is bounded by that of a ball
        (isodiametric inequality). "printed": (8·L1·L2·L3·D_Θ/δ)^d_θ, in which L_θ and T are
        missing: too coarse a net, and no proof, wherever L_θ > L1·L2·L3.
    net_constant : float
        A factor on Q, the theorem's O(1) beyond the 2 of two-sided deviations.
    variances : (σ1², σ2², σ3²) or None
        None: bounded by the ranges of t1, t2 and t3, (B/2T)², ((e^{B/T}−1)/2)² and n times that.
    slack : float or None
        κ. None: 0 with variances bounded by ranges, where Hoeffding's inequality gives the bound
        for every δ; 1 with variances given, where it holds for δ small enough, and the theorem
        does not say how small.

    Examples
    --------
    >>> from hedgerow import theory
    >>> constants = theory.compositional_constants(loss_bound=1.0, temperature=1.0)
    >>> sizes = theory.saa_sample_sizes(
    ...     constants, accuracy=0.05, failure=0.05, dimension=1000, diameter=10.0
    ... )
    >>> len(sizes.sizes)  # contexts, context moves, outcome moves
    3
    """
    log_rates, base = _saa_terms(
        constants, accuracy, dimension, diameter, net, net_constant, variances, slack
    )
    base += math.log(3 / _checks.fraction("failure", failure))
    contexts = log_whole(base, log_rates[0])
    moves = log_whole(base + contexts, log_rates[1])
    pairs = contexts + moves + math.log(constants.outcomes_per_context)
    return SampleSizes((contexts, moves, log_whole(base + pairs, log_rates[2])))


def saa_failure_probability(
    constants: CompositionalConstants,
    sizes: SampleSizes | Sequence[float],
    accuracy: float,
    dimension: int,
    diameter: float,
    *,
    net: str = "explicit",
    net_constant: float = 1.0,
    variances: Sequence[float] | None = None,
    slack: float | None = None,
) -> float:
    """Bound the probability that the sample average's minimiser is not δ-optimal (part (i)).

    The sum in ``saa_sample_sizes``, at most 1 (where it says nothing). ``sizes`` are (N1, N2, N3)
    or what ``saa_sample_sizes`` returned; else it takes the parameters of ``saa_sample_sizes``.

    Examples
    --------
    >>> from hedgerow import theory
    >>> constants = theory.compositional_constants(loss_bound=1.0, temperature=1.0)
    >>> theory.saa_failure_probability(constants, (10, 10, 10), 0.05, 1000, 10.0)  # says nothing
    1.0
    """
    log_rates, base = _saa_terms(
        constants, accuracy, dimension, diameter, net, net_constant, variances, slack
    )
    log_sizes = sizes.log_sizes if isinstance(sizes, SampleSizes) else logarithms("sizes", sizes)
    contexts, moves, _ = log_sizes
    repeats = (0.0, contexts, contexts + moves + math.log(constants.outcomes_per_context))
    terms = [
        base + repeat - exponential(log_rate + log_size)
        for repeat, log_rate, log_size in zip(repeats, log_rates, log_sizes, strict=True)
    ]
    return exponential(min(float(np.logaddexp.reduce(terms)), 0.0))


def _saa_terms(
    constants: CompositionalConstants,
    accuracy: float,
    dimension: int,
    diameter: float,
    net: str,
    net_constant: float,
    variances: Sequence[float] | None,
    slack: float | None,
) -> tuple[Triple, float]:
    """Log r1, r2, r3 and log 2Q."""
    log_accuracy = math.log(_checks.positive("accuracy", accuracy))
    parameters = _checks.count("dimension", dimension)
    log_diameter = math.log(_checks.positive("diameter", diameter))
    log_l1, log_l2, log_l3 = constants.log_lipschitz
    if _checks.one_of("net", net, ("explicit", "printed")) == "explicit":
        log_slope = math.log(8 * constants.objective_lipschitz)
        log_side = float(np.logaddexp(0, log_slope + log_diameter - log_accuracy))
    else:
        log_side = max(math.log(8) + log_l1 + log_l2 + log_l3 + log_diameter - log_accuracy, 0.0)
    log_net = math.log(_checks.positive("net_constant", net_constant)) + parameters * log_side

    if variances is None:
        log_variances, kappa = range_variances(constants), 0.0
    else:
        log_variances, kappa = logarithms("variances", variances), 1.0
    if slack is not None:
        kappa = _checks.nonnegative("slack", slack)
    common = 2 * (log_accuracy - math.log(constants.temperature)) - math.log(144 * (2 + kappa))
    reach = (0.0, log_l1, log_l1 + log_l2)
    rates = [common - 2 * r - v for r, v in zip(reach, log_variances, strict=True)]
    return (rates[0], rates[1], rates[2]), math.log(2) + log_net


def range_variances(constants: CompositionalConstants) -> Triple:
    """Log-variances of variables as spread out as their ranges allow (Popoviciu's inequality)."""
    exponent = constants.loss_bound / constants.temperature
    log_half_range = exponent + math.log(-math.expm1(-exponent)) - math.log(2)
    return (
        2 * math.log(exponent / 2),
        2 * log_half_range,
        2 * log_half_range + math.log(constants.outcomes_per_context),
    )
