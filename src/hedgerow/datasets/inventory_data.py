"""The paper's synthetic inventory substitution problem, with its oracle to twelve digits.

Three products, three independent demands, one scale that the context moves (paper, section
"Feature-based Inventory Substitution Problem"; contexts and β as for `make_newsvendor`):

    x ~ N(0, Σ),   Σ_ij = 0.5^|i−j|,   β_j ~ U[−0.1, 0.1],   σ(x) = exp(βᵀx),
    y₁ | x ~ Exp(σ),   y₂ | x ~ Gamma(2, σ),   y₃ | x ~ Gamma(4, σ).

σ is read as a scale, as in NumPy and SciPy. Reading it as a rate is the same as replacing β by −β,
and β has a symmetric law: the two readings are one model, and no published figure can tell them
apart.

The loss Ψ(z, y) is the least cost of meeting demands y from stocks z, with holding costs h,
shortage costs b and s_ij for a unit of product i that serves demand j. Serving saves
g_ij = h_i + b_j − s_ij, and with the paper's costs it is best to serve one's own demand, then the
next one, then the one after. With surplus e⁺ and shortage e⁻ of e = z − y that is

    Ψ = Σ_i (h_i e_i⁺ + b_i e_i⁻) − g₁₂ min(e₁⁺, e₂⁻) − g₂₃ min(e₂⁺, e₃⁻)
        − g₁₃ min( (e₁⁺ − e₂⁻)⁺, (e₃⁻ − e₂⁺)⁺ ).

Its expectation follows at σ = 1 from the Poisson process N, whose k-th arrival is Gamma(k):
E min(U, V) = ∫ P(U > t, V > t) dt, where a probability about y₁ + y₂ or y₂ + y₃ is one about the
counts of N before and after z₂ (see `_chain_probability`). The integrand is analytic in t, so
Gauss-Legendre nodes give rounding error. Ψ is positively homogeneous and y/σ has the law at σ = 1:

    E[Ψ(z, y) | x] = σ·E₁Ψ(z/σ),   z*(x) = σ(x)·z₁,   E[Ψ(z*, y) | x] = σ(x)·Ψ₁,
    E Ψ(z*(x), y) = Ψ₁·exp(βᵀΣβ / 2).

**The published oracle loss is not the exact one.** The paper reports 3.29 for every number of
features: a sample average over 100 outcomes, less 1/√100. The printed matrix S, where product 1 may
serve demands 2 and 3, has Ψ₁ = 3.4046. Its transpose, ``transposed=True``, where products 2 and 3
may serve demand 1, has Ψ₁ = 3.2893, which is near the published figure by chance.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from hedgerow.datasets._contexts import check_beta, context_covariance, context_index, draw_contexts

_SHAPES = np.array([1, 2, 4])
_HOLDING = np.array([1.0, 0.7, 0.6])
_STOCKOUT = np.array([1.8, 1.6, 1.2])
_SUBSTITUTION = np.array([[0.0, 1.7, 2.0], [np.inf, 0.0, 1.5], [np.inf, np.inf, 0.0]])

# z₁ and Ψ₁, printed and transposed: the root of the sixth-order central difference of
# `_unit_loss` found by scipy.optimize.fsolve, the same to 1e-11 for steps 2e-3, 5e-3 and 1e-2.
_UNIT_DECISIONS = (
    np.array([1.17829193046, 2.37995989126, 4.39119862728]),
    np.array([0.86309171226, 2.35883862539, 4.79470595528]),
)
_UNIT_LOSSES = (3.40462476261680, 3.28929705956500)

# 24 nodes leave a relative error below 1e-14 for stocks of up to 150 scales. Every integrand is
# at most P(Gamma(4) > t), below 1e-13 beyond 40, so that no stock needs a longer range.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_RANGE = 40.0
_BLOCK = 1_000


class InventoryCosts(NamedTuple):
    """Unit costs of the inventory substitution problem; buying stock costs nothing.

    ``substitution[i, j]`` is the cost of a unit of product i that serves demand j, infinite where
    it cannot.
    """

    holding: Float[np.ndarray, "3"]
    stockout: Float[np.ndarray, "3"]
    substitution: Float[np.ndarray, "3 3"]


def paper_inventory_costs(*, transposed: bool = False) -> InventoryCosts:
    """The paper's costs h, b and S; transposed, product i serves the demands j ≤ i.

    Examples
    --------
    >>> import hedgerow as hr
    >>> costs = hr.datasets.paper_inventory_costs()
    >>> loss = hr.InventorySubstitution(costs.holding, costs.stockout, costs.substitution)
    """
    substitution = _SUBSTITUTION.T if transposed else _SUBSTITUTION
    return InventoryCosts(_HOLDING.copy(), _STOCKOUT.copy(), substitution.copy())


def make_inventory(
    n_samples: int,
    n_features: int,
    *,
    beta: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> Bunch:
    """Draw contexts and the demands of three products from the paper's inventory model.

    The parameters are those of `make_newsvendor`, and a seed gives the coefficients and contexts
    that it draws there. The demands come from a stream of their own, so giving back the ``beta`` of
    an earlier draw changes nothing else.

    Returns
    -------
    sklearn.utils.Bunch
        ``data`` (n_samples, n_features), the contexts; ``target`` (n_samples, 3), the demands;
        ``beta`` (n_features,); ``scale`` (n_samples,), the scale σ(x) of the demands, which the
        oracle functions take; ``conditional_mean`` (n_samples, 3), E[y | x] = (1, 2, 4)·σ(x);
        ``feature_names``; ``outcome_names``; ``DESCR``.

    Examples
    --------
    >>> from hedgerow.datasets import make_inventory
    >>> train = make_inventory(400, 10, random_state=0)
    >>> test = make_inventory(100_000, 10, beta=train.beta, random_state=1)
    """
    # The first is the stream of the newsvendor's noise, whose numbers demand must not share.
    drawn, (_, demands) = draw_contexts(n_samples, n_features, beta, random_state, streams=2)
    scale = inventory_scale(drawn.data, drawn.beta)
    return Bunch(
        **drawn,
        target=scale[:, None] * demands.standard_gamma(_SHAPES, (n_samples, 3)),
        scale=scale,
        conditional_mean=scale[:, None] * _SHAPES,
        outcome_names=["y1", "y2", "y3"],
        DESCR=__doc__,
    )


def inventory_scale(contexts: ArrayLike, beta: ArrayLike) -> Float[np.ndarray, "n"]:
    """The scale σ(x) of the demands in contexts (n_samples, n_features), given the truth's β.

    Parameters
    ----------
    contexts : (n_samples, n_features) array
        Contexts.
    beta : (n_features,) array
        The truth's β.

    Examples
    --------
    >>> data = make_inventory(3, 2, random_state=0)
    >>> inventory_scale(data.data, data.beta).shape
    (3,)
    """
    return np.exp(context_index(contexts, beta))


def oracle_inventory_decision(
    scale: ArrayLike, *, transposed: bool = False
) -> Float[np.ndarray, "n 3"]:
    """The best stocks when the truth is known, z*(x) = σ(x)·z₁.

    z₁ is (1.178, 2.380, 4.391), or (0.863, 2.359, 4.795) if transposed.

    Parameters
    ----------
    scale : array-like of shape (n_samples,)
        Scale σ(x), as returned by `make_inventory` or `inventory_scale`.
    transposed : bool, default=False
        Whether the costs are those of the transposed matrix S.

    Examples
    --------
    >>> oracle_inventory_decision([1.0]).shape  # stocks of three products
    (1, 3)
    """
    return _check_scale(scale)[:, None] * _UNIT_DECISIONS[transposed]


def oracle_inventory_loss(scale: ArrayLike, *, transposed: bool = False) -> Float[np.ndarray, "n"]:
    """The oracle's expected loss σ(x)·Ψ₁ in each context; no rule does better.

    Ψ₁ is 3.4046, or 3.2893 if transposed. It takes the parameters of
    ``oracle_inventory_decision``.

    Examples
    --------
    >>> round(float(oracle_inventory_loss([1.0])[0]), 4)
    3.4046
    """
    return _check_scale(scale) * _UNIT_LOSSES[transposed]


def mean_oracle_inventory_loss(beta: ArrayLike, *, transposed: bool = False) -> float:
    """The oracle's expected loss over contexts and demands, given the truth's β: Ψ₁·exp(βᵀΣβ/2).

    It is the mean of `oracle_inventory_loss` over the contexts: βᵀx is normal with variance βᵀΣβ.

    Parameters
    ----------
    beta : (n_features,) array
        The truth's β.
    transposed : bool
        As in ``oracle_inventory_decision``.

    Examples
    --------
    >>> round(mean_oracle_inventory_loss([0.0, 0.0]), 4)  # without context
    3.4046
    """
    beta = check_beta(beta, np.size(beta))
    variance = beta @ context_covariance(beta.size) @ beta
    return float(_UNIT_LOSSES[transposed] * np.exp(0.5 * variance))


def expected_inventory_loss(
    decisions: ArrayLike, scale: ArrayLike, *, transposed: bool = False
) -> Float[np.ndarray, "n"]:
    """The expected loss E[Ψ(z, y) | x] of any stocks to rounding error, free of sampled demands.

    ``decisions`` (n_samples, 3) are stocks, none negative, in the contexts that have these scales;
    else it takes the parameters of ``oracle_inventory_decision``.

    Examples
    --------
    >>> best = expected_inventory_loss(oracle_inventory_decision([1.0]), [1.0])
    >>> bool(abs(best - oracle_inventory_loss([1.0])).max() < 1e-6)
    True
    """
    scale = _check_scale(scale)
    decisions = np.asarray(decisions, dtype=float)
    if decisions.shape != (scale.size, 3):
        raise ValueError(
            f"decisions must hold three stocks per context, shape ({scale.size}, 3), "
            f"got shape {decisions.shape}."
        )
    if not np.all((decisions >= 0) & np.isfinite(decisions)):
        raise ValueError(
            "decisions must be finite and not negative: a negative stock has no allocation. "
            "Clip them first, for example decisions.clip(0)."
        )
    losses = np.empty(scale.size)
    # In blocks that stay in the cache: each row takes a number per node and intermediate array.
    for start in range(0, scale.size, _BLOCK):
        rows = slice(start, start + _BLOCK)
        losses[rows] = scale[rows] * _unit_loss(decisions[rows] / scale[rows, None], transposed)
    return losses


def _unit_loss(stocks: Float[np.ndarray, "n 3"], transposed: bool) -> Float[np.ndarray, "n"]:
    """E₁Ψ(z): the expected loss at scale one."""
    costs = paper_inventory_costs(transposed=transposed)
    savings = costs.holding[:, None] + costs.stockout - costs.substitution
    # E(z − y)⁺ = z·P(Gamma(k) < z) − k·P(Gamma(k+1) < z).
    within = [
        z * _below(k, z) - k * _below(k + 1, z) for k, z in zip(_SHAPES, stocks.T, strict=True)
    ]
    surplus = np.stack(within, axis=1)
    shortage = surplus - stocks + _SHAPES
    loss = surplus @ costs.holding + shortage @ costs.stockout

    # Stock moves along a chain of products; transposing S turns the chain round.
    first, middle, last = (2, 1, 0) if transposed else (0, 1, 2)
    for giver, taker in ((first, middle), (middle, last)):
        loss -= savings[giver, taker] * _integral(
            lambda t, giver=giver, taker=taker: (
                _below(_SHAPES[giver], stocks[:, [giver]] - t)
                * _above(_SHAPES[taker], stocks[:, [taker]] + t)
            ),
            stocks[:, giver],
        )
    chain = [first, middle, last]
    return loss - savings[first, last] * _integral(
        lambda t: _chain_probability(t, stocks[:, chain], _SHAPES[chain]), stocks[:, first]
    )


def _chain_probability(
    t: Float[np.ndarray, "n nodes"], stocks: Float[np.ndarray, "n 3"], shapes: np.ndarray
) -> Float[np.ndarray, "n nodes"]:
    """P( e₁⁺ − e₂⁻ > t,  e₃⁻ − e₂⁺ > t ): the first can still give t, the last still lacks t.

    Let N be a Poisson process whose k₂-th arrival is y₂, with y₁ (or y₃) the time of the next k₁
    (or k₃) arrivals. Either demand y₂ exceeds its stock, N(z₂) < k₂, and

        y₁ + y₂ < z₁ + z₂ − t   means   N(z₁ + z₂ − t) ≥ k₁ + k₂,   with   y₃ > z₃ + t,

    or it does not, N(z₂) ≥ k₂, and

        y₂ + y₃ > z₂ + z₃ + t   means   N(z₂ + z₃ + t) < k₂ + k₃,   with   y₁ < z₁ − t.

    Counts before and after z₂ are independent.
    """
    z1, z2, z3 = np.moveaxis(stocks[:, :, None], 1, 0)
    k1, k2, k3 = shapes
    can_give = sum(_count(n, z2) * _below(k1 + k2 - n, z1 - t) for n in range(k2))
    still_lacks = sum(_count(n, z2) * _above(k2 + k3 - n, z3 + t) for n in range(k2, k2 + k3))
    return can_give * _above(k3, z3 + t) + _below(k1, z1 - t) * still_lacks


def _integral(
    integrand: Callable[[Float[np.ndarray, "n nodes"]], Float[np.ndarray, "n nodes"]],
    stock: Float[np.ndarray, "n"],
) -> Float[np.ndarray, "n"]:
    """∫ integrand(t) dt from 0 to the giver's stock."""
    half = 0.5 * np.minimum(stock, _RANGE)
    return half * (integrand(half[:, None] * (1.0 + _NODES)) @ _WEIGHTS)


def _below(shape: int, t: np.ndarray) -> np.ndarray:
    """P(Gamma(shape) < t) = P(N(t) ≥ shape)."""
    return 1.0 - _above(shape, t)


def _above(shape: int, t: np.ndarray) -> np.ndarray:
    """P(Gamma(shape) > t) = P(N(t) < shape) = e⁻ᵗ·(1 + t·(1 + t/2·(1 + …)))."""
    series = np.ones_like(t)
    for n in range(shape - 1, 0, -1):
        series *= t
        series /= n
        series += 1.0
    return np.exp(-t) * series


def _count(n: int, t: np.ndarray) -> np.ndarray:
    """P(N(t) = n)."""
    return _above(n + 1, t) - (_above(n, t) if n else 0.0)


def _check_scale(scale: ArrayLike) -> Float[np.ndarray, "n"]:
    scale = np.asarray(scale, dtype=float)
    if scale.ndim != 1:
        raise ValueError(
            f"scale must have shape (n_samples,), got {scale.shape}: "
            "pass one scale per context, for example numpy.ravel(scale)."
        )
    if not np.all((scale > 0) & np.isfinite(scale)):
        raise ValueError("scale must be positive and finite: it is exp(βᵀx), not βᵀx.")
    return scale
