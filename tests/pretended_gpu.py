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

from tests import away_tensors, late_streams, pretended_compiler
from tests.away_tensors import TYPE, Generator, call
from tests.stream_capture import capture
from thalweg._src.runtime.resources import accelerators
from thalweg._src.runtime.resources.accelerators import Accelerator


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


class _LateGpu(_PretendedGpu):
    """A device type whose kernels run when something waits for them."""

    def synchronize(self, device):
        late_streams.current_stream(device).synchronize()

    def has_pinned_memory(self):
        return True


class _Module(_DummyBackendModule):
    Stream = late_streams.Stream
    stream = staticmethod(late_streams.stream)
    current_stream = staticmethod(late_streams.current_stream)
    default_stream = staticmethod(late_streams.default_stream)

    def __init__(self, count):
        self._count = count

    def device_count(self):
        return self._count


def install(count=1, late=False):
    """Makes this process one of a machine with some GPUs; there is no way back.

    late: whether kernels run behind the host, on streams (`tests/late_streams.py`)
    """
    _setup_privateuseone_for_python_backend(TYPE, _Module(count))
    _copy_numbers()
    torch.Generator = Generator
    library = torch.library.Library("_", "IMPL")
    library.fallback(lambda function, *args, **kwargs: call(function, args, kwargs), "PrivateUse1")
    _libraries.append(library)
    pretended_compiler.install()
    del accelerators._accelerators["GPU"]
    if late:
        _install_streams()
        options = {
            "event": lambda device: late_streams.Event(),
            "stream": lambda device, index: late_streams.Stream(device),
        }
    else:
        options = {"event": _Event}
    gpu = (_LateGpu if late else _PretendedGpu)("GPU", TYPE, lambda: count, capture=capture, **options)
    # The order of registration is that of the devices.
    accelerators._accelerators = {"GPU": gpu, **accelerators._accelerators}


def _install_streams():
    """Makes kernels run late, and gives the host pinned memory."""
    away_tensors.streams = late_streams
    torch.Tensor.pin_memory = lambda tensor, device=None: late_streams.pin(tensor.clone())
    torch.Tensor.is_pinned = late_streams.is_pinned
    empty = torch.empty

    @functools.wraps(empty)
    def allocate(*args, pin_memory=False, **options):
        made = empty(*args, **options)
        return late_streams.pin(made) if pin_memory else made

    torch.empty = allocate


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
