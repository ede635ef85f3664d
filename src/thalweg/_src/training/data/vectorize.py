"""Map vectorization: runs a map before a batch once for all its elements, where the result is the same.

Each op has a rule that applies it to elements stacked along a new first dimension; a tensor that does not depend on the
element stays unbatched (as in `vmap`). The whole function is rewritten op by op, and only if every op has a rule:
otherwise, or if it has state, it is called for each element as it was written.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import is_fully_defined
from thalweg._src.graph.function_graph import FunctionGraph
from thalweg._src.graph.infer import complete, static_value
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.constants import array_constant, placeholder
from thalweg._src.graph.ops.parsing import parse_example_op
from thalweg._src.graph.ops.reshape import reshape_op, transpose_op
from thalweg._src.graph.ops.shape_functions import broadcast_inputs
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.data.function import Function

_NUMBERS = frozenset(
    [dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
)
_MAX_OPERATIONS = 200  # operations; larger functions are not worth the rewrite


class Operand:
    """A tensor of the rewritten function: batched, or one value for all elements."""

    __slots__ = ("is_batched", "rank", "tensor")

    def __init__(self, tensor: Tensor, is_batched: bool) -> None:
        self.tensor = tensor
        self.is_batched = is_batched
        shape = tensor.dims
        self.rank = None if shape is None else len(shape) - is_batched


Rule = Callable[[Operation, list[Operand]], list[Tensor] | None]
_RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers the batching rule of ops; a rule returns None where it does not apply."""

    def register(function: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, function))
        return function

    return register


def _copy(operation: Operation, inputs: list[Tensor]) -> list[Tensor]:
    """Adds a copy of an operation with other inputs to the default graph."""
    definition = operation.definition
    attrs = {key: value for key, value in operation.attrs.items() if key in definition.attrs}
    return inputs[0].graph.create_op(definition.name, inputs, attrs=attrs).outputs


@rule("Identity", "Cast", "Abs", "Neg", "Exp", "Log", "Log1p", "Sqrt", "Rsqrt", "Square", "Sign", "Floor", "Ceil")
@rule("Round", "Rint", "Tanh", "Sigmoid", "Relu", "Relu6", "Sin", "Cos", "LogicalNot", "DecodeRaw", "AsString")
@rule("StringLower", "StringUpper", "StringLength", "StringStrip", "ZerosLike", "OnesLike", "IsNan", "Reciprocal")
def _elementwise(operation: Operation, operands: list[Operand]) -> list[Tensor] | None:
    return _copy(operation, [operand.tensor for operand in operands])


def _broadcast(operation: Operation, operands: list[Operand]) -> list[Tensor] | None:
    """The rule of broadcasting ops: valid if the batch dimension of every batched operand stays first."""
    most = max((operand.rank for operand in operands if operand.is_batched and operand.rank is not None), default=-1)
    for operand in operands:
        if operand.rank is None or operand.rank > most or (operand.is_batched and operand.rank != most):
            return None
    return _copy(operation, [operand.tensor for operand in operands])


@rule("Reshape")
def _reshape(operation: Operation, operands: list[Operand]) -> list[Tensor] | None:
    shape = operation.outputs[0].dims
    if operands[1].is_batched or not is_fully_defined(shape) or 0 in shape:  # type: ignore[operator]
        return None
    return [reshape_op(operands[0].tensor, array_constant(np.array([-1, *shape], np.int64), dtypes.int64))]  # type: ignore[misc]


@rule("ExpandDims")
def _expand_dims(operation: Operation, operands: list[Operand]) -> list[Tensor] | None:
    axis = complete(static_value(operation.inputs[1]))
    if axis is None or not operands[0].is_batched:
        return None
    moved = array_constant(np.where(axis < 0, axis, axis + 1).astype(np.int32), dtypes.int32)
    return _copy(operation, [operands[0].tensor, _as(moved, operands[1])])


@rule("Transpose")
def _transpose(operation: Operation, operands: list[Operand]) -> list[Tensor] | None:
    order = complete(static_value(operation.inputs[1]))
    if order is None or order.ndim != 1:
        return None
    return [transpose_op(operands[0].tensor, array_constant(np.array([0, *(order + 1)], np.int32), dtypes.int32))]


def _as(tensor: Tensor, operand: Operand) -> Tensor:
    """Returns a small constant in the dtype of another tensor."""
    dtype = operand.tensor.dtype
    return array_constant(tensor.op.attrs["value"].astype(dtype.as_numpy_dtype), dtype)


@rule("ParseSingleExample")
def _parse_example(operation: Operation, operands: list[Operand]) -> list[Tensor] | None:
    attrs = operation.attrs
    if attrs["num_sparse"] or any(operand.is_batched for operand in operands[1:]):
        return None
    if not all(is_fully_defined(shape) for shape in attrs["dense_shapes"]):
        return None
    none = array_constant(np.empty(0, dtype=object), dtypes.string)
    keys = [array_constant(np.array(key.encode(), dtype=object), dtypes.string) for key in attrs["dense_keys"]]
    result = parse_example_op.many(
        operands[0].tensor,
        none,
        [],
        keys,
        [operand.tensor for operand in operands[1:]],
        sparse_types=[],
        dense_shapes=attrs["dense_shapes"],
    )
    return list(result.dense_values)


class Vectorized(Function):
    """A function of batches of elements."""

    def __init__(self, graph: FunctionGraph, arguments: list[Tensor], results: list[Tensor]) -> None:
        self.graph = graph
        self._arguments = arguments
        self._results = results
        self.captured = list(graph.captured)
        self._targets = []


def decoded(function: Function) -> tuple[DType, Vectorized] | None:
    """Returns the vectorized function of a string that is only decoded, as one of its numbers, and their dtype."""
    arguments, operations = function._arguments, function.graph.operations
    users = [operation for operation in operations if arguments[0] in operation.inputs]
    dtype = users[0].attrs.get("out_type") if len(users) == 1 else None
    if len(arguments) != 1 or dtype not in _NUMBERS or users[0].type != "DecodeRaw" or arguments[0].dims != ():
        return None
    if not users[0].attrs["little_endian"] or sys.byteorder != "little" or arguments[0] in function._results:
        return None
    of_numbers = vectorized(function, users[0].outputs[0])
    return None if of_numbers is None else (dtype, of_numbers)


def vectorized(function: Function, decoded_argument: Tensor | None = None) -> Vectorized | None:
    """Returns the vectorized form of a traced function, if every operation has a rule.

    decoded_argument: a tensor computed from the argument, which replaces it as argument
    """
    # Sound only for functions whose calls do not depend on each other, hence no state, no control flow and no control
    # inputs. Each tensor of the function is an operand: batched, with a new first dimension, or one value for all
    # elements. Operations are visited in the order of the graph, so that inputs come before their users. All results
    # must be batched: one that does not depend on the element would lack the batch dimension.
    operations = function.graph.operations
    if function.is_stateful or len(operations) > _MAX_OPERATIONS or not function._arguments:
        return None
    if any(operation.context is not None or operation.control_inputs for operation in operations):
        return None
    if any(t.dims is None or t.dtype is dtypes.variant for t in (*function._arguments, *function._results)):
        return None
    graph = FunctionGraph(function.graph.outer)
    with graph.as_default():
        sources = function._arguments if decoded_argument is None else [decoded_argument]
        arguments = [placeholder(t.dtype, (None, *t.dims), name="args") for t in sources]  # type: ignore[misc]
        operands = {old: Operand(new, True) for old, new in zip(sources, arguments)}
        for outer, old in function.graph.captured.items():
            graph.captured[outer] = placeholder(old.dtype, old.dims, name="captured")
            operands[old] = Operand(graph.captured[outer], False)
        there = {*operands, *function._arguments}
        for operation in operations:
            if operation.outputs and operation.outputs[0] not in there and not _convert(operation, operands):
                return None
    results = [operands[tensor] for tensor in function._results]
    if not all(operand.is_batched for operand in results):
        return None
    return Vectorized(graph, arguments, [operand.tensor for operand in results])


def _convert(operation: Operation, operands: dict[Tensor, Operand]) -> bool:
    """Adds the batched form of an operation; returns False if there is none."""
    inputs = [operands[tensor] for tensor in operation.inputs]
    is_batched = any(operand.is_batched for operand in inputs)
    if not is_batched:
        if operation.type == "Const":
            tensors = [array_constant(operation.attrs["value"], operation.outputs[0].dtype)]
        elif operation.definition.stateful or not inputs:
            return False
        else:
            tensors = _copy(operation, [operand.tensor for operand in inputs])
    else:
        batching_rule = _RULES.get(operation.type)
        if batching_rule is None and operation.definition.infer is broadcast_inputs:
            batching_rule = _broadcast
        result = None if batching_rule is None else batching_rule(operation, inputs)
        if result is None:
            return False
        tensors = result
    operands.update({old: Operand(new, is_batched) for old, new in zip(operation.outputs, tensors)})
    return True
