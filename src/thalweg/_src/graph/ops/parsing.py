"""Parsing ops: serialized messages to tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.errors import ShapeError
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import require, unchanged

TYPES = (dtypes.float32, dtypes.int64, dtypes.string)
_MOST = 2**62


def stride_of(shape: Shape, key: int = 0) -> tuple[bool, int]:
    """Returns whether the first dimension of a dense feature varies, and the number of values per entry."""
    if shape is None or None in shape[1:]:
        raise ShapeError(
            f"dense_shapes[{key}] is {show(shape)}", expected="known dimensions, except for the first of a sequence"
        )
    varies = bool(shape) and shape[0] is None
    count = prod(d for d in shape if d is not None)
    require(count <= _MOST, f"dense_shapes[{key}] is {show(shape)}: too many values")
    require(not varies or count > 0, f"dense_shapes[{key}] is {show(shape)}: entries without values")
    return varies, count


def same_count(**counts: int) -> None:
    require(len(set(counts.values())) <= 1, f"lists differ in length: {counts}")


def batch_size(c: Inference, index: int, names: int) -> int | None:
    """Returns the number of messages in a vector of them, which has no names or as many."""
    shape, other = c.shapes[index], c.shapes[names]
    require(shape is None or len(shape) == 1, f"serialized has shape {show(shape)}", expected="a vector of messages")
    require(other is None or len(other) == 1, f"names has shape {show(other)}", expected="a vector")
    count = None if shape is None else shape[0]
    if count is not None and other and other[0] not in (None, 0, count):
        raise ShapeError(f"{count} messages have {other[0]} names", expected="one name per message, or none")
    return count


def require_scalars(c: Inference, first: int, last: int) -> None:
    for shape in c.shapes[first:last]:
        require(not shape, f"a key has shape {show(shape)}", expected="a scalar string")


def sparse_shapes(count: int, rank: int) -> list[Shape]:
    return [(None, rank)] * count + [(None,)] * count + [(rank,)] * count


def dense_shapes(c: Inference, first: int, shapes: Sequence[Shape], lead: tuple[Any, ...]) -> list[Shape]:
    """Returns the shapes of dense features, whose defaults are the inputs from the first on."""
    result: list[Shape] = []
    for i, shape in enumerate(shapes):
        varies, _ = stride_of(shape, i)
        default = c.shapes[first + i]
        if default is not None and None not in default:
            require_default(shape, tuple(d for d in default if d is not None), varies, i)
        result.append((*lead, *(shape or ())))
    return result


def require_default(shape: Shape, default: tuple[int, ...], varies: bool, key: int) -> None:
    """Requires a default that matches its dense feature: one padding value, none, or as many as the feature has."""
    fits = prod(default) == 1 if varies else (0 in default or default == shape)
    if not fits:
        raise ShapeError(
            f"dense_defaults[{key}] has shape {show(default)}",
            expected="one value, to pad with" if varies else f"shape {show(shape)}, or no values",
        )


def _parse_example(c: Inference) -> Sequence[Shape]:
    sparse, dense, shapes = c.attrs["Nsparse"], c.attrs["Ndense"], c.attrs["dense_shapes"]
    same_count(sparse_keys=sparse, sparse_types=len(c.attrs["sparse_types"]))
    same_count(dense_keys=dense, dense_defaults=len(c.attrs["Tdense"]), dense_shapes=len(shapes))
    batch = batch_size(c, 0, 1)
    first = 2 + sparse + dense
    require_scalars(c, 2, first)
    return [*sparse_shapes(sparse, 2), *dense_shapes(c, first, shapes, (batch,))]


def _parse_example_v2(c: Inference) -> Sequence[Shape]:
    sparse, shapes, ragged = c.attrs["num_sparse"], c.attrs["dense_shapes"], c.attrs["ragged_value_types"]
    same_count(num_sparse=sparse, sparse_types=len(c.attrs["sparse_types"]))
    same_count(dense_defaults=len(c.attrs["Tdense"]), dense_shapes=len(shapes))
    same_count(ragged_value_types=len(ragged), ragged_split_types=len(c.attrs["ragged_split_types"]))
    for index, count in ((2, sparse), (3, len(shapes)), (4, len(ragged))):
        keys = c.shapes[index]
        name = c.definition.inputs[index].name
        require(keys is None or keys in ((None,), (count,)), f"{name} has shape {show(keys)}", expected=f"[{count}]")
    serialized, names = c.shapes[0], c.shapes[1]
    require(serialized is None or len(serialized) < 2, f"serialized has shape {show(serialized)}", "rank 0 or 1")
    require(names is None or len(names) < 2, f"names has shape {show(names)}", "rank 0 or 1")
    dense = dense_shapes(c, 5, shapes, serialized or ())
    if serialized is None:
        anything: list[Shape] = [(None, None)] * sparse + [(None,)] * (2 * sparse) + [None] * len(dense)
        return [*anything, *[(None,)] * (2 * len(ragged))]
    batch = serialized[0] if serialized else -1  # a single Example has no splits
    splits = (None if batch is None else batch + 1,)
    return [*sparse_shapes(sparse, len(serialized) + 1), *dense, *[(None,)] * len(ragged), *[splits] * len(ragged)]


def _parse_single_example(c: Inference) -> Sequence[Shape]:
    sparse, shapes = c.attrs["num_sparse"], c.attrs["dense_shapes"]
    same_count(num_sparse=sparse, sparse_keys=len(c.attrs["sparse_keys"]), sparse_types=len(c.attrs["sparse_types"]))
    same_count(dense_keys=len(c.attrs["dense_keys"]), Tdense=len(c.attrs["Tdense"]), dense_shapes=len(shapes))
    require(not c.shapes[0], f"serialized has shape {show(c.shapes[0])}", expected="a scalar")
    return [*sparse_shapes(sparse, 1), *dense_shapes(c, 1, shapes, ())]


def _one_message(c: Inference) -> Sequence[Shape]:
    require(not c.shapes[0], f"serialized has shape {show(c.shapes[0])}", expected="a scalar")
    return [None]


def _serialized(c: Inference) -> Sequence[Shape]:
    kind = c.attrs["T"].base_dtype
    require(kind not in (dtypes.resource, dtypes.variant), f"a tensor of {kind.name} cannot be serialized")
    return [()]


_types = attr.type_list(0, allowed=TYPES)
_shapes = attr.AttrDef("list(shape)", minimum=0)
STRINGS = attr.AttrDef("list(string)", minimum=0)
_SPARSE_DENSE = (
    "sparse_indices: {n}*int64, sparse_values: list(sparse_types), sparse_shapes: {n}*int64, dense_values: list(Tdense)"
)
parse_example_op = nondifferentiable_op(
    "ParseExample",
    "serialized: string, names: string, sparse_keys: Nsparse*string, dense_keys: Ndense*string, "
    "dense_defaults: list(Tdense) -> " + _SPARSE_DENSE.format(n="Nsparse"),
    "Parses the features of a batch of Examples.",
    Nsparse=attr.integer(0),
    Ndense=attr.integer(0),
    sparse_types=_types,
    Tdense=_types,
    dense_shapes=_shapes,
    infer=_parse_example,
)
parse_example_v2_op = nondifferentiable_op(
    "ParseExampleV2",
    "serialized: string, names: string, sparse_keys: string, dense_keys: string, ragged_keys: string, "
    f"dense_defaults: list(Tdense) -> {_SPARSE_DENSE.format(n='num_sparse')}, "
    "ragged_values: list(ragged_value_types), ragged_row_splits: list(ragged_split_types)",
    "Parses the features of one Example or a batch, with TensorFlow 2's inputs.",
    Tdense=_types,
    num_sparse=attr.integer(0),
    sparse_types=_types,
    ragged_value_types=_types,
    ragged_split_types=attr.type_list(0, allowed=dtypes.INDEX),
    dense_shapes=_shapes,
    infer=_parse_example_v2,
)
parse_single_example_op = nondifferentiable_op(
    "ParseSingleExample",
    "serialized: string, dense_defaults: list(Tdense) -> " + _SPARSE_DENSE.format(n="num_sparse"),
    "Parses the features of one Example.",
    num_sparse=attr.integer(0),
    sparse_keys=STRINGS,
    dense_keys=STRINGS,
    sparse_types=_types,
    Tdense=_types,
    dense_shapes=_shapes,
    infer=_parse_single_example,
)
decode_json_example = export(
    "decode_json_example", "io.decode_json_example", json_examples="Strings with one Example in JSON form each."
)(
    nondifferentiable_op(
        "DecodeJSONExample",
        "json_examples: string -> binary_examples: string",
        "Converts Examples in JSON to their binary form.",
        infer=unchanged,
    )
)
parse_tensor = export("parse_tensor", "io.parse_tensor", out_type="Element type of the tensor.")(
    nondifferentiable_op(
        "ParseTensor",
        "serialized: string -> output: out_type",
        "Parses a serialized TensorProto.",
        out_type=attr.types(),
        infer=_one_message,
    )
)
serialize_tensor = export("serialize_tensor", "io.serialize_tensor", tensor="The tensor to serialize.")(
    nondifferentiable_op(
        "SerializeTensor",
        "tensor: T -> serialized: string",
        "Serializes a tensor as a TensorProto.",
        T=attr.types(),
        infer=_serialized,
    )
)
