"""`tensorflow.python.framework.function`: functions of tensors with gradients of their own.

The body of a function is added to the graph at every call, so a graph holds no library of functions. A node of the
function's name gives out the results, and carries the gradient.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from thalweg._src.base.dtypes import DType, DTypeLike, as_dtype
from thalweg._src.graph.autodiff.registry import RegisterGradient
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.identity import identity_n
from thalweg._src.graph.scopes import control_dependencies, name_scope
from thalweg._src.graph.tensor import Tensor

_serial = itertools.count()


class Defun:
    """A decorator: calls of the function become nodes with the function's name and its own gradient.

    grad_func: a function, also by this decorator, from the inputs and the gradients of the outputs to the gradients of
        the inputs
    python_grad_func: the same as a gradient function of an op: from the operation and the gradients of its outputs
    shape_func: from the operation to the shapes of its outputs
    """

    def __init__(self, *input_types: DTypeLike, **kwargs: Any) -> None:
        self._input_types = [as_dtype(dtype) for dtype in input_types]
        self._func_name: str | None = kwargs.pop("func_name", None)
        self._grad_func: Callable[..., Any] | None = kwargs.pop("grad_func", None)
        self._python_grad_func: Callable[..., Any] | None = kwargs.pop("python_grad_func", None)
        self._shape_func: Callable[..., Any] | None = kwargs.pop("shape_func", None)
        if self._grad_func is not None and self._python_grad_func is not None:
            raise ValueError("expected grad_func or python_grad_func, received both")

    def __call__(self, func: Callable[..., Any]) -> _DefinedFunction:
        """Returns the function in its decorated form."""
        if not callable(func):
            raise ValueError(f"Function {func} must be callable")
        name = self._func_name or getattr(func, "__name__", "Function").strip("<>").lstrip("_")
        return _DefinedFunction(
            func, name, self._input_types, self._grad_func, self._python_grad_func, self._shape_func
        )


class _Call(NamedTuple):
    """A call as gradient and shape functions see it: an operation with the inputs and outputs of the function."""

    name: str
    type: str
    graph: Graph
    inputs: list[Tensor]
    outputs: list[Tensor]


class _DefinedFunction:
    """A function decorated by `Defun`."""

    def __init__(
        self,
        func: Callable[..., Any],
        name: str,
        input_types: Sequence[DType],
        grad_func: Callable[..., Any] | None,
        python_grad_func: Callable[..., Any] | None,
        shape_func: Callable[..., Any] | None,
    ) -> None:
        functools.update_wrapper(self, func)
        self._func = func
        self.name = name
        self.declared_input_types = tuple(input_types)
        self.captured_inputs: list[Tensor] = []
        self.python_grad_func = python_grad_func
        self._grad_func = grad_func
        self._shape_func = shape_func

    @property
    def grad_func_name(self) -> str | None:
        """The name of the gradient function, if it is one by `Defun`."""
        return getattr(self._grad_func, "name", None)

    def set_grad_func(self, grad_func: Callable[..., Any]) -> None:
        """Sets the gradient function, for functions that are the gradient of each other."""
        self._grad_func = grad_func

    def add_to_graph(self, g: Graph) -> None:
        """Does nothing: calls add the body itself."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds the body of the function to the graph and returns the results."""
        name = kwargs.pop("name", None)
        unknown = kwargs.keys() - {"noinline", "compiled", "separate_compiled_gradients"}
        if unknown:
            raise ValueError(f"unexpected keyword arguments: {', '.join(sorted(unknown))}")
        types: Sequence[DType | None] = self.declared_input_types or [None] * len(args)
        if len(types) != len(args):
            raise ValueError(f"{self.name} takes {len(types)} arguments, {len(args)} were given")
        with name_scope(name, self.name, list(args)) as scope:
            tensors = [convert_to_tensor(arg, dtype) for arg, dtype in zip(args, types)]
            graph = get_default_graph()
            before = len(graph.operations)
            result = self._func(*tensors)
            effects = [op for op in graph.operations[before:] if op.context is None and _has_effect(op)]
            if result is None or isinstance(result, Operation):
                return group(*effects, *([] if result is None else [result]), name=scope)
            results = [convert_to_tensor(value) for value in (result if isinstance(result, list | tuple) else [result])]
            with control_dependencies(effects):
                outputs = self._give_out(graph, scope, tensors, results)
        return outputs[0] if len(outputs) == 1 else outputs

    def _give_out(self, graph: Graph, scope: str, tensors: list[Tensor], results: list[Tensor]) -> list[Tensor]:
        """Returns the results as outputs of one node, which has the inputs too if they get gradients from it."""
        if self._grad_func is None and self.python_grad_func is None:
            outputs = identity_n(results, name=scope)
            call = _Call(scope[:-1], self.name, graph, tensors, list(outputs))
        else:

            def rule(operation: Operation, *grads: Any) -> list[Any]:
                gradients = self._gradients(call, grads[: len(results)])
                if len(gradients) != len(tensors):
                    raise ValueError(
                        f"the gradient of {self.name} returns {len(gradients)} values for {len(tensors)} inputs"
                    )
                return [None] * len(results) + gradients

            gradient = f"Defun-{next(_serial)}"
            RegisterGradient(gradient)(rule)
            with graph.gradient_override_map({"IdentityN": gradient}):
                outputs = identity_n([*results, *tensors], name=scope)[: len(results)]
            call = _Call(scope[:-1], self.name, graph, tensors, list(outputs))
        for output, shape in zip(outputs, self._shape_func(call) if self._shape_func is not None else ()):
            output.set_shape(shape)
        return list(outputs)

    def _gradients(self, call: _Call, grads: Sequence[Any]) -> list[Any]:
        if self.python_grad_func is not None:
            gradients = self.python_grad_func(call, *grads)
        else:
            assert self._grad_func is not None
            gradients = self._grad_func(*call.inputs, *map(convert_to_tensor, grads))
        return list(gradients) if isinstance(gradients, list | tuple) else [gradients]


def _has_effect(operation: Operation) -> bool:
    """Returns whether an operation must run although no result depends on it."""
    facts = operation.definition.facts_in_steps
    return facts.writes or bool(facts.reach(operation.attrs)) or (facts.stateful and not operation.outputs)


def get_extra_vars() -> list[Any]:
    """Returns an empty list: the body of a function is part of the graph, so it captures no variables."""
    return []


def get_extra_inputs() -> list[Tensor]:
    """Returns an empty list: the body of a function is part of the graph, so it captures no tensors."""
    return []


def get_extra_args() -> list[Tensor]:
    """Returns an empty list: the body of a function is part of the graph, so it captures no tensors."""
    return []
