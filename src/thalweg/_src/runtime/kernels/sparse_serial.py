"""Kernels of sparse tensor serialization, on the host."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.formats.objects import object_array
from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.graph.tensor_proto import MakeNdarray, content_proto
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import Function
from thalweg._src.runtime.kernels.sparse import linear_indices, require_fit, require_order, require_shape
from thalweg._src.runtime.kernels.types import from_numpy, to_read
from thalweg._src.runtime.resources.devices import Device

Array = np.ndarray[Any, Any]
_HOST: dict[str, Any] = {"devices": ("CPU",), "out_type": [dtypes.string]}


def _as_strings(indices: Array, values: Array, shape: Array, dtype: DType) -> list[bytes]:
    pairs = ((indices, dtypes.int64), (values, dtype), (shape, dtypes.int64))
    return [content_proto(array, kind).SerializeToString() for array, kind in pairs]


@kernel("SerializeSparse", **_HOST)
def bind_serialize(node: Node, device: Device) -> Function:
    dtype = node.attrs["T"]

    def serialize(indices: torch.Tensor, values: Array, shape: torch.Tensor) -> Array:
        require_fit(indices, values, shape)
        return object_array(_as_strings(indices.numpy(), to_read(values), shape.numpy(), dtype), (3,))

    return serialize


@kernel("SerializeManySparse", **_HOST)
def bind_serialize_many(node: Node, device: Device) -> Function:
    dtype = node.attrs["T"]

    def serialize(indices: torch.Tensor, values: Array, shape: torch.Tensor) -> Array:
        require_fit(indices, values, shape)
        sizes = shape.tolist()
        require(len(sizes) >= 2, f"the sparse tensor has rank {len(sizes)}", expected="rank at least 2")
        require_order(indices, linear_indices(indices, sizes))
        count, array = require_shape(sizes[:1]), to_read(values)
        require(count < 2**31, f"the minibatch has {count} rows", expected="fewer than 2**31")
        starts = np.searchsorted(indices[:, 0].numpy(), np.arange(count + 1))
        items: list[bytes] = []
        for first, last in pairwise(starts.tolist()):
            items += _as_strings(indices[first:last, 1:].numpy(), array[first:last], shape[1:].numpy(), dtype)
        return object_array(items, (count, 3))

    return serialize


def _array(data: bytes, dtype: DType, what: str) -> Array:
    """Returns the array of a serialized TensorProto."""
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.tensor_pb2 import TensorProto

    try:
        proto = TensorProto.FromString(data)
        stored_type = dtypes.as_dtype(proto.dtype) if proto.dtype else None
        array = MakeNdarray(proto) if stored_type is not None else np.zeros(())
    except (DecodeError, TypeError, ValueError) as error:
        raise invalid(f"Could not parse serialized_sparse ({what}): {error}") from None
    if stored_type is not dtype:
        kind = "nothing" if stored_type is None else stored_type.name
        raise invalid(f"serialized_sparse holds {what} of {kind}, expected {dtype.name}")
    return array


def _sparse(strings: Sequence[Any], dtype: DType) -> tuple[Array, Array, Array]:
    """Returns the components of one serialized sparse tensor, which must match."""
    indices, values = _array(strings[0], dtypes.int64, "indices"), _array(strings[1], dtype, "values")
    shape = _array(strings[2], dtypes.int64, "shape")
    fits = indices.ndim == 2 and values.shape == indices.shape[:1] and shape.shape == indices.shape[1:]
    if not fits:
        shapes = f"{show(indices.shape)}, {show(values.shape)} and {show(shape.shape)}"
        raise invalid(f"indices, values and shape do not match: {shapes}")
    return indices, values, shape


@kernel("DeserializeSparse", "DeserializeManySparse", devices=("CPU",))
def bind_deserialize(node: Node, device: Device) -> Function:
    dtype = node.attrs["dtype"]

    def deserialize(serialized: Array) -> Any:
        require(
            serialized.ndim >= 1 and serialized.shape[-1] == 3,
            f"serialized_sparse has shape {show(tuple(serialized.shape))}",
            expected="[..., 3]: indices, values and shape",
        )
        batch = serialized.shape[:-1]
        items = [_sparse(row, dtype) for row in serialized.reshape(-1, 3).tolist()]
        if not items:
            raise invalid("serialized_sparse is empty")
        ranks = {len(shape) for _, _, shape in items}
        if len(ranks) > 1:
            raise invalid(f"the sparse tensors differ in rank: {sorted(ranks)}")
        rows = [
            np.concatenate([np.tile(np.array(place, np.int64), (len(indices), 1)), indices], axis=1)
            for place, (indices, _, _) in zip(np.ndindex(*batch), items)
        ]
        shape = np.array([*batch, *np.max([shape for _, _, shape in items], axis=0)], np.int64)
        values = np.concatenate([values for _, values, _ in items])
        return torch.from_numpy(np.concatenate(rows)), from_numpy(values, dtype), torch.from_numpy(shape)

    return deserialize
