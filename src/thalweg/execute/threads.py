"""Threads: those that steps run on beside the caller's own, and how a thread computes while it runs one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch

# Threads are made when none is idle, so a kernel that blocks (a Python function, say) cannot starve another step.
threads = ThreadPoolExecutor(
    max_workers=4096, thread_name_prefix="thalweg", initializer=lambda: torch.set_flush_denormal(True)
)
_TINY = 5e-324  # is not zero in a thread that computes with denormals


@contextmanager
def computing() -> Iterator[None]:
    """Lets a thread compute as steps do: without a tape, and with denormal numbers taken for zero."""
    borrowed = _TINY * 1.0 != 0.0
    if borrowed:
        torch.set_flush_denormal(True)
    try:
        with torch.inference_mode():
            yield
    finally:
        if borrowed:
            torch.set_flush_denormal(False)
