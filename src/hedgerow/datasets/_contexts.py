"""What the paper's synthetic problems share: contexts, and the coefficients of the truth.

    x ~ N(0, Σ),   Σ_ij = 0.5^|i−j|,   β_j ~ U[−0.1, 0.1].

Coefficients, contexts and whatever else is drawn have streams of their own, so that fixing one of
them changes none of the others.
"""

from numbers import Integral

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, toeplitz
from sklearn.utils import Bunch, check_scalar

_CORRELATION = 0.5
_BETA_BOUND = 0.1


def draw_contexts(
    n_samples: int,
    n_features: int,
    beta: ArrayLike | None,
    random_state: int | np.random.Generator | None,
    *,
    streams: int,
) -> tuple[Bunch, list[np.random.Generator]]:
    """Draw contexts and, unless they are given, coefficients; hand back so many fresh streams."""
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    check_scalar(n_features, "n_features", Integral, min_val=1)
    generator = np.random.default_rng(random_state)
    beta_stream, context_stream, *others = generator.spawn(2 + streams)
    if beta is None:
        beta = beta_stream.uniform(-_BETA_BOUND, _BETA_BOUND, n_features)
    else:
        beta = check_beta(beta, n_features)
    factor = cholesky(context_covariance(n_features))
    contexts = context_stream.standard_normal((n_samples, n_features)) @ factor
    names = [f"x{j}" for j in range(n_features)]
    return Bunch(data=contexts, beta=beta, feature_names=names), others


def context_covariance(n_features: int) -> Float[np.ndarray, "d d"]:
    """Σ_ij = 0.5^|i−j|."""
    return toeplitz(_CORRELATION ** np.arange(n_features))


def context_index(contexts: ArrayLike, beta: ArrayLike) -> Float[np.ndarray, "n"]:
    """βᵀx in each context: all that demand depends on."""
    contexts = np.asarray(contexts, dtype=float)
    if contexts.ndim != 2:
        raise ValueError(
            f"contexts must have shape (n_samples, n_features), got {contexts.shape}: "
            "reshape a single context x with x[None, :]."
        )
    return contexts @ check_beta(beta, contexts.shape[1])


def check_beta(beta: ArrayLike, n_features: int) -> Float[np.ndarray, "d"]:
    """Return the coefficients as an array, one finite number per feature."""
    beta = np.asarray(beta, dtype=float)
    if beta.shape != (n_features,):
        raise ValueError(
            f"beta must hold one coefficient per feature, shape ({n_features},), "
            f"got shape {beta.shape}."
        )
    if not np.all(np.isfinite(beta)):
        raise ValueError("beta must be finite, got NaN or infinity.")
    return beta
