"""Trials of methods out of sample: one truth for all, and what a practitioner would use instead.

``newsvendor_trial``, ``inventory_trial``   one draw of truth and data, and how a rule is judged
``contenders``                              from a history to fitted rules, hedgerow's and others
``baselines``, ``averages``                 the others, and their decisions for any loss
``real_series``                             real demand, split by time, per series and pooled
``series_policies``, ``series_rivals``      what orders on it: hedgerow's, and others'
"""

from hedgerow_studies.trials.baselines import LinearQuantile, QuantileBoosting, WeightedSAA

__all__ = ["LinearQuantile", "QuantileBoosting", "WeightedSAA"]
