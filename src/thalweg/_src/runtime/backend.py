"""Backends: where a session compiles and runs its steps: in this process, or over the tasks of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from thalweg._src.base.config import ConfigProto
from thalweg._src.compiler.place.place import Placement
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.executable import Executable
from thalweg._src.runtime.pipeline import compile_step
from thalweg._src.runtime.resources.containers import Containers
from thalweg._src.runtime.resources.devices import Device, local_devices
from thalweg._src.runtime.resources.step import Step


@dataclass(frozen=True, slots=True)
class DeviceAttributes:
    """A device as listed by `list_devices`; its incarnation is another one when it has lost its variables."""

    name: str
    device_type: str
    memory_limit_bytes: int = 0
    incarnation: int = 0


def attributes_of(devices: Iterable[Device]) -> list[DeviceAttributes]:
    return [DeviceAttributes(d.name, d.type, d.memory_limit, d.resources.incarnation) for d in devices]


class CompiledStep(Protocol):
    """A step that is ready to run: an `Executable`, or its counterpart for a cluster."""

    placement: Placement
    steps: count[int]

    def run(self, step: Step, feeds: Sequence[Any]) -> Sequence[Any]:
        """Runs one step; blocks until it has finished or failed."""

    def start(self, step: Step, feeds: Sequence[Any], done: Callable[[], None]) -> Any:
        """Starts a step whose feeds and fetches pass through the rendezvous; `done` is called when it ends."""

    def explain_fetch(self, error: Exception, values: Sequence[Any]) -> BaseException:
        """Returns the typed error for a fetched value that could not be converted."""

    def partition_graphs(self) -> list[Any]:
        """Returns the partition of each device as a GraphDef."""

    @property
    def text(self) -> str:
        """The generated code."""


class Backend(Protocol):
    """What a session needs to run the steps of its graph.

    placed: the devices among which steps are placed
    """

    @property
    def placed(self) -> Sequence[Device]:
        """The devices among which steps are placed."""

    def list_devices(self) -> list[DeviceAttributes]:
        """Returns the devices of the session."""

    def compile(
        self, feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation], is_partial: bool = False
    ) -> CompiledStep:
        """Compiles a step."""

    def close(self) -> None:
        """Frees the state of the session."""


class LocalBackend:
    """Runs steps on the devices of this process."""

    def __init__(self, config: ConfigProto) -> None:
        self._config = config
        self._resources = Containers()
        self.placed: list[Device] = local_devices(config, self._resources)

    def list_devices(self) -> list[DeviceAttributes]:
        return attributes_of(self.placed)

    def compile(
        self, feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation], is_partial: bool = False
    ) -> Executable:
        return compile_step(feeds, fetches, targets, self._config, self.placed, is_partial)

    def close(self) -> None:
        self._resources.clear()
