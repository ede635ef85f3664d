"""Gradients of calls of functions, and of the conditionals and loops whose parts are functions.

An operation whose gradient is built becomes a call of the forward function, in place: it returns the values that the
backward function needs after its own results. A conditional or loop becomes the call of a function that contains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph.autodiff.functions import forward_backward
from thalweg._src.graph.autodiff.registry import Gradient, gradient
from thalweg._src.graph.control_flow.cond import cond, switch_case
from thalweg._src.graph.control_flow.while_loop import while_loop
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.function import CALLS, CASES, IFS, FunctionOp, GraphFunction, unchanged_values
from thalweg._src.graph.function_graph import FunctionGraph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.comparison import not_equal
from thalweg._src.graph.ops.functional import call, partitioned_call_op, stateful_partitioned_call_op
from thalweg._src.graph.ops.reshape import zeros_like
from thalweg._src.graph.tensor import Tensor


@gradient(*sorted(CALLS))
def call_gradient(op: Operation, *grads: Gradient | None) -> list[Any]:
    """Calls the backward function; None among the gradients is for results that nothing was computed from."""
    if isinstance(op.definition, FunctionOp):
        _become_call(op, op.definition.function)
    function: GraphFunction = op.attrs["f"]
    if function.gradient in function.library:
        output_grads = [zeros_like(y) if g is None else convert_to_tensor(g) for y, g in zip(op.outputs, grads)]
        return list(call(function.library[function.gradient], [*op.inputs, *output_grads]).outputs)
    received = [index for index, grad in enumerate(grads) if grad is not None]
    both = forward_backward(function, received)
    _extend(op, both.forward)
    output_grads = [convert_to_tensor(grads[index]) for index in received]
    return both.gradients(call(both.backward, both.arguments(op.inputs, op.outputs, output_grads)).outputs)


@gradient("If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile")
def control_flow_gradient(op: Operation, *grads: Gradient | None) -> list[Any]:
    """Makes the operation a call of a function that contains it, with branches or loops of the graph itself."""
    _become_call(op, _as_function(op))
    return list(call_gradient(op, *grads))


@gradient("SymbolicGradient")
def symbolic_gradient_gradient(op: Operation, *grads: Gradient | None) -> list[Any]:
    """Makes the operation a call of the function that computes the gradients."""
    _become_call(op, op.attrs["f"].symbolic_gradient)
    return call_gradient(op, *grads)  # type: ignore[no-any-return]


def _become_call(op: Operation, function: GraphFunction) -> None:
    definition = stateful_partitioned_call_op if op.definition.stateful else partitioned_call_op
    private = {key: value for key, value in op.attrs.items() if key.startswith("_")}
    op.definition = definition
    op.attrs = {
        **definition.defaults,
        **private,
        "Tin": function.input_types,
        "Tout": function.output_types,
        "f": function,
    }
    op.graph._add_function(function)
    op.graph._changed()


def _extend(op: Operation, forward: GraphFunction) -> None:
    """Makes a call one of the forward function, whose first results are those of the function."""
    op.outputs = list(op.outputs)  # which callers may hold
    for tensor in forward.outputs[len(op.outputs) :]:
        op.outputs.append(Tensor(op, len(op.outputs), tensor.dtype))
        op.outputs[-1].dims = tensor.dims
    op.attrs = {**op.attrs, "f": forward, "Tout": forward.output_types}
    op.graph._add_function(forward)
    op.graph._changed()


def _as_function(op: Operation) -> GraphFunction:
    """Returns a function that does what an operation does, with conditionals and loops that have gradients."""
    graph = FunctionGraph()
    with graph.as_default():
        inputs = [graph.argument(tensor.dtype.base_dtype, tensor.dims) for tensor in op.inputs]
        if op.type in IFS:
            then, otherwise = op.attrs["then_branch"], op.attrs["else_branch"]
            results = cond(
                _as_bool(inputs[0]),
                lambda: call(then, inputs[1:]).outputs,
                lambda: call(otherwise, inputs[1:]).outputs,
                strict=True,
            )
        elif op.type in CASES:
            branches = [_branch(branch, inputs[1:]) for branch in op.attrs["branches"]]
            results = switch_case(inputs[0], branches)
            results = results if isinstance(results, list) else [results]
        else:
            results = _loop(op, inputs)
    name = op.graph.unique_name(f"{op.name.replace('/', '_')}_function")
    return GraphFunction(name.rpartition("/")[2], graph, inputs, results)


def _branch(function: GraphFunction, inputs: list[Tensor]) -> Any:
    return lambda: call(function, inputs).outputs


def _loop(op: Operation, inputs: list[Tensor]) -> list[Tensor]:
    condition, body = op.attrs["cond"], op.attrs["body"]
    unchanged = unchanged_values(body)
    varying = [index for index in range(len(inputs)) if index not in unchanged] or [0]

    def filled(values: Sequence[Tensor]) -> list[Tensor]:
        """Returns all inputs of an iteration, from those that change."""
        result = list(inputs)
        for index, value in zip(varying, values):
            result[index] = value
        return result

    def following(*values: Tensor) -> list[Tensor]:
        results = call(body, filled(values)).outputs
        return [results[index] for index in varying]

    return filled(
        while_loop(
            lambda *values: _as_bool(call(condition, filled(values)).outputs[0]),
            following,
            [inputs[index] for index in varying],
            [TensorShape(op.outputs[index].dims) for index in varying],
            parallel_iterations=op.attrs["parallel_iterations"],
            return_same_structure=True,
        )
    )


def _as_bool(condition: Tensor) -> Tensor:
    return condition if condition.dtype is dtypes.bool else not_equal(condition, 0)
