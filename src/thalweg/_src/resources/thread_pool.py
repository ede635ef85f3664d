"""Thread pool: the threads that steps run on beside the caller's own, and the state a thread computes in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch

# Threads are created when none is idle, so a kernel that blocks (a Python function, say) cannot starve another step.
threads = ThreadPoolExecutor(
    max_workers=4096, thread_name_prefix="thalweg", initializer=lambda: torch.set_flush_denormal(True)
)


class Kernels:
    """The number of threads per kernel without contention for the cores; under contention it is reduced for a while."""

    threads = torch.get_num_threads()


_TINY = 5e-324  # nonzero only in a thread that keeps denormals


class computing:
    """Sets up a thread to compute as steps do: in inference mode, and with denormals flushed to zero."""

    __slots__ = ("_flushes", "_guard")

    def __enter__(self) -> None:
        self._flushes = _TINY * 1.0 != 0.0
        if self._flushes:
            torch.set_flush_denormal(True)
        self._guard = torch._C._InferenceMode(True)

    def __exit__(self, *exc: object) -> None:
        del self._guard
        if self._flushes:
            torch.set_flush_denormal(False)
