"""The paper as published: its rule, its training and its protocol, run again on draws of our own.

``histories``   data as the authors' generators make them, standardised as theirs are
``rules``       their forest and their two-layer network, with their initial parameters
``losses``      what they train on and score by, in closed form
``training``    their empirical risk and their released trainer, step by step
``oracles``     what no rule can do better than, exactly and as they estimated it
``studies``     all of it as cells; ``differences`` changes one thing at a time

Two sources are told apart. *As printed* is Algorithm 1 of the paper, run by the library itself
(``SCSC(trackers="printed")``). *As released* is what the authors' public code does (repository
Arthas819/CausalSDRO, commit 7444179), written anew from a reading of it. The two are not the same
method, and ``training`` says why.
"""
