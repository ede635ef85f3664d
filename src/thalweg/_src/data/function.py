"""Functions of pipelines: a user's Python function, traced into a graph of its own and called as compiled code.

The body may use tensors of the graph around it. These are captured: they become inputs of the dataset, which are
evaluated when an iterator is initialized; handles of variables, tables and queues are among them, so their state is
that of the session.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thalweg._src import errors
from thalweg._src.config import ConfigProto
from thalweg._src.data.structure import Signature, converted, element_of, signature_of, structure_of, tensors_of
from thalweg._src.dtypes import DType
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.ops.constants import array_constant, placeholder
from thalweg._src.resources.devices import Device
from thalweg._src.resources.step import Step
from thalweg._src.runtime.executable import Executable
from thalweg._src.runtime.pipeline import compile_step

Values = tuple[Any, ...]
_ONCE = frozenset(("Placeholder", "VarHandleOp", "_Dataset"))  # need not run if their results are not used


class FunctionGraph(Graph):
    """The body of a function; tensors of outer graphs that it uses are captured."""

    captures = True

    def __init__(self, outer: Graph) -> None:
        super().__init__()
        self.outer = outer
        self.captured: dict[Tensor, Tensor] = {}  # tensors of the outer graph -> their placeholders here
        self._seed = outer.seed

    def add(
        self,
        definition: OpDef,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        output_types: Sequence[DType],
        name: str | None = None,
        controls: Sequence[Operation] = (),
    ) -> Operation:
        """Appends an operation, whose inputs may be tensors of the outer graph."""
        own = [tensor if tensor.op.graph is self else self.capture(tensor) for tensor in inputs]
        return super().add(definition, own, attrs, output_types, name, controls)

    def capture(self, tensor: Tensor) -> Tensor:
        """Returns the placeholder of a captured tensor of an outer graph."""
        if tensor.op.graph is self:
            return tensor
        if tensor.op.graph is not self.outer and isinstance(self.outer, FunctionGraph):
            tensor = self.outer.capture(tensor)
        found = self.captured.get(tensor)
        if found is not None:
            return found
        if tensor.op.graph is not self.outer:
            raise ValueError(f"{tensor} belongs to a graph that is not around the function: it cannot be used in it")
        if tensor.dtype._is_ref_dtype:
            raise ValueError(
                f"{tensor.name!r} is a reference variable, which a function of a dataset cannot write to: "
                "create it with use_resource=True"
            )
        with self.as_default(), self.name_scope(None), self.control_flow(None), self.device(None):
            if tensor.op.type == "Const":
                return array_constant(tensor.op.attrs["value"], tensor.dtype, name="captured")
            own = placeholder(tensor.dtype, tensor.dims, name="captured")
        self.captured[tensor] = own
        return own

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """Makes operations inside run after those of the given ones that are in this function."""
        own = control_inputs
        if control_inputs is not None:
            elements = [getattr(element, "op", element) for element in control_inputs]
            own = [element for element in elements if not isinstance(element, Operation) or element.graph is self]
        with super().control_dependencies(own):
            yield

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Colocates operations with one of this function; all of it runs on one device anyway."""
        yield


class Function:
    """A traced function: its graph, its arguments, its captured tensors and its results."""

    def __init__(self, python_function: Callable[..., Any], structure: Any, what: str, unpack: bool = True) -> None:
        """Traces a function of one element; a plain tuple is passed as several arguments."""
        self.graph = FunctionGraph(get_default_graph())
        with self.graph.as_default():
            self._arguments = _placeholders(signature_of(structure))
            element = element_of(structure, self._arguments)
            spread = unpack and type(element) is tuple
            result = python_function(*element) if spread else python_function(element)
            if isinstance(result, list):
                result = tuple(result)  # a list of tensors, as py_func returns, is not to be stacked
            if result is None:
                raise TypeError(f"Unsupported return value from function passed to {what}: {result}.")
            try:
                element = converted(result)
            except (ValueError, TypeError) as error:
                raise TypeError(
                    f"Unsupported return value from function passed to {what}: {result!r}. {error}"
                ) from None
            self.result = element
            self.structure = structure_of(element)
            self._results = [self.graph.capture(tensor) for tensor in tensors_of(element)]
        self.captured: list[Tensor] = list(self.graph.captured)
        self._targets = [
            operation
            for operation in self.graph.operations
            if operation.definition.stateful and operation.context is None and operation.type not in _ONCE
        ]

    @property
    def is_stateful(self) -> bool:
        """Returns whether calls may depend on earlier ones, so that each pass over a dataset needs fresh state."""
        return bool(self._targets)

    def compile(self, device: Device) -> Executable:
        """Returns the function as a program on a device, with state of its own."""
        own = Device(device.name, device.type, device.torch, device.resources)
        feeds = [*self.graph.captured.values(), *self._arguments]
        # State that the session's kernels keep by node name is not for a body, which has names of its own.
        targets = [operation for operation in self._targets if not any(t.op is operation for t in self._results)]
        return compile_step(feeds, self._results, targets, ConfigProto(allow_soft_placement=True), [own])


def _placeholders(signature: Signature) -> list[Tensor]:
    return [placeholder(dtype, shape, name="args") for dtype, shape in signature]


class BoundFunction:
    """A function with the values of its captured tensors: maps the values of an element to values."""

    __slots__ = ("__weakref__", "_captured", "_executable", "_function", "_steps", "is_plain")

    def __init__(self, executable: Executable, captured: Values, is_stateful: bool) -> None:
        self._executable = executable
        self._captured = captured
        self._function = executable.function
        self._steps: weakref.WeakSet[Any] = weakref.WeakSet()
        self.is_plain = self._function is not None and not is_stateful  # calls do not block

    def __call__(self, *values: Any) -> Values:
        function = self._function
        if function is None:
            return self._wait(values)
        try:
            return function(Step(), *self._captured, *values)  # type: ignore[no-any-return]
        except Exception as error:
            raise self._executable.programs[0].explain(error) from None

    def _wait(self, values: Values) -> Values:
        """Runs a function that contains blocking nodes; `cancel` ends it."""
        step = Step()
        running = _Running(step)
        self._steps.add(running)
        return tuple(self._executable.run(step, [*self._captured, *values]))

    def cancel(self) -> None:
        """Ends the calls that wait."""
        for running in list(self._steps):
            running.step.fail(errors.CancelledError(None, None, "the iterator was reset or its session closed"))


class _Running:
    """A call that may block; steps themselves cannot be weakly referenced."""

    __slots__ = ("__weakref__", "step")

    def __init__(self, step: Step) -> None:
        self.step = step
