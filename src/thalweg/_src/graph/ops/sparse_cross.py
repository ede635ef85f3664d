"""Feature crosses: all combinations of the values in each row of several tensors, as strings or hashes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops import cast as cast_ops
from thalweg._src.graph.ops.shape_functions import require, same_dimension
from thalweg._src.graph.ops.sparse import count_and_rank, ranked
from thalweg._src.graph.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor, is_sparse
from thalweg._src.graph.types import TensorLike

DEFAULT_HASH_KEY = 0xDECAFCAFFE


def _cross(c: Inference) -> Sequence[Shape]:
    number = c.attrs["N"]
    kinds = c.attrs["sparse_types"]
    require(len(kinds) == number, f"{number} indices for {len(kinds)} values", expected="as many indices as values")
    rows: int | None = None
    expected = "the same number of rows for all"
    for i in range(number):
        _, rank = count_and_rank(c, i, number + i, 2 * number + i)
        same_dimension(rank, 2, "lengths of an index", expected="indices of matrices, [n, 2]")
        shape = c.shape_value(2 * number + i)
        rows = same_dimension(rows, shape[0] if shape else None, "numbers of rows", expected=expected)
    for i in range(3 * number, 3 * number + len(c.attrs["dense_types"])):
        rows = same_dimension(rows, ranked(c, i, 2)[0], "numbers of rows", expected=expected)
    return [(None, 2), (None,), (2,)]


def _cross_with_separator(c: Inference) -> Sequence[Shape]:
    ranked(c, len(c.shapes) - 1, 0)
    return _cross(c)


def _cross_hashed(c: Inference) -> Sequence[Shape]:
    last = len(c.shapes) - 1
    ranked(c, last - 2, 0)
    ranked(c, last - 1, 0)
    same_dimension(ranked(c, last, 1)[0], 2, "numbers in salt", expected="a salt of two integers")
    return _cross(c)


_INPUTS = "indices: N*int64, values: list(sparse_types), shapes: N*int64, dense_inputs: list(dense_types)"
_KINDS = frozenset((dtypes.int64, dtypes.string))
_ATTRS: dict[str, Any] = {
    "N": attr.integer(0),
    "sparse_types": attr.type_list(0, allowed=_KINDS),
    "dense_types": attr.type_list(0, allowed=_KINDS),
    "differentiable": False,
}
sparse_cross_op = op(
    "SparseCross",
    f"{_INPUTS} -> output_indices: int64, output_values: out_type, output_shape: int64",
    **_ATTRS,
    hashed_output=attr.boolean(),
    num_buckets=attr.integer(0),
    hash_key=attr.integer(),
    out_type=_KINDS,
    internal_type=_KINDS,
    infer=_cross,
    doc="Crosses the features of each row: all combinations of their values.",
)
sparse_cross_v2_op = op(
    "SparseCrossV2",
    f"{_INPUTS}, sep: string -> output_indices: int64, output_values: string, output_shape: int64",
    **_ATTRS,
    infer=_cross_with_separator,
    doc="Crosses the features of each row to strings joined by a separator.",
)
sparse_cross_hashed_op = op(
    "SparseCrossHashed",
    f"{_INPUTS}, num_buckets: int64, strong_hash: bool, salt: int64 -> "
    "output_indices: int64, output_values: int64, output_shape: int64",
    **_ATTRS,
    infer=_cross_hashed,
    doc="Crosses the features of each row to hashes.",
)


def _inputs(inputs: object) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Returns indices, values and shapes of the sparse inputs, and the dense ones; integers as int64."""
    if not isinstance(inputs, list) or not inputs:
        raise TypeError("Inputs must be a list")
    tensors = [convert_to_tensor_or_sparse_tensor(item) for item in inputs]
    sparse = [item for item in tensors if is_sparse(item)]
    dense = [_wide(item) for item in tensors if not is_sparse(item)]
    return [s.indices for s in sparse], [_wide(s.values) for s in sparse], [s.dense_shape for s in sparse], dense


def _wide(values: Any) -> Any:
    return cast_ops.cast(values, dtypes.int64) if values.dtype.is_integer else values


@export("sparse.cross")
def sparse_cross(
    inputs: Sequence[TensorLike | SparseTensor], name: str | None = None, separator: str | None = None
) -> SparseTensor:
    """Crosses the features of each row to strings joined by a separator, by default "_X_".

    Args:
        inputs: Tensors, dense or sparse, with equal numbers of rows.
    """
    lists = _inputs(inputs)
    return SparseTensor(*sparse_cross_v2_op.many(*lists, "_X_" if separator is None else separator, name=name))


@export("sparse.cross_hashed")
def sparse_cross_hashed(
    inputs: Sequence[TensorLike | SparseTensor],
    num_buckets: int = 0,
    hash_key: int | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Crosses the features of each row to hashes, modulo num_buckets if that is not 0.

    Args:
        inputs: Tensors, dense or sparse, with equal numbers of rows.
        num_buckets: Number of buckets; 0 keeps the whole hash.
    """
    return SparseTensor(
        *sparse_cross_op.many(
            *_inputs(inputs),
            hashed_output=True,
            num_buckets=num_buckets,
            hash_key=DEFAULT_HASH_KEY if hash_key is None else hash_key,
            out_type=dtypes.int64,
            internal_type=dtypes.int64,
            name=name,
        )
    )
