"""Parameters of the synthetic studies, chosen by cross-validation on draws that no study uses.

    python -m benchmarks.reproduce_tuning

One set per problem and model serves every size and both rules, as in the paper. The published
penalties are for other units and, exactly minimised, far too cautious (``pages`` say how much);
here scales are "auto".
"""

from __future__ import annotations

from typing import NamedTuple

from hedgerow.ambiguity import KL, Ambiguity, CausalSinkhorn, CausalWasserstein, Sinkhorn
from hedgerow.portfolio.methods import AUTO


class Tuned(NamedTuple):
    """What a model is trained with."""

    penalty: float
    epsilon: float | None
    steps: int


TUNED: dict[str, dict[str, Tuned]] = {
    "newsvendor": {
        "1-Causal-SDRO": Tuned(100.0, 0.1, 500),
        "2-Causal-SDRO": Tuned(100.0, 0.03, 400),
        "1-SDRO": Tuned(100.0, 0.1, 500),
        "2-SDRO": Tuned(100.0, 0.03, 400),
        "1-Causal-WDRO": Tuned(30.0, None, 500),
        "2-Causal-WDRO": Tuned(30.0, None, 500),
        "KL-DRO": Tuned(3.0, None, 400),
    },
    "inventory": {
        "1-Causal-SDRO": Tuned(10.0, 0.1, 100),
        "2-Causal-SDRO": Tuned(10.0, 0.1, 100),
        "1-SDRO": Tuned(10.0, 0.1, 100),
        "2-SDRO": Tuned(10.0, 0.1, 100),
        "1-Causal-WDRO": Tuned(10.0, None, 100),
        "2-Causal-WDRO": Tuned(10.0, None, 100),
        "KL-DRO": Tuned(10.0, None, 100),
    },
}
MODELS = tuple(TUNED["newsvendor"])


def model(name: str, penalty: float, epsilon: float | None) -> Ambiguity:
    """The model of a name such as "2-Causal-SDRO", in units that the data set."""
    if name == "KL-DRO":
        return KL(penalty, loss_scale="auto")
    order, kind = int(name[0]), name[2:]
    if kind == "Causal-WDRO":
        return CausalWasserstein(penalty, order, **AUTO)
    return {"Causal-SDRO": CausalSinkhorn, "SDRO": Sinkhorn}[kind](penalty, epsilon, order, **AUTO)
