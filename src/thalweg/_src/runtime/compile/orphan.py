"""Orphan detection: ends a process, and all that it has started, when its parent has ended.

A parent that is killed cannot end its children, and a compiler would go on for minutes.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import threading
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_MILLISECONDS = 1000  # between two looks at the parent, where the system sends no signal


def end_with_parent(parent: int, clean_up: Callable[[], None]) -> None:
    """Makes this process lead a group of its own, which a thread kills when the parent ends or on SIGTERM.

    Standard input must be a pipe that the parent writes.
    """
    if os.getpgrp() != os.getpid():
        os.setpgrp()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)  # at once, while the main thread is busy in C++
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    threading.Thread(target=_watch, args=(parent, reader, clean_up), daemon=True).start()


def _watch(parent: int, signals: int, clean_up: Callable[[], None]) -> None:
    poll = select.poll()
    poll.register(0, 0)  # a closed pipe is reported in any case
    poll.register(signals, select.POLLIN)
    while os.getppid() == parent and not poll.poll(_MILLISECONDS):
        pass
    try:
        clean_up()
    finally:
        os.killpg(0, signal.SIGKILL)
