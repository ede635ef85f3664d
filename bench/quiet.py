"""CPU use of other processes, which disturbs measurements."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterable
from pathlib import Path

ALLOWED = 0.2  # cores; an idle system uses a little
LOOK_SECONDS = 0.5


class Others:
    """Measures the CPU time, since its creation, of all processes but this one, its ended children and `processes`."""

    def __init__(self, processes: Iterable[int]) -> None:
        self._processes = tuple(processes)
        self._start = time.perf_counter(), self._seconds()

    def cores(self) -> float:
        """Returns how many cores others used; 0 if the system does not report it."""
        start, before = self._start
        return max(0.0, (self._seconds() - before) / (time.perf_counter() - start))

    def _seconds(self) -> float:
        try:
            return _all_seconds() - _own_seconds() - sum(map(_process_seconds, self._processes))
        except OSError:
            return 0.0


def wait(processes: Iterable[int], patience: float) -> None:
    """Waits until other processes are idle, or until a timeout."""
    end = time.perf_counter() + patience
    while time.perf_counter() < end:
        others = Others(processes)
        time.sleep(LOOK_SECONDS)
        if others.cores() <= ALLOWED:
            return


def _all_seconds() -> float:
    fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, *interrupts = map(int, fields[:8])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _process_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
