"""Threads: those that steps run on beside the caller's own, and how a thread computes while it runs one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch

# Threads are made when none is idle, so a kernel that blocks (a Python function, say) cannot starve another step.
threads = ThreadPoolExecutor(
    max_workers=4096, thread_name_prefix="thalweg", initializer=lambda: torch.set_flush_denormal(True)
)


class Kernels:
    """How many threads a kernel has when nobody else needs the cores; for moments it may have fewer."""

    threads = torch.get_num_threads()


_TINY = 5e-324  # is not zero in a thread that computes with denormals


class computing:
    """Lets a thread compute as steps do: without a tape, and with denormal numbers taken for zero."""

    __slots__ = ("_borrowed", "_guard")

    def __enter__(self) -> None:
        self._borrowed = _TINY * 1.0 != 0.0
        if self._borrowed:
            torch.set_flush_denormal(True)
        self._guard = torch._C._InferenceMode(True)

    def __exit__(self, *exc: object) -> None:
        del self._guard
        if self._borrowed:
            torch.set_flush_denormal(False)
