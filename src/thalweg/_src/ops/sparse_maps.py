"""Sparse tensor maps: handles to stored sparse tensors, for ops that accept dense tensors only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src import dtypes
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.scopes import colocate_with
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.ops.declarations import stateful_op
from thalweg._src.ops.shape_functions import require, require_sizes, vector_size
from thalweg._src.ops.sparse import as_sparse, parts
from thalweg._src.shapes import Shape


def _add(c: Inference) -> Sequence[Shape]:
    parts(c, 0, 1, 2)
    require_sizes(c, 2)
    return [()]


def _add_many(c: Inference) -> Sequence[Shape]:
    _, rank = parts(c, 0, 1, 2)
    require(rank is None or rank >= 2, f"the sparse tensor has rank {rank}", expected="rank at least 2: a minibatch")
    require_sizes(c, 2)
    shape = c.shape_value(2)
    return [(None if shape is None else shape[0],)]


def _take_many(c: Inference) -> Sequence[Shape]:
    require(vector_size(c, 0) != 0, "sparse_handles is empty", expected="at least one handle")
    return [(None, None), (None,), (None,)]


def _map_op(name: str, signature: str, doc: str, infer: Any, **attrs: Any) -> OpDef:
    return stateful_op(name, signature, doc, **attrs, container="", shared_name="", infer=infer)


_SPARSE = "sparse_indices: int64, sparse_values: T, sparse_shape: int64"
add_sparse_to_tensors_map_op = _map_op(
    "AddSparseToTensorsMap",
    f"{_SPARSE} -> sparse_handle: int64",
    "Stores a sparse tensor and returns its handle.",
    _add,
    T=attr.types(),
)
add_many_sparse_to_tensors_map_op = _map_op(
    "AddManySparseToTensorsMap",
    f"{_SPARSE} -> sparse_handles: int64",
    "Stores each row of a sparse tensor and returns their handles.",
    _add_many,
    T=attr.types(),
)
take_many_sparse_from_tensors_map_op = _map_op(
    "TakeManySparseFromTensorsMap",
    "sparse_handles: int64 -> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
    "Takes stored sparse tensors out of the map and stacks them.",
    _take_many,
    dtype=attr.types(),
)


def add_sparse_to_tensors_map(
    sp_input: Any, container: str | None = None, shared_name: str | None = None, name: str | None = None
) -> Tensor:
    """Stores a sparse tensor in a map, and returns its handle."""
    return _added(add_sparse_to_tensors_map_op, sp_input, container, shared_name, name)


def add_many_sparse_to_tensors_map(
    sp_input: Any, container: str | None = None, shared_name: str | None = None, name: str | None = None
) -> Tensor:
    """Stores each row of a sparse tensor in a map, and returns their handles."""
    return _added(add_many_sparse_to_tensors_map_op, sp_input, container, shared_name, name)


def _added(
    definition: OpDef, sp_input: Any, container: str | None, shared_name: str | None, name: str | None
) -> Tensor:
    sparse = as_sparse(sp_input)
    parts_of = (sparse.indices, sparse.values, sparse.dense_shape)
    return definition(*parts_of, container=container, shared_name=shared_name, name=name)


def take_many_sparse_from_tensors_map(
    sparse_map_op: Operation, sparse_handles: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Takes sparse tensors out of the map of the operation that added them, and stacks them."""
    attrs = sparse_map_op.attrs
    with colocate_with(sparse_map_op):
        indices, values, shape = take_many_sparse_from_tensors_map_op.many(
            sparse_handles,
            dtype=dtypes.as_dtype(attrs["T"]),
            container=attrs["container"],
            shared_name=attrs["shared_name"] or sparse_map_op.name,
            name=name,
        )
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)
