"""Parameters of the hedging methods, chosen on 2019 and 2020 alone.

    python -m benchmarks.portfolio_tuning --returns FILE --covariates FILE

tries a grid on the decisions of January 2019 to September 2020, whose holding periods end before
2021, with forests and ω = 1, 5, 9, and prints the parameters that are best on average over ω (each
loss between hindsight, 0, and the unconditional program, 1). One set per method serves every ω and
both rules.
"""

from __future__ import annotations

from hedgerow_studies.portfolio.methods import Parameters

TUNED: dict[str, Parameters] = {
    "1-Causal-SDRO": Parameters(penalty=3.0, epsilon=0.3, neighbours=0, steps=300),
    "2-Causal-SDRO": Parameters(penalty=3.0, epsilon=0.3, neighbours=0, steps=1000),
    "SDRO": Parameters(penalty=3.0, epsilon=0.3, neighbours=0, steps=1000),
    "Causal-WDRO": Parameters(penalty=3.0, epsilon=0.0, neighbours=0, steps=300),
    "KL-DRO": Parameters(penalty=1.0, epsilon=0.0, neighbours=0, steps=1000),
}


def parameters_for(method: str) -> Parameters:
    """Return what was best on the earlier years."""
    return TUNED.get(method, Parameters())
