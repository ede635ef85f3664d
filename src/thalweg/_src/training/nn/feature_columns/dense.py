"""Dense columns: numeric, bucketized, embedding and indicator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.ops.bucketize import bucketize
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import stack
from thalweg._src.graph.ops.pad_tile import tile
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, reshape, shape as shape_of
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.ops.sparse import sparse_tensor_to_dense
from thalweg._src.graph.ops.where import one_hot
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.checkpoint.reader import init_from_checkpoint
from thalweg._src.training.input.features import FixedLenFeature
from thalweg._src.training.nn.embedding import embedding_lookup_sparse, safe_embedding_lookup_sparse
from thalweg._src.training.nn.feature_columns.base import CategoricalColumn, DenseColumn, Features, IdsAndWeights
from thalweg._src.training.variables.initializers import TruncatedNormal
from thalweg._src.training.variables.variable_scope import get_variable


@export("feature_column.numeric_column")
class NumericColumn(DenseColumn):
    """A column of real values.

    Args:
        default_value: Value where the feature is missing.
    """

    _fields = ("key", "shape", "default_value", "dtype", "normalizer_fn")
    name = ReadOnly[str]("The name of the column.", "key")

    def __init__(
        self,
        key: str,
        shape: int | Sequence[int] = (1,),
        default_value: TensorLike | None = None,
        dtype: DTypeLike = dtypes.float32,
        normalizer_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        if not isinstance(key, str):
            raise ValueError(f"key must be a string, got: type {type(key)}, value {key!r}")
        shape = (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)
        if any(size < 1 for size in shape):
            raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}")
        dtype = dtypes.as_dtype(dtype)
        if not (dtype.is_integer or dtype.is_floating):
            raise ValueError(f"dtype must be convertible to float. dtype: {dtype.name}, key: {key}")
        if normalizer_fn is not None and not callable(normalizer_fn):
            raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
        if default_value is not None:
            whole = np.asarray(default_value)
            if whole.ndim and whole.shape != shape:
                raise ValueError(f"The shape of default_value must be equal to given shape. {default_value}, {shape}")
            if dtype.is_integer and whole.dtype.kind == "f":
                raise TypeError(
                    f"default_value must be compatible with dtype {dtype.name}. default_value: {default_value}"
                )
            default_value = tuple(np.broadcast_to(whole, shape).ravel().tolist())
        self.key, self.shape, self.default_value = key, shape, default_value
        self.dtype, self.normalizer_fn = dtype, normalizer_fn

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        default = None if self.default_value is None else list(self.default_value)
        return {self.key: FixedLenFeature(self.shape, self.dtype, default)}

    @property
    def variable_shape(self) -> Sequence[int]:
        return self.shape

    def transform(self, features: Features) -> Any:
        value = features.get(self.key)
        if isinstance(value, SparseTensor):
            raise ValueError(
                f"The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not supported. "
                f"key: {self.key}"
            )
        if self.normalizer_fn is not None:
            value = self.normalizer_fn(value)
        return cast(value, dtypes.float32)

    def dense(self, features: Features, collections: Sequence[str] | None = None, trainable: bool = True) -> Tensor:
        return features.get(self)  # type: ignore[no-any-return]


@export("feature_column.bucketized_column")
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """A column of bucketized numbers, dense as one-hot vectors or categorical."""

    _fields = ("source_column", "boundaries")
    parse_example_spec = ReadOnly[dict[str, Any]](
        "The features for `tf.io.parse_example`.", "source_column.parse_example_spec"
    )

    def __init__(self, source_column: Any, boundaries: Sequence[float]) -> None:
        if not isinstance(source_column, NumericColumn):
            raise ValueError(f"source_column must be a column generated with numeric_column(). Given: {source_column}")
        if len(source_column.shape) > 1:
            raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
        if not isinstance(boundaries, list | tuple) or not boundaries or list(boundaries) != sorted(set(boundaries)):
            raise ValueError("boundaries must be a sorted list.")
        self.source_column, self.boundaries = source_column, tuple(boundaries)

    @property
    def name(self) -> str:
        return f"{self.source_column.name}_bucketized"

    @property
    def variable_shape(self) -> Sequence[int]:
        return (*self.source_column.shape, len(self.boundaries) + 1)

    @property
    def num_buckets(self) -> int:
        return (len(self.boundaries) + 1) * int(self.source_column.shape[0])

    def transform(self, features: Features) -> Any:
        return bucketize(features.get(self.source_column), boundaries=[float(b) for b in self.boundaries])

    def dense(self, features: Features, collections: Sequence[str] | None = None, trainable: bool = True) -> Tensor:
        return one_hot(cast(features.get(self), dtypes.int64), len(self.boundaries) + 1, 1.0, 0.0)

    def sparse(self, features: Features) -> IdsAndWeights:
        buckets = features.get(self)
        batch, width = shape_of(buckets)[0], self.source_column.shape[0]
        rows = reshape(tile(expand_dims(range_of(batch), 1), [1, width]), [-1])
        columns = tile(range_of(width), [batch])
        ids = reshape(buckets, [-1]) + (len(self.boundaries) + 1) * columns
        indices = cast(stack([rows, columns], 1), dtypes.int64)
        shape = cast(stack([batch, width]), dtypes.int64)
        return IdsAndWeights(SparseTensor(indices, cast(ids, dtypes.int64), shape), None)


class EmbeddingColumn(DenseColumn):
    """A column of combined embeddings of an example's categories."""

    _fields = ("categorical_column", "dimension", "combiner", "initializer", "max_norm", "trainable", "shared_name")
    parse_example_spec = ReadOnly[dict[str, Any]](
        "The features for `tf.io.parse_example`.", "categorical_column.parse_example_spec"
    )

    def __init__(
        self,
        categorical_column: CategoricalColumn,
        dimension: int,
        combiner: str = "mean",
        initializer: Callable[..., Any] | None = None,
        ckpt_to_load_from: PathLike | None = None,
        tensor_name_in_ckpt: Any = None,
        max_norm: TensorLike | None = None,
        trainable: bool = True,
        use_safe_embedding_lookup: bool = True,
        shared_name: str | None = None,
    ) -> None:
        require_members("categorical_column", categorical_column, "a categorical column", "name")
        if dimension is None or dimension < 1:
            raise ValueError(f"Invalid dimension {dimension}.")
        if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
            raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
        if initializer is not None and not callable(initializer):
            raise ValueError(f"initializer must be callable if specified. Embedding of {categorical_column.name}")
        self.categorical_column = categorical_column
        self.dimension = dimension
        self.combiner = combiner
        self.initializer = initializer or TruncatedNormal(0.0, 1 / math.sqrt(dimension))
        self.ckpt_to_load_from = ckpt_to_load_from
        self.tensor_name_in_ckpt = tensor_name_in_ckpt
        self.max_norm = max_norm
        self.trainable = trainable
        self.use_safe_embedding_lookup = use_safe_embedding_lookup
        self.shared_name = shared_name

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_{'shared_' if self.shared_name else ''}embedding"

    @property
    def scope(self) -> str:
        return self.shared_name or super().scope

    @property
    def variable_shape(self) -> Sequence[int]:
        return (self.dimension,)

    def transform(self, features: Features) -> Any:
        return features.get(self.categorical_column)

    def table(self, collections: Sequence[str] | None, trainable: bool) -> Any:
        """Returns the embedding table; a shared one is created once per graph."""
        shape = [self.categorical_column.num_buckets, self.dimension]
        shared = get_default_graph().singleton("shared_embeddings", dict) if self.shared_name else {}
        if self.shared_name in shared:
            shared_table = shared[self.shared_name]
            if shared_table.get_shape().as_list() != shape:
                raise ValueError(
                    f"Shared embedding collection {self.shared_name!r} holds a table of shape "
                    f"{shared_table.get_shape()}, the column needs {shape}"
                )
            return shared_table
        table = get_variable(
            "embedding_weights",
            shape,
            dtypes.float32,
            self.initializer,
            trainable=self.trainable and trainable,
            collections=collections,
        )
        if self.ckpt_to_load_from is not None:
            init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: table})
        if self.shared_name:
            shared[self.shared_name] = table
        return table

    def dense(self, features: Features, collections: Sequence[str] | None = None, trainable: bool = True) -> Tensor:
        table = self.table(collections, trainable)
        ids, weights = self.categorical_column.sparse(features)
        look_up: Any = safe_embedding_lookup_sparse if self.use_safe_embedding_lookup else embedding_lookup_sparse
        return look_up(  # type: ignore[no-any-return]
            table, ids, weights, combiner=self.combiner, max_norm=self.max_norm, name=f"{self.name}_weights"
        )


@export("feature_column.indicator_column")
class IndicatorColumn(DenseColumn):
    """A multi-hot (or weighted) vector of the categories of an example."""

    _fields = ("categorical_column",)
    parse_example_spec = ReadOnly[dict[str, Any]](
        "The features for `tf.io.parse_example`.", "categorical_column.parse_example_spec"
    )

    def __init__(self, categorical_column: CategoricalColumn) -> None:
        self.categorical_column = categorical_column

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_indicator"

    @property
    def variable_shape(self) -> Sequence[int]:
        return (self.categorical_column.num_buckets,)

    def transform(self, features: Features) -> Any:
        """Returns the multi-hot vectors; negative ids are ignored."""
        ids, weights = self.categorical_column.sparse(features)
        count = self.categorical_column.num_buckets
        dense = sparse_tensor_to_dense(ids, default_value=-1, validate_indices=False)
        hot = one_hot(dense, count, 1.0, 0.0)
        if weights is not None:
            held = SparseTensor(ids.indices, weights.values, ids.dense_shape)
            factors = sparse_tensor_to_dense(held, default_value=0.0, validate_indices=False)
            hot = hot * expand_dims(cast(factors, dtypes.float32), -1)
        result = reduce_sum(hot, [-2])
        if ids.dims is None or len(ids.dims) == 2:
            result.set_shape([None, count])
        return result

    def dense(self, features: Features, collections: Sequence[str] | None = None, trainable: bool = True) -> Tensor:
        return features.get(self)  # type: ignore[no-any-return]


def variable_collections(collections: Sequence[str] | None) -> list[Any]:
    """Returns the collections of a column's variables: the given ones, global variables and model variables."""
    requested = [] if collections is None else list(collections)
    return list(dict.fromkeys([*requested, GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]))
