"""The kernel registry: maps ops and device types to binders, and the calls that binders return."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.base.registry import Loader
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.resources.accelerators import accelerator_types
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step

T = TypeVar("T")


@export("Input")
class Input(int):
    """A placeholder in a Call for the value of the node's input with this index."""


class _Step:
    def __repr__(self) -> str:
        return "STEP"


STEP = _Step()  # in a Call: the running step itself (rendezvous, cancellation)


@export("Call")
@dataclass(frozen=True, slots=True)
class Call:
    """A bound kernel with its own arguments: `Call(torch.sum, (Input(0), (1,)), {"keepdim": True})`.

    Generated programs contain exactly that call, with no Python frame between the program and torch. An argument may be
    a Call itself, or a list with inputs in it.

    Args:
        function: The function to call.
        args: Its positional arguments; an `Input` stands for an input of the node.
        kwargs: Its keyword arguments.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


def inputs_of(value: object) -> Iterator[int]:
    """Yields the inputs that a call uses."""
    if isinstance(value, Input):
        yield value
    elif isinstance(value, Call):
        yield from inputs_of([*value.args, *value.kwargs.values()])
    elif isinstance(value, list):
        for item in value:
            yield from inputs_of(item)


def invoke(call: Call, inputs: Sequence[Any], step: Step | None = None) -> Any:
    """Calls a bound kernel on the values of its node's inputs."""
    arguments = [_argument(value, inputs, step) for value in call.args]
    return call.function(*arguments, **{key: _argument(value, inputs, step) for key, value in call.kwargs.items()})


def _argument(value: object, inputs: Sequence[Any], step: Step | None) -> Any:
    if isinstance(value, Input):
        return inputs[value]
    if isinstance(value, Call):
        return invoke(value, inputs, step)
    if value is STEP:
        return step
    return [_argument(item, inputs, step) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Constant:
    """A binder's result for a value that is the same in every step: no call is needed."""

    value: Any = None


class Bind(Protocol):
    """A binder: handles attributes, dtypes and resources once, and returns what each step calls."""

    def __call__(self, node: Node, device: Device, /) -> Callable[..., Any] | Call | Constant: ...


@dataclass(frozen=True, slots=True)
class Kernel:
    """A binder with the device types and attribute types it supports."""

    op: str
    devices: frozenset[str]
    bind: Bind
    types: dict[str, frozenset[DType]]
    priority: int
    cpu_types: frozenset[DType]
    dense: frozenset[str]

    def serves(self, node: Node) -> bool:
        return all(node.attrs[key] in allowed for key, allowed in self.types.items())

    def devices_for(self, node: Node) -> frozenset[str]:
        return self.devices & {"CPU"} if self.cpu_types and node.attrs["T"] in self.cpu_types else self.devices


_kernels: dict[str, list[Kernel]] = {}
_load = Loader("thalweg._src.runtime.kernels")


def _serves_device(devices: Iterable[str], device_type: str) -> bool:
    """Returns whether a kernel for some device types runs on another; GPU kernels support every accelerator."""
    return device_type in devices or ("GPU" in devices and device_type in accelerator_types())


@export("kernel")
def kernel(
    *ops: str,
    devices: Iterable[str] = ("CPU", "GPU"),
    priority: int = 0,
    cpu_types: Iterable[DType] = (),
    dense: Iterable[str] = (),
    **types: Iterable[DType],
) -> Callable[[Bind], Bind]:
    """Registers a binder for ops: `@kernel("MatMul")`, or for some types: `@kernel("MatMul", T=[tf.int32])`.

    Among the kernels that support a node the highest priority wins, then the latest registered.

    cpu_types: the types `T` that other devices have no kernel for; such nodes are placed on the CPU
    dense: the names of inputs that native code reads without a look at their strides; expanded values and slices of
        others are copied before the call

    Args:
        *ops: Names of the op types.
        devices: Device types that the kernel runs on.
        priority: Among kernels that serve a node the highest number wins.
        cpu_types: Types `T` that other devices have no kernel for; such nodes are placed on the CPU.
        dense: Names of inputs that native code reads without their strides; others than dense values are copied.
        **types: The types that an attribute may have, by its name.
    """

    def register(bind: Bind) -> Bind:
        _load(getattr(bind, "__module__", ""))  # ours are registered before a user's kernel
        for op in ops:
            limits = {key: frozenset(allowed) for key, allowed in types.items()}
            entries = _kernels.setdefault(op, [])
            facts = frozenset(cpu_types), frozenset(dense)
            entries.insert(0, Kernel(op, frozenset(devices), bind, limits, priority, *facts))
            entries.sort(key=lambda entry: -entry.priority)
        return bind

    return register


def plain_kernel(*ops: str, **limits: Any) -> Callable[[T], T]:
    """Registers what each step calls, where no attribute and no device changes it; the limits are those of `kernel`.

    It is a function, which may be decorated, or a Call: `plain_kernel("Softmax")(Call(torch.softmax, (Input(0), -1)))`.
    """
    module = sys._getframe(1).f_globals["__name__"]

    def register(called: T) -> T:
        def bind(node: Node, device: Device) -> Any:
            return called

        bind.__module__ = module
        kernel(*ops, **limits)(bind)
        return called

    return register


def device_types(node: Node) -> set[str]:
    """Returns the device types that have a kernel for the node; strings are supported on the host only."""
    _load()
    if node.type == "_While":
        return {"CPU", *accelerator_types()}  # it only controls execution; the nodes of its body have their own kernels
    entries = [entry for entry in _kernels.get(node.type, ()) if entry.serves(node)]
    types = {device for entry in entries for device in entry.devices_for(node)}
    if "GPU" in types:
        types.update(accelerator_types())
    strings = dtypes.string in node.dtypes or any(p.dtypes[i] is dtypes.string for p, i in node.inputs)
    return types & {"CPU"} if strings else types


def has_kernel(op: str) -> bool:
    _load()
    return op in _kernels


def select(node: Node, device_type: str) -> Kernel:
    """Returns the kernel for a node on a device type; raises UnimplementedError that lists the existing ones."""
    _load()
    for entry in _kernels.get(node.type, ()):
        if entry.serves(node) and _serves_device(entry.devices_for(node), device_type):
            return entry
    available = "; ".join(
        f"{', '.join(sorted(e.devices))}"
        + "".join(f" with {k} in {sorted(t.name for t in allowed)}" for k, allowed in e.types.items())
        for e in _kernels.get(node.type, ())
    )
    types = ", ".join(f"{k}={v.name}" for k, v in node.attrs.items() if isinstance(v, DType))
    what = f"No OpKernel was registered to support Op '{node.type}' with these attrs: [{types}]"
    if not available:
        raise errors.invalid(f"{what}: this operation of TensorFlow has no implementation in Thalweg")
    raise errors.UnimplementedError(
        None,
        None,
        errors.describe(f"{what}: no kernel for device type {device_type}", expected=available),
    )
