"""Accelerators: the device types other than the CPU, each backed by a device type of torch.

Whatever a device type does differently is a field of `Accelerator`; everything else, kernels included, is shared code.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch

from thalweg._src.base import determinism, errors
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.export import export
from thalweg._src.runtime.resources.gpu_options import logical_gpus

Replay = Callable[[], None]
Capture = Callable[[Callable[[], Sequence[Any]], Iterable[torch.Generator]], tuple[Sequence[Any], Replay]]


class Event(Protocol):
    """An event on a device stream: the time between two events is measured by the device."""

    def record(self) -> None:
        """Records the event on the stream, after everything launched so far."""

    def elapsed_time(self, end: Any) -> float:
        """Waits for a later event and returns the milliseconds between the two."""


@dataclass(frozen=True, slots=True, eq=False)
class Accelerator:
    """One device type: its name in device names, torch's name for it, and how many such devices this machine has.

    prepare: called with the configuration of each session that has such devices
    capture: runs a function in stream capture; returns its values and a function that replays the captured kernels
    event: makes an event for a device's stream (see `Event`); a device type without events is synchronized after each
        node of a traced step
    stream: returns the stream of one of several logical devices of a card; without it they share the current stream
    """

    type: str
    torch_type: str
    count: Callable[[], int]
    prepare: Callable[[ConfigProto], None] = lambda config: None
    capture: Capture | None = None
    event: Callable[[torch.device], Event] | None = None
    stream: Callable[[torch.device, int], torch.cuda.Stream] | None = None

    @property
    def module(self) -> Any:
        """The module of torch for this device type, with its streams and events: `torch.cuda`, `torch.xpu`."""
        return torch.get_device_module(self.torch_type)

    def on(self, device: torch.device) -> Accelerator:
        """Returns the accelerator bound to one of its devices, so that captures happen on that device's stream."""
        capture = self.capture
        if capture is None or not device.index:
            return self

        def capture_there(function: Callable[[], Sequence[Any]], generators: Iterable[torch.Generator]) -> Any:
            with torch.accelerator.device_index(device.index):
                return capture(function, generators)

        return replace(self, capture=capture_there)

    def synchronize(self, device: torch.device) -> None:
        """Waits for what was launched on the current stream of a device."""
        if self.torch_type != "cpu":
            torch.accelerator.current_stream(device).synchronize()

    def has_pinned_memory(self) -> bool:
        return self.torch_type in ("cuda", "xpu")


_accelerators: dict[str, Accelerator] = {}


def register_accelerator(accelerator: Accelerator) -> Accelerator:
    """Registers a device type: sessions made afterwards have its devices."""
    if accelerator.type == "CPU" or accelerator.type in _accelerators:
        raise errors.AlreadyExistsError(None, None, f"device type {accelerator.type!r} is registered already")
    _accelerators[accelerator.type] = accelerator
    return accelerator


def accelerators() -> list[Accelerator]:
    return list(_accelerators.values())


def accelerator_of(device: torch.device) -> Accelerator:
    """Returns the accelerator that a torch device, other than the CPU, belongs to."""
    return next(accelerator for accelerator in accelerators() if accelerator.torch_type == device.type)


def accelerator_types() -> Iterable[str]:
    """Returns the device types of all accelerators, whose kernels are those of "GPU"."""
    return _accelerators.keys()


def accelerator_type(device: torch.device) -> str:
    """Returns the device type that a torch device belongs to."""
    return next(accelerator.type for accelerator in _accelerators.values() if accelerator.torch_type == device.type)


# -- CUDA -------------------------------------------------------------------------------------------------------------


def gpu_count() -> int:
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def cuda_version() -> str | None:
    """Returns the CUDA version that torch was built with; None for a build without CUDA."""
    return torch.version.cuda


def gpu_capability(index: int) -> tuple[int, int]:
    """Returns the CUDA compute capability of a GPU."""
    major, minor = torch.cuda.get_device_capability(index)
    return major, minor


def physical_devices() -> list[tuple[str, str]]:
    """Returns (name, type) of the devices of this machine."""
    devices = [("/physical_device:CPU:0", "CPU")]
    for accelerator in accelerators():
        type = accelerator.type
        devices += [(f"/physical_device:{type}:{i}", type) for i in range(accelerator.count())]
    return devices


class _Arithmetic:
    tensor_float_32 = True


@export("config.experimental.tensor_float_32_execution_enabled")
def tensor_float_32_execution_enabled() -> bool:
    """Returns whether products and convolutions of float32 may round their factors to 10 bits on a GPU."""
    return _Arithmetic.tensor_float_32


@export("config.experimental.enable_tensor_float_32_execution")
def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Allows or forbids TF32 in products and convolutions of float32, for all sessions of this process.

    Args:
        enabled: Whether factors may be rounded to 10 bits of mantissa.
    """
    _Arithmetic.tensor_float_32 = bool(enabled)
    if gpu_count():
        _use_arithmetic()


def _use_arithmetic() -> None:
    torch.set_float32_matmul_precision("high" if _Arithmetic.tensor_float_32 else "highest")
    torch.backends.cudnn.allow_tf32 = _Arithmetic.tensor_float_32


def _prepare_cuda(config: ConfigProto) -> None:
    """Lets cuDNN benchmark its algorithms and products round to TF32, as TensorFlow does, and limits memory.

    Memory is always allocated on demand, so `allow_growth` has nothing to change.
    """
    torch.backends.cudnn.benchmark = not determinism.is_required()
    _use_arithmetic()
    fraction = config.gpu_options.per_process_gpu_memory_fraction
    limits: dict[int, int] = {}  # summed over the logical devices of a GPU: torch cannot tell them apart
    for index, limit in logical_gpus(config, gpu_count()):
        limits[index] = limits.get(index, 0) + limit
    for index, limit in limits.items():
        share = limit / torch.cuda.get_device_properties(index).total_memory if limit else fraction
        if share > 0:
            torch.cuda.set_per_process_memory_fraction(min(share, 1.0), index)


class _CudaEvent:
    """A CUDA event on the current stream of its device, which need not be the current device."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]

    def record(self) -> None:
        self._event.record(torch.cuda.current_stream(self._device))

    def elapsed_time(self, end: _CudaEvent) -> float:
        end._event.synchronize()
        return float(self._event.elapsed_time(end._event))


@functools.cache
def _cuda_stream(card: torch.device, index: int) -> torch.cuda.Stream:
    """Returns the stream of a logical device, which sessions share: torch has 32 per card and then repeats them."""
    return torch.cuda.Stream(card)  # type: ignore[no-untyped-call]


@functools.cache
def _capture_stream(current: torch.cuda.Stream) -> tuple[torch.cuda.Stream, threading.Lock]:
    """Returns the stream on which the work of another stream is captured, by one thread at a time.

    Graphs captured on one stream share the workspace of cuBLAS, so they must be replayed on one stream too.
    """
    return torch.cuda.Stream(current.device), threading.Lock()  # type: ignore[no-untyped-call]


def _capture_cuda(
    function: Callable[[], Sequence[Any]], generators: Iterable[torch.Generator]
) -> tuple[Sequence[Any], Replay]:
    """Captures the kernels of a function in a CUDA graph."""
    graph: Any = torch.cuda.CUDAGraph()
    before = [(generator, generator.clone_state()) for generator in generators]
    for generator, _ in before:
        graph.register_generator_state(generator)
    current = torch.cuda.current_stream()
    side, alone = _capture_stream(current)
    try:
        with alone, torch.cuda.stream(side):
            side.wait_stream(current)
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                values = function()
            finally:
                graph.capture_end()
    except BaseException:
        for generator, state in before:  # else torch would go on to believe that the generators are being captured
            generator.graphsafe_set_state(state)
        raise
    current.wait_stream(side)
    return values, graph.replay


register_accelerator(Accelerator("GPU", "cuda", gpu_count, _prepare_cuda, _capture_cuda, _CudaEvent, _cuda_stream))
register_accelerator(Accelerator("MPS", "mps", lambda: int(torch.backends.mps.is_available())))
register_accelerator(Accelerator("XPU", "xpu", lambda: torch.xpu.device_count() if torch.xpu.is_available() else 0))
