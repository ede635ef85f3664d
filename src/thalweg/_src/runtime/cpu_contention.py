"""CPU contention: reduces kernel threads while other processes use the cores; keeps freed memory."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import sys
import threading
import time
from collections.abc import Mapping

import torch

from thalweg._src.runtime.compile.inductor import BACKGROUND
from thalweg._src.runtime.resources.thread_pool import Kernels

_INTERVAL = 0.2  # seconds between samples
_TOO_LONG = 3 * _INTERVAL  # a sample over a longer time, in which no step ran, is not used


def keep_freed_memory() -> None:
    """Makes glibc keep freed buffers for the next step.

    By default every freed block over 128 KB is returned to the kernel, and each step of a convolutional network then
    spends a third of its time on page faults. Peak memory stays the same.
    """
    if "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return
    _mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD: large blocks come from the heap
    _mallopt(-1, (1 << 31) - 1)  # M_TRIM_THRESHOLD: the heap is not trimmed
    _mallopt(-2, 64 << 20)  # M_TOP_PAD: it grows in steps of 64 MB


def share_freed_memory() -> None:
    """Makes glibc give a buffer that one thread has freed to any other.

    By default up to eight threads per core have a heap each. A tensor is received by one thread, used by another and
    freed by a third, so each heap would come to keep the buffers of a whole step.
    """
    if "MALLOC_ARENA_MAX" not in os.environ and "arena_max" not in os.environ.get("GLIBC_TUNABLES", ""):
        _mallopt(-8, 2)  # M_ARENA_MAX


def _mallopt(option: int, value: int) -> None:
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(option, value)


def _shorten_spinning(count: int) -> None:
    """Makes threads of kernels yield their cores soon when they wait, by so many threads that have used kernels.

    libgomp spins for long only while its threads are no more than the cores. These end with the process: each keeps the
    kernel threads of its own, which sleep.
    """

    def stay() -> None:
        torch.ones(1 << 20).sum()
        threading.Event().wait()

    for _ in range(count):
        threading.Thread(target=stay, name="thalweg kernel threads", daemon=True).start()


class _Thread(threading.local):
    threads: int | None = None  # that kernels of this thread use
    most: int | None = None  # that they may use


class CoreShare:
    """Chooses the number of kernel threads by the CPU time that other processes leave.

    OpenMP threads spin while they wait for each other. On an idle machine that is fastest, but when another process
    needs one of the cores, all threads of a kernel wait, spinning, for the slowest. With as many threads as there are
    idle cores, spinning is right in both cases. While steps are compiled in the background, one core is left to the
    compiler, which slows steps down less than preempting a thread of every kernel.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
        self._threads = torch.get_num_threads()
        self._most = self._threads  # that a kernel may use
        counted = any(name in environment for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"))
        self._bound = self._most if counted else max(self._most, len(self._cores))
        configured = counted or "OMP_WAIT_POLICY" in environment
        self._adapts = not configured and self._bound > 1 and os.path.exists("/proc/stat") and bool(self._cores)
        self.active = self._adapts and self._most > 1
        self._stat = os.open("/proc/stat", os.O_RDONLY) if self._adapts else -1
        self._tick = os.sysconf("SC_CLK_TCK") if self._adapts else 1
        self._next = 0.0
        self._time_before = self._ours_before = self._all_before = 0.0
        self._contended = False
        self._makes_room = False
        self._ours = {self._threads}  # numbers that were set here: any other one is the user's
        self._sampling = threading.Lock()
        self._thread = _Thread()

    def look(self) -> None:
        """Samples other processes' CPU use every fifth of a second, at the start of a step; sets this thread's number.

        Torch keeps the number of kernel threads for each thread that runs steps.
        """
        if time.monotonic() >= self._next and self._sampling.acquire(blocking=False):
            try:
                self._sample(time.monotonic())
            finally:
                self._sampling.release()
        # torch's own setting is compared with the numbers that were set here: a user who calls `set_num_threads` keeps
        # the number from then on.
        threads = self._threads if self._thread.most is None else min(self._threads, self._thread.most)
        if self._thread.threads != threads and torch.get_num_threads() in self._ours:
            self._ours.add(threads)
            torch.set_num_threads(threads)
            self._thread.threads = threads

    def _sample(self, now: float) -> None:
        self._make_room(BACKGROUND.is_busy)
        ours, everyone = time.process_time(), self._busy()
        # /proc/stat counts the CPU time of all processes on our cores. Minus our own it is what others have used, and
        # divided by the time between the samples it is the number of cores that they keep busy.
        elapsed = now - self._time_before
        # After a pause there is no recent sample of other processes: the next one is taken sooner.
        self._next = now + (_INTERVAL if elapsed < _TOO_LONG else _INTERVAL / 2)
        if elapsed < _TOO_LONG:
            others = max(0.0, (everyone - self._all_before) - (ours - self._ours_before)) / elapsed
            most = self._most - self._makes_room
            threads = max(1, min(most, int(len(self._cores) - others + 0.5)))
            # Reduce threads only after two busy samples in a row; one idle sample restores them.
            if threads >= self._threads or self._contended:
                self._use(threads)
            self._contended = threads < most
        self._time_before, self._ours_before, self._all_before = now, ours, everyone

    def _make_room(self, is_compiling: bool) -> None:
        """Leaves a core to the compiler, or takes it back."""
        if is_compiling != self._makes_room:
            self._makes_room = is_compiling
            self._use(max(1, self._threads - 1) if is_compiling else min(self._most, self._threads + 1))

    def _use(self, threads: int) -> None:
        self._threads = threads
        self._ours.add(threads)

    def limit(self, threads: int) -> None:
        """Sets the most threads of a kernel, as requested by a session's configuration.

        Programs request as many threads as there are cores, whatever else runs on these: the environment's number is
        not exceeded, and contention still reduces it.
        """
        most = min(threads, self._bound)
        if most != self._most:
            self._most = self._threads = Kernels.threads = most
            self._ours.add(most)
            torch.set_num_threads(most)
            self.active = self._adapts and most > 1

    def hold(self) -> None:
        """Keeps the number of threads from now on, however busy the cores are: sums depend on it in their last bits."""
        self._next = math.inf
        self._use(self._most)
        if self._adapts:
            _shorten_spinning(len(self._cores) // self._most + 1)

    def limit_thread(self, threads: int | None) -> None:
        """Sets the most kernel threads of the steps that the calling thread runs; None is no limit of its own."""
        self._thread.most = threads

    def _busy(self) -> float:
        """Returns the CPU seconds that all processes have used on our cores."""
        ticks = 0
        for line in os.pread(self._stat, 1 << 16, 0).split(b"\n"):
            if not line.startswith(b"cpu"):
                break
            name, *counts = line.split()
            if name != b"cpu" and int(name[3:]) in self._cores:
                ticks += int(counts[0]) + int(counts[2]) + sum(map(int, counts[5:8]))  # without niced processes
        return ticks / self._tick


keep_freed_memory()
core_share = CoreShare()
