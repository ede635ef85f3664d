"""Kernels of parsing serialized Examples and tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.formats.example import example_from_json, parse_message
from thalweg._src.base.formats.objects import object_array
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.parsing import require_default, stride_of
from thalweg._src.graph.tensor_proto import MakeNdarray, array_proto, content_proto
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.types import from_numpy, to_read
from thalweg._src.runtime.resources.devices import Device

Array = np.ndarray[Any, Any]
Row = Array | None

_FIELDS = {dtypes.float32: "float_list", dtypes.int64: "int64_list", dtypes.string: "bytes_list"}
_NAMES = {"float_list": "float", "int64_list": "int64", "bytes_list": "string"}


def decode_message(kind: str, data: bytes, name: str) -> Any:
    """Parses a message."""
    try:
        return parse_message(kind, data)
    except ValueError:
        shown = data[:40].hex() + ("..." if len(data) > 40 else "")
        raise invalid(f"Could not parse example input, value: name {name}, the bytes {shown} are no {kind}") from None


def text_of(value: Any) -> str:
    """Decodes a key; one that is not UTF-8 gets replacement characters, so that no message contains it."""
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    return str(data.decode("utf-8", "replace"))


def names_of(values: Array, count: int) -> list[str]:
    flat = values.ravel().tolist()
    if flat and len(flat) != count:
        raise errors.ShapeError(f"{count} messages have {len(flat)} names", expected="one name per message, or none")
    return [text_of(name) for name in flat] or ["<unknown>"] * count


def values_of(feature: Any, dtype: DType, where: Callable[[], str]) -> Row:
    """Returns the values of a feature; None if it is empty."""
    kind = feature.WhichOneof("kind")
    if kind is None:
        return None
    if kind != _FIELDS[dtype]:
        expected = _NAMES[_FIELDS[dtype]]
        raise invalid(f"{where()}.  Data types don't match. Data type: {_NAMES[kind]} but expected type: {expected}")
    values = getattr(feature, kind).value
    if dtype is dtypes.string:
        return object_array(list(values))
    return np.fromiter(values, dtype.as_numpy_dtype, len(values))


def empty_values(dtype: DType) -> Array:
    return object_array([]) if dtype is dtypes.string else np.empty(0, dtype.as_numpy_dtype)


def _column(features: Sequence[Any], names: Sequence[str], key: str, dtype: DType) -> list[Row]:
    """Returns the values of one feature in each message."""
    return [
        values_of(row[key], dtype, lambda n=name, i=i: f"Name: {n}, Key: {key}, Index: {i}") if key in row else None  # type: ignore[misc]
        for i, (row, name) in enumerate(zip(features, names))
    ]


def _sparse(rows: Sequence[Row], dtype: DType) -> tuple[Array, Array, Array]:
    """Returns indices, values and shape of a sparse tensor of rows with different lengths."""
    filled = [empty_values(dtype) if row is None else row for row in rows]
    lengths = np.array([len(row) for row in filled], np.int64)
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    values = np.concatenate([empty_values(dtype), *filled])
    indices = np.stack([np.repeat(np.arange(len(rows)), lengths), np.arange(len(values)) - starts], 1)
    return indices.astype(np.int64), values, np.array([len(rows), lengths.max(initial=0)], np.int64)


def _dense(
    rows: Sequence[Row], names: Sequence[str], key: str, dtype: DType, shape: tuple[int | None, ...], default: Array
) -> Array:
    """Returns a feature of all messages as one array, padded in its first dimension if that varies."""
    varies, stride = stride_of(shape)
    require_default(shape, default.shape, varies, 0)
    if varies:
        return _padded(rows, names, key, shape, stride, default)
    filled = []
    for i, row in enumerate(rows):
        if row is None and not default.size and stride:
            raise _missing(names[i], key, dtype)
        filled.append(default.ravel() if row is None else row)
        if len(filled[-1]) != stride:
            raise invalid(
                f"Name: {names[i]}, Key: {key}, Index: {i}.  Number of {_NAMES[_FIELDS[dtype]]} values != expected.  "
                f"Values size: {len(filled[-1])} but output shape: {list(shape)}"
            )
    return np.concatenate([empty_values(dtype), *filled]).reshape(len(rows), *shape)


def _missing(name: str, key: str, dtype: DType) -> errors.InvalidArgumentError:
    kind = _NAMES[_FIELDS[dtype]]
    return invalid(f"Name: {name}, Feature: {key} (data type: {kind}) is required but could not be found.")


def _padded(
    rows: Sequence[Row], names: Sequence[str], key: str, shape: tuple[int | None, ...], stride: int, default: Array
) -> Array:
    for i, row in enumerate(rows):
        if row is not None and len(row) % stride:
            raise invalid(
                f"Name: {names[i]}, Key: {key}, Index: {i}: {len(row)} values do not fill "
                f"whole elements of shape {list(shape)}"
            )
    longest = max((len(row) for row in rows if row is not None), default=0)
    result = np.empty((len(rows), longest), default.dtype)
    result[...] = default.reshape(())[()]
    for i, row in enumerate(rows):
        if row is not None:
            result[i, : len(row)] = row
    return result.reshape(len(rows), longest // stride, *shape[1:])


class FeaturePlan:
    """The features that an op requests from Examples, or from the context of SequenceExamples."""

    def __init__(self, sparse: Sequence[DType], dense: Sequence[DType], shapes: Sequence[Any]) -> None:
        self.sparse, self.dense, self.shapes = sparse, dense, shapes

    def parse(
        self,
        features: Sequence[Any],
        names: Sequence[str],
        sparse_keys: Sequence[str],
        dense_keys: Sequence[str],
        defaults: Sequence[Any],
    ) -> tuple[list[Any], list[Array]]:
        """Returns the sparse features, each (indices, values, shape), and the dense ones."""
        sparse = [_sparse(_column(features, names, key, dtype), dtype) for key, dtype in zip(sparse_keys, self.sparse)]
        dense = [
            _dense(_column(features, names, key, dtype), names, key, dtype, shape, to_read(default))
            for key, dtype, shape, default in zip(dense_keys, self.dense, self.shapes, defaults)
        ]
        return sparse, dense


def outputs_of(sparse: Sequence[Any], dense: Sequence[Array], *more: Array, single: bool = False) -> Any:
    """Returns the outputs in the ops' order: all indices, all values, all shapes, the dense ones, then the others."""
    if single:
        sparse = [(indices[:, 1:], values, shape[1:]) for indices, values, shape in sparse]
        dense = [array.reshape(array.shape[1:]) for array in dense]
    arrays = [*(s[0] for s in sparse), *(s[1] for s in sparse), *(s[2] for s in sparse), *dense, *more]
    return [array if array.dtype == object else from_numpy(array, dtypes.as_dtype(array.dtype)) for array in arrays]


def result_of(outputs: list[Any]) -> Any:
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


@kernel("ParseExample", devices=("CPU",))
def bind_parse_example(node: Node, device: Device) -> Callable[..., Any]:
    plan = FeaturePlan(node.attrs["sparse_types"], node.attrs["Tdense"], node.attrs["dense_shapes"])
    sparse, dense = node.attrs["Nsparse"], node.attrs["Ndense"]

    def parse(serialized: Array, names: Array, *rest: Any) -> Any:
        require_rank(serialized, 1, "serialized")
        labels = names_of(names, len(serialized))
        features = [decode_message("Example", d, n).features.feature for d, n in zip(serialized.tolist(), labels)]
        keys = [key_of(value) for value in rest[: sparse + dense]]
        return result_of(
            outputs_of(*plan.parse(features, labels, keys[:sparse], keys[sparse:], rest[sparse + dense :]))
        )

    return parse


def require_rank(array: Array, rank: int, what: str) -> None:
    if array.ndim != rank:
        raise errors.ShapeError(f"{what} has shape {list(array.shape)}", expected=f"{what} of rank {rank}")


def key_of(value: Array) -> str:
    require_rank(value, 0, "a key")
    return text_of(value.item())


@kernel("ParseExampleV2", devices=("CPU",))
def bind_parse_example_v2(node: Node, device: Device) -> Callable[..., Any]:
    attrs = node.attrs
    plan = FeaturePlan(attrs["sparse_types"], attrs["Tdense"], attrs["dense_shapes"])
    ragged = list(zip(attrs["ragged_value_types"], attrs["ragged_split_types"]))

    def parse(
        serialized: Array,
        names: Array,
        sparse_keys: Array,
        dense_keys: Array,
        ragged_keys: Array,
        *defaults: object,
    ) -> Any:
        if serialized.ndim > 1:
            raise errors.ShapeError(f"serialized has shape {list(serialized.shape)}", expected="rank 0 or 1")
        keys = [_keys(k, n) for k, n in ((sparse_keys, plan.sparse), (dense_keys, plan.dense), (ragged_keys, ragged))]
        messages = serialized.ravel().tolist()
        labels = names_of(names, len(messages))
        features = [decode_message("Example", data, name).features.feature for data, name in zip(messages, labels)]
        sparse, dense = plan.parse(features, labels, keys[0], keys[1], defaults)
        single = serialized.ndim == 0
        values, splits = [], []
        for key, (value_type, split_type) in zip(keys[2], ragged):
            rows = [empty_values(value_type) if r is None else r for r in _column(features, labels, key, value_type)]
            values.append(np.concatenate([empty_values(value_type), *rows]))
            ends = np.cumsum([0, *(len(row) for row in rows)])
            splits.append((ends[:0] if single else ends).astype(split_type.as_numpy_dtype))
        return result_of(outputs_of(sparse, dense, *values, *splits, single=single))

    return parse


def _keys(values: Array, expected: Sequence[Any]) -> list[str]:
    if values.shape != (len(expected),):
        raise errors.ShapeError(f"keys have shape {list(values.shape)}", expected=f"{len(expected)} keys")
    return [text_of(value) for value in values.tolist()]


@kernel("ParseSingleExample", devices=("CPU",))
def bind_parse_single_example(node: Node, device: Device) -> Callable[..., Any]:
    plan = FeaturePlan(node.attrs["sparse_types"], node.attrs["Tdense"], node.attrs["dense_shapes"])
    sparse_keys, dense_keys = ([text_of(key) for key in node.attrs[name]] for name in ("sparse_keys", "dense_keys"))

    def parse(serialized: Array, *defaults: object) -> Any:
        require_rank(serialized, 0, "serialized")
        labels = ["<unknown>"]
        features = [decode_message("Example", serialized.item(), labels[0]).features.feature]
        return result_of(outputs_of(*plan.parse(features, labels, sparse_keys, dense_keys, defaults), single=True))

    return parse


@plain_kernel("DecodeJSONExample", devices=("CPU",))
def _decode_json_example(texts: Array) -> Any:
    try:
        return object_array([example_from_json(text) for text in texts.ravel().tolist()]).reshape(texts.shape)
    except ValueError as error:
        raise invalid(f"Error while parsing JSON: {error}") from None


@kernel("ParseTensor", devices=("CPU",))
def bind_parse_tensor(node: Node, device: Device) -> Callable[..., Any]:
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.tensor_pb2 import TensorProto

    out_type = node.attrs["out_type"]

    def parse(serialized: Array) -> Any:
        require_rank(serialized, 0, "serialized")
        try:
            proto = TensorProto.FromString(serialized.item())
            dtype = dtypes.as_dtype(proto.dtype)
        except (DecodeError, TypeError):
            raise invalid("the bytes are not a serialized TensorProto") from None
        if dtype is not out_type:
            raise invalid(f"Type mismatch between parsed tensor ({dtype.name}) and dtype ({out_type.name})")
        _require_room(proto, dtype)
        try:
            return from_numpy(MakeNdarray(proto), out_type)
        except (TypeError, ValueError) as error:
            raise invalid(f"the TensorProto cannot be parsed: {error}") from None

    return parse


def _require_room(proto: Any, dtype: DType) -> None:
    """Rejects a shape whose size overflows or exceeds memory: a few bytes can declare any shape."""
    sizes = [dim.size for dim in proto.tensor_shape.dim]
    limit = 2**31 if not proto.tensor_content else 2**62
    if any(size < 0 for size in sizes) or prod(max(size, 1) for size in sizes) > 2**62 or prod(sizes) > limit:
        raise invalid(f"a TensorProto of {dtype.name} has the shape {sizes}")


@kernel("SerializeTensor", devices=("CPU",))
def bind_serialize_tensor(node: Node, device: Device) -> Callable[..., Any]:
    dtype = node.attrs["T"]
    make = array_proto if dtype is dtypes.string else content_proto  # strings one by one, numbers as raw bytes

    def serialize(value: object) -> Any:
        array = to_read(value)
        return np.array(make(array, dtype).SerializeToString(), dtype=object)

    return serialize
