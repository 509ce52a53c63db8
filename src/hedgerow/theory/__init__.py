"""What the theory says in numbers: constants, sample sizes, step sizes, and how steep a forest is.

The robust objective is three nested expectations (``constants``): the paper states how steep the
three are, how many samples their averages need (``sampling``), which steps stochastic gradients may
take (``steps``) and how fast they then converge (``convergence``). How steep a soft forest is
follows from one walk down a tree (``forests``).

``docs/theory.md`` says what was found right, loose and wrong in the printed statements.
"""

from hedgerow.theory.constants import CompositionalConstants, compositional_constants
from hedgerow.theory.convergence import ConvergenceBound, scsc_convergence
from hedgerow.theory.forests import ForestConstants, forest_constants, policy_constants
from hedgerow.theory.sampling import SampleSizes, saa_failure_probability, saa_sample_sizes
from hedgerow.theory.steps import StepSizes, scsc_step_sizes

__all__ = [
    "CompositionalConstants",
    "ConvergenceBound",
    "ForestConstants",
    "SampleSizes",
    "StepSizes",
    "compositional_constants",
    "forest_constants",
    "policy_constants",
    "saa_failure_probability",
    "saa_sample_sizes",
    "scsc_convergence",
    "scsc_step_sizes",
]
