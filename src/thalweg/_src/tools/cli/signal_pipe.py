"""Signals as bytes of a pipe (self-pipe), so that one wait serves signals and other events alike."""

from __future__ import annotations

import os
import signal


def signal_pipe(*numbers: int) -> int:
    """Returns the end of a pipe from which the numbers of received signals are read, one byte each.

    No signal is missed, even one that arrives just before the main thread blocks. What the parent process had this one
    ignore, such as SIGHUP under `nohup`, stays ignored.
    """
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in numbers:
        if number == signal.SIGCHLD or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: None)
    return reader
