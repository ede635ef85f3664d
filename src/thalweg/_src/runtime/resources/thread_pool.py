"""Thread pool: the threads that steps run on beside the caller's own, and the state a thread computes in."""

from __future__ import annotations

from math import inf

import torch

from thalweg._src.runtime.resources.workers import Workers

# At exit steps are waited for: a thread that is inside a kernel when the interpreter shuts down aborts the program.
threads = Workers("thalweg", lambda: torch.set_flush_denormal(True), exit_timeout=inf)

SMALLEST_DENORMAL = 5e-324  # times one, it is nonzero only in a thread that keeps denormals


class Kernels:
    """The number of threads per kernel without contention for the cores; under contention it is reduced for a while."""

    threads = torch.get_num_threads()


class computing:
    """Sets up a thread to compute as steps do: in inference mode, and with denormals flushed to zero.

    TensorFlow's kernels flush denormals too: computing with them is a hundred times slower, and the moments of an
    optimizer decay into them. The caller's thread is given back in the mode that it had.
    """

    __slots__ = ("_guard", "_keeps_denormals")

    def __enter__(self) -> None:
        self._keeps_denormals = SMALLEST_DENORMAL * 1.0 != 0.0
        if self._keeps_denormals:
            torch.set_flush_denormal(True)
        self._guard = torch._C._InferenceMode(True)

    def __exit__(self, *exc: object) -> None:
        del self._guard
        if self._keeps_denormals:
            torch.set_flush_denormal(False)
