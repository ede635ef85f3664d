"""Contractions: einsum, tensordot, and products of matrices and vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, broadcast, merge, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference, complete, static_value
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.diagonal import matrix_diag_part
from thalweg._src.graph.ops.equation import parse
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.math import add, multiply
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.reduction import reduce_prod, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, rank, reshape, shape, squeeze, transpose
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.ops.shape_functions import at_least_rank, require, same_dimension, with_rank
from thalweg._src.graph.ops.where import setdiff1d, where_v2
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

# -- ops --------------------------------------------------------------------------------------------------------------


def _cross(c: Inference) -> Sequence[Shape]:
    merged = merge(at_least_rank(c, 0, 1), at_least_rank(c, 1, 1))
    if merged is None:
        return [None]
    same_dimension(merged[-1], 3, "the last dimension and 3", expected="vectors of three elements")
    return [(*merged[:-1], 3)]


def _product(a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> tuple[int | None, int | None]:
    rows, inner_a = (a[1], a[0]) if transpose_a else (a[0], a[1])
    inner_b, columns = (b[1], b[0]) if transpose_b else (b[0], b[1])
    same_dimension(inner_a, inner_b, "inner dimensions", expected="as many columns as the second has rows")
    return rows, columns


def _sparse_matmul(c: Inference) -> Sequence[Shape]:
    return [_product(with_rank(c, 0, 2), with_rank(c, 1, 2), c.attrs["transpose_a"], c.attrs["transpose_b"])]


def _batch_matmul(c: Inference) -> Sequence[Shape]:
    a, b = at_least_rank(c, 0, 2), at_least_rank(c, 1, 2)
    if a is None or b is None:
        return [None]
    batch: Any = merge(a[:-2], b[:-2]) if c.definition.name == "BatchMatMul" else broadcast(a[:-2], b[:-2])
    return [(*batch, *_product(a[-2:], b[-2:], c.attrs["adj_x"], c.attrs["adj_y"]))]


def _einsum(c: Inference) -> Sequence[Shape]:
    equation = parse(c.attrs["equation"])
    require(
        len(equation.inputs) == len(c.shapes),
        f"equation {c.attrs['equation']!r} has {len(equation.inputs)} inputs",
        expected=f"{len(c.shapes)} inputs, 1 or 2",
    )
    return [equation.result(c.shapes)]


cross = export("cross", "linalg.cross")(
    op(
        "Cross",
        "a: T, b: T -> product: T",
        T=dtypes.REAL,
        infer=_cross,
        doc="Computes the cross products of vectors of three elements.",
    )
)
sparse_matmul = export(
    "sparse_matmul", a_is_sparse="Whether `a` holds many zeros.", b_is_sparse="Whether `b` holds many zeros."
)(
    op(
        "SparseMatMul",
        "a: Ta, b: Tb -> product: float32",
        transpose_a=False,
        transpose_b=False,
        a_is_sparse=False,
        b_is_sparse=False,
        Ta=attr.types((dtypes.float32, dtypes.bfloat16), dtypes.float32),
        Tb=attr.types((dtypes.float32, dtypes.bfloat16), dtypes.float32),
        infer=_sparse_matmul,
        doc="Multiplies two matrices that contain many zeros.",
    )
)
_ADJOINTS: dict[str, Any] = dict.fromkeys(("adj_x", "adj_y", "grad_x", "grad_y"), False)
_BATCHED = dtypes.FLOATING | dtypes.COMPLEX | dtypes.INDEX
batch_matmul_v1_op = op(
    "BatchMatMul",
    "x: T, y: T -> output: T",
    T=_BATCHED,
    **_ADJOINTS,
    infer=_batch_matmul,
    doc="Multiplies batches of matrices with equal batch dimensions.",
    traceable=True,
    fails="never",
)
_MIXED = _BATCHED | {dtypes.int16}
batch_matmul_v3_op = op(
    "BatchMatMulV3",
    "x: Ta, y: Tb -> output: Tout",
    Ta=_MIXED | {dtypes.uint8, dtypes.int8},
    Tb=_MIXED | {dtypes.uint8, dtypes.int8},
    Tout=_MIXED,
    **_ADJOINTS,
    infer=_batch_matmul,
    doc="Multiplies batches of matrices with broadcast batch dimensions; the result has its own type.",
)
einsum_op = op(
    "Einsum",
    "inputs: N*T -> output: T",
    equation=attr.string(),
    T=attr.types(),
    infer=_einsum,
    doc="Computes a sum of products of tensors in Einstein notation.",
)


# -- matrices and vectors ---------------------------------------------------------------------------------------------


@export("linalg.matvec")
def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiplies matrices by vectors.

    Args:
        a: The matrices.
        b: The vectors.
    """
    with name_scope(name, "MatVec", [a, b]):
        columns = expand_dims(b, -1)
        product = matmul(a, columns, transpose_a, adjoint_a=adjoint_a, a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse)
        return squeeze(product, [-1])


@export("trace", "linalg.trace")
def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the trace of matrices.

    Args:
        x: The matrices.
    """
    with name_scope(name, "Trace", [x]):
        return reduce_sum(matrix_diag_part(convert_to_tensor(x, name="x")), [-1])


# -- einsum -----------------------------------------------------------------------------------------------------------

_FORM = re.compile(r"(?:[a-zA-Z]|\.\.\.|,)*(?:->(?:[a-zA-Z]|\.\.\.)*)?")


@export("einsum", "linalg.einsum")
def einsum(equation: str, *inputs: TensorLike, **kwargs: Any) -> Tensor:
    """Contracts tensors whose dimensions are labeled by letters, summing over labels that are not in the output.

    "..." represents broadcast dimensions; a repeated letter in one input takes its diagonal; without "->" the output
    has the letters that occur once, in order.

    Args:
        equation: The summation, such as "ij,jk->ik".
        *inputs: The tensors to contract.
        **kwargs: Accepted for compatibility; only `name` is used.
    """
    name = kwargs.pop("name", None)
    kwargs.pop("optimize", None)
    if kwargs:
        raise TypeError(f"Invalid keyword arguments for einsum: {', '.join(sorted(kwargs))}")
    if not inputs:
        raise ValueError("einsum needs at least one input.")
    with name_scope(name, "einsum", [inputs]):
        terms, output = _resolved(equation, len(inputs))
        tensors = _in_one_type(inputs)
        while len(terms) > 2:
            first, second = _cheapest_pair(terms, tensors, output)
            rest = [t for i, t in enumerate(terms) if i not in (first, second)]
            result = _needed_labels(terms[first], terms[second], rest, output)
            pair = einsum_op([tensors[first], tensors[second]], equation=f"{terms[first]},{terms[second]}->{result}")
            tensors = [t for i, t in enumerate(tensors) if i not in (first, second)] + [pair]
            terms = [*rest, result]
        return einsum_op(tensors, equation=f"{','.join(terms)}->{output}")


def _resolved(equation: str, count: int) -> tuple[list[str], str]:
    """Returns the subscripts of the inputs and of the output, which may be implicit."""
    if not isinstance(equation, str):
        raise TypeError(f"einsum expects an equation as a string, got {equation!r}.")
    text = equation.replace(" ", "")
    if not _FORM.fullmatch(text):
        raise ValueError(f"Subscripts have incorrect format: {equation}")
    left, arrow, output = text.partition("->")
    terms = left.split(",")
    if len(terms) != count:
        raise ValueError(f"Got {count} inputs for equation {equation!r}, which has {len(terms)}.")
    letters = left.replace(".", "").replace(",", "")
    if not arrow:
        dots = "..." if "..." in left else ""
        return terms, dots + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    named = output.replace(".", "")
    for letter in named:
        if named.count(letter) > 1:
            raise ValueError(f"label {letter} is repeated in the output of {equation}")
        if letter not in letters:
            raise ValueError(f"label {letter} of the output is in none of the inputs: {equation}")
    return terms, output


def _in_one_type(inputs: Sequence[Any]) -> list[Tensor]:
    kind = next((convert_to_tensor(x).dtype for x in inputs if hasattr(x, "dtype")), None)
    return [convert_to_tensor(x, dtype=None if hasattr(x, "dtype") else kind) for x in inputs]


def _labels(term: str) -> list[str]:
    return ["..." if "..." in term else "", *dict.fromkeys(term.replace(".", ""))]


def _needed_labels(a: str, b: str, rest: Sequence[str], output: str) -> str:
    """Returns the subscripts of a partial product: those that other inputs or the output still need."""
    needed = set("".join([*rest, output]))
    labels = dict.fromkeys(_labels(a) + _labels(b))
    return "".join(label for label in labels if label == "..." or label in needed)


def _cheapest_pair(terms: Sequence[str], tensors: Sequence[Tensor], output: str) -> tuple[int, int]:
    """Returns the pair whose product increases memory least; unknown dimensions count as 100."""
    sizes: dict[str, int] = {}
    for term, tensor in zip(terms, tensors):
        if tensor.dims is not None and "..." not in term:
            sizes.update((c, d) for c, d in zip(term, tensor.dims) if d is not None)

    def volume(term: str) -> int:
        return prod(sizes.get(label, 100) for label in _labels(term) if label)

    def growth(pair: tuple[int, int]) -> int:
        i, j = pair
        rest = [t for k, t in enumerate(terms) if k not in pair]
        return volume(_needed_labels(terms[i], terms[j], rest, output)) - volume(terms[i]) - volume(terms[j])

    count = len(terms)
    return min(((i, j) for i in range(count) for j in range(i + 1, count)), key=growth)


# -- tensordot --------------------------------------------------------------------------------------------------------


@export("tensordot", "linalg.tensordot")
def tensordot(a: TensorLike, b: TensorLike, axes: TensorLike, name: str | None = None) -> Tensor:
    """Contracts tensors over axes: the last N of a and first N of b, or a list of axes for each.

    Args:
        axes: Number of axes to sum over, or the axes of `a` and those of `b`.
    """
    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, name="b")
        a_axes, b_axes = _contracted(a, axes)
        a_matrix, a_free = _as_matrix(a, a_axes, last=True)
        b_matrix, b_free = _as_matrix(b, b_axes, last=False)
        product = matmul(a_matrix, b_matrix)
        if isinstance(a_free, list) and isinstance(b_free, list):
            return reshape(product, a_free + b_free, name=scope) if a_free + b_free else reshape(product, (), scope)
        return reshape(product, concat([a_free, b_free], 0), name=scope)


def _contracted(a: Tensor, axes: Any) -> tuple[Any, Any]:
    """Returns the contracted axes of a and of b: lists where they are static, else vectors."""
    if isinstance(axes, Tensor):
        static = complete(static_value(axes))
        if static is not None:
            axes = static.tolist()
    if isinstance(axes, int | np.integer):
        count = int(axes)
        if count < 0:
            raise ValueError(f"axes is {count}, expected 0 or more")
        if a.dims is not None:
            if count > len(a.dims):
                raise ValueError(f"axes is {count}, but a has rank {len(a.dims)}")
            return list(range(len(a.dims) - count, len(a.dims))), list(range(count))
        return range_of(rank(a) - count, rank(a)), list(range(count))
    if isinstance(axes, list | tuple | np.ndarray):
        if len(axes) != 2:
            raise ValueError(f"axes is {axes}, expected an integer or a pair")
        pair = [_axis_list(side) for side in axes]
        if all(isinstance(side, list) for side in pair) and len(pair[0]) != len(pair[1]):
            raise ValueError(f"axes names {len(pair[0])} dimensions of a and {len(pair[1])} of b")
        return pair[0], pair[1]
    vector = convert_to_tensor(axes, name="axes", dtype=dtypes.int32)
    if vector.dims == ():
        return range_of(rank(a) - vector, rank(a)), range_of(vector)
    return vector[0], vector[1]


def _axis_list(axes: Any) -> Any:
    if isinstance(axes, int | np.integer):
        return [int(axes)]
    if isinstance(axes, Tensor):
        static = complete(static_value(axes))
        if static is None:
            return axes
        return [int(axis) for axis in static.ravel()]
    return [int(axis) for axis in axes]


def _as_matrix(x: Tensor, axes: Any, last: bool) -> tuple[Tensor, Any]:
    """Returns x as a matrix with the contracted axes as columns or rows, and its free dimensions."""
    if isinstance(axes, list) and x.dims is not None:
        count = len(x.dims)
        for axis in axes:
            if not -count <= axis < count:
                raise ValueError(f"Axis {axis} is out of range for a tensor of shape {show(x.dims)}.")
        summed = [axis % count for axis in axes]
        free = [axis for axis in range(count) if axis not in summed]
        order = free + summed if last else summed + free
        sizes: Any = None if None not in x.dims else shape(x)
        dims: list[Any] = [d if d is not None else sizes[i] for i, d in enumerate(x.dims)]
        if order != list(range(count)):
            x = transpose(x, order)
        inner, outer = _volume([dims[i] for i in summed]), _volume([dims[i] for i in free])
        return reshape(x, [outer, inner] if last else [inner, outer]), [dims[i] for i in free]
    chosen = convert_to_tensor(axes, dtypes.int32) if not isinstance(axes, Tensor) else cast(axes, dtypes.int32)
    chosen = where_v2(chosen >= 0, chosen, add(chosen, rank(x)))
    others = setdiff1d(range_of(rank(x)), chosen)[0]
    whole = shape(x)
    free_dims, inner = gather(whole, others), reduce_prod(gather(whole, chosen))
    outer = reduce_prod(free_dims)
    x = transpose(x, concat([others, chosen] if last else [chosen, others], 0))
    return reshape(x, [outer, inner] if last else [inner, outer]), free_dims


def _volume(dims: Sequence[Any]) -> Any:
    result: Any = 1
    for dim in dims:
        result = result * dim if isinstance(result, int) and isinstance(dim, int) else multiply(dim, result)
    return result
