"""Warnings that scikit-learn's ``ConvergenceWarning`` stands for as well.

Apart from the others, because importing scikit-learn takes longer than deciding does.
"""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

from hedgerow._warnings import HedgerowWarning


class DivergedWarning(HedgerowWarning, ConvergenceWarning):
    """Training left the finite numbers; the last finite rule was kept."""


class InexactValueWarning(HedgerowWarning, ConvergenceWarning):
    """A robust value that is not known to the tolerance that was asked for."""
