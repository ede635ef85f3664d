"""Shape queries, reshape, transpose, squeeze, and tensors of zeros and ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import ShapeError
from thalweg._src.base.export import export
from thalweg._src.base.formats.objects import object_array
from thalweg._src.base.shapes import Shape, ShapeLike, TensorShape, compact, num_elements, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.dispatch import dispatches
from thalweg._src.graph.infer import Inference, static_value
from thalweg._src.graph.op_def import OPS, op
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.constants import constant, fill
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.math import subtract
from thalweg._src.graph.ops.sequences import range_op
from thalweg._src.graph.ops.shape_functions import normalize_axis, require, scalar, unchanged, vector_size
from thalweg._src.graph.scopes import in_graph_of, name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor, SparseTensorValue, is_sparse
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_SMALL = 1000  # up to this many elements, zeros and ones are constants in the graph
_INDEX = attr.types(dtypes.INDEX, dtypes.int32)


def _dims(c: Inference) -> Any:
    return None if c.shapes[0] is None else object_array(c.shapes[0])


def _count(c: Inference) -> Any:
    count = num_elements(c.shapes[0])
    return None if count is None else np.array(count)


shape_op = nondifferentiable_op(
    "Shape",
    "input: T -> output: out_type",
    "Returns the shape of a tensor.",
    T=attr.types(),
    out_type=_INDEX,
    host="output",
    infer=lambda c: [(None if c.shapes[0] is None else len(c.shapes[0]),)],
    evaluate=_dims,
    from_shapes=list,
    fails="never",
    shape_only=True,
)
shape_n_op = nondifferentiable_op(
    "ShapeN",
    "input: N*T -> output: N*out_type",
    "Returns the shapes of several tensors.",
    T=attr.types(),
    out_type=_INDEX,
    host="output",
    infer=lambda c: [(shapes.rank(s),) for s in c.shapes],
    from_shapes=list,
    shape_only=True,
)
size_op = nondifferentiable_op(
    "Size",
    "input: T -> output: out_type",
    "Returns the number of elements of a tensor.",
    T=attr.types(),
    out_type=_INDEX,
    host="output",
    infer=scalar,
    evaluate=_count,
    from_shapes=lambda inputs: [shapes.num_elements(inputs[0])],
    fails="never",
    shape_only=True,
)
rank_op = nondifferentiable_op(
    "Rank",
    "input: T -> output: int32",
    "Returns the rank of a tensor.",
    T=attr.types(),
    host="output",
    infer=scalar,
    evaluate=lambda c: None if c.shapes[0] is None else np.array(len(c.shapes[0])),
    from_shapes=lambda inputs: [len(inputs[0])],
    fails="never",
    shape_only=True,
)
zeros_like_op = nondifferentiable_op(
    "ZerosLike",
    "x: T -> y: T",
    "Returns zeros with the shape and type of a tensor.",
    T=attr.types(),
    infer=unchanged,
    traceable=True,
    fails="never",
)
ones_like_op = nondifferentiable_op(
    "OnesLike",
    "x: T -> y: T",
    T=dtypes.NUMERIC | {dtypes.bool},
    infer=unchanged,
    traceable=True,
    fails="never",
    doc="Returns ones with the shape and type of a tensor.",
)


def _broadcast_axes(c: Inference) -> Sequence[Shape]:
    for index in (0, 1):
        require(c.shapes[index] is None or len(c.shapes[index] or ()) == 1, "a shape must be a vector")
    return [(None,), (None,)]


broadcast_gradient_args = nondifferentiable_op(
    "BroadcastGradientArgs",
    "s0: T, s1: T -> r0: T, r1: T",
    "Computes the axes to reduce in the gradients of two broadcast operands.",
    T=_INDEX,
    host="s0, s1, r0, r1",
    infer=_broadcast_axes,
)


def reshaped(source: Shape, target: Sequence[int | None]) -> Shape:
    """Returns the shape of a reshape's result; None in the target is an unknown size, -1 the one to be inferred."""
    sizes = list(target)
    fixed = [d for d in sizes if d is not None and d != -1]
    if fixed and min(fixed) < 0:
        raise ShapeError(f"size {min(fixed)} in shape {show(tuple(sizes))} is negative")
    if sizes.count(-1) > 1:
        raise ShapeError(f"shape {show(tuple(sizes))} has more than one -1", expected="at most one -1")
    free = [i for i, d in enumerate(sizes) if d is None or d == -1]
    count, product = num_elements(source), math.prod(fixed)
    if len(free) > 1 or count is None:
        return tuple(None if d == -1 else d for d in sizes)
    if not free:
        if count != product:
            raise ShapeError(
                f"Cannot reshape a tensor with {count} elements to shape {compact(tuple(sizes))} ({product} elements)",
                expected="the same number of elements",
                in_step=f"Input to reshape is a tensor with {count} values, but the requested shape has {product}",
            )
    elif product == 0:
        if sizes[free[0]] == -1:
            raise ShapeError(
                f"cannot infer the -1 of shape {show(tuple(sizes))}, because its other sizes have a product of 0",
                expected="nonzero sizes besides -1",
            )
    elif count % product:
        raise ShapeError(
            f"Dimension size must be evenly divisible by {product} but is {count}",
            expected=f"a multiple of the product of the other sizes in {show(tuple(sizes))}",
            in_step=f"Input to reshape is a tensor with {count} values, "
            f"but the requested shape requires a multiple of {product}",
        )
    else:
        sizes[free[0]] = count // product
    return tuple(sizes)


def _reshape(c: Inference) -> Sequence[Shape]:
    if c.shapes[1] is not None and len(c.shapes[1]) != 1:
        raise ShapeError(f"shape has shape {show(c.shapes[1])}", expected="a vector")
    target = c.partial(1)
    sizes = c.shape_value(1) if target is None else target.tolist()
    return [None if sizes is None else reshaped(c.shapes[0], sizes)]


def _reshape_value(c: Inference) -> Any:
    value, target = c.partial(0), c.value(1)
    return None if value is None or target is None else value.reshape(target)


reshape_op = op(
    "Reshape",
    "tensor: T, shape: Tshape -> output: T",
    T=attr.types(),
    Tshape=_INDEX,
    host="shape",
    infer=_reshape,
    evaluate=_reshape_value,
    doc="Reshapes a tensor; one size may be -1, which is inferred.",
    traceable=True,
    fails="by shape",
    forwards="reshaped",
)


def _expand_dims(c: Inference) -> Sequence[Shape]:
    dim, source = c.value(1), c.shapes[0]
    if source is None:
        return [None]
    if dim is None:
        return [(None,) * (len(source) + 1)]
    require(dim.size == 1, "dim must be one number")
    axis, rank = int(dim.ravel()[0]), len(source) + 1
    require(-rank <= axis < rank, f"dim {axis} not in the interval [{-rank}, {rank - 1}].")
    axis %= rank
    return [(*source[:axis], 1, *source[axis:])]


def _expand_dims_value(c: Inference) -> Any:
    value = c.partial(0)
    if value is None and c.shapes[0] == ():
        value = np.array(None, dtype=object)  # unknown values have at least one element
    return None if value is None else np.expand_dims(value, int(c.value(1)))  # type: ignore[arg-type]


expand_dims_op = op(
    "ExpandDims",
    "input: T, dim: Tdim -> output: T",
    T=attr.types(),
    Tdim=_INDEX,
    host="dim",
    infer=_expand_dims,
    evaluate=_expand_dims_value,
    doc="Inserts a dimension of size 1.",
    traceable=True,
    fails="never",
    forwards="reshaped",
)


def _squeeze(c: Inference) -> Sequence[Shape]:
    source, axes = c.shapes[0], c.attrs["squeeze_dims"]
    if source is None:
        return [None]
    if not axes:
        return [None if None in source else tuple(d for d in source if d != 1)]
    dropped = {normalize_axis(axis, len(source), "axis") for axis in axes}
    for axis in dropped:
        size = source[axis]
        require(size in (1, None), f"Can not squeeze dim[{axis}], expected a dimension of 1, got {size}")
    return [tuple(d for i, d in enumerate(source) if i not in dropped)]


def _squeeze_value(c: Inference) -> Any:
    value = c.partial(0)
    return None if value is None else np.squeeze(value, c.attrs["squeeze_dims"] or None)


squeeze_op = op(
    "Squeeze",
    "input: T -> output: T",
    T=attr.types(),
    squeeze_dims=(),
    infer=_squeeze,
    evaluate=_squeeze_value,
    doc="Removes dimensions of size 1: all of them, or the given ones.",
    traceable=True,
    fails="by shape",
    forwards="reshaped",
)


def _transpose(c: Inference) -> Sequence[Shape]:
    source, perm, length = c.shapes[0], c.value(1), vector_size(c, 1)
    rank = None if source is None else len(source)
    require(
        rank is None or length in (None, rank),
        f"Dimension must be {rank} but is {length}",
        expected="an entry of perm for each dimension of x",
    )
    rank = length if rank is None else rank
    if perm is None or rank is None:
        return [None if rank is None else (None,) * rank]
    order = [normalize_axis(int(p), rank, "perm entry") for p in perm.ravel()]
    require(len(set(order)) == rank, f"perm {perm.tolist()} contains a duplicate dimension", expected="a permutation")
    dims: Sequence[int | None] = (None,) * rank if source is None else source
    return [tuple(dims[p] for p in order)]


transpose_op = op(
    "Transpose",
    "x: T, perm: Tperm -> y: T",
    T=attr.types(),
    Tperm=_INDEX,
    host="perm",
    infer=_transpose,
    traceable=True,
    fails="never",
    view="x",
    doc="Permutes the dimensions of a tensor.",
)
conjugate_transpose_op = op(
    "ConjugateTranspose",
    "x: T, perm: Tperm -> y: T",
    T=attr.types(),
    Tperm=_INDEX,
    host="perm",
    infer=_transpose,
    doc="Permutes the dimensions of a tensor and conjugates its elements.",
)


def _invert_permutation(c: Inference) -> Sequence[Shape]:
    require(c.shapes[0] is None or len(c.shapes[0]) == 1, f"x must be a vector, got {show(c.shapes[0])}")
    return [c.shapes[0] or (None,)]


invert_permutation = export("invert_permutation", "math.invert_permutation", x="The permutation, an integer vector.")(
    nondifferentiable_op(
        "InvertPermutation",
        "x: T -> y: T",
        "Computes the inverse of a permutation: y[x[i]] = i.",
        T=_INDEX,
        host="x, y",
        infer=_invert_permutation,
        evaluate=lambda c: None if (perm := c.value(0)) is None else np.argsort(perm),
    )
)


@export("shape")
def shape(input: TensorLike | SparseTensor, name: str | None = None, out_type: DTypeLike = dtypes.int32) -> Tensor:
    """Returns the shape of a tensor as a vector; a constant if it is static."""
    out_type = dtypes.int32 if out_type is None else dtypes.as_dtype(out_type)
    if is_sparse(input):
        return _sparse_shape(input, out_type, name)
    tensor = convert_to_tensor(input)
    if not tensor.is_eager and shapes.is_fully_defined(tensor.dims):
        with in_graph_of(tensor):
            return constant(np.array(tensor.dims, out_type.as_numpy_dtype), out_type, name=name or "Shape")
    return shape_op(tensor, out_type=out_type, name=name)


def _sparse_shape(input: SparseTensor | SparseTensorValue, out_type: dtypes.DType, name: str | None = None) -> Tensor:
    return cast(convert_to_tensor(input.dense_shape, dtypes.int64), out_type, name=name)  # type: ignore[no-any-return]


@export("shape_n")
def shape_n(input: Sequence[Any], out_type: DTypeLike = dtypes.int32, name: str | None = None) -> list[Tensor]:
    """Returns the shapes of several tensors.

    Args:
        input: The tensors.
    """
    return shape_n_op.many(list(input), out_type=out_type, name=name)  # type: ignore[no-any-return]


@export("size")
@dispatches
def size(input: TensorLike | SparseTensor, name: str | None = None, out_type: DTypeLike = dtypes.int32) -> Tensor:
    """Returns the number of elements of a tensor; a constant if it is static."""
    out_type = dtypes.int32 if out_type is None else dtypes.as_dtype(out_type)
    if is_sparse(input):
        product = OPS.lookup("Prod")  # by its name, since reductions need ranks
        return product(_sparse_shape(input, out_type), 0, name=name)
    tensor = convert_to_tensor(input)
    count = num_elements(tensor.dims)
    if count is not None:
        with in_graph_of(tensor):
            return constant(count, out_type, name=name or "Size")
    return size_op(tensor, out_type=out_type, name=name)


@export("rank")
@dispatches
def rank(input: TensorLike | SparseTensor, name: str | None = None) -> Tensor:
    """Returns the rank of a tensor; a constant if it is static."""
    if is_sparse(input):
        return size(input.dense_shape, name)
    tensor = convert_to_tensor(input)
    if tensor.dims is not None:
        with in_graph_of(tensor):
            return constant(len(tensor.dims), dtypes.int32, name=name or "Rank")
    return rank_op(tensor, name=name)


@export("reshape", "manip.reshape")
def reshape(tensor: TensorLike, shape: ShapeLike | TensorLike, name: str | None = None) -> Tensor:
    """Reshapes a tensor; one size may be -1, which is inferred.

    Args:
        shape: The new shape; one size may be -1 and is computed.
    """
    if isinstance(shape, int | np.integer | shapes.Dimension):
        shape = [shape]
    return reshape_op(tensor, _shape_argument(shape), name=name)


def _shape_argument(value: ShapeLike | TensorLike) -> Any:
    """Returns a Python shape as integers, since NumPy would make an empty list floats."""
    if isinstance(value, list | tuple) and not value:
        return np.zeros(0, np.int32)
    return value


@export("zeros")
def zeros(shape: ShapeLike | TensorLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """Creates a tensor of zeros, empty strings or False."""
    dtype = dtypes.as_dtype(dtype).base_dtype
    return _filled(shape, b"" if dtype is dtypes.string else False if dtype.is_bool else 0, dtype, name or "zeros")


@export("ones")
def ones(shape: ShapeLike | TensorLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """Creates a tensor of ones, or of True."""
    dtype = dtypes.as_dtype(dtype).base_dtype
    if dtype is dtypes.string:
        raise TypeError("ones does not support strings")
    return _filled(shape, True if dtype.is_bool else 1, dtype, name or "ones")


def _filled(shape: Any, value: Any, dtype: dtypes.DType, name: str) -> Tensor:
    """Returns a constant if the shape is small and static, a Fill otherwise."""
    static_sizes = _static_sizes(shape)
    if static_sizes is not None and math.prod(static_sizes) < _SMALL:
        return constant(value, dtype, static_sizes, name=name)
    with name_scope(name, None, [shape] if isinstance(shape, Tensor) else None) as scope:
        if static_sizes is not None:
            shape = constant(
                np.array(static_sizes, np.int32 if max(static_sizes, default=0) < 2**31 else np.int64),
                name="shape_as_tensor",
            )
        elif not isinstance(shape, Tensor):
            shape = convert_to_tensor(shape, dtypes.int32)
        dims = shape if shape.dims is None or len(shape.dims) == 1 else reshape(shape, [-1])
        return fill(dims, constant(value, dtype), name=scope)


def _static_sizes(shape: object) -> list[int] | None:
    """Returns a Python shape as a list of sizes, None if it contains tensors or unknown sizes."""
    if isinstance(shape, Tensor):
        return None
    if isinstance(shape, int | np.integer):
        return [int(shape)]
    try:
        sizes = shapes.as_shape(shape)
    except TypeError:
        return None
    if sizes is None or None in sizes:
        if isinstance(shape, TensorShape):
            raise ValueError(f"a shape for values must be fully defined, got {shape}")
        return None
    return list(sizes)  # type: ignore[arg-type]


@export("zeros_like")
@dispatches
def zeros_like(
    tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Creates zeros with the shape of a tensor.

    Args:
        dtype: The element type of the result; by default that of the tensor.
    """
    source = convert_to_tensor(tensor)
    target = source.dtype.base_dtype if dtype is None else dtypes.as_dtype(dtype).base_dtype
    if optimize and not source.is_eager and shapes.is_fully_defined(source.dims) and target is not dtypes.variant:
        with in_graph_of(source):
            return zeros(source.dims, target, name=name or "zeros_like")
    if target is not source.dtype.base_dtype:
        with name_scope(name, "zeros_like", [source]) as scope:
            return zeros(shape_op(source), target, name=scope)
    return zeros_like_op(source, name=name or "zeros_like")


@export("ones_like")
@dispatches
def ones_like(
    tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Creates ones with the shape of a tensor.

    Args:
        dtype: The element type of the result; by default that of the tensor.
    """
    source = convert_to_tensor(tensor)
    target = source.dtype.base_dtype if dtype is None else dtypes.as_dtype(dtype).base_dtype
    if optimize and not source.is_eager and shapes.is_fully_defined(source.dims):
        with in_graph_of(source):
            return ones(source.dims, target, name=name or "ones_like")
    if target is not source.dtype.base_dtype:
        with name_scope(name, "ones_like", [source]) as scope:
            return ones(shape_op(source), target, name=scope)
    return ones_like_op(source, name=name or "ones_like")


@export("expand_dims")
@dispatches
def expand_dims(
    input: TensorLike, axis: TensorLike | None = None, name: str | None = None, dim: TensorLike | None = None
) -> Tensor:
    """Inserts a dimension of size 1.

    Args:
        axis: Position of the new axis.
    """
    axis = _one_of("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("expand_dims received no axis")
    return expand_dims_op(input, axis, name=name)


@export("squeeze")
@dispatches
def squeeze(
    input: TensorLike,
    axis: int | Sequence[int] | None = None,
    name: str | None = None,
    squeeze_dims: int | Sequence[int] | None = None,
) -> Tensor:
    """Removes the dimensions of size 1, or the given ones of them.

    Args:
        axis: The axes to remove; None removes all of size 1.
        squeeze_dims: Deprecated name of `axis`.
    """
    axis = _one_of("axis", axis, "squeeze_dims", squeeze_dims)
    if axis is None:
        axis = ()
    return squeeze_op(input, squeeze_dims=axis if isinstance(axis, list | tuple | np.ndarray) else (axis,), name=name)


def _one_of(key: str, value: object, old_key: str, old_value: object) -> Any:
    """Returns an argument that may be given under an older keyword, but not under both."""
    if old_value is None:
        return value
    if value is not None:
        raise ValueError(f"Cannot specify both {key!r} and {old_key!r}")
    return old_value


@export("transpose")
def transpose(
    a: TensorLike, perm: TensorLike | None = None, name: str = "transpose", conjugate: bool = False
) -> Tensor:
    """Permutes the dimensions of a tensor, by default reverses them; optionally conjugates it.

    Args:
        a: The input tensor.
        perm: The new order of the dimensions; by default reversed.
    """
    with name_scope(name, "transpose", [a]) as scope:
        tensor = convert_to_tensor(a, name="a")
        if perm is None:
            if tensor.dims is not None:
                perm = np.arange(len(tensor.dims), dtype=np.int32)[::-1]
            else:
                perm = range_op(subtract(rank_op(tensor), 1), -1, -1)
        kind = conjugate_transpose_op if conjugate and tensor.dtype.is_complex else transpose_op
        return kind(tensor, _shape_argument(perm), name=scope)


@export("matrix_transpose", "linalg.matrix_transpose", "linalg.transpose")
def matrix_transpose(a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """Swaps the last two dimensions.

    Args:
        a: The input tensor.
    """
    with name_scope(name, "matrix_transpose", [a]) as scope:
        tensor = convert_to_tensor(a, name="a")
        dims = tensor.dims
        if dims is not None:
            if len(dims) < 2:
                raise ValueError(f"a has shape {show(dims)}, expected rank 2 or more")
            count = len(dims)
            return transpose(tensor, [*range(count - 2), count - 1, count - 2], scope, conjugate)
        axes = range_op(0, rank_op(tensor), 1)
        return transpose(tensor, concat([axes[:-2], axes[-1:], axes[-2:-1]], 0), scope, conjugate)


@export("get_static_value", "contrib.util.constant_value")
def constant_value(tensor: Any, partial: bool = False) -> Any:
    """Returns the value of a tensor if the graph determines it, otherwise None.

    Args:
        tensor: The tensor to evaluate.
        partial: Whether elements that are unknown may be None in the result.
    """
    tensor = convert_to_tensor(tensor)
    value = static_value(tensor)
    if value is None or (
        value.dtype == object and tensor.dtype is not dtypes.string and None in value.ravel().tolist()
    ):
        return value if partial else None
    return value.astype(tensor.dtype.as_numpy_dtype)
