"""Plain forms: decisions from arrays with NumPy alone, and their way into other places.

    u = (x − centre)·factor,    z = unit · rule(u),    rule: ``Trees``, or ``Mapped`` numbers

A fitted rule offers its form by ``plain()``, a decision set its map. A form decides (``decide``),
writes itself into an ONNX graph (``onnx``) and into a Python module (``python``). All of it is in
float64. Nothing here imports JAX, so that a policy decides without waiting for a compiler; whoever
has a policy in memory and whoever has read one decide by the same form, bit for bit.
"""

from hedgerow.plain.forms import PlainRule
from hedgerow.plain.linear_trees import LinearTrees
from hedgerow.plain.maps import Intervals, Joined, PlainMap, Shares
from hedgerow.plain.policy import PlainPolicy
from hedgerow.plain.sums import Affine, Constant, Mapped, Network
from hedgerow.plain.trees import Trees

__all__ = [
    "Affine",
    "Constant",
    "Intervals",
    "Joined",
    "LinearTrees",
    "Mapped",
    "Network",
    "PlainMap",
    "PlainPolicy",
    "PlainRule",
    "Shares",
    "Trees",
]
