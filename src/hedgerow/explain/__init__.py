"""Why this decision, for a person: routes, derivatives, importance, attribution, rules in words.

Everything is in the user's units and in float64, whatever the policy was trained in. What a rule
offers of itself (``trees``, ``bounds``, ``path_integrals``) is used; else JAX differentiates it.
"""

from hedgerow.explain.attribution import Attribution, attribute, shap_values
from hedgerow.explain.importance import (
    Importance,
    correlation,
    importance,
    permutation_importance,
    route_importance,
)
from hedgerow.explain.routes import Routes, route_gradients, route_hessians, routes
from hedgerow.explain.rule_text import RuleWords, words
from hedgerow.explain.sensitivity import (
    Certificate,
    certificate,
    gradients,
    interactions,
    lipschitz,
)

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
