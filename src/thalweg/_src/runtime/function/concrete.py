"""Concrete functions: a Python function traced for certain types and shapes of its arguments."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph import nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.function import GraphFunction
from thalweg._src.graph.function_graph import FunctionGraph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.functional import partitioned_call_op, stateful_partitioned_call_op
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.eager.tape import variable_accessed
from thalweg._src.runtime.function.compiled_call import CompiledCall

_serial = itertools.count()


def trace(
    python_function: Callable[..., Any], name: str, structure: object, leaves: Sequence[Any], outer: Graph
) -> ConcreteFunction:
    """Traces a Python function.

    structure: (args, kwargs) of the call
    leaves: of the structure: a TensorSpec for each tensor, other values as they are
    """
    graph = FunctionGraph(outer, ordered=True)
    with graph.as_default():
        symbolic_leaves, placeholders = [], []
        for leaf in leaves:
            if isinstance(leaf, Spec):
                placeholders.append(graph.argument(leaf.dtype, leaf.shape, leaf.name or "args"))
                symbolic_leaves.append(placeholders[-1])
            else:
                symbolic_leaves.append(leaf)
        args, kwargs = nest.pack_sequence_as(structure, symbolic_leaves)
        result = python_function(*args, **kwargs)
        outputs: list[Tensor] = []
        structured = nest.map_structure(functools.partial(_output, graph, outputs), result, expand_composites=True)
    return ConcreteFunction(graph, name, placeholders, structured, outputs)


class Spec:
    """The type and the shape of an argument."""

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, dtype: Any, shape: Any, name: str | None = None) -> None:
        self.dtype = dtype
        self.shape = shape
        self.name = name


def _output(graph: FunctionGraph, outputs: list[Tensor], value: object) -> Any:
    """Returns a leaf of the result as a tensor of the graph; operations and None have no value."""
    if value is None or isinstance(value, Operation):
        return None
    tensor = graph.capture(convert_to_tensor(value))
    if tensor.op.type in ("Placeholder", "VarHandleOp") or any(tensor is output for output in outputs):
        tensor = identity(tensor)  # so that each result is a value of its own
    outputs.append(tensor)
    return tensor


class ConcreteFunction:
    """A function for tensors of certain types and shapes."""

    def __init__(
        self,
        graph: FunctionGraph,
        name: str,
        placeholders: Sequence[Tensor],
        structured_outputs: object,
        outputs: Sequence[Tensor],
    ) -> None:
        self.graph = graph
        self.structured_outputs = structured_outputs
        self._arguments = list(placeholders)
        self._captured = dict(graph.captured)
        self._handles = {eager: handle for eager, handle in graph.constants.items() if eager.dtype is dtypes.resource}
        inputs = [*placeholders, *self._captured.values(), *self._handles.values()]
        self.function = GraphFunction(f"__inference_{name}_{next(_serial)}", graph, inputs, outputs, graph.effects)
        self._outside = [*self._captured, *self._handles]
        self._single = structured_outputs if len(outputs) == 1 and structured_outputs is outputs[0] else None

    name = ReadOnly[str]("The name of the function.", "function.name")
    inputs = ReadOnly[list[Tensor]]("The arguments and the captured tensors in the graph.", "function.inputs")
    outputs = ReadOnly[list[Tensor]]("The results in the graph.", "function.outputs")

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors of outside that the function uses."""
        return list(self._captured)

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables that the function uses."""
        return tuple(self.graph.variables.values())

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The trainable variables that the function uses."""
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def output_dtypes(self) -> Any:
        """The types of the results, in their structure."""
        return nest.map_structure(lambda tensor: tensor.dtype, self.structured_outputs, expand_composites=True)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the results, in their structure."""
        return nest.map_structure(lambda tensor: tensor.shape, self.structured_outputs, expand_composites=True)

    @property
    def function_def(self) -> Any:
        """The function as a FunctionDef message."""
        return self.function.to_function_def()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function with tensors, in the order of its arguments."""
        values = nest.flatten([args, kwargs], expand_composites=True)
        if len(values) != len(self._arguments):
            raise TypeError(f"{self.name}: expected {len(self._arguments)} tensors, received {len(values)}")
        tensors = [convert_to_tensor(value, argument.dtype) for value, argument in zip(values, self._arguments)]
        for tensor, argument in zip(tensors, self._arguments):
            if not argument.shape.is_compatible_with(tensor.shape):
                raise ValueError(
                    f"{self.name}: expected {argument.dtype.name} of shape {argument.shape} for its argument "
                    f"{argument.op.name!r}, received shape {tensor.shape}"
                )
        return self.call_flat(tensors)

    def call_flat(self, tensors: Sequence[Any]) -> Any:
        """Calls the function with its arguments as tensors."""
        if stacks.tapes or not stacks.is_eager:
            for variable in self.graph.variables.values():
                variable_accessed(variable)
        if stacks.is_eager:
            results: Sequence[Any] = self.compiled([*tensors, *self._outside])  # type: ignore[list-item]
        else:
            results = self._add_call(tensors)
        if self._single is not None:
            return results[0]
        return self._packed(results)

    def _packed(self, results: Sequence[Any]) -> Any:
        values = iter(results)
        return nest.map_structure(
            lambda leaf: None if leaf is None else next(values), self.structured_outputs, expand_composites=True
        )

    @functools.cached_property
    def compiled(self) -> CompiledCall:
        """The compiled step of eager calls."""
        return CompiledCall(self.function)

    def _add_call(self, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
        """Adds a call to the graph that is being built."""
        graph = get_default_graph()
        graph._functions.setdefault(self.name, self.function)
        for name, function in self.graph._functions.items():
            graph._functions.setdefault(name, function)
        call = stateful_partitioned_call_op if self.function.is_stateful else partitioned_call_op
        results = call.many(
            [*tensors, *map(convert_to_tensor, self._outside)],
            Tout=[tensor.dtype for tensor in self.outputs],
            f=self.function,
        )
        return results if isinstance(results, list) else []
