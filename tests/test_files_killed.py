"""Processes killed while they write: the old file is there, and what they left is removed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hedgerow import _files
from tests.test_files import put


@pytest.fixture(autouse=True)
def nothing_swept(monkeypatch):
    """Folders are looked through once per process; every test is a process of its own here."""
    monkeypatch.setattr(_files, "_swept", set())


KILLED = """
import os, signal, sys
from hedgerow._files import whole_file
with whole_file(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print("ready", flush=True)
    signal.pause()
"""


def writing(path):
    """A process in the middle of writing."""
    return running(KILLED, path)


def running(code, path):
    environment = os.environ | {"PYTHONPATH": str(Path(_files.__file__).parents[1])}
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True,
        env=environment,
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    return process


def hidden(folder):
    return [file for file in folder.iterdir() if file.name.startswith(".")]


def aged(folder):
    """Make what is hidden look as if it had been written long ago."""
    for file in hidden(folder):
        os.utime(file, (time.time() - 7200,) * 2)
    return hidden(folder)


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path, monkeypatch):
    (tmp_path / "p").write_text("old")
    process = writing(tmp_path / "p")
    process.send_signal(signal.SIGKILL)
    process.wait()
    (left,) = hidden(tmp_path)
    assert left.name.startswith(".hedgerow-")
    assert (tmp_path / "p").read_text() == "old"
    put(tmp_path / "q")
    assert hidden(tmp_path) == [left]  # too young to tell
    aged(tmp_path)
    monkeypatch.setattr(_files, "_swept", set())
    put(tmp_path / "q")
    assert not hidden(tmp_path)


REWRITTEN = """
import sys
from hedgerow._files import whole_file
print("ready", flush=True)
while True:
    for letter in "abcdefgh":
        with whole_file(sys.argv[1]) as temporary:
            temporary.write_text(letter * 1_000_000)
"""


def test_killed_at_random_points_the_file_is_whole(tmp_path):
    path, rng = tmp_path / "p", np.random.default_rng(0)
    for _ in range(6):
        process = running(REWRITTEN, path)
        while not path.exists():
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.wait()
        text = path.read_text()
        assert len(text) == 1_000_000
        assert text == text[0] * len(text)
    aged(tmp_path)
    put(path)
    assert [file.name for file in tmp_path.iterdir()] == ["p"]


def test_what_is_still_being_written_stays(tmp_path):
    process = writing(tmp_path / "p")
    try:
        kept = aged(tmp_path)
        assert len(kept) == 1
        put(tmp_path / "q")
        assert hidden(tmp_path) == kept
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_files_of_others_stay(tmp_path):
    for name in (".hedgerow-notes", ".other.tmp", "hedgerow-1.tmp"):
        (tmp_path / name).write_text("mine")
    os.mkfifo(tmp_path / ".hedgerow-0.tmp")
    before = sorted(tmp_path.iterdir())
    for file in before:
        os.utime(file, (time.time() - 7200,) * 2)
    put(tmp_path / "p")
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "p"])
