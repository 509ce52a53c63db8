"""Commands that run a study: ``hedgerow portfolio``, ``reproduce`` and ``leaderboard``.

``signatures`` says what they take, ``run_portfolio`` and its siblings what they do.
"""
