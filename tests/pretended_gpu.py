"""A pretended GPU: a torch device with memory of its own, which computes on the CPU and refuses what CUDA refuses.

Tensors of different devices do not mix, values come back by copies alone, types without a CUDA kernel have none here
(`tests/fixtures/cuda_dtypes.json`), and the kernels of a step can be captured and replayed. So the suite runs as on a
machine with a GPU, wherever it runs: `pytest --pretend-gpu`.
"""

import functools
import threading
import time

import torch
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

from tests.away_tensors import TYPE, Generator, call
from tests.stream_capture import capture
from thalweg._src.resources import accelerators
from thalweg._src.resources.accelerators import Accelerator


class _Event:
    """An event of a device that has run everything by the time that the host goes on."""

    def __init__(self, device):
        self._time = 0.0

    def record(self):
        self._time = time.perf_counter()

    def elapsed_time(self, end):
        return (end._time - self._time) * 1e3


class _PretendedGpu(Accelerator):
    """A device type that never runs behind the host."""

    def on(self, device):
        return self

    def synchronize(self, device):
        pass


class _Module(_DummyBackendModule):
    def __init__(self, count):
        self._count = count

    def device_count(self):
        return self._count


def install(count=1):
    """Makes this process one of a machine with some GPUs; there is no way back."""
    _setup_privateuseone_for_python_backend(TYPE, _Module(count))
    _copy_numbers()
    torch.Generator = Generator
    library = torch.library.Library("_", "IMPL")
    library.fallback(lambda function, *args, **kwargs: call(function, args, kwargs), "PrivateUse1")
    _libraries.append(library)
    del accelerators._accelerators["GPU"]
    gpu = _PretendedGpu("GPU", TYPE, lambda: count, capture=capture, event=_Event)
    # The order of registration is that of the devices.
    accelerators._accelerators = {"GPU": gpu, **accelerators._accelerators}


def _copy_numbers():
    """Makes tensors of numbers reach the device by a copy, which each thread of torch has to be told."""
    torch._C._set_only_lift_cpu_tensors(True)
    run = threading.Thread.run

    @functools.wraps(run)
    def run_thread(thread):
        torch._C._set_only_lift_cpu_tensors(True)
        run(thread)

    threading.Thread.run = run_thread


_libraries = []  # a library ends with its object
