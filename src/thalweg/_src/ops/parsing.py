"""Parsing ops: serialized messages to tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from thalweg._src import dtypes
from thalweg._src.errors import ShapeError
from thalweg._src.export import export
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.ops.shape_functions import require, unchanged
from thalweg._src.shapes import Shape, show

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


def _same_count(**counts: int) -> None:
    require(len(set(counts.values())) <= 1, f"lists differ in length: {counts}")


def _batch(c: Inference, index: int, names: int) -> int | None:
    """Returns the number of serialized messages, with as many names or none."""
    shape, other = c.shapes[index], c.shapes[names]
    require(shape is None or len(shape) == 1, f"serialized has shape {show(shape)}", expected="a vector of messages")
    require(other is None or len(other) == 1, f"names has shape {show(other)}", expected="a vector")
    count = None if shape is None else shape[0]
    if count is not None and other and other[0] not in (None, 0, count):
        raise ShapeError(f"{count} messages have {other[0]} names", expected="one name per message, or none")
    return count


def _scalars(c: Inference, first: int, last: int) -> None:
    for shape in c.shapes[first:last]:
        require(not shape, f"a key has shape {show(shape)}", expected="a scalar string")


def _sparse(count: int, rank: int) -> list[Shape]:
    return [(None, rank)] * count + [(None,)] * count + [(rank,)] * count


def _dense(c: Inference, first: int, shapes: Sequence[Shape], lead: tuple[Any, ...]) -> list[Shape]:
    """Returns the shapes of dense features, whose defaults are the inputs from `first` on."""
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
    _same_count(sparse_keys=sparse, sparse_types=len(c.attrs["sparse_types"]))
    _same_count(dense_keys=dense, dense_defaults=len(c.attrs["Tdense"]), dense_shapes=len(shapes))
    batch = _batch(c, 0, 1)
    first = 2 + sparse + dense
    _scalars(c, 2, first)
    return [*_sparse(sparse, 2), *_dense(c, first, shapes, (batch,))]


def _parse_example_v2(c: Inference) -> Sequence[Shape]:
    sparse, shapes, ragged = c.attrs["num_sparse"], c.attrs["dense_shapes"], c.attrs["ragged_value_types"]
    _same_count(num_sparse=sparse, sparse_types=len(c.attrs["sparse_types"]))
    _same_count(dense_defaults=len(c.attrs["Tdense"]), dense_shapes=len(shapes))
    _same_count(ragged_value_types=len(ragged), ragged_split_types=len(c.attrs["ragged_split_types"]))
    for index, count in ((2, sparse), (3, len(shapes)), (4, len(ragged))):
        keys = c.shapes[index]
        name = c.definition.inputs[index].name
        require(keys is None or keys in ((None,), (count,)), f"{name} has shape {show(keys)}", expected=f"[{count}]")
    serialized, names = c.shapes[0], c.shapes[1]
    require(serialized is None or len(serialized) < 2, f"serialized has shape {show(serialized)}", "rank 0 or 1")
    require(names is None or len(names) < 2, f"names has shape {show(names)}", "rank 0 or 1")
    dense = _dense(c, 5, shapes, serialized or ())
    if serialized is None:
        anything: list[Shape] = [(None, None)] * sparse + [(None,)] * (2 * sparse) + [None] * len(dense)
        return [*anything, *[(None,)] * (2 * len(ragged))]
    batch = serialized[0] if serialized else -1  # a single Example has no splits
    splits = (None if batch is None else batch + 1,)
    return [*_sparse(sparse, len(serialized) + 1), *dense, *[(None,)] * len(ragged), *[splits] * len(ragged)]


def _parse_single_example(c: Inference) -> Sequence[Shape]:
    sparse, shapes = c.attrs["num_sparse"], c.attrs["dense_shapes"]
    _same_count(num_sparse=sparse, sparse_keys=len(c.attrs["sparse_keys"]), sparse_types=len(c.attrs["sparse_types"]))
    _same_count(dense_keys=len(c.attrs["dense_keys"]), Tdense=len(c.attrs["Tdense"]), dense_shapes=len(shapes))
    require(not c.shapes[0], f"serialized has shape {show(c.shapes[0])}", expected="a scalar")
    return [*_sparse(sparse, 1), *_dense(c, 1, shapes, ())]


def _counts(c: Inference) -> tuple[int, int, int, int]:
    """Returns the numbers of context and sequence features, sparse and dense, after validating the lists."""
    a = c.attrs
    sparse, dense = a["Ncontext_sparse"], a["Ncontext_dense"]
    list_sparse, list_dense = a["Nfeature_list_sparse"], a["Nfeature_list_dense"]
    _same_count(Ncontext_sparse=sparse, context_sparse_types=len(a["context_sparse_types"]))
    _same_count(Ncontext_dense=dense, Tcontext_dense=len(a["Tcontext_dense"]), shapes=len(a["context_dense_shapes"]))
    _same_count(Nfeature_list_sparse=list_sparse, feature_list_sparse_types=len(a["feature_list_sparse_types"]))
    _same_count(
        Nfeature_list_dense=list_dense,
        feature_list_dense_types=len(a["feature_list_dense_types"]),
        shapes=len(a["feature_list_dense_shapes"]),
    )
    for i, shape in enumerate((*a["context_dense_shapes"], *a["feature_list_dense_shapes"])):
        require(not stride_of(shape, i)[0], f"dense_shapes[{i}] is {show(shape)}", expected="known dimensions")
    return sparse, dense, list_sparse, list_dense


def _parse_single_sequence(c: Inference) -> Sequence[Shape]:
    sparse, dense, list_sparse, list_dense = _counts(c)
    first = 2 + sparse + dense + list_sparse + list_dense
    require(not c.shapes[0], f"serialized has shape {show(c.shapes[0])}", expected="a scalar")
    require(c.shapes[1] is None or len(c.shapes[1]) == 1, "feature_list_dense_missing_assumed_empty is not a vector")
    _scalars(c, 2, first)
    require(not c.shapes[-1], f"debug_name has shape {show(c.shapes[-1])}", expected="a scalar")
    return [
        *_sparse(sparse, 1),
        *_dense(c, first, c.attrs["context_dense_shapes"], ()),
        *_sparse(list_sparse, 2),
        *[(None, *shape) for shape in c.attrs["feature_list_dense_shapes"]],
    ]


def _parse_sequence(c: Inference) -> Sequence[Shape]:
    sparse, dense, list_sparse, list_dense = _counts(c)
    for key, count in (
        ("context_sparse", sparse),
        ("context_dense", dense),
        ("feature_list_sparse", list_sparse),
        ("feature_list_dense", list_dense),
    ):
        _same_count(**{f"{key}_keys": len(c.attrs[f"{key}_keys"]), f"N{key}": count})
    batch = _batch(c, 0, 1)
    return [
        *_sparse(sparse, 2),
        *_dense(c, 2, c.attrs["context_dense_shapes"], (batch,)),
        *_sparse(list_sparse, 3),
        *[(batch, None, *shape) for shape in c.attrs["feature_list_dense_shapes"]],
        *[(batch,)] * list_dense,
    ]


def _one_message(c: Inference) -> Sequence[Shape]:
    require(not c.shapes[0], f"serialized has shape {show(c.shapes[0])}", expected="a scalar")
    return [None]


def _serialized(c: Inference) -> Sequence[Shape]:
    kind = c.attrs["T"].base_dtype
    require(kind not in (dtypes.resource, dtypes.variant), f"a tensor of {kind.name} cannot be serialized")
    return [()]


_types = attr.type_list(0, allowed=TYPES)
_some_types = attr.type_list(0, default=(), allowed=TYPES)
_shapes = attr.AttrDef("list(shape)", minimum=0)
_some_shapes = attr.AttrDef("list(shape)", (), minimum=0)
_strings = attr.AttrDef("list(string)", minimum=0)
_number = attr.integer(0, default=0)
_SPARSE_DENSE = (
    "sparse_indices: {n}*int64, sparse_values: list(sparse_types), sparse_shapes: {n}*int64, dense_values: list(Tdense)"
)
_CONTEXT = (
    "context_sparse_indices: Ncontext_sparse*int64, context_sparse_values: list(context_sparse_types), "
    "context_sparse_shapes: Ncontext_sparse*int64, context_dense_values: list(Tcontext_dense), "
    "feature_list_sparse_indices: Nfeature_list_sparse*int64, "
    "feature_list_sparse_values: list(feature_list_sparse_types), "
    "feature_list_sparse_shapes: Nfeature_list_sparse*int64, "
    "feature_list_dense_values: list(feature_list_dense_types)"
)
_SEQUENCE: dict[str, Any] = {
    **dict.fromkeys(("Ncontext_sparse", "Ncontext_dense", "Nfeature_list_sparse", "Nfeature_list_dense"), _number),
    **dict.fromkeys(("context_sparse_types", "Tcontext_dense"), _some_types),
    **dict.fromkeys(("feature_list_dense_types", "feature_list_sparse_types"), _some_types),
    **dict.fromkeys(("context_dense_shapes", "feature_list_dense_shapes"), _some_shapes),
}

parse_example_op = op(
    "ParseExample",
    "serialized: string, names: string, sparse_keys: Nsparse*string, dense_keys: Ndense*string, "
    "dense_defaults: list(Tdense) -> " + _SPARSE_DENSE.format(n="Nsparse"),
    Nsparse=attr.integer(0),
    Ndense=attr.integer(0),
    sparse_types=_types,
    Tdense=_types,
    dense_shapes=_shapes,
    infer=_parse_example,
    differentiable=False,
    doc="Parses the features of a batch of Examples.",
)
parse_example_v2_op = op(
    "ParseExampleV2",
    "serialized: string, names: string, sparse_keys: string, dense_keys: string, ragged_keys: string, "
    f"dense_defaults: list(Tdense) -> {_SPARSE_DENSE.format(n='num_sparse')}, "
    "ragged_values: list(ragged_value_types), ragged_row_splits: list(ragged_split_types)",
    Tdense=_types,
    num_sparse=attr.integer(0),
    sparse_types=_types,
    ragged_value_types=_types,
    ragged_split_types=attr.type_list(0, allowed=dtypes.INDEX),
    dense_shapes=_shapes,
    infer=_parse_example_v2,
    differentiable=False,
    doc="Parses the features of one Example or a batch, with TensorFlow 2's inputs.",
)
parse_single_example_op = op(
    "ParseSingleExample",
    "serialized: string, dense_defaults: list(Tdense) -> " + _SPARSE_DENSE.format(n="num_sparse"),
    num_sparse=attr.integer(0),
    sparse_keys=_strings,
    dense_keys=_strings,
    sparse_types=_types,
    Tdense=_types,
    dense_shapes=_shapes,
    infer=_parse_single_example,
    differentiable=False,
    doc="Parses the features of one Example.",
)
parse_single_sequence_example_op = op(
    "ParseSingleSequenceExample",
    "serialized: string, feature_list_dense_missing_assumed_empty: string, "
    "context_sparse_keys: Ncontext_sparse*string, context_dense_keys: Ncontext_dense*string, "
    "feature_list_sparse_keys: Nfeature_list_sparse*string, feature_list_dense_keys: Nfeature_list_dense*string, "
    f"context_dense_defaults: list(Tcontext_dense), debug_name: string -> {_CONTEXT}",
    **_SEQUENCE,
    infer=_parse_single_sequence,
    differentiable=False,
    doc="Parses the context and the feature lists of one SequenceExample.",
)
parse_sequence_example_op = op(
    "ParseSequenceExample",
    "serialized: string, debug_name: string, context_dense_defaults: list(Tcontext_dense) -> "
    f"{_CONTEXT}, feature_list_dense_lengths: Nfeature_list_dense*int64",
    feature_list_dense_missing_assumed_empty=_strings,
    context_sparse_keys=_strings,
    context_dense_keys=_strings,
    feature_list_sparse_keys=_strings,
    feature_list_dense_keys=_strings,
    **_SEQUENCE,
    infer=_parse_sequence,
    differentiable=False,
    doc="Parses the context and the feature lists of a batch of SequenceExamples, padded to the longest.",
)
decode_json_example = export("decode_json_example", "io.decode_json_example")(
    op(
        "DecodeJSONExample",
        "json_examples: string -> binary_examples: string",
        infer=unchanged,
        differentiable=False,
        doc="Converts Examples in JSON to their binary form.",
    )
)
parse_tensor = export("parse_tensor", "io.parse_tensor")(
    op(
        "ParseTensor",
        "serialized: string -> output: out_type",
        out_type=attr.types(),
        infer=_one_message,
        differentiable=False,
        doc="Parses a serialized TensorProto.",
    )
)
serialize_tensor = export("serialize_tensor", "io.serialize_tensor")(
    op(
        "SerializeTensor",
        "tensor: T -> serialized: string",
        T=attr.types(),
        infer=_serialized,
        differentiable=False,
        doc="Serializes a tensor as a TensorProto.",
    )
)
