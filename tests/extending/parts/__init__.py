"""A package of its own: parts written outside hedgerow, against its documented interfaces only."""

from tests.extending.parts.chi_square import ChiSquare
from tests.extending.parts.clipped import Clipped
from tests.extending.parts.linear_tree import LinearTree
from tests.extending.parts.ordered import Ordered
from tests.extending.parts.pinball import Pinball
from tests.extending.parts.quantile import Quantile
from tests.extending.parts.recent import RecentNominal

__all__ = ["ChiSquare", "Clipped", "LinearTree", "Ordered", "Pinball", "Quantile", "RecentNominal"]
