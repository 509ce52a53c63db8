"""Workers end with the process that asked, whatever they are in the middle of."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

RUN = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
from hedgerow_studies.worker_start import begin
from studies.tests.test_worker_start import busy
if __name__ == "__main__":
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, fresh, initializer=begin) as pool:
        list(pool.map(busy, [sys.argv[1]] * 2))
"""


def busy(folder):
    """Be in a call during which no other thread of the process runs."""
    (Path(folder) / str(os.getpid())).write_text("")
    ctypes.PyDLL(None).sleep(60)


def alive(pid):
    status = Path(f"/proc/{pid}/stat")
    with contextlib.suppress(OSError):
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="the system is told to end workers on Linux")
def test_killed_with_workers_that_hear_of_nothing(tmp_path):
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path)], cwd=root, env=os.environ | {"PYTHONPATH": path}
    )
    deadline = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    workers = [int(file.name) for file in tmp_path.iterdir()]
    assert len(workers) == 2
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 5
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(alive, workers))


def test_nothing_slow_is_imported_before_workers_follow():
    script = (
        "import sys; import hedgerow_studies.worker_start; "
        "print([name for name in ('jax', 'numpy', 'hedgerow') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
