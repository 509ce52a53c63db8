"""Conditional distributions: what may happen in a context, from a regressor and its residuals."""

from hedgerow.forecasts.forest_regressor import ForestRegressor
from hedgerow.forecasts.residual import ResidualNominal

__all__ = ["ForestRegressor", "ResidualNominal"]
