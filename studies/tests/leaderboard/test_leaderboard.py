"""The leaderboard: a toy method from a file joins, standings are right, pages and cells hold."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from hedgerow_studies.commands.signatures import leaderboard
from hedgerow_studies.leaderboard.contest import Contest, Entry, Plan
from hedgerow_studies.leaderboard.courses import by_week
from hedgerow_studies.leaderboard.page import write_page
from hedgerow_studies.leaderboard.standings import course_standing, overall
from hedgerow_studies.running import Engine

TOY = str(Path(__file__).with_name("toy_method.py"))
FAST = ("constant", "empirical risk affine", "scaled mean")


def plan(methods=FAST, courses=("newsvendor",)):
    return Plan(courses, tuple(methods), "tiny", "", (TOY,))


def call(*words):
    app = typer.Typer()
    app.command()(leaderboard)
    return CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": "100"})


def entries(costs, floor=0.0, course="toy"):
    """Entries of costs: method → list over rounds of block costs, or None for a failure."""
    found = []
    for method, rounds in costs.items():
        for place, blocks in enumerate(rounds):
            result = (
                {"failed": "ValueError: no"}
                if blocks is None
                else {"costs": blocks, "floor": floor, "seconds": 1.0}
            )
            found.append(Entry(course, str(place), method, result))
    return found


def test_a_method_out_of_a_file_competes_and_is_not_computed_twice(tmp_path, monkeypatch):
    asked = plan()
    asked.run(tmp_path / "cells", Engine())
    kept = asked.entries(tmp_path / "cells")
    assert {entry.method for entry in kept} == set(FAST)
    assert all("costs" in entry.result for entry in kept)
    chosen = next(entry for entry in kept if entry.method == "scaled mean").result["chosen"]
    assert chosen in ("factor 0.5", "factor 1.0", "factor 1.2")
    path = write_page(asked, kept, tmp_path)
    text = path.read_text()
    assert "scaled mean" in text
    assert "the mean of the history times a factor" in text
    assert "nan" not in text.lower()
    assert (tmp_path / "leaderboard.png").stat().st_size > 5_000
    table = pd.read_csv(tmp_path / "leaderboard.csv")
    assert len(table) == len(kept)
    monkeypatch.setattr(Contest, "run", lambda self, cell: pytest.fail("computed again"))
    asked.run(tmp_path / "cells", Engine())
    assert write_page(asked, asked.entries(tmp_path / "cells"), tmp_path).read_text() == text


@pytest.mark.slow
def test_a_file_travels_to_other_processes(tmp_path):
    asked = plan(("constant", "scaled mean"))
    asked.run(tmp_path / "cells", Engine(jobs=2))
    assert all(entry.result is not None for entry in asked.entries(tmp_path / "cells"))


def test_a_failure_is_kept_with_its_reason(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text(
        Path(TOY)
        .read_text()
        .replace("scaled mean", "broken mean")
        .replace(
            "return lambda contexts",
            "raise ValueError('no\\n idea')\n        return lambda contexts",
        )
    )
    asked = Plan(("newsvendor",), ("constant", "broken mean"), "tiny", "", (str(broken),))
    asked.run(tmp_path / "cells", Engine())
    text = write_page(asked, asked.entries(tmp_path / "cells"), tmp_path).read_text()
    assert "broken mean, newsvendor: failed in 1 of 1 rounds: ValueError: no idea" in text


def test_relative_costs_count_from_the_floor_and_ranks_share_ties():
    costs = {"constant": [[3.0], [5.0]], "a": [[2.0], [3.0]], "b": [[2.0], [4.0]]}
    found = course_standing("toy", entries(costs, floor=1.0), shared_unit=False)
    assert found.relative["constant"] == 1.0
    assert found.relative["a"] == pytest.approx((0.5 + 0.5) / 2)
    assert found.relative["b"] == pytest.approx((0.5 + 0.75) / 2)
    assert found.rank == {"constant": 3.0, "a": 1.25, "b": 1.75}
    assert found.best == "a"
    together = course_standing("toy", entries(costs, floor=1.0), shared_unit=True)
    assert together.relative["b"] == pytest.approx((1.0 + 3.0) / 6)


def test_a_round_that_somebody_has_not_finished_does_not_count():
    costs = {"constant": [[3.0], [5.0]], "a": [[2.0], [3.0]]}
    given = entries(costs)
    given[-1] = given[-1]._replace(result=None)
    found = course_standing("toy", given, shared_unit=False)
    assert (found.rounds, found.asked) == (1, 2)
    assert course_standing("toy", given[1::2], shared_unit=False) is None or found.rounds == 1


def test_what_fails_is_last_and_what_cannot_be_done_counts_as_last():
    one = course_standing(
        "one", entries({"constant": [[3.0]], "a": [[2.0]], "b": [None]}), shared_unit=False
    )
    two = course_standing("two", entries({"constant": [[3.0]], "b": [[1.0]]}), shared_unit=False)
    assert one.rank["b"] == 3.0
    assert one.failures == {"b": (1, "ValueError: no")}
    ranked = {o.method: o for o in overall([one, two], ["constant", "a", "b"])}
    assert ranked["a"].mean_rank == (1 + 3) / 2
    assert ranked["a"].rank_where_done == 1.0
    assert ranked["a"].courses == 1
    assert ranked["b"].mean_rank == (3 + 1) / 2
    assert ranked["constant"].relative == 1.0


def test_differences_are_paired_over_rounds_or_over_weeks():
    draw = np.random.default_rng(0)
    level = draw.normal(10, 3, size=30)
    many = {
        "constant": [[cost + 1] for cost in level],
        "a": [[cost] for cost in level],
        "b": [[cost + 0.5] for cost in level],
    }
    found = course_standing("toy", entries(many), shared_unit=True)
    mean, half = found.differences["b"]
    unit = np.mean(level) + 1
    assert mean == pytest.approx(0.5 / unit)
    assert half == pytest.approx(0.0, abs=1e-12)  # levels cancel
    weeks = draw.normal(size=40)
    one = {"constant": [[4.0] * 40], "a": [[2.0] * 40], "b": [list(2.5 + weeks)]}
    mean, half = course_standing("toy", entries(one), shared_unit=False).differences["b"]
    assert mean == pytest.approx((0.5 + weeks.mean()) / 4)
    assert half == pytest.approx(1.96 * weeks.std(ddof=1) / math.sqrt(40) / 4)
    few = {"constant": [[4.0]], "a": [[2.0]], "b": [[3.0]]}
    assert math.isnan(course_standing("toy", entries(few), shared_unit=False).differences["b"][1])


def test_weeks_are_means_of_their_days():
    dates = np.datetime64("2020-01-01") + np.arange(16)
    costs = np.arange(16.0)
    np.testing.assert_allclose(by_week(costs, dates), [3.0, 11.0])  # two days join the last week


def test_the_command_lists_runs_and_writes_only_the_page(tmp_path, monkeypatch):
    shown = call("list")
    assert shown.exit_code == 0
    for word in ("newsvendor", "portfolio", "trimming DRO"):
        assert word in shown.output
    monkeypatch.setattr(
        "hedgerow_studies.leaderboard.drawn_courses.NewsvendorCourse.rounds",
        lambda self, scale: [{"rows": 60, "features": 3, "seed": 1}],
    )
    methods = ["--methods", f"constant,{TOY}"]
    place = ["--problems", "newsvendor", "--out", tmp_path, "--jobs", "1"]
    ran = call("run", *methods, *place)
    assert ran.exit_code == 0, ran.output
    assert "scaled mean" in ran.output
    (tmp_path / "leaderboard.md").unlink()
    assert call("page", *methods, *place).exit_code == 0
    assert (tmp_path / "leaderboard.md").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--problems", "chess"], "There is no problem 'chess'"),
        (["run", "--methods", "magic"], "There is no method 'magic'"),
        (["run", "--methods", "no.py"], "There is no file"),
        (["page", "--problems", "newsvendor"], "There is no round yet"),
        (["run", "--scheduler", "tcp://nowhere:1"], "needs --engine dask"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path, words, message):
    result = call(*words, "--out", tmp_path)
    assert result.exit_code != 0
    assert message in " ".join(result.output.replace("│", " ").split())
    assert "Traceback" not in result.output
