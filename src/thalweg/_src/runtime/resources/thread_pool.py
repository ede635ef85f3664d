"""Thread pool: the threads that steps run on beside the caller's own, and the state a thread computes in."""

from __future__ import annotations

from math import inf

import torch

from thalweg._src.runtime.resources.workers import Workers

# At exit steps are waited for: a thread that is inside a kernel when the interpreter shuts down aborts the program.
threads = Workers("thalweg", lambda: torch.set_flush_denormal(True), exit_timeout=inf)


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
