"""Feature specifications of tf.Example, and the functions that parse them."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, ShapeLike, as_shape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.parsing import parse_example_op, parse_single_example_op
from thalweg._src.graph.ops.reshape import expand_dims, reshape, squeeze
from thalweg._src.graph.ops.sequence_parsing import parse_sequence_example_op, parse_single_sequence_example_op
from thalweg._src.graph.ops.slicing import slice as slice_
from thalweg._src.graph.ops.sparse_shaping import sparse_merge
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("VarLenFeature", "io.VarLenFeature")
class VarLenFeature(NamedTuple):
    """A feature with any number of values, parsed as a SparseTensor.

    Args:
        dtype: Element type of the values.
    """

    dtype: Any


@export("SparseFeature", "io.SparseFeature")
class SparseFeature(namedtuple("SparseFeature", "index_key value_key dtype size already_sorted")):
    """A sparse tensor stored as two or more features: its indices and its values.

    Args:
        index_key: Key of the feature with the indices; a list of keys for more dimensions.
        value_key: Key of the feature with the values.
        dtype: Element type of the values.
        size: Size of the dense dimension; a list for several dimensions.
    """

    def __new__(
        cls, index_key: Sequence[str], value_key: str, dtype: DTypeLike, size: TensorLike, already_sorted: bool = False
    ) -> Any:
        return super().__new__(cls, index_key, value_key, dtype, size, already_sorted)


@export("FixedLenFeature", "io.FixedLenFeature")
class FixedLenFeature(namedtuple("FixedLenFeature", "shape dtype default_value")):
    """A feature with a fixed number of values, given by its shape; a default replaces a missing one.

    Args:
        shape: Shape of the values of one example.
        dtype: Element type of the values.
        default_value: Value of examples that lack the feature; None makes it required.
    """

    def __new__(cls, shape: ShapeLike, dtype: DTypeLike, default_value: TensorLike | None = None) -> Any:
        return super().__new__(cls, shape, dtype, default_value)


@export("FixedLenSequenceFeature", "io.FixedLenSequenceFeature")
class FixedLenSequenceFeature(namedtuple("FixedLenSequenceFeature", "shape dtype allow_missing default_value")):
    """A sequence of entries of one shape, padded to the longest in a batch.

    Args:
        shape: Shape of one entry of the sequence.
        dtype: Element type of the values.
        allow_missing: Whether an example may lack the feature.
        default_value: Value that fills shorter sequences of a batch.
    """

    def __new__(
        cls, shape: ShapeLike, dtype: DTypeLike, allow_missing: bool = False, default_value: TensorLike | None = None
    ) -> Any:
        return super().__new__(cls, shape, dtype, allow_missing, default_value)


@dataclass(slots=True)
class _FeatureSpecs:
    """Feature specifications by type, in the order of their keys."""

    sparse: dict[str, DType] = field(default_factory=dict)
    dense: dict[str, tuple[DType, Shape, Any]] = field(default_factory=dict)
    may_miss: list[str] = field(default_factory=list)
    composite: dict[str, SparseFeature] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)


def _specs_by_type(features: Mapping[str, Any], *types: Any, sequence: bool = False) -> _FeatureSpecs:
    """Sorts feature specifications by type; rejects types that are not supported here."""
    require_kind("features", features, Mapping, "a dict of features")
    result = _FeatureSpecs(named=set(features))
    for key in sorted(features):
        feature = features[key]
        if not isinstance(feature, types):
            raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key {key!r}")
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}. Received feature={feature}.")
        if isinstance(feature, VarLenFeature):
            _add_sparse(result, key, feature.dtype)
        elif isinstance(feature, SparseFeature):
            _add_composite(result, key, feature)
        else:
            _add_dense(result, key, feature, sequence)
    return result


def _add_sparse(specs: _FeatureSpecs, key: str, dtype: DTypeLike) -> None:
    dtype = dtypes.as_dtype(dtype)
    if specs.sparse.setdefault(key, dtype) is not dtype:
        raise ValueError(f"Conflicting type {specs.sparse[key].name} vs {dtype.name} for  feature {key}.")


def _add_composite(specs: _FeatureSpecs, key: str, feature: SparseFeature) -> None:
    if not feature.index_key or not feature.value_key:
        raise ValueError(f"Missing index_key or value_key for SparseFeature {key}. Received feature={feature}.")
    for index_key in _index_keys(feature):
        _add_sparse(specs, index_key, dtypes.int64)
    _add_sparse(specs, feature.value_key, feature.dtype)
    specs.composite[key] = feature


def _index_keys(feature: SparseFeature) -> list[str]:
    return [feature.index_key] if isinstance(feature.index_key, str) else list(feature.index_key)


def _add_dense(specs: _FeatureSpecs, key: str, feature: Any, sequence: bool) -> None:
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
    shape, default = as_shape(feature.shape), feature.default_value
    if isinstance(feature, FixedLenSequenceFeature):
        if sequence:
            if feature.allow_missing:
                specs.may_miss.append(key)
        elif not feature.allow_missing:
            raise ValueError(f"feature {key}: a FixedLenSequenceFeature of an Example needs allow_missing=True")
        else:
            shape = None if shape is None else (None, *shape)
            default = _blank(feature.dtype) if default is None else default
    elif shape and shape[0] is None:
        raise ValueError(f"feature {key} has an unknown first dimension: {feature}; hint: FixedLenSequenceFeature")
    if shape is None or None in shape[1:]:
        raise ValueError(f"feature {key} has an unknown dimension: {feature.shape}")
    specs.dense[key] = (dtypes.as_dtype(feature.dtype), shape, default)


def _blank(dtype: DTypeLike) -> Any:
    return b"" if dtypes.as_dtype(dtype) is dtypes.string else 0


def _defaults(specs: _FeatureSpecs) -> list[Tensor]:
    """Returns the default of each dense feature; no default is an empty tensor."""
    result = []
    for key, (dtype, shape, default) in specs.dense.items():
        if default is None:
            result.append(constant(np.empty(0, dtype.as_numpy_dtype), dtype, name=f"key_{_plain(key)}_none"))
            continue
        tensor = convert_to_tensor(default, dtype, name=f"key_{_plain(key)}")
        if shape and shape[0] is None:
            result.append(reshape(tensor, []))
        else:
            result.append(tensor if tensor.dims == shape else reshape(tensor, list(shape or ())))
    return result


def _plain(key: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in key)


def _named(
    specs: _FeatureSpecs,
    indices: Sequence[Tensor],
    values: Sequence[Tensor],
    shapes: Sequence[Tensor],
    dense: Sequence[Tensor],
) -> dict[str, Any]:
    """Returns outputs by key, with composite features assembled and their components removed."""
    sparse = [SparseTensor(*components) for components in zip(indices, values, shapes)]
    result: dict[str, Any] = {**dict(zip(specs.sparse, sparse)), **dict(zip(specs.dense, dense))}
    for key, feature in specs.composite.items():
        ids: Any = [result[index_key] for index_key in _index_keys(feature)]
        size = feature.size
        if isinstance(feature.index_key, str):
            ids = ids[0]
        merged = sparse_merge(ids, result[feature.value_key], size, f"{key}_merge", feature.already_sorted)
        result[key] = merged
    return {key: value for key, value in result.items() if key in specs.named}


_IN_EXAMPLES = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)


def _require_some(what: str, *features: object) -> None:
    if not any(features):
        raise ValueError(f"Missing: {what} was {features[0]}.")


@export("parse_example", "io.parse_example")
def parse_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[str, Any]:
    """Returns the features of a vector of serialized Examples, as dense tensors and SparseTensors by key.

    Args:
        features: Specification of each feature, by key.
    """
    _require_some("features", features)
    specs = _specs_by_type(features, *_IN_EXAMPLES)
    with name_scope(name, "ParseExample", [serialized, example_names]):
        return _parse_batch(serialized, specs, example_names)


def _parse_batch(serialized: TensorLike, specs: _FeatureSpecs, names: TensorLike | None) -> dict[str, Any]:
    outputs = parse_example_op.many(
        convert_to_tensor(serialized, dtypes.string, name="serialized"),
        constant(np.empty(0, object), dtypes.string, name="names") if names is None else names,
        [constant(key, dtypes.string) for key in specs.sparse],
        [constant(key, dtypes.string) for key in specs.dense],
        _defaults(specs),
        sparse_types=list(specs.sparse.values()),
        dense_shapes=[shape for _, shape, _ in specs.dense.values()],
    )
    return _named(specs, *outputs)


@export("parse_single_example", "io.parse_single_example")
def parse_single_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[str, Any]:
    """Returns the features of one serialized Example.

    Args:
        features: Specification of each feature, by key.
    """
    _require_some("features", features)
    specs = _specs_by_type(features, *_IN_EXAMPLES)
    with name_scope(name, "ParseSingleExample", [serialized, example_names]):
        if example_names is not None:  # the op for a single Example has no input for its name
            return _parse_batch_of_one(serialized, specs, example_names)
        outputs = parse_single_example_op.many(
            convert_to_tensor(serialized, dtypes.string, name="serialized"),
            _defaults(specs),
            num_sparse=len(specs.sparse),
            sparse_keys=list(specs.sparse),
            dense_keys=list(specs.dense),
            sparse_types=list(specs.sparse.values()),
            dense_shapes=[shape for _, shape, _ in specs.dense.values()],
        )
        return _named(specs, *outputs)


def _parse_batch_of_one(serialized: TensorLike, specs: _FeatureSpecs, name: TensorLike | None) -> dict[str, Any]:
    batch = expand_dims(convert_to_tensor(serialized, dtypes.string), 0)
    parsed = _parse_batch(batch, specs, expand_dims(convert_to_tensor(name, dtypes.string), 0))
    return {
        key: SparseTensor(slice_(value.indices, [0, 1], [-1, -1]), value.values, slice_(value.dense_shape, [1], [-1]))
        if isinstance(value, SparseTensor)
        else squeeze(value, [0])
        for key, value in parsed.items()
    }


def _specs_of_sequence(
    context_features: Mapping[str, Any] | None, sequence_features: Mapping[str, Any] | None
) -> tuple[_FeatureSpecs, _FeatureSpecs]:
    if not context_features and not sequence_features:
        raise ValueError("Missing features: both context_features and sequence_features are empty.")
    context = _specs_by_type(context_features or {}, VarLenFeature, SparseFeature, FixedLenFeature)
    lists = _specs_by_type(
        sequence_features or {}, VarLenFeature, SparseFeature, FixedLenSequenceFeature, sequence=True
    )
    return context, lists


def _types_and_shapes(context: _FeatureSpecs, lists: _FeatureSpecs) -> dict[str, Any]:
    return {
        "context_sparse_types": list(context.sparse.values()),
        "context_dense_shapes": [shape for _, shape, _ in context.dense.values()],
        "feature_list_sparse_types": list(lists.sparse.values()),
        "feature_list_dense_types": [dtype for dtype, _, _ in lists.dense.values()],
        "feature_list_dense_shapes": [shape for _, shape, _ in lists.dense.values()],
    }


@export("parse_single_sequence_example", "io.parse_single_sequence_example")
def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the context and the sequences of one serialized SequenceExample."""
    context, lists = _specs_of_sequence(context_features, sequence_features)
    with name_scope(name, "ParseSingleSequenceExample", [serialized, example_name]):
        keys = [[constant(key, dtypes.string) for key in keys] for keys in (context.sparse, context.dense)]
        keys += [[constant(key, dtypes.string) for key in keys] for keys in (lists.sparse, lists.dense)]
        outputs = parse_single_sequence_example_op.many(
            convert_to_tensor(serialized, dtypes.string, name="serialized"),
            constant(np.array([key.encode() for key in lists.may_miss], object), dtypes.string),
            *keys,
            _defaults(context),
            "" if example_name is None else example_name,
            **_types_and_shapes(context, lists),
        )
        return _named(context, *outputs[:4]), _named(lists, *outputs[4:8])


@export("io.parse_sequence_example")
def parse_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Returns the contexts, the sequences and the lengths of a vector of serialized SequenceExamples.

    Args:
        serialized: Vector of serialized SequenceExamples.
    """
    context, lists = _specs_of_sequence(context_features, sequence_features)
    with name_scope(name, "ParseSequenceExample", [serialized, example_names]):
        outputs = parse_sequence_example_op.many(
            convert_to_tensor(serialized, dtypes.string, name="serialized"),
            constant(np.empty(0, object), dtypes.string) if example_names is None else example_names,
            _defaults(context),
            feature_list_dense_missing_assumed_empty=lists.may_miss,
            context_sparse_keys=list(context.sparse),
            context_dense_keys=list(context.dense),
            feature_list_sparse_keys=list(lists.sparse),
            feature_list_dense_keys=list(lists.dense),
            Ncontext_sparse=len(context.sparse),
            Ncontext_dense=len(context.dense),
            Nfeature_list_sparse=len(lists.sparse),
            Nfeature_list_dense=len(lists.dense),
            **_types_and_shapes(context, lists),
        )
        lengths = dict(zip(lists.dense, outputs[8]))
        return _named(context, *outputs[:4]), _named(lists, *outputs[4:8]), lengths
