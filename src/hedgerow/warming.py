"""Compiling ahead of time: what a policy on a table of some shape will ask for.

Whoever knows the shape can have it compiled before there is a table.

Programs are compiled for shapes: the number of features and outcomes, and the number of rows as far
as the ladder tells it (``ladder``). So a policy is fitted to made-up rows of that shape, decides
and is valued; with a cache on disk (``program_cache``) the next process has all of it.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from hedgerow import _checks, programs
from hedgerow.estimator import RobustPolicy
from hedgerow.losses import Loss, Newsvendor


def warm_up(
    features: int, rows: int = 400, outcomes: int = 1, loss: Loss | None = None, **parts: Any
) -> int:
    """Compile what a policy on so many features and rows needs: to learn, decide and be valued.

    Parameters
    ----------
    features, rows, outcomes : int
        Shape of the table.
    loss : Loss or None
        None: a newsvendor, whatever its costs.
    **parts
        As for ``RobustPolicy``: ambiguity, rule, nominal, solver.

    Returns
    -------
    int
        How many programs were compiled or, if kept on disk, read.

    Examples
    --------
    >>> import hedgerow as hr
    >>> hr.warm_up(features=2, rows=200) >= 0
    True
    """
    for name, count in (("features", features), ("rows", rows), ("outcomes", outcomes)):
        _checks.count(name, count)
    before = programs.compilations().total()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features))
    Y = 10 + X[:, :1] + rng.gamma(2.0, 1.0, size=(rows, outcomes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nobody will use what is learned
        policy = RobustPolicy(loss or Newsvendor(1.0, 2.0), random_state=0, **parts)
        policy.fit(X, Y[:, 0] if outcomes == 1 else Y).predict(X)
        policy.robust_value_  # noqa: B018
    return programs.compilations().total() - before
