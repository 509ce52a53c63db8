"""Evidence that may be looked at as often as one likes: the wealth of a bet that ought to lose.

    M_t = Σ_s w_s · mean_g Π_{u=s..t} (1 + g·x_u),     w_s = 1/(s(s+1)),   x_u ≥ −1,   0 < g < 1

If E[x_u | past] ≤ 0, each product is a supermartingale that starts at 1, so M is one, and

    P( M_t ≥ 1/α for some t ) ≤ α        (Ville 1939),

no upper bound on x needed. A mixture over stakes g (Waudby-Smith & Ramdas 2024) and over days s on
which betting begins (Shin, Ramdas & Rinaldo 2024) notices changes of any size that come late.

    cost:      x = cost/bound − 1            wins where costs exceed the bound on average
    shift:     x = ± (1 − 2p)                p the rank of a new value among all values before it

Ranks among exchangeable values are independent and uniform (Vovk, Gammerman & Shafer 2005), so the
second is a test of exchangeability that is exact for any distribution.

MAPIE 1.6 has relatives of both: RiskMonitoring for losses between 0 and 1, and OnlineMartingaleTest
around its own regressors. Costs have no upper end, and columns no regressor; hence these few lines.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

STAKES = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.8])


def evidence(payoffs: Float[np.ndarray, "days *bets"]) -> Float[np.ndarray, " days"]:
    """Return log M_t of payoffs ≥ −1, day by day; several columns of bets are averaged."""
    payoffs = np.asarray(payoffs, dtype=np.float64).reshape(len(payoffs), -1)
    if len(payoffs) == 0:
        return np.zeros(0)
    if np.nanmin(payoffs) < -1 - 1e-12 or not np.all(np.isfinite(payoffs)):
        raise ValueError(
            "A payoff must be finite and at least −1: nobody loses more than the stake."
        )
    days = np.arange(1, len(payoffs) + 1)
    gains = np.log1p(payoffs[..., None] * STAKES).reshape(len(payoffs), -1)
    wealth = np.cumsum(gains, axis=0)
    # of each bet: Σ_s w_s exp(wealth_t − wealth_{s−1}), what begins on day s holding w_s until then
    before = np.vstack([np.zeros((1, wealth.shape[1])), wealth[:-1]])
    begun = np.logaddexp.accumulate(-np.log(days * (days + 1.0))[:, None] - before, axis=0)
    waiting = -np.log(days + 1.0)  # Σ_{s>t} w_s
    each = np.logaddexp(wealth + begun, waiting[:, None])
    return np.logaddexp.reduce(each, axis=1) - np.log(each.shape[1])


def conformal_ranks(
    reference: Float[np.ndarray, " values"], new: Float[np.ndarray, " days"], seed: int = 0
) -> Float[np.ndarray, " days"]:
    """Return which share of all values before it, and itself, each new value is below; in (0, 1).

    Ties are broken at random, in the order of days, so that looking again changes nothing.
    """
    rng = np.random.default_rng(seed)
    known = np.sort(np.asarray(reference, dtype=np.float64))
    ranks = np.empty(len(new))
    for day, value in enumerate(new):
        low = np.searchsorted(known, value, side="left")
        high = np.searchsorted(known, value, side="right")
        above, equal = len(known) - high, high - low
        ranks[day] = (above + rng.uniform() * (equal + 1)) / (len(known) + 1)
        known = np.insert(known, low, value)
    return ranks
