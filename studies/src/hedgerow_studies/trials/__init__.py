"""Experiments: what a practitioner would use instead, fitted with the same care.

``baselines`` holds the estimators, ``averages`` finds their decisions for losses without a
formula. Whatever there is to tune, folds of the training data decide.
"""

from hedgerow_studies.trials.baselines import LinearQuantile, QuantileBoosting, WeightedSAA

__all__ = ["LinearQuantile", "QuantileBoosting", "WeightedSAA"]
