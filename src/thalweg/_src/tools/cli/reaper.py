"""Reaper: ends the process groups of a cluster if its launcher was killed, and could not do so itself.

The launcher writes the number of each group to the standard input of this process, and once more when it has ended. The
end of the input is the end of the launcher. This file is run as a script, so that it needs no time to import Thalweg.
"""

from __future__ import annotations

import os
import signal
import sys
import time

SECONDS = 5.0  # between SIGTERM and SIGKILL


def _send(groups: set[int], number: int) -> set[int]:
    """Sends a signal to process groups; returns those that exist."""
    alive = set()
    for group in groups:
        try:
            os.killpg(group, number)
            alive.add(group)
        except ProcessLookupError:
            pass
    return alive


def main() -> None:
    """Waits for the end of the launcher, then ends what is left."""
    groups: set[int] = set()
    for line in sys.stdin:
        groups ^= {int(line)}
    end = time.monotonic() + SECONDS
    groups = _send(groups, signal.SIGTERM)
    while groups and time.monotonic() < end:
        time.sleep(0.05)
        groups = _send(groups, 0)
    _send(groups, signal.SIGKILL)


if __name__ == "__main__":
    main()
