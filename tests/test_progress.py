"""Progress of long work: bars where they can be seen, lines now and then elsewhere."""

import io
import sys

import pytest
from rich.console import Console

from hedgerow import _progress
from hedgerow._progress import reporter, stages


def test_where_there_is_no_terminal_lines_come_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "BETWEEN_LINES", 0.0)
    with stages() as stage, stage("computing") as report:
        report(3, 12, "fig4")
    assert capsys.readouterr().err == "computing: 3 of 12 fig4\n"
    monkeypatch.setattr(_progress, "BETWEEN_LINES", 60.0)
    with stages() as stage, stage("computing") as report:
        report(4, 12, "fig4")
    assert capsys.readouterr().err == ""


def test_without_rich_there_are_lines_too(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with reporter(True, 10.0) as report:
        report(100, 500, 0.25, None)
    assert capsys.readouterr().err == "training: 100 of 500 objective 2.5\n"


@pytest.mark.parametrize("keep", [True, False])
def test_a_terminal_shows_a_bar_for_every_stage(keep):
    screen = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    with stages(screen, keep=keep) as stage:
        with stage("training") as report:
            report(200, 500, "objective 1.5")
        with stage("saving"):
            pass
    said = screen.file.getvalue()
    assert "training" in said
    assert "500/500" in said
    if keep:
        assert "✓ saving" in said


def test_a_callable_is_told_the_loss_in_its_own_unit():
    told = []
    with reporter(lambda *given: told.append(given), 10.0) as report:
        report(1, 2, 0.5, None)
    assert told == [(1, 2, 5.0)]
    with reporter(False, 10.0) as report:
        assert report is None


def test_work_that_fails_leaves_no_bar_behind():
    screen = Console(file=io.StringIO(), force_terminal=True, width=80)
    with pytest.raises(ValueError, match="odd"), stages(screen) as stage, stage("training"):
        raise ValueError("odd")
    with stages(screen) as stage, stage("again"):
        pass
