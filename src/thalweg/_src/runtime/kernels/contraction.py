"""Kernels of contractions (einsum, dot products)."""

from __future__ import annotations

from string import ascii_letters
from typing import Any

import torch

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import is_fully_defined, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.equation import ELLIPSIS, Equation, Term, parse
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import Call, Input, kernel, plain_kernel
from thalweg._src.runtime.kernels.reshape import Function
from thalweg._src.runtime.kernels.types import INTEGERS, TORCH, TORCH_UNSIGNED
from thalweg._src.runtime.resources.devices import Device


@plain_kernel("Cross")
def _cross(a: torch.Tensor, b: torch.Tensor) -> Any:
    require(a.shape == b.shape, f"b has shape {show(tuple(b.shape))}", expected=f"that of a, {show(tuple(a.shape))}")
    if a.dtype in TORCH_UNSIGNED:
        return torch.linalg.cross(a.to(torch.int64), b.to(torch.int64)).to(a.dtype)
    return torch.linalg.cross(a, b)


@kernel("SparseMatMul")
def bind_sparse_matmul(node: Node, device: Device) -> Call:
    def operand(index: int, transposed: bool) -> Any:
        wide = node.input_dtype(index) is dtypes.float32
        value: Any = Input(index) if wide else Call(torch.Tensor.float, (Input(index),))
        return Call(torch.t, (value,)) if transposed else value

    return Call(torch.mm, (operand(0, node.attrs["transpose_a"]), operand(1, node.attrs["transpose_b"])))


@kernel("BatchMatMul", cpu_types=INTEGERS)
def bind_batch_matmul(node: Node, device: Device) -> Function:
    adj_x, adj_y = node.attrs["adj_x"], node.attrs["adj_y"]

    def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        require(
            x.ndim >= 2 and x.shape[:-2] == y.shape[:-2],
            f"y has shape {show(tuple(y.shape))}",
            expected=f"the leading dimensions of x, {show(tuple(x.shape))}",
        )
        return torch.matmul(x.mH if adj_x else x, y.mH if adj_y else y)

    return product


_FLOATING = (
    *(dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64),
    *(dtypes.complex64, dtypes.complex128),
)


@kernel("BatchMatMulV3", devices=("CPU",), Tout=INTEGERS)
@kernel("BatchMatMulV3", Tout=_FLOATING)
def bind_mixed_batch_matmul(node: Node, device: Device) -> Call:
    kind = TORCH[node.attrs["Tout"]]

    def operand(index: int, adjoint: bool) -> Call:
        value = Call(torch.Tensor.to, (Input(index), kind))
        return Call(torch.adjoint, (value,)) if adjoint else value

    return Call(torch.matmul, (operand(0, node.attrs["adj_x"]), operand(1, node.attrs["adj_y"])))


_SUMMED = (*_FLOATING, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8)


@kernel("Einsum", T=_SUMMED, cpu_types=INTEGERS)
def bind_einsum(node: Node, device: Device) -> Function | Call:
    equation = parse(node.attrs["equation"])
    text, repeated = _written(equation), len(set(equation.output.labels)) < len(equation.output.labels)
    if not repeated and all(is_fully_defined(node.input_shape(i)) for i in range(len(node.inputs))):
        return Call(torch.einsum, (text, *(Input(i) for i in range(len(node.inputs)))))

    def contract(*values: torch.Tensor) -> torch.Tensor:
        # torch broadcasts dimensions of size 1, whatever their labels.
        result = equation.result([tuple(value.shape) for value in values])
        value = torch.einsum(text, *values)
        return _diagonal(value, equation, result) if repeated else value

    return contract


def _written(equation: Equation) -> str:
    """Returns the equation with single-letter labels, each once in the output, as torch requires."""
    letters: dict[str, str] = {}

    def written(labels: str) -> str:
        return "".join(letters.setdefault(label, ascii_letters[len(letters)]) for label in labels)

    def term(t: Term) -> str:
        return written(t.before) + (ELLIPSIS if t.ellipsis else "") + written(t.after)

    inputs = [term(t) for t in equation.inputs]
    output = equation.output
    before = "".join(dict.fromkeys(output.before))
    after = "".join(label for label in dict.fromkeys(output.after) if label not in before)
    return f"{','.join(inputs)}->{term(Term(before, after, output.ellipsis))}"


def _diagonal(value: torch.Tensor, equation: Equation, shape: Any) -> torch.Tensor:
    """Puts a value on the diagonal of the dimensions that share a label."""
    result = value.new_zeros(shape)
    output = equation.output
    dots = result.ndim - len(output.labels)
    names: list[Any] = [*output.before, *range(dots), *output.after]
    view, left = result, names
    for label in [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        while left.count(label) > 1:
            first = left.index(label)
            second = left.index(label, first + 1)
            view = view.diagonal(0, first, second)  # the diagonal dimension comes last
            left = [name for i, name in enumerate(left) if i not in (first, second)] + [label]
    distinct = list(dict.fromkeys(names))
    view.permute([left.index(name) for name in distinct]).copy_(value)
    return result
