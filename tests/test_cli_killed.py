"""A command that is killed, interrupted or asked to end: the old file stays, nothing is left."""

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import typer

import hedgerow as hr
from hedgerow.cli import screen

pandas = pytest.importorskip("pandas")
HEDGEROW = [sys.executable, "-m", "hedgerow"]
COSTS = ["--outcome", "demand", "--holding", "1", "--stockout", "3", "--force"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, a policy learned from it, and how long a command takes."""
    folder = tmp_path_factory.mktemp("killed")
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    table = pandas.DataFrame({"x": x, "demand": np.maximum(20 + 5 * x + rng.normal(size=200), 0)})
    table.to_csv(folder / "sales.csv", index=False)
    fit(folder).check_returncode()
    return folder


def fit(folder, *more):
    command = [*HEDGEROW, "fit", "sales.csv", *COSTS, "-o", "policy.hedgerow", *more]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def started(folder, *command):
    """A command of its own group, whose interrupts are not ignored as in a background job."""
    reset = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    run = f"{reset}import sys; sys.argv[0] = 'hedgerow'\nfrom hedgerow.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", run, *command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def stopped(process, number):
    """Send a signal, again if need be: one that arrives while a library is imported may be lost."""
    for _ in range(10):
        os.killpg(process.pid, number)
        try:
            return process.communicate(timeout=20)[1]
        except subprocess.TimeoutExpired:
            continue
    process.kill()
    raise AssertionError(f"The command did not end after {number!r}.")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", ["fit", "report"])
def test_a_stopped_command_leaves_everything_as_it_was(folder, name, number):
    rng = np.random.default_rng(int(number))
    out = {"fit": "policy.hedgerow", "report": "page.html"}[name]
    command = {
        "fit": ["fit", "sales.csv", *COSTS, "--steps", "200000", "-o", out],
        "report": ["report", "policy.hedgerow", "sales.csv", "--force", "-o", out],
    }[name]
    target = Path(folder, out)
    if not target.exists():
        target.write_text("old")
    before = target.read_bytes()
    for wait in rng.uniform(0.3, 3.0, 2):
        process = started(folder, *command)
        time.sleep(wait)
        errors = stopped(process, number)
        if process.returncode == 0:  # it was done, or kept what had been learned
            before = target.read_bytes()
            continue
        assert "Traceback" not in errors or wait < 1.0  # before anything of ours has begun
        assert target.read_bytes() == before
        left = [path.name for path in folder.iterdir() if path.name.startswith(".hedgerow")]
        assert number == signal.SIGKILL or not left
    if name == "report" or number != signal.SIGINT:
        assert hr.load(folder / "policy.hedgerow").predict([[0.0]]).shape == (1,)


def _collect_and_wait():
    gc.collect()
    time.sleep(10)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_that_a_callback_swallows_is_not_lost(capsys, number, code):
    """What is raised while garbage is collected is ignored by Python, with a traceback."""

    def interrupted(phase, info):
        if phase == "start":
            gc.callbacks.remove(interrupted)
            signal.raise_signal(number)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.callbacks.append(interrupted)
    try:
        with pytest.raises(typer.Exit) as ended, screen.guarded():
            _collect_and_wait()
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.value.exit_code == code
    assert "Traceback" not in capsys.readouterr().err
