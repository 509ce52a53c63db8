"""What ``hedgerow leaderboard`` does: list, compute what is missing, write the page."""

from __future__ import annotations

from pathlib import Path

from hedgerow._files import check_target
from hedgerow.cli.screen import counting, leave_gap, print_facts, print_rows, say
from hedgerow.describe.numbers import number
from hedgerow_studies.leaderboard.contest import Plan, courses
from hedgerow_studies.leaderboard.page import standings_of, write_page
from hedgerow_studies.leaderboard.standings import overall
from hedgerow_studies.rivals import catalogue
from hedgerow_studies.running import Engine


def plan_of(problems: list[str], methods: list[str], scale: str, folder: str) -> Plan:
    """What was asked for; nothing named is everything. Names that end in .py are files."""
    files = tuple(str(Path(name).resolve()) for name in methods if name.endswith(".py"))
    known, there = catalogue(files), courses(folder)
    own = [name for name in known if name not in catalogue()]
    named = [name for name in methods if not name.endswith(".py")]
    for name, all_names, what in (
        *((name, there, "problem") for name in problems),
        *((name, known, "method") for name in named),
    ):
        if name not in all_names:
            raise ValueError(f"There is no {what} {name!r}; there are {', '.join(all_names)}.")
    chosen = [name for name in known if not named or name in named or name in own]
    return Plan(
        courses=tuple(name for name in there if not problems or name in problems),
        methods=tuple(chosen),
        scale=scale,
        folder=folder,
        files=files,
    )


def show_list(plan: Plan) -> None:
    """Print problems with their rounds, and methods with what they cannot do."""
    rows = [
        [name, str(len(course.rounds("quick"))), str(len(course.rounds("full"))), course.what]
        for name, course in courses(plan.folder).items()
        if name in plan.courses
    ]
    print_rows(["problem", "quick", "full", "what"], rows, breaks=set())
    leave_gap()
    said = plan.reasons()
    rows = [
        [name, f"{len(plan.courses) - len(said.get(name, {}))}", method.what]
        for name, method in catalogue(plan.files).items()
        if name in plan.methods
    ]
    print_rows(["method", "problems", "what"], rows, breaks=set())


def compute(plan: Plan, out: Path, engine: Engine) -> None:
    """Compute what is missing, and write the page."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file; give the name of a folder.")
    out.mkdir(parents=True, exist_ok=True)
    check_target(out / "leaderboard.md")
    with counting("computing") as progress:
        plan.run(out / "cells", engine, progress)
    tell(plan, out)


def tell(plan: Plan, out: Path) -> None:
    """Write the page of what there is, and print who leads."""
    entries = plan.entries(out / "cells")
    path = write_page(plan, entries, out)
    standings = standings_of(plan, entries)
    ranked = overall(standings, plan.competing())
    rows = [
        [one.method, number(one.mean_rank), f"{one.courses} of {len(standings)}"] for one in ranked
    ]
    print_rows(["method", "mean rank", "problems"], rows, breaks=set())
    done = sum(entry.result is not None for entry in entries)
    print_facts([("cells", f"{done} of {len(entries)}"), ("read", str(path))])
    if plan.scale != "full":
        say("These are few rounds; --full has them all.")
