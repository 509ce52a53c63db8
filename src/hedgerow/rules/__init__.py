"""Decision rules f_θ: from a context to a decision."""

from hedgerow.rules.affine import Affine, Constant, ConstantRule
from hedgerow.rules.base import FittedRule, Rule, Start
from hedgerow.rules.forest import Forest
from hedgerow.rules.given import GivenRule
from hedgerow.rules.hardening import Hardening
from hedgerow.rules.joint import JointRule
from hedgerow.rules.linear_leaves import LinearForest
from hedgerow.rules.score_forest import ScoredForest, ScoreForest
from hedgerow.rules.soft_forest import SoftForest
from hedgerow.rules.two_layer import TwoLayer

__all__ = [
    "Affine",
    "Constant",
    "ConstantRule",
    "FittedRule",
    "Forest",
    "GivenRule",
    "Hardening",
    "JointRule",
    "LinearForest",
    "Rule",
    "ScoreForest",
    "ScoredForest",
    "SoftForest",
    "Start",
    "TwoLayer",
]
