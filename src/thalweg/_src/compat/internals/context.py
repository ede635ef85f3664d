"""`tensorflow.python.eager.context`: the mode of execution and its settings."""

from __future__ import annotations

import contextlib

from thalweg._src.base.config import ConfigProto
from thalweg._src.graph.default import executing_eagerly as executing_eagerly, get_default_graph
from thalweg._src.graph.scopes import device as device
from thalweg._src.graph.seeds import set_random_seed
from thalweg._src.runtime.eager.mode import (
    ASYNC as ASYNC,
    SYNC as SYNC,
    eager_graph,
    eager_mode as eager_mode,
    graph_mode as graph_mode,
)
from thalweg._src.runtime.eager.settings import (
    DEVICE_PLACEMENT_EXPLICIT as DEVICE_PLACEMENT_EXPLICIT,
    DEVICE_PLACEMENT_SILENT as DEVICE_PLACEMENT_SILENT,
    DEVICE_PLACEMENT_SILENT_FOR_INT32 as DEVICE_PLACEMENT_SILENT_FOR_INT32,
    DEVICE_PLACEMENT_WARN as DEVICE_PLACEMENT_WARN,
    async_clear_error as async_clear_error,
    async_wait as async_wait,
    execution_mode as execution_mode,
    list_devices as list_devices,
    num_gpus as num_gpus,
    set_execution_mode as set_execution_mode,
)

GRAPH_MODE, EAGER_MODE = 0, 1
in_eager_mode = executing_eagerly


class Context:
    """The settings of this process and of the current scopes."""

    def executing_eagerly(self) -> bool:
        """Returns whether operations run at once."""
        return executing_eagerly()

    in_eager_mode = executing_eagerly

    def num_gpus(self) -> int:
        """Returns the number of GPUs."""
        return num_gpus()

    def devices(self) -> list[str]:
        """Returns the names of the devices."""
        return list_devices()

    def ensure_initialized(self) -> None:
        """Finds the devices, if that has not been done."""
        list_devices()

    def device(self, name: str | None) -> contextlib.AbstractContextManager[None]:
        """Returns a context manager that places operations on a device."""
        return device(name)

    @property
    def device_name(self) -> str:
        """The device of the current scopes, empty if there is none."""
        return get_default_graph().scopes.device

    @property
    def scope_name(self) -> str:
        """The current name scope."""
        scope = get_default_graph().scopes.name
        return f"{scope}/" if scope else ""

    @property
    def config(self) -> ConfigProto:
        """The configuration that eager execution was enabled with."""
        return eager_graph().config

    @property
    def execution_mode(self) -> int:  # noqa: F811  the function of this name is one of the module
        """The execution mode, SYNC or ASYNC."""
        return eager_graph().execution_mode

    @execution_mode.setter
    def execution_mode(self, mode: int | None) -> None:
        set_execution_mode(mode)


_context = Context()


def context() -> Context:
    """Returns the settings of this process."""
    return _context


context_safe = context


def in_graph_mode() -> bool:
    """Returns whether operations are added to a graph."""
    return not executing_eagerly()


def global_seed() -> int | None:
    """Returns the random seed of eager execution."""
    return eager_graph().seed


def set_global_seed(seed: int | None) -> None:
    """Sets the random seed of eager execution."""
    with eager_mode():
        set_random_seed(seed)
