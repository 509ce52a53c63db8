"""Is what arrives still what a policy was made for? Evidence that may be looked at every day."""

from hedgerow.monitoring.evidence import conformal_ranks, evidence
from hedgerow.monitoring.reference import Reference, reference_of, remember
from hedgerow.monitoring.seen import Watch
from hedgerow.monitoring.watch import watch

__all__ = ["Reference", "Watch", "conformal_ranks", "evidence", "reference_of", "remember", "watch"]
