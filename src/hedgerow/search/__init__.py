"""Choosing settings by cross-validation, the whole grid on all folds at once."""

from hedgerow.search.policy_cv import RobustPolicyCV

__all__ = ["RobustPolicyCV"]
