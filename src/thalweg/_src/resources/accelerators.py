"""Accelerators: the kinds of device beside the CPU, each a kind of torch's.

What a kind does differently is a field here; everything else, kernels included, is the same code on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch

from thalweg._src import errors
from thalweg._src.config import ConfigProto
from thalweg._src.resources.gpu_options import logical_gpus

Replay = Callable[[], None]


class Mark(Protocol):
    """A mark on a device's line of work: the times between two of them are those of the device."""

    def record(self) -> None:
        """Puts the mark after what has been launched so far."""

    def elapsed_time(self, end: Any) -> float:
        """Waits for a later mark, and returns the milliseconds from here to there."""


@dataclass(frozen=True, slots=True, eq=False)
class Accelerator:
    """One kind: its name in device names, torch's name for it, and how many of them this machine has.

    prepare: is called with the configuration of each session that has such devices
    record: runs a function so that its kernels are only noted; returns its values and what launches the kernels
    event: makes a mark for a device's line of work, which notes when the device comes to it (see `Mark`); a kind
        without marks is waited for after each node of a step that is traced
    """

    type: str
    torch_type: str
    count: Callable[[], int]
    prepare: Callable[[ConfigProto], None] = lambda config: None
    record: Callable[[Callable[[], Sequence[Any]], Iterable[torch.Generator]], tuple[Sequence[Any], Replay]] | None = (
        None
    )
    event: Callable[[torch.device], Mark] | None = None

    def on(self, device: torch.device) -> Accelerator:
        """Returns this kind for one of its devices: what is recorded there is recorded on its stream."""
        record = self.record
        if record is None or not device.index:
            return self

        def record_there(function: Callable[[], Sequence[Any]], generators: Iterable[torch.Generator]) -> Any:
            with torch.accelerator.device_index(device.index):
                return record(function, generators)

        return replace(self, record=record_there)

    def synchronize(self, device: torch.device) -> None:
        """Waits for what was launched on the current stream of a device."""
        if self.torch_type != "cpu":
            torch.accelerator.current_stream(device).synchronize()

    def has_pinned_memory(self) -> bool:
        return self.torch_type in ("cuda", "xpu")


_accelerators: dict[str, Accelerator] = {}


def register_accelerator(accelerator: Accelerator) -> Accelerator:
    """Makes a kind of device known: sessions made afterwards have its devices."""
    if accelerator.type == "CPU" or accelerator.type in _accelerators:
        raise errors.AlreadyExistsError(None, None, f"device type {accelerator.type!r} is registered already")
    _accelerators[accelerator.type] = accelerator
    return accelerator


def accelerators() -> list[Accelerator]:
    return list(_accelerators.values())


def accelerator_types() -> Iterable[str]:
    """Returns the device types of all accelerators, whose kernels are those of "GPU"."""
    return _accelerators.keys()


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
    found = [("/physical_device:CPU:0", "CPU")]
    for kind in accelerators():
        found += [(f"/physical_device:{kind.type}:{i}", kind.type) for i in range(kind.count())]
    return found


class _Arithmetic:
    tensor_float_32 = True


def tensor_float_32_execution_enabled() -> bool:
    """Returns whether products and convolutions of float32 may round their factors to 10 bits on a GPU."""
    return _Arithmetic.tensor_float_32


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Allows or forbids it, for all sessions of this process."""
    _Arithmetic.tensor_float_32 = bool(enabled)
    if gpu_count():
        _use_arithmetic()


def _use_arithmetic() -> None:
    torch.set_float32_matmul_precision("high" if _Arithmetic.tensor_float_32 else "highest")
    torch.backends.cudnn.allow_tf32 = _Arithmetic.tensor_float_32


def _prepare_cuda(config: ConfigProto) -> None:
    """Lets cuDNN look for its fastest algorithms and products round to TF32, as TensorFlow does; limits memory.

    Memory is always taken as needed, so `allow_growth` asks for nothing more.
    """
    torch.backends.cudnn.benchmark = True
    _use_arithmetic()
    fraction = config.gpu_options.per_process_gpu_memory_fraction
    limits: dict[int, int] = {}  # of all devices that a GPU is divided into: torch cannot tell them apart
    for index, limit in logical_gpus(config, gpu_count()):
        limits[index] = limits.get(index, 0) + limit
    for index, limit in limits.items():
        share = limit / torch.cuda.get_device_properties(index).total_memory if limit else fraction
        if share > 0:
            torch.cuda.set_per_process_memory_fraction(min(share, 1.0), index)


class _CudaMark:
    """A CUDA event on the current stream of a device, whichever device is the current one."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]

    def record(self) -> None:
        self._event.record(torch.cuda.current_stream(self._device))

    def elapsed_time(self, end: _CudaMark) -> float:
        end._event.synchronize()
        return float(self._event.elapsed_time(end._event))


def _record_cuda(
    function: Callable[[], Sequence[Any]], generators: Iterable[torch.Generator]
) -> tuple[Sequence[Any], Replay]:
    """Records the kernels of a function as a CUDA graph."""
    graph: Any = torch.cuda.CUDAGraph()
    for generator in generators:
        graph.register_generator_state(generator)
    here = torch.cuda.current_stream()
    aside = torch.cuda.Stream(here.device)  # type: ignore[no-untyped-call]
    aside.wait_stream(here)
    with torch.cuda.stream(aside):
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            values = function()
        finally:
            graph.capture_end()
    here.wait_stream(aside)
    return values, graph.replay


register_accelerator(Accelerator("GPU", "cuda", gpu_count, _prepare_cuda, _record_cuda, _CudaMark))
register_accelerator(Accelerator("MPS", "mps", lambda: int(torch.backends.mps.is_available())))
register_accelerator(Accelerator("XPU", "xpu", lambda: torch.xpu.device_count() if torch.xpu.is_available() else 0))
