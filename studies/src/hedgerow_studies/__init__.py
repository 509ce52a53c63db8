"""Studies with hedgerow: the paper recomputed, trials against baselines, portfolios.

``versions``, ``cells``, ``running``   what results depend on, where they are kept, who computes
``worker_start``                       workers that end with the process that asked
``trials``, ``portfolio``              methods out of sample; a rolling backtest on market data
``paper``                              its figures and tables, recomputed
``commands``                           ``hedgerow portfolio`` and ``hedgerow reproduce``
"""
