"""The first thing that a worker does: see to it that it ends with the process that asked.

A worker that is still importing, or in the middle of a long call, hears of nothing; so the system
is told to end it (Linux), and a thread waits for the end of the parent (elsewhere). This module
imports nothing that takes time, so that all this is settled before JAX is loaded.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import threading
from contextlib import suppress
from multiprocessing.connection import wait

PR_SET_PDEATHSIG = 1


def begin() -> None:
    """In a new process: interrupts are for cells, and nothing outlives the one that asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    with suppress(OSError, AttributeError):  # only Linux has it
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if not parent.is_alive():  # it died before anybody was told
        os._exit(1)

    def follow() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
