"""Sparse tensor maps: handles to stored sparse tensors, for ops that accept dense tensors only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import require, require_sizes, vector_size
from thalweg._src.graph.ops.sparse import count_and_rank


def _add(c: Inference) -> Sequence[Shape]:
    count_and_rank(c, 0, 1, 2)
    require_sizes(c, 2)
    return [()]


def _add_many(c: Inference) -> Sequence[Shape]:
    _, rank = count_and_rank(c, 0, 1, 2)
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
