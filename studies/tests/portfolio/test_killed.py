"""`hedgerow portfolio`, killed and ended at random moments: what is written in the end is the same.

Renames are slowed down in the runs that are stopped, so that many of them are stopped while a file
is being written.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from studies.tests.portfolio.markets import tables

RUN = """
import os, sys, time
rename, sys.argv[0] = os.replace, "hedgerow"
os.replace = lambda *names: (time.sleep({pause}), rename(*names))
from hedgerow.cli import main
main()
"""
ASKED = [
    *("--returns", "returns.csv", "--covariates", "covariates.csv"),
    *("--start", "2020-05", "--end", "2020-06", "--window", "60", "--holding", "10"),
    *("--method", "PT,EW,MV,KL-DRO", "--omega", "1,5", "--jobs", "2"),
]
CELLS = 16
PAUSE = 0.15
PATIENCE = 120.0


@pytest.fixture
def folder(tmp_path):
    for table, name in zip(tables(), ("returns.csv", "covariates.csv"), strict=True):
        table.to_csv(tmp_path / name, index_label="date")
    return tmp_path


def started(folder, out, pause=0.0):
    """A run in a session of its own, by which its workers are found."""
    return subprocess.Popen(
        [sys.executable, "-c", RUN.format(pause=pause), "portfolio", *ASKED, "-o", out],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(folder, out):
    process = started(folder, out)
    errors = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 0, errors


def of_session(leader):
    """Processes of a session that are not dead yet."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = status.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it has just ended
            continue
        if int(session) == leader and state != "Z":
            found.append(int(status.parent.name))
    return found


def until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def left(folder):
    """Files that were being written."""
    return list(folder.rglob(".*"))


def written(out):
    """Every file by its bytes, and cells without the seconds that they took."""
    cells = {}
    for path in (out / "cells").iterdir():
        cells[path.name] = json.loads(path.read_text())
        cells[path.name]["result"].pop("seconds")
    return cells, {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="workers are looked for in /proc")
def test_killed_and_ended_the_tables_are_the_same(folder):
    finished(folder, "undisturbed")
    rng = np.random.default_rng()
    out = folder / "out"

    def cells():
        return len(list((out / "cells").glob("*.json")))

    moments = [
        (signal.SIGKILL, lambda: True, 3.0),  # while libraries are loaded, or workers are
        (signal.SIGKILL, lambda: cells() >= 1, 0.5),
        (signal.SIGTERM, lambda: cells() >= 4, 0.5),
        (signal.SIGKILL, lambda: cells() == CELLS, 1.5),  # while tables and figures are written
    ]
    for number, begun, within in moments:
        process = started(folder, "out", PAUSE)
        until(lambda begun=begun, process=process: begun() or process.poll() is not None)
        time.sleep(rng.uniform(0, within))
        process.send_signal(number)
        errors = process.communicate(timeout=PATIENCE)[1]
        until(lambda process=process: not of_session(process.pid))
        if number == signal.SIGTERM:
            assert process.returncode == 143
            assert "Traceback" not in errors
            assert errors.count("\n") <= 2
            assert not left(out)
        for path in left(out):  # the next run comes later
            os.utime(path, (0, 0))
    finished(folder, "out")
    assert not left(out)
    assert written(out) == written(folder / "undisturbed")
