"""Functions of pipelines: a user's Python function, traced into a graph of its own and called as compiled code.

The body may use tensors of the graph around it. These are captured: they become inputs of the dataset, which are
evaluated when an iterator is initialized; handles of variables, tables and queues are among them, so their state is
that of the session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.config import ConfigProto
from thalweg._src.graph.autograph.convert import convert
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.function_graph import FunctionGraph
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.executable import Executable
from thalweg._src.runtime.pipeline import compile_step
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step
from thalweg._src.training.data.structure import (
    Signature,
    Structure,
    converted,
    element_of,
    signature_of,
    structure_of,
    tensors_of,
)

Values = tuple[Any, ...]
_ONCE = frozenset(("Placeholder", "VarHandleOp", "_Dataset"))  # need not run if their results are not used
_CANCELLED = "the iterator was reset or its session closed"


class Function:
    """A traced function: its graph, its arguments, its captured tensors and its results."""

    def __init__(
        self, python_function: Callable[..., Any], structure: Structure, what: str, unpack: bool = True
    ) -> None:
        """Traces a function of one element; a plain tuple is passed as several arguments.

        One that fails with Python's control flow on tensors is converted by autograph.
        """
        try:
            self._trace(python_function, structure, what, unpack)
        except TypeError:
            converted_function = convert(python_function)
            if converted_function is python_function:
                raise
            self._trace(converted_function, structure, what, unpack)

    def _trace(self, python_function: Callable[..., Any], structure: Structure, what: str, unpack: bool) -> None:
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
        """Returns whether calls may depend on earlier ones, so that each iteration over a dataset needs fresh state."""
        return bool(self._targets)

    def compile(self, device: Device) -> Executable:
        """Returns the function as a program on a device, with state of its own."""
        private_device = Device(device.name, device.type, device.torch, device.resources)
        feeds = [*self.graph.captured.values(), *self._arguments]
        # State that the session's kernels keep by node name is not for a body, which has names of its own.
        targets = [operation for operation in self._targets if not any(t.op is operation for t in self._results)]
        return compile_step(feeds, self._results, targets, ConfigProto(allow_soft_placement=True), [private_device])


def _placeholders(signature: Signature) -> list[Tensor]:
    return [placeholder(dtype, shape, name="args") for dtype, shape in signature]


class BoundFunction:
    """A function with the values of its captured tensors: maps the values of an element to values."""

    __slots__ = ("_captured", "_executable", "_function", "_is_cancelled", "_steps", "is_plain")

    def __init__(self, executable: Executable, captured: Values, is_stateful: bool) -> None:
        self._executable = executable
        self._captured = captured
        self._function = executable.function
        self._steps: set[Step] = set()  # calls that may wait
        self._is_cancelled = False
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
        self._steps.add(step)
        try:
            if self._is_cancelled:  # before it could end this call
                raise errors.CancelledError(None, None, _CANCELLED)
            return tuple(self._executable.run(step, [*self._captured, *values]))
        finally:
            self._steps.discard(step)

    def cancel(self) -> None:
        """Ends the calls that wait, and later ones."""
        self._is_cancelled = True
        for step in list(self._steps):
            step.fail(errors.CancelledError(None, None, _CANCELLED))
