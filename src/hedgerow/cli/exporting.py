"""``hedgerow export``: a policy for places without hedgerow."""

from __future__ import annotations

from hedgerow.cli.asking_options import ExportRequest
from hedgerow.cli.loading import load_policy
from hedgerow.cli.screen import say
from hedgerow.exporting import check_export


def run(request: ExportRequest) -> None:
    """Write the file and say what it takes."""
    check_export(request.out, overwrite=request.force)
    policy = load_policy(request.policy)
    policy.export(request.out, precision=request.precision)
    say(f"Wrote {request.out}: {policy.n_features_in_:,} features in, decisions out.", stderr=True)
