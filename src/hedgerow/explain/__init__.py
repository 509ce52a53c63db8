"""Why this decision, for a person: routes, derivatives, importance, attribution, rules in words.

Everything is in the user's units and in float64, whatever the policy was trained in. Forests are
explained in closed form; other rules are differentiated automatically where that means anything.
"""

from hedgerow.explain.attribution import Attribution, attribute
from hedgerow.explain.importance import (
    Importance,
    correlation,
    importance,
    permutation_importance,
    route_importance,
)
from hedgerow.explain.routes import Routes, route_gradients, route_hessians, routes
from hedgerow.explain.sensitivity import (
    Certificate,
    certificate,
    gradients,
    interactions,
    lipschitz,
)
from hedgerow.explain.shapley import shap_values
from hedgerow.explain.words import RuleWords, words

__all__ = [
    "Attribution",
    "Certificate",
    "Importance",
    "Routes",
    "RuleWords",
    "attribute",
    "certificate",
    "correlation",
    "gradients",
    "importance",
    "interactions",
    "lipschitz",
    "permutation_importance",
    "route_gradients",
    "route_hessians",
    "route_importance",
    "routes",
    "shap_values",
    "words",
]
