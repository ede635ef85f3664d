"""Sparse tensor serialization: three TensorProto messages for indices, values and shape."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import at_least_rank, require, with_rank
from thalweg._src.graph.ops.sparse import as_sparse, count_and_rank
from thalweg._src.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _serialize(c: Inference) -> Sequence[Shape]:
    count_and_rank(c, 0, 1, 2)
    return [(3,)]


def _serialize_many(c: Inference) -> Sequence[Shape]:
    _, rank = count_and_rank(c, 0, 1, 2)
    require(rank is None or rank >= 2, f"the sparse tensor has rank {rank}", expected="rank at least 2: a minibatch")
    shape = c.shape_value(2)
    return [(None if shape is None else shape[0], 3)]


def _require_three(shape: Shape) -> None:
    if shape is not None:
        fits = shape[-1] in (3, None)
        require(fits, f"serialized_sparse has shape {show(shape)}", expected="[..., 3]: indices, values and shape")


def _deserialize(c: Inference) -> Sequence[Shape]:
    _require_three(at_least_rank(c, 0, 1))
    return [(None, None), (None,), (None,)]


def _deserialize_many(c: Inference) -> Sequence[Shape]:
    _require_three(with_rank(c, 0, 2))
    return [(None, None), (None,), (None,)]


_SPARSE = "sparse_indices: int64, sparse_values: T, sparse_shape: int64"
_FORMS = frozenset((dtypes.string, dtypes.variant))
serialize_sparse_op = nondifferentiable_op(
    "SerializeSparse",
    f"{_SPARSE} -> serialized_sparse: out_type",
    "Serializes a sparse tensor to a vector of three strings.",
    T=attr.types(),
    out_type=attr.types(_FORMS, dtypes.string),
    infer=_serialize,
)
serialize_many_sparse_op = nondifferentiable_op(
    "SerializeManySparse",
    f"{_SPARSE} -> serialized_sparse: out_type",
    "Serializes each row of a sparse tensor to three strings.",
    T=attr.types(),
    out_type=attr.types(_FORMS, dtypes.string),
    infer=_serialize_many,
)
_RESULT = "sparse_indices: int64, sparse_values: dtype, sparse_shape: int64"
deserialize_sparse_op = nondifferentiable_op(
    "DeserializeSparse",
    f"serialized_sparse: Tserialized -> {_RESULT}",
    "Deserializes sparse tensors and stacks them along the leading dimensions.",
    dtype=attr.types(),
    Tserialized=attr.types(_FORMS, dtypes.string),
    infer=_deserialize,
)
deserialize_many_sparse_op = nondifferentiable_op(
    "DeserializeManySparse",
    f"serialized_sparse: string -> {_RESULT}",
    "Deserializes a minibatch of sparse tensors and stacks them.",
    dtype=attr.types(),
    infer=_deserialize_many,
)


@export("serialize_sparse", "io.serialize_sparse")
def serialize_sparse(
    sp_input: SparseTensor | SparseTensorValue, name: str | None = None, out_type: DTypeLike = dtypes.string
) -> Tensor:
    """Serializes a sparse tensor to a vector of three strings."""
    sparse = as_sparse(sp_input)
    return serialize_sparse_op(sparse.indices, sparse.values, sparse.dense_shape, out_type=out_type, name=name)


@export("serialize_many_sparse", "io.serialize_many_sparse")
def serialize_many_sparse(
    sp_input: SparseTensor | SparseTensorValue, name: str | None = None, out_type: DTypeLike = dtypes.string
) -> Tensor:
    """Serializes each row of a sparse tensor to three strings."""
    sparse = as_sparse(sp_input)
    return serialize_many_sparse_op(sparse.indices, sparse.values, sparse.dense_shape, out_type=out_type, name=name)


@export("deserialize_many_sparse", "io.deserialize_many_sparse")
def deserialize_many_sparse(
    serialized_sparse: TensorLike, dtype: DTypeLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Deserializes a minibatch of sparse tensors and stacks them; `rank` is their own, if known.

    Args:
        serialized_sparse: Rows of three strings, as `serialize_many_sparse` returns them.
        dtype: Element type of the values.
        rank: Rank of the tensors, if known.
    """
    indices, values, shape = deserialize_many_sparse_op.many(serialized_sparse, dtype=dtype, name=name)
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)
