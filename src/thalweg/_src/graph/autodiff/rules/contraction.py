"""Gradients of contractions (einsum, tensordot)."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.autodiff.rules.broadcasting import sum_to_shape_of
from thalweg._src.graph.autodiff.rules.matrix import factors
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.contraction import batch_matmul_v1_op, cross as cross_op, einsum_op
from thalweg._src.graph.ops.equation import Equation, Term, parse, write
from thalweg._src.graph.ops.math import conj
from thalweg._src.graph.ops.matrix import batch_matmul_op, matmul_op
from thalweg._src.graph.ops.pad_tile import broadcast_to
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import broadcast_gradient_args, reshape, shape
from thalweg._src.graph.tensor import Tensor


@gradient("Cross")
def cross(op: Operation, grad: Tensor) -> list[Any]:
    a, b = op.inputs
    return [lambda: cross_op(b, grad), lambda: cross_op(grad, a)]


@gradient("SparseMatMul")
def sparse_matmul(op: Operation, grad: Tensor) -> list[Any]:
    a, b = op.inputs
    dtype, transposes = grad.dtype, (op.attrs["transpose_a"], op.attrs["transpose_b"])
    by_a, by_b = factors(matmul_op, cast(a, dtype), cast(b, dtype), grad, *transposes)
    return [lambda: cast(by_a(), a.dtype), lambda: cast(by_b(), b.dtype)]


@gradient("BatchMatMul")
def batch_matmul(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    return [*factors(batch_matmul_v1_op, x, y, grad, op.attrs["adj_x"], op.attrs["adj_y"])]


@gradient("BatchMatMulV3")
def mixed_batch_matmul(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    dtype, adjoints = grad.dtype, (op.attrs["adj_x"], op.attrs["adj_y"])
    by_x, by_y = factors(batch_matmul_op, cast(x, dtype), cast(y, dtype), grad, *adjoints)
    return [
        lambda: cast(sum_to_shape_of(x, by_x()), x.dtype),
        lambda: cast(sum_to_shape_of(y, by_y()), y.dtype),
    ]


# -- einsum -----------------------------------------------------------------------------------------------------------


@gradient("Einsum")
def einsum(op: Operation, grad: Tensor) -> list[Any]:
    equation = parse(op.attrs["equation"])
    if len(equation.inputs) == 1:
        return [_by_input(equation, 0, op.inputs[0], None, grad)]
    x, y = op.inputs
    return [lambda: _by_input(equation, 0, x, y, grad), lambda: _by_input(equation, 1, y, x, grad)]


def _by_input(equation: Equation, index: int, x: Tensor, other: Tensor | None, grad: Tensor) -> Tensor:
    """Contracts the gradient with the other input, broadcasts it along summed labels and puts it on diagonals."""
    term, output = equation.inputs[index], equation.output
    second = None if other is None else equation.inputs[1 - index]
    present = set(output.labels + ("" if second is None else second.labels))
    summed = [label for label in term.unique if label not in present]
    broadcast = output.ellipsis and not _same_dots(term, x, output, grad)
    if not summed and not broadcast and len(term.unique) == len(term.labels):
        return _contracted(grad, output, other, second, term)
    flat = Term("", "".join(label for label in term.unique if label in present), output.ellipsis)
    result = _contracted(grad, output, other, second, flat)
    dots = _dots(term, x)
    if broadcast:
        result = _summed_to(result, concat([dots, _sizes(term, x, flat.after)], 0))
    if summed:
        result = _repeated(result, term, x, flat, summed, dots)
        flat = Term("", "".join(summed) + flat.after, flat.ellipsis)
    return einsum_op([result], equation=write(Term(flat.before, flat.after, term.ellipsis), term))


def _contracted(grad: Tensor, output: Term, other: Tensor | None, second: Term | None, target: Term) -> Tensor:
    if other is None or second is None:
        return einsum_op([grad], equation=write(output, target))
    return einsum_op([grad, conj(other)], equation=write(output, second, target))


def _same_dots(term: Term, x: Tensor, output: Term, grad: Tensor) -> bool:
    """Returns whether an input's ellipsis is statically known to have the dimensions of the output's."""
    if not term.ellipsis or x.dims is None or grad.dims is None:
        return False
    ours = x.dims[len(term.before) : len(x.dims) - len(term.after)]
    whole = grad.dims[len(output.before) : len(grad.dims) - len(output.after)]
    return ours == whole and None not in ours


def _dots(term: Term, x: Tensor) -> Any:
    """Returns the sizes of the dimensions that an input's ellipsis covers, as a vector."""
    if not term.ellipsis:
        return shape(x)[:0]
    return shape(x)[len(term.before) : -len(term.after) if term.after else None]


def _sizes(term: Term, x: Tensor, labels: str) -> Any:
    dims = shape(x)
    return [dims[term.position(label)] for label in labels] if labels else dims[:0]


def _summed_to(grad: Tensor, dims: Tensor) -> Tensor:
    axes, _ = broadcast_gradient_args.many(dims, shape(grad))
    return reshape(reduce_sum(grad, axes), dims)


def _repeated(grad: Tensor, term: Term, x: Tensor, flat: Term, summed: list[str], dots: Tensor) -> Tensor:
    """Broadcasts a gradient along the summed labels, which follow the ellipsis."""
    remaining = _sizes(term, x, flat.after)
    narrow = reshape(grad, concat([dots, [1] * len(summed), remaining], 0))
    return broadcast_to(narrow, concat([dots, _sizes(term, x, "".join(summed)), remaining], 0))
