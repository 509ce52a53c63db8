"""Commands that run a study, ``hedgerow portfolio`` and ``hedgerow reproduce``.

``signatures`` says what they take, ``run_portfolio`` and ``run_reproduce`` what they do.
"""
