"""Studies with hedgerow: the paper recomputed, trials against baselines, portfolios."""
