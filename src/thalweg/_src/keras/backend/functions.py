"""Functions of arrays that are made of symbolic tensors, and their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph import nest
from thalweg._src.graph.autodiff import gradients as autodiff
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly_outside_functions
from thalweg._src.graph.function import Body, GraphFunction
from thalweg._src.graph.function_graph import FunctionGraph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.identity import stop_gradient as stop_one_gradient
from thalweg._src.graph.scopes import control_dependencies, name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.backend import state
from thalweg._src.runtime.eager.mode import eager_mode
from thalweg._src.runtime.function.compiled_call import CompiledCall
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.variables.assign import assign
from thalweg._src.training.variables.variables import Variable

_OPTIONS = ("fetches", "feed_dict", "options", "run_metadata")


@export("keras.backend.function")
def function(
    inputs: NestedTensors, outputs: NestedTensors, updates: Any = None, name: str | None = None, **kwargs: Any
) -> Any:
    """Returns a function that takes the values of inputs and returns those of outputs, after which it makes updates.

    Args:
        inputs: Tensors, whose values a call receives.
        outputs: Tensors in any structure, in which their values are returned.
        updates: What else a call runs: operations, tensors, or pairs of a variable and its new value; None for nothing.
        **kwargs: For sessions: `fetches`, `feed_dict`, `options` and `run_metadata`.
    """
    if updates is not None and not isinstance(updates, list | tuple):
        raise TypeError(f"updates: expected a list or a tuple, received {updates!r}")
    if executing_eagerly_outside_functions():
        if kwargs:
            raise ValueError(f"options of a session have no meaning in eager execution, received {sorted(kwargs)}")
        return _EagerFunction(inputs, outputs, updates or (), name)
    unknown = sorted(set(kwargs) - set(_OPTIONS))
    if unknown:
        raise ValueError(f"expected only the options {', '.join(_OPTIONS)} of a session, received {unknown}")
    return _SessionFunction(inputs, outputs, updates or (), name, **kwargs)


class _Function:
    """A function of arrays: symbolic tensors that are given, those that are computed, and operations that are run."""

    def __init__(self, inputs: NestedTensors, outputs: NestedTensors, updates: Sequence[Any], name: str | None) -> None:
        self.name = name
        self.inputs: list[Any] = nest.flatten(inputs)
        self._structure = outputs
        with state.get_graph().as_default(), name_scope(name or "function"):
            self.outputs = [_as_tensor(output) for output in nest.flatten(outputs)]
            tensors = [output for output in self.outputs if isinstance(output, Tensor)]
            with control_dependencies(tensors):
                self.updates = [_as_operation(update) for update in updates]

    def __call__(self, inputs: NestedTensors) -> Any:
        """Returns the values of the outputs for values of the inputs, in the structure of the outputs."""
        values = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
        if len(values) != len(self.inputs):
            values = nest.flatten(inputs)
        if len(values) != len(self.inputs):
            raise ValueError(f"expected values of {len(self.inputs)} inputs, received {len(values)}")
        present = [index for index, value in enumerate(values) if value is not None]  # the others have defaults
        results = iter(self._run(tuple(present), [values[index] for index in present]))
        flat = [None if output is None else next(results) for output in self.outputs]
        return nest.pack_sequence_as(self._structure, flat)

    def _run(self, present: tuple[int, ...], values: Sequence[Any]) -> Sequence[Any]:
        """Runs a step, with values of those inputs that have one; returns the values of the outputs that exist."""
        raise NotImplementedError


class _SessionFunction(_Function):
    """A function whose steps run in the session of Keras."""

    def __init__(
        self,
        inputs: NestedTensors,
        outputs: NestedTensors,
        updates: Sequence[Any],
        name: str | None,
        fetches: Any = None,
        feed_dict: dict[Any, Any] | None = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> None:
        super().__init__(inputs, outputs, updates, name)
        self.fetches = list(fetches) if isinstance(fetches, list | tuple) else [] if fetches is None else [fetches]
        self.feed_dict = dict(feed_dict or {})
        self.fetch_callbacks: dict[Any, Callable[[Any], Any]] = {}  # by fetch, what is called with its values
        self._options = {"options": options, "run_metadata": run_metadata}
        self._session: Session | None = None
        self._callables: dict[Any, Callable[..., Any]] = {}

    def _run(self, present: tuple[int, ...], values: Sequence[Any]) -> Sequence[Any]:
        session = state.get_session(self.inputs)
        if session is not self._session:
            self._session, self._callables = session, {}
        fetches, more = self.fetches, self.feed_dict  # which a program may change between calls
        key = present, *map(id, (*fetches, *more))
        call = self._callables.get(key)
        if call is None:
            outputs = [output for output in self.outputs if output is not None]
            feeds = [*(self.inputs[index] for index in present), *more]
            call = session.make_callable([outputs, self.updates, fetches], feeds, accept_options=True)
            self._callables[key] = call
        fed = [session.run(value) if isinstance(value, Tensor | Variable) else value for value in values]
        results, _, fetched = call(*fed, *more.values(), **self._options)
        for fetch, value in zip(fetches, fetched):
            if fetch in self.fetch_callbacks:
                self.fetch_callbacks[fetch](value)
        return results  # type: ignore[no-any-return]


class _EagerFunction(_Function):
    """A function that is compiled for eager execution from the graph of symbolic tensors."""

    def __init__(self, inputs: NestedTensors, outputs: NestedTensors, updates: Sequence[Any], name: str | None) -> None:
        super().__init__(inputs, outputs, updates, name)
        self._graph = state.get_graph()
        self._steps: dict[tuple[int, ...], tuple[CompiledCall, list[Any]]] = {}

    def _run(self, present: tuple[int, ...], values: Sequence[Any]) -> Sequence[Any]:
        symbols: list[Tensor] = nest.flatten([self.inputs[index] for index in present], expand_composites=True)
        if present not in self._steps:
            self._steps[present] = self._compiled(symbols)
        step, outside = self._steps[present]
        leaves = [array for value in values for array in _leaves_of(value)]
        with eager_mode():
            results = step([*map(_fed, leaves, symbols), *outside])
        arrays = iter([result.numpy() for result in results])
        return [_packed(output, arrays) for output in self.outputs if output is not None]

    def _compiled(self, inputs: Sequence[Tensor]) -> tuple[CompiledCall, list[Any]]:
        """Returns the step from inputs to outputs, and the values from outside that it takes besides."""
        graph = self._graph
        assert isinstance(graph, FunctionGraph)
        captured = dict(graph.captured)
        existing = [output for output in self.outputs if output is not None]
        outputs = nest.flatten(existing, expand_composites=True)
        # A body of its own runs these operations and no others: the graph has those of all models.
        body = Body(graph, [*inputs, *captured.values()], outputs, list(self.updates))
        return CompiledCall(GraphFunction.of_body(self.name or "keras_function", body)), list(captured)


def _as_tensor(output: Any) -> Any:
    """Returns an output that can be computed: a tensor, a sparse tensor, or None for an output without value."""
    return output if output is None or isinstance(output, SparseTensor) else convert_to_tensor(output)


def _as_operation(update: Any) -> Operation:
    """Returns the operation that makes an update: an operation, a tensor, or a variable and its new value."""
    outcome = assign(*update) if isinstance(update, list | tuple) else update
    operation: Operation = outcome if isinstance(outcome, Operation) else convert_to_tensor(outcome).op
    return operation


def _leaves_of(value: Any) -> Sequence[Any]:
    """Returns the arrays that a value of an input consists of."""
    if not isinstance(value, SparseTensor | SparseTensorValue):
        return (value,)
    return value.indices, value.values, value.dense_shape


def _fed(value: Any, tensor: Tensor) -> Any:
    """Returns a value for an input in its type, if its shape fits."""
    if not isinstance(value, Tensor | Variable):
        value = np.asarray(value)
        if tensor.dtype is not dtypes.string:
            value = value.astype(tensor.dtype.as_numpy_dtype, copy=False)
    result = cast(convert_to_tensor(value), tensor.dtype)
    if not tensor.shape.is_compatible_with(result.shape):
        raise ValueError(f"expected a value of shape {tensor.shape} for {tensor.name!r}, received {result.shape}")
    return result


def _packed(output: Any, arrays: Any) -> Any:
    """Returns the value of an output from the arrays that are left."""
    return (
        SparseTensorValue(next(arrays), next(arrays), next(arrays))
        if isinstance(output, SparseTensor)
        else next(arrays)
    )


@export("keras.backend.gradients")
def gradients(loss: Any, variables: NestedTensors) -> list[Any]:
    """Returns the gradients of a loss with respect to variables, None where it does not depend on one."""
    return autodiff.gradients(loss, variables, colocate_gradients_with_ops=True)


@export("keras.backend.stop_gradient")
def stop_gradient(variables: NestedTensors) -> Any:
    """Returns tensors unchanged, through which no gradient flows."""
    if isinstance(variables, list | tuple):
        return [stop_one_gradient(variable) for variable in variables]
    return stop_one_gradient(variables)
