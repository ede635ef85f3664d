"""The eager graph: the default graph of eager execution, whose operations run when they are added."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.devices import DeviceSpec
from thalweg._src.base.dtypes import DType
from thalweg._src.base.entropy import fresh_seed
from thalweg._src.compiler.partition.host_memory import arguments
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.op_def import OPS, OpDef
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.eager.binding import Binding, bind, makes_handle, small_value
from thalweg._src.runtime.eager.callbacks import call_back
from thalweg._src.runtime.eager.containers import EagerContainers
from thalweg._src.runtime.eager.custom_gradient import call_with_gradient
from thalweg._src.runtime.eager.operation import EagerOperation
from thalweg._src.runtime.eager.placement import default_device, for_value
from thalweg._src.runtime.eager.tape import record_call
from thalweg._src.runtime.eager.tensor import EagerTensor, kind_of
from thalweg._src.runtime.kernels.transfer import copy_to
from thalweg._src.runtime.kernels.types import from_numpy
from thalweg._src.runtime.resources.devices import Device, local_devices

_MAX_BINDINGS = 512  # of one op; beyond it, what was bound first is forgotten
_MAX_SPECIAL = 128  # of one op for certain values of its host arguments; beyond it, kernels read them in each call


class EagerGraph(Graph):
    """The graph of eager execution: it holds no operations, but the scopes and settings under which they run."""

    executes = True

    def __init__(self, config: ConfigProto | None = None) -> None:
        super().__init__()
        self.config = config or ConfigProto()
        self.execution_mode = 0  # SYNC: errors of kernels are raised where they occur
        self._devices: list[Device] = []
        self._seeds = random.Random(fresh_seed())
        self._last_seed: int | None = None

    @property
    def devices(self) -> list[Device]:
        """The devices of this process, of which the first one is the host.

        Virtual GPUs share the current stream: between steps kernels run there, and would have to wait for others.
        """
        if not self._devices:
            with self._lock:
                self._devices = self._devices or local_devices(self.config, EagerContainers(), has_streams=False)
        return self._devices

    # -- operations ---------------------------------------------------------------------------------------------------

    def add(  # type: ignore[override]
        self,
        definition: OpDef,
        inputs: list[EagerTensor],
        attrs: dict[str, Any],
        output_types: Sequence[DType],
        name: str | None = None,
        controls: Sequence[Any] = (),
    ) -> EagerOperation:
        """Runs an operation."""
        if definition.name == "Const":
            return EagerOperation(definition, attrs, (), (self.constant(attrs["value"], attrs["dtype"]),))
        if self.scopes.gradient_overrides.get(definition.name):
            attrs["_gradient_op_type"] = self.scopes.gradient_overrides[definition.name]
        binding = self.binding(definition, inputs, attrs, output_types)
        if stacks.ran is not None:
            stacks.ran[:] = binding, inputs
        outputs = binding.run(inputs)
        operation = EagerOperation(definition, binding.attrs, inputs, outputs)
        if stacks.tapes:
            record_call(binding, inputs, outputs)
        if stacks.callbacks:
            call_back(operation, name)
        return operation

    def constant(self, array: np.ndarray[Any, Any], dtype: DType) -> EagerTensor:
        """Returns an array, which must not change any more, as a tensor."""
        device = self.current_device(dtype)
        rank = array.ndim if dtype is not dtypes.resource else None
        value = from_numpy(array, dtype)
        return EagerTensor(value if device.type == "CPU" else copy_to(device)(value), kind_of(dtype, rank, device))

    def binding(
        self, definition: OpDef, inputs: Sequence[EagerTensor], attrs: dict[str, Any], output_types: Sequence[DType]
    ) -> Binding:
        """Returns the kernel for an operation on these inputs, bound on first use."""
        draws = definition.stateful and definition.facts.random  # all calls with equal attributes use one generator
        constants: Sequence[np.ndarray[Any, Any] | None] = (None,) * len(inputs)
        if definition.host and not draws:
            constants = self._constants(definition, inputs, attrs)
        requested = self.scopes.device
        bindings: dict[Any, Binding] = definition.bindings
        kinds = tuple([tensor.kind for tensor in inputs])
        if makes_handle(definition):
            created = self._bind(definition, inputs, attrs, output_types, constants)
            created.is_reusable = False
            return created
        try:
            values = tuple([None if c is None else (c.dtype, c.shape, c.tobytes()) for c in constants])
            is_drawn = draws and attrs.get("seed2") == self._last_seed
            key_attrs = tuple([item for item in attrs.items() if not is_drawn or item[0] != "seed2"])
            key = kinds, key_attrs, values, requested
            binding = bindings.get(key)
        except TypeError:  # an attribute is an array
            return self._bind(definition, inputs, attrs, output_types, constants)
        if binding is None:
            binding = self._bind(definition, inputs, attrs, output_types, constants)
            binding.is_reusable = not is_drawn
            if len(bindings) >= _MAX_BINDINGS:
                bindings.pop(next(iter(bindings)), None)
            bindings[key] = binding
        return binding

    def _constants(
        self, definition: OpDef, inputs: Sequence[EagerTensor], attrs: dict[str, Any]
    ) -> Sequence[np.ndarray[Any, Any] | None]:
        """Returns the values of small host arguments, unless the op has been bound for many of them."""
        if len(definition.bindings) >= _MAX_SPECIAL:
            return (None,) * len(inputs)
        args = arguments(definition.inputs, attrs, len(inputs))
        return [small_value(tensor) if arg.name in definition.host else None for arg, tensor in zip(args, inputs)]

    def _bind(
        self,
        definition: OpDef,
        inputs: Sequence[EagerTensor],
        attrs: dict[str, Any],
        output_types: Sequence[DType],
        constants: Sequence[Any],
    ) -> Binding:
        return bind(definition, inputs, dict(attrs), output_types, self.requested_device(), self.devices, constants)

    def current_device(self, dtype: DType) -> Device:
        """Returns the device for a new value of a type: that of the current scopes, or the default."""
        requested, devices = self.requested_device(), self.devices
        if dtype is dtypes.string:
            return devices[0]
        return requested or for_value(dtype, default_device(devices), devices[0])

    def requested_device(self) -> Device | None:
        """Returns the device that the current scopes request; with soft placement, the host if there is none."""
        scope = self.scopes.device
        if not scope:
            return None
        spec = DeviceSpec.from_string(scope)
        for device in self.devices:
            candidate = DeviceSpec.from_string(device.name)
            if spec.device_type in (None, candidate.device_type) and spec.device_index in (
                None,
                candidate.device_index,
            ):
                return device
        if self.config.allow_soft_placement:
            return self.devices[0]
        names = ", ".join(device.name for device in self.devices)
        raise errors.invalid(f"{scope} unknown device; expected one of {names}")

    # -- scopes and names ---------------------------------------------------------------------------------------------

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Returns the name under the current scope: names of what has run need not differ."""
        return f"{self.scopes.name}/{name}" if self.scopes.name else name

    @contextlib.contextmanager
    def device(self, device_name_or_function: str | DeviceSpec | Callable[..., Any] | None) -> Iterator[None]:
        """Runs operations inside on a device."""
        if callable(device_name_or_function):
            raise RuntimeError("tf.device does not support functions when eager execution is enabled.")
        try:
            with super().device(device_name_or_function):
                self.requested_device()
                stacks.refresh()
                yield
        finally:
            stacks.refresh()

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Makes operations inside use the gradient registered under another name."""
        try:
            with super().gradient_override_map(op_type_map):
                stacks.refresh()
                yield
        finally:
            stacks.refresh()

    def control_dependencies(self, control_inputs: object) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        """Does nothing: operations run in program order."""
        return contextlib.nullcontext()

    def colocate_with(  # type: ignore[override]
        self, op: object, ignore_existing: bool = False
    ) -> contextlib.AbstractContextManager[None]:
        """Runs operations inside on the device of a tensor or variable, if that is not the default anyway."""
        where, default = getattr(op, "device", ""), default_device(self.devices)
        return contextlib.nullcontext() if not where or where == default.name else self.device(where)

    def as_graph_element(self, obj: object, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """Returns an eager tensor itself."""
        if isinstance(obj, EagerTensor):
            return obj
        raise RuntimeError(f"eager execution has no graph that {obj!r} could be an element of")

    def capture(self, tensor: Tensor) -> Tensor:
        """Returns the tensor itself."""
        return tensor

    def call_with_gradient(self, f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Returns the results of a function that `tf.custom_gradient` decorates."""
        return call_with_gradient(f, args, kwargs)

    def next_seed(self) -> int:
        """Returns a number for the seeds of an operation that is given none.

        It seeds the generator of the first such call, which later ones continue.
        """
        self._last_seed = self._seeds.randrange(1, 2**31 - 1)
        return self._last_seed

    @property
    def seed(self) -> int | None:
        """The random seed."""
        return self._seed

    @seed.setter
    def seed(self, value: int | None) -> None:
        self._seed, self._seeds, self._last_seed = value, random.Random(fresh_seed() if value is None else value), None
        for definition in map(OPS.lookup, OPS):
            if definition.facts.random:  # generators start again
                definition.bindings.clear()
                definition.calls.clear()
