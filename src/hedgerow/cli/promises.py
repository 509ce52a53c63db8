"""What ``hedgerow radii`` and ``hedgerow watch`` do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow._files import check_target, whole_file
from hedgerow.certify.radii import radius_menu
from hedgerow.cli.asking_options import RadiiRequest, WatchRequest
from hedgerow.cli.loading import load_policy, load_stored
from hedgerow.cli.named_columns import features_of, outcomes_of
from hedgerow.cli.options import listed as names_in
from hedgerow.cli.reading import read
from hedgerow.cli.screen import counting, leave_gap, print_facts, print_rows, say
from hedgerow.describe.numbers import number, percent
from hedgerow.estimator import RobustPolicy
from hedgerow.monitoring import Watch, watch
from hedgerow.report import check_page_target
from hedgerow.report.watching import write_watch_page
from hedgerow.stored import is_panel

if TYPE_CHECKING:
    from hedgerow.panels import PanelPolicy

MOST = 12
"""Columns that are listed."""
NO_RADIUS = (
    "its series have units of their own, so that no one radius can be put in words: what all of "
    "them cost together is promised by hedgerow.calibrate in Python, and watched by hedgerow watch"
)


def radii(request: RadiiRequest) -> None:
    """Print a menu of radii, and draw it."""
    if request.figure is not None:
        check_target(request.figure, overwrite=request.force)
    policy = load_policy(request.policy, NO_RADIUS)
    table = read(request.data, request, policy)
    X = features_of(policy, table)
    Y = outcomes_of(policy, request.policy, table, request.outcomes)
    with counting("radii") as report:
        report(0, 1, "training" if not request.keep else "values")
        menu = radius_menu(policy, X, Y, request.radii, retrain=not request.keep)
        report(1, 1, "done")
    rows = [
        [number(radius, 3), number(price), number(value), allows]
        for radius, price, value, allows in zip(
            menu.radii, menu.price, menu.value, menu.allows, strict=True
        )
    ]
    print_rows(
        ["radius", "if nothing changes", "at most, within"], [r[:3] for r in rows], breaks=set()
    )
    for row in rows:
        say(f"{row[0]}: {row[3]}")
    if request.figure is not None:
        from hedgerow import plots

        plots.save_figure(plots.radius_frontier(menu), request.figure)
        leave_gap()
        say(f"The figure is in {request.figure}.")


def watch_new(request: WatchRequest) -> int:
    """Watch a policy on new rows; returns the exit code."""
    page = (
        None if request.page is None else check_page_target(request.page, overwrite=request.force)
    )
    written = None if request.json in (None, "-") else Path(str(request.json))
    if written is not None:
        check_target(written, overwrite=request.force)
    policy: Any = load_stored(request.policy)
    rows = _of_panel if is_panel(policy) else _of_policy
    (X, Y), history = rows(policy, request)
    found = watch(
        policy,
        X,
        Y,
        history=history,
        bound=request.bound,
        level=request.level,
        floor=request.floor,
        ignore=names_in(request.ignore),
    )
    text = json.dumps(found.to_json(), indent=2, allow_nan=False)
    if written is not None:
        with whole_file(written) as temporary:
            temporary.write_text(text, encoding="utf-8")
    if page is not None:
        write_watch_page(found, page, str(request.new))
    if request.json == "-":
        print(text)
    else:
        _tell(found, request)
    return found.exit_code


def _of_policy(policy: RobustPolicy, request: WatchRequest) -> tuple[tuple, tuple | None]:
    """New rows and those to compare them with, if there are any."""

    def rows(path: Path) -> tuple:
        table = read(path, request, policy)
        return features_of(policy, table), outcomes_of(policy, path, table, request.outcomes)

    return rows(request.new), None if request.history is None else rows(request.history)


def _of_panel(panel: PanelPolicy, request: WatchRequest) -> tuple[tuple, tuple]:
    """The same of a panel, whose tables are read whole."""
    if request.bound is None:
        raise ValueError(
            f"{request.policy} holds the policy of a panel, which keeps no bound of its mean cost: "
            "give one with --bound, such as a promise of hedgerow.calibrate."
        )
    if request.history is None:
        raise ValueError(
            f"{request.policy} holds the policy of a panel, which remembers nothing to compare "
            "with: give rows that it was not trained on with --history."
        )
    from hedgerow.cli.panels.tables import check_rows
    from hedgerow.cli.panels.trial import outcome_name

    name, features = outcome_name(panel, request), panel.features

    def rows(path: Path) -> tuple:
        table = read(path, request, panel)
        check_rows(panel, table, path)
        if name not in table.columns:
            raise ValueError(
                f"{path} has no column {name!r} with what then happened; name it with --outcome."
            )
        return (table if features is None else table.rename(columns={name: features.outcome})), None

    return rows(request.new), rows(request.history)


def _tell(found: Watch, request: WatchRequest) -> None:
    """Say it on the screen."""
    say(str(found), {"quiet": "green", "moved": "yellow", "beyond": "bold red"}[found.status])
    leave_gap()
    print_facts(
        [
            ("policy", str(request.policy)),
            (f"new {found.unit}s", f"{found.rows:,} of {request.new}"),
            ("mean cost", f"{number(found.mean_cost)}; not to exceed {number(found.bound)}"),
            ("level", f"{percent(found.level)}: the chance of any false alarm, ever"),
        ]
    )
    order = sorted(range(len(found.columns)), key=lambda j: -found.column_evidence[j])[:MOST]
    print_rows(
        ["column", "before", "now", "moved by at least"],
        [
            [
                found.columns[j],
                number(found.means_before[j]),
                number(found.means_now[j]),
                number(found.distances[j], 3),
            ]
            for j in order
        ],
        breaks=set(),
    )
