"""Studies with hedgerow: the paper recomputed, trials against baselines, portfolios.

``versions``, ``cells``, ``running``   what results depend on, where they are kept, who computes
``worker_start``                       workers that end with the process that asked
``trials``, ``portfolio``              methods out of sample; a rolling backtest on market data
``paper``                              its figures and tables, recomputed
``rivals``, ``leaderboard``            methods of several schools, compared on the same problems
``commands``                           ``hedgerow portfolio``, ``reproduce`` and ``leaderboard``
"""
