"""Sequence feature columns: inputs of recurrent networks, with a number of steps per example."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import require_kind, require_members
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.math import ceil
from thalweg._src.graph.ops.pad_tile import pad
from thalweg._src.graph.ops.reshape import reshape, shape as shape_of
from thalweg._src.graph.ops.segment import segment_max
from thalweg._src.graph.ops.sparse import sparse_tensor_to_dense
from thalweg._src.graph.ops.sparse_shaping import sparse_reshape
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.input.features import VarLenFeature
from thalweg._src.training.nn.feature_columns.base import CategoricalColumn, DenseColumn, Features, IdsAndWeights
from thalweg._src.training.nn.feature_columns.categorical import (
    HashedCategoricalColumn,
    IdentityCategoricalColumn,
    VocabularyFileCategoricalColumn,
    VocabularyListCategoricalColumn,
)
from thalweg._src.training.nn.feature_columns.dense import EmbeddingColumn, IndicatorColumn, variable_collections
from thalweg._src.training.variables.variable_scope import variable_scope


class SequenceCategoricalColumn(CategoricalColumn):
    """A categorical column over sequences, with one step per position of another column."""

    _fields = ("categorical_column",)
    name = ReadOnly[str]("The name of the column.", "categorical_column.name")
    parse_example_spec = ReadOnly[dict[str, Any]](
        "The features for `tf.io.parse_example`.", "categorical_column.parse_example_spec"
    )
    num_buckets = ReadOnly[int]("The number of categories.", "categorical_column.num_buckets")

    def __init__(self, categorical_column: CategoricalColumn) -> None:
        self.categorical_column = categorical_column

    def transform(self, features: Features) -> Any:
        return features.get(self.categorical_column)

    def sparse(self, features: Features) -> IdsAndWeights:
        """Returns the categories as [batch, steps, categories of a step]."""
        ids, weights = self.categorical_column.sparse(features)
        return IdsAndWeights(_by_steps(ids), None if weights is None else _by_steps(weights))


def _by_steps(sparse: SparseTensor) -> SparseTensor:
    if sparse.dims is not None and len(sparse.dims) == 3:
        return sparse
    return sparse_reshape(sparse, concat([sparse.dense_shape, [1]], 0))


def sequence_length_of(ids: SparseTensor, width: int = 1) -> Tensor:
    """Returns the number of steps of each example; `width` is the number of values per step."""
    rows, columns = ids.indices[:, 0], ids.indices[:, 1] + 1
    steps = cast(ceil(cast(segment_max(columns, rows), dtypes.float64) / width), dtypes.int64)
    missing = cast(ids.dense_shape[0], dtypes.int32) - shape_of(steps)[0]
    return pad(steps, [[0, missing]])


@export("feature_column.sequence_numeric_column", "contrib.feature_column.sequence_numeric_column")
class SequenceNumericColumn(DenseColumn):
    """A column of real values per step.

    Args:
        default_value: Value where the feature is missing.
    """

    _fields = ("key", "shape", "default_value", "dtype", "normalizer_fn")
    name = ReadOnly[str]("The name of the column.", "key")

    def __init__(
        self,
        key: str,
        shape: int | Sequence[int] = (1,),
        default_value: float = 0.0,
        dtype: DTypeLike = dtypes.float32,
        normalizer_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        shape = (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)
        if any(size < 1 for size in shape):
            raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}")
        dtype = dtypes.as_dtype(dtype)
        if not (dtype.is_integer or dtype.is_floating):
            raise ValueError(f"dtype must be convertible to float. dtype: {dtype.name}, key: {key}")
        if normalizer_fn is not None and not callable(normalizer_fn):
            raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
        self.key, self.shape, self.default_value = key, shape, default_value
        self.dtype, self.normalizer_fn = dtype, normalizer_fn

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> Sequence[int]:
        return self.shape

    def transform(self, features: Features) -> Any:
        return features.get(self.key)

    def steps(self, features: Features) -> tuple[Tensor, Tensor]:
        """Returns the values [batch, steps, ...] and the number of steps of each example."""
        sparse = features.get(self)
        dense = sparse_tensor_to_dense(sparse, default_value=cast(self.default_value, sparse.dtype))
        shaped = reshape(dense, concat([shape_of(dense)[:1], [-1], list(self.shape)], 0))
        if self.normalizer_fn is not None:
            shaped = self.normalizer_fn(shaped)
        width = self.size if len(sparse.dims or (0, 0)) == 2 else 1
        return cast(shaped, dtypes.float32), sequence_length_of(sparse, width)


sequence_numeric_column = SequenceNumericColumn


@export(
    "feature_column.sequence_categorical_column_with_hash_bucket",
    "contrib.feature_column.sequence_categorical_column_with_hash_bucket",
)
@parameters_of(HashedCategoricalColumn)
def sequence_categorical_column_with_hash_bucket(**arguments: Any) -> SequenceCategoricalColumn:
    """Returns a sequence column of categories by hash."""
    return SequenceCategoricalColumn(HashedCategoricalColumn(**arguments))


@export(
    "feature_column.sequence_categorical_column_with_identity",
    "contrib.feature_column.sequence_categorical_column_with_identity",
)
@parameters_of(IdentityCategoricalColumn)
def sequence_categorical_column_with_identity(**arguments: Any) -> SequenceCategoricalColumn:
    """Returns a sequence column of integer ids."""
    return SequenceCategoricalColumn(IdentityCategoricalColumn(**arguments))


@export(
    "feature_column.sequence_categorical_column_with_vocabulary_list",
    "contrib.feature_column.sequence_categorical_column_with_vocabulary_list",
)
@parameters_of(VocabularyListCategoricalColumn)
def sequence_categorical_column_with_vocabulary_list(**arguments: Any) -> SequenceCategoricalColumn:
    """Returns a sequence column of categories in a list."""
    return SequenceCategoricalColumn(VocabularyListCategoricalColumn(**arguments))


@export(
    "feature_column.sequence_categorical_column_with_vocabulary_file",
    "contrib.feature_column.sequence_categorical_column_with_vocabulary_file",
)
@parameters_of(VocabularyFileCategoricalColumn)
def sequence_categorical_column_with_vocabulary_file(**arguments: Any) -> SequenceCategoricalColumn:
    """Returns a sequence column of categories in a file."""
    return SequenceCategoricalColumn(VocabularyFileCategoricalColumn(**arguments))


@export("contrib.feature_column.sequence_input_layer")
def sequence_input_layer(
    features: Mapping[str, Any],
    feature_columns: Iterable[Any],
    weight_collections: Sequence[str] | None = None,
    trainable: bool = True,
) -> tuple[Tensor, Tensor]:
    """Returns all columns concatenated, [batch, steps, width], and the number of steps of each example."""
    collections = variable_collections(weight_collections)
    require_kind("features", features, Mapping, "a dict of features")
    for column in feature_columns:
        require_members("feature_columns", column, "feature columns", "name")
    columns = sorted(feature_columns, key=lambda column: str(column.name))
    with variable_scope(None, "sequence_input_layer", list(features.values())):
        column_inputs = Features(features)
        outputs, lengths = [], []
        for column in columns:
            with variable_scope(None, column.scope):
                if isinstance(column, SequenceNumericColumn):
                    numbers, length = column.steps(column_inputs)
                elif isinstance(column, EmbeddingColumn | IndicatorColumn) and isinstance(
                    column.categorical_column, SequenceCategoricalColumn
                ):
                    numbers = column.dense(column_inputs, collections, trainable)
                    length = sequence_length_of(column.categorical_column.sparse(column_inputs).id_tensor)
                else:
                    raise ValueError(f"All feature_columns must be of sequences. Given: {column}")
                sizes = shape_of(numbers)
                outputs.append(reshape(numbers, [sizes[0], sizes[1], column.size]))
                lengths.append(length)
        return concat(outputs, -1) if len(outputs) > 1 else outputs[0], lengths[0]
