"""The stacks of `with` blocks that operations are added in: names, devices, control dependencies, branches, loops."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor

DeviceFunction = Callable[[Operation], Any]


class ControlScope:
    """One `control_dependencies` block: its control inputs and the operations created inside it."""

    __slots__ = ("controls", "created")

    def __init__(self, controls: list[Operation]) -> None:
        self.controls = controls
        self.created: set[Operation] = set()


class Scopes(threading.local):
    """The stacks of `with` blocks, one set per thread."""

    def __init__(self) -> None:
        # Two threads may build one graph, each under names, devices and control dependencies of its own. The combined
        # device is kept beside the stack that it follows from, since every operation asks for it and few scopes change
        # it.
        self.name = ""
        self.devices: list[str | DeviceFunction | None] = []
        self.device = ""
        self.device_functions = False
        self.controls: list[ControlScope] = []
        self.colocated: list[Operation] = []
        self.container = ""
        self.gradient_overrides: dict[str, str] = {}
        self.attributes: dict[str, Any] = {}
        self.context: Context | None = None
        self.gradients = ""  # the name scope of the call of `gradients` in progress


class Context(Protocol):
    """A branch or loop under construction: it sees each operation before it is added, and captures its inputs."""

    in_loop: bool

    # Called before an operation is created: it returns the inputs and control inputs that the operation is to have
    # instead.
    def admit(
        self, definition: OpDef, inputs: list[Tensor], controls: list[Operation], name: str
    ) -> tuple[list[Tensor], list[Operation]]: ...

    def require_outside(self, definition: OpDef, elements: Iterable[Tensor | Operation], name: str) -> None: ...
