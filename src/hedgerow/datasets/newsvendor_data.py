"""The paper's synthetic newsvendor, with its oracle in closed form.

Demand is a nonlinear signal of the context plus Gaussian noise, kept non-negative
(paper, section "Feature-based Newsvendor Problem"):

    x ~ N(0, Σ),   Σ_ij = 0.5^|i−j|,   β_j ~ U[−0.1, 0.1],
    s(x) = c·[ sin(2βᵀx) + 2·exp(−16(βᵀx)²) + 1 ],   c = 1.7,
    y = s(x) + ς,   ς ~ N(0, 1)  conditioned on  y ≥ 0.

The paper says only that demand "is simulated via the acceptance and rejection method". Read
here: the *noise* is redrawn until y ≥ 0 while x stays, so contexts keep their normal law and
y | x is a normal distribution truncated at zero. (Redrawing the pair (x, y) instead would tilt
the contexts by Φ(s(x)).) The truncated noise is drawn by inverting its distribution function,
which has the same law as rejection and needs one uniform number per row.

With Φ, φ the standard normal distribution and density, everything about y | x is closed form:

    P(y > t | x)    = Φ(s−t) / Φ(s)                                     for t ≥ 0
    E[y | x]        = s + φ(s)/Φ(s)
    E[(y−z)⁺ | x]   = [ φ(z−s) − (z−s)·Φ(s−z) ] / Φ(s)                  for z ≥ 0
    z*(x)           = s − Φ⁻¹( h/(h+b)·Φ(s) )                           the b/(h+b) quantile

so the loss Ψ(z, y) = h(z−y)⁺ + b(y−z)⁺ of any rule can be averaged over the noise exactly.
"""

from numbers import Real

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri
from sklearn.utils import Bunch, check_scalar

from hedgerow.datasets._contexts import context_index, draw_contexts

_AMPLITUDE = 1.7


def make_newsvendor(
    n_samples: int,
    n_features: int,
    *,
    beta: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> Bunch:
    """Draw contexts and demands from the paper's newsvendor model.

    The coefficients, the contexts and the noise come from three separate streams of
    ``random_state``, so giving back the ``beta`` of an earlier draw changes nothing else.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    n_features : int
        Number of covariates, d_x.
    beta : array-like of shape (n_features,), optional
        Coefficients of the truth. Drawn uniformly from [-0.1, 0.1] when not given. Pass the
        ``beta`` of one draw with another ``random_state`` to get a test set of the same truth.
    random_state : int, numpy.random.Generator or None, default=0
        Seed. The same integer gives the same draw.

    Returns
    -------
    sklearn.utils.Bunch
        ``data`` (n_samples, n_features), the contexts; ``target`` (n_samples,), the demands;
        ``beta`` (n_features,); ``signal`` (n_samples,), the location s(x) of the truncated
        normal, which the oracle functions take; ``conditional_mean`` (n_samples,), E[y | x],
        a little above the signal because of the truncation; ``feature_names``; ``DESCR``.

    Examples
    --------
    >>> from hedgerow.datasets import make_newsvendor
    >>> train = make_newsvendor(400, 10, random_state=0)
    >>> test = make_newsvendor(100_000, 10, beta=train.beta, random_state=1)
    """
    drawn, (noise,) = draw_contexts(n_samples, n_features, beta, random_state, streams=1)
    signal = newsvendor_signal(drawn.data, drawn.beta)
    # 1 − U lies in (0, 1]: the upper tail is never asked for at probability zero.
    demands = _upper_quantile(1.0 - noise.random(n_samples), signal)
    mean = _conditional_mean(signal)
    return Bunch(**drawn, target=demands, signal=signal, conditional_mean=mean, DESCR=__doc__)


def newsvendor_signal(contexts: ArrayLike, beta: ArrayLike) -> Float[np.ndarray, "n"]:
    """The signal s(x) in each context (n_samples, n_features), given the truth's ``beta``.

    Parameters
    ----------
    contexts : (n_samples, n_features) array
        Contexts.
    beta : (n_features,) array
        The truth's β.

    Examples
    --------
    >>> data = make_newsvendor(3, 2, random_state=0)
    >>> newsvendor_signal(data.data, data.beta).shape
    (3,)
    """
    index = context_index(contexts, beta)
    return _AMPLITUDE * (np.sin(2 * index) + 2 * np.exp(-16 * index**2) + 1)


def oracle_newsvendor_decision(
    signal: ArrayLike, holding: float = 0.6, stockout: float = 1.0
) -> Float[np.ndarray, "n"]:
    """The best orders z*(x) when the truth is known: the b/(h+b) quantile of y | x.

    Parameters
    ----------
    signal : array-like of shape (n_samples,)
        Signal s(x), as returned by `make_newsvendor` or `newsvendor_signal`.
    holding, stockout : float, default=0.6 and 1.0
        Unit costs h and b of ordering too much and too little.

    Examples
    --------
    >>> data = make_newsvendor(3, 2, random_state=0)
    >>> oracle_newsvendor_decision(newsvendor_signal(data.data, data.beta)).shape
    (3,)
    """
    _check_costs(holding, stockout)
    return _upper_quantile(holding / (holding + stockout), np.asarray(signal, dtype=float))


def oracle_newsvendor_loss(
    signal: ArrayLike, holding: float = 0.6, stockout: float = 1.0
) -> Float[np.ndarray, "n"]:
    """The expected loss of the oracle's decision in each context; no rule does better.

    Its mean over test contexts is the oracle loss of the coefficient of prescriptiveness.
    Where the truncation hardly bites (large signal) it is that of unit Gaussian noise,
    (h+b)·φ(Φ⁻¹(b/(h+b))), 0.6067 at the default costs; elsewhere it is smaller. It takes the
    parameters of ``oracle_newsvendor_decision``.

    Examples
    --------
    >>> data = make_newsvendor(3, 2, random_state=0)
    >>> bool((oracle_newsvendor_loss(newsvendor_signal(data.data, data.beta)) > 0).all())
    True
    """
    decisions = oracle_newsvendor_decision(signal, holding, stockout)
    return expected_newsvendor_loss(decisions, signal, holding, stockout)


def expected_newsvendor_loss(
    decisions: ArrayLike, signal: ArrayLike, holding: float = 0.6, stockout: float = 1.0
) -> Float[np.ndarray, "n"]:
    """The exact expected loss of any orders, free of the noise of sampled demands.

        E[Ψ(z, y) | x] = h·(z − E[y|x]) + (h+b)·E[(y−z)⁺ | x]

    ``decisions`` (n_samples,) are orders in the contexts that have these signals; else it
    takes the parameters of ``oracle_newsvendor_decision``.

    Examples
    --------
    >>> data = make_newsvendor(3, 2, random_state=0)
    >>> signal = newsvendor_signal(data.data, data.beta)
    >>> best = expected_newsvendor_loss(oracle_newsvendor_decision(signal), signal)
    >>> bool(abs(best - oracle_newsvendor_loss(signal)).max() < 1e-9)
    True
    """
    _check_costs(holding, stockout)
    decisions = np.asarray(decisions, dtype=float)
    signal = np.asarray(signal, dtype=float)
    if decisions.shape != signal.shape:
        # Broadcasting (n, 1) against (n,) would silently average over n² pairs.
        raise ValueError(
            f"decisions and signal must have the same shape, got {decisions.shape} and "
            f"{signal.shape}: pass one decision per context, for example decisions.ravel()."
        )
    # Demand is never negative: below zero, each unit less ordered is one unit more short.
    stock = np.maximum(decisions, 0.0)
    excess = stock - signal
    shortage = (_normal_density(excess) - excess * ndtr(-excess)) / ndtr(signal)
    shortage = shortage + (stock - decisions)
    return holding * (decisions - _conditional_mean(signal)) + (holding + stockout) * shortage


def _upper_quantile(
    tail: float | Float[np.ndarray, "n"], signal: Float[np.ndarray, "n"]
) -> Float[np.ndarray, "n"]:
    """The t ≥ 0 with P(y > t | x) = tail."""
    # At tail = 1 the exact answer is 0; rounding may put it a hair below.
    return np.maximum(signal - ndtri(tail * ndtr(signal)), 0.0)


def _conditional_mean(signal: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    return signal + _normal_density(signal) / ndtr(signal)


def _normal_density(t: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    return np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi)


def _check_costs(holding: float, stockout: float) -> None:
    for name, cost in (("holding", holding), ("stockout", stockout)):
        check_scalar(cost, name, Real, min_val=0, include_boundaries="neither")
