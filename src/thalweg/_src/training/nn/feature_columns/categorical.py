"""Categorical columns: hashed, vocabulary, identity, weighted and crossed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.formats import gfile
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.check import assert_greater_equal, assert_less
from thalweg._src.graph.ops.comparison import greater_equal, less, logical_or
from thalweg._src.graph.ops.decoding import as_string
from thalweg._src.graph.ops.gather import gather_nd
from thalweg._src.graph.ops.hashing import string_to_hash_bucket_fast
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.sparse_cross import sparse_cross_hashed
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.input.features import VarLenFeature
from thalweg._src.training.nn.feature_columns.base import CategoricalColumn, Features, IdsAndWeights, as_sparse
from thalweg._src.training.nn.vocabularies import index_table_from_file, index_table_from_tensor


def _require_key(key: object) -> None:
    if not isinstance(key, str):
        raise ValueError(f"key must be a string, got: type {type(key)}, value {key!r}")


def _with_values(sparse: SparseTensor, values: Tensor) -> SparseTensor:
    return SparseTensor(sparse.indices, values, sparse.dense_shape)


class _KeyedColumn(CategoricalColumn):
    """A column of one feature."""

    key: str
    dtype: Any
    name = ReadOnly[str]("The name of the column.", "key")

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature(self.dtype)}

    def transform(self, features: Features) -> Any:
        sparse = as_sparse(features.get(self.key))
        if sparse.dtype is not dtypes.string and not sparse.dtype.is_integer:
            raise ValueError(f"SparseColumn input must be string or integer: {self.key!r} is {sparse.dtype.name}")
        if (self.dtype is dtypes.string) != (sparse.dtype is dtypes.string):
            raise ValueError(f"Column {self.key!r} expects {self.dtype.name}, its feature is {sparse.dtype.name}")
        return _with_values(sparse, self._ids(sparse.values))

    def _ids(self, values: Tensor) -> Any:
        """Returns the ids of categories."""
        raise NotImplementedError(f"{type(self).__name__} does not define _ids")


def _key_type(key: str, dtype: DTypeLike) -> Any:
    dtype = dtypes.as_dtype(dtype)
    if dtype is not dtypes.string and not dtype.is_integer:
        raise ValueError(f"dtype must be string or integer. dtype: {dtype.name}, column_name: {key}")
    return dtype


@export("feature_column.categorical_column_with_hash_bucket")
class HashedCategoricalColumn(_KeyedColumn):
    """A categorical column by hash of the value."""

    _fields = ("key", "hash_bucket_size", "dtype")
    num_buckets = ReadOnly[int]("The number of categories.", "hash_bucket_size")

    def __init__(self, key: str, hash_bucket_size: int, dtype: DTypeLike = dtypes.string) -> None:
        if hash_bucket_size is None or hash_bucket_size < 1:
            raise ValueError(f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}")
        _require_key(key)
        self.key, self.hash_bucket_size, self.dtype = key, hash_bucket_size, _key_type(key, dtype)

    def _ids(self, values: Tensor) -> Any:
        words = values if values.dtype is dtypes.string else as_string(values)
        return string_to_hash_bucket_fast(words, self.hash_bucket_size)


@export("feature_column.categorical_column_with_vocabulary_list")
class VocabularyListCategoricalColumn(_KeyedColumn):
    """A categorical column by index in a list.

    Args:
        vocabulary_list: The words, in order.
        default_value: Category of values that are not known; None makes them an error.
    """

    _fields = ("key", "vocabulary_list", "dtype", "default_value", "num_oov_buckets")

    def __init__(
        self,
        key: str,
        vocabulary_list: Sequence[str] | Sequence[int],
        dtype: DTypeLike | None = None,
        default_value: int = -1,
        num_oov_buckets: int = 0,
    ) -> None:
        _require_key(key)
        if vocabulary_list is None or len(vocabulary_list) < 1:
            raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
        if len(set(vocabulary_list)) != len(vocabulary_list):
            raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
        _require_one_default(key, num_oov_buckets, default_value != -1)
        vocabulary_dtype = dtypes.as_dtype(np.array(vocabulary_list).dtype)
        self.dtype = _key_type(key, vocabulary_dtype if dtype is None else dtype)
        if (self.dtype is dtypes.string) != (vocabulary_dtype is dtypes.string):
            raise ValueError(
                f"dtype {self.dtype.name} does not fit the vocabulary's, {vocabulary_dtype.name}, column_name: {key}"
            )
        self.key = key
        self.vocabulary_list: Any = tuple(vocabulary_list)
        self.default_value = default_value
        self.num_oov_buckets = num_oov_buckets

    @property
    def num_buckets(self) -> int:
        return len(self.vocabulary_list) + self.num_oov_buckets

    def _ids(self, values: Tensor) -> Any:
        kind = dtypes.int64 if self.dtype.is_integer else self.dtype
        table = index_table_from_tensor(
            list(self.vocabulary_list),
            num_oov_buckets=self.num_oov_buckets,
            default_value=self.default_value,
            dtype=kind,
            name=f"{self.key}_lookup",
        )
        return table.lookup(cast(values, kind) if kind is not dtypes.string else values)


def _require_one_default(key: str, num_oov_buckets: int, has_default: bool) -> None:
    if num_oov_buckets and has_default:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


@export("feature_column.categorical_column_with_vocabulary_file")
class VocabularyFileCategoricalColumn(_KeyedColumn):
    """A categorical column by line of a file.

    Args:
        vocabulary_size: Number of words to read; by default all.
        default_value: Category of values that are not known; None makes them an error.
    """

    _fields = ("key", "vocabulary_file", "vocabulary_size", "num_oov_buckets", "default_value", "dtype")

    def __init__(
        self,
        key: str,
        vocabulary_file: str,
        vocabulary_size: int | None = None,
        num_oov_buckets: int = 0,
        default_value: int | None = None,
        dtype: DTypeLike = dtypes.string,
    ) -> None:
        _require_key(key)
        if not vocabulary_file:
            raise ValueError(f"Missing vocabulary_file in {key}.")
        if vocabulary_size is None:
            with gfile.GFile(vocabulary_file, "rb") as lines:
                vocabulary_size = sum(1 for _ in lines)
        if vocabulary_size < 1:
            raise ValueError(f"Invalid vocabulary_size in {key}.")
        _require_one_default(key, num_oov_buckets, default_value is not None)
        self.key = key
        self.vocabulary_file = vocabulary_file
        self.vocabulary_size = vocabulary_size
        self.num_oov_buckets = num_oov_buckets
        self.default_value = -1 if default_value is None else default_value
        self.dtype = _key_type(key, dtype)

    @property
    def num_buckets(self) -> int:
        return self.vocabulary_size + self.num_oov_buckets

    def _ids(self, values: Tensor) -> Any:
        kind = dtypes.int64 if self.dtype.is_integer else self.dtype
        table = index_table_from_file(
            self.vocabulary_file,
            num_oov_buckets=self.num_oov_buckets,
            vocab_size=self.vocabulary_size,
            default_value=self.default_value,
            key_dtype=kind,
            name=f"{self.key}_lookup",
        )
        return table.lookup(cast(values, kind) if kind is not dtypes.string else values)


@export("feature_column.categorical_column_with_identity")
class IdentityCategoricalColumn(_KeyedColumn):
    """A categorical column of integer ids.

    Args:
        num_buckets: Number of categories.
        default_value: Category of values that are not known; None makes them an error.
    """

    _fields = ("key", "num_buckets_", "default_value")
    dtype = dtypes.int64
    num_buckets = ReadOnly[int]("The number of categories.", "num_buckets_")

    def __init__(self, key: str, num_buckets: int, default_value: int | None = None) -> None:
        _require_key(key)
        if num_buckets < 1:
            raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
        if default_value is not None and not 0 <= default_value < num_buckets:
            raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
        self.key, self.num_buckets_, self.default_value = key, num_buckets, default_value

    def _ids(self, values: Tensor) -> Any:
        values = cast(values, dtypes.int64)
        count = cast(self.num_buckets_, dtypes.int64)
        if self.default_value is None:
            checks = [
                assert_less(values, count, message=f"{self.key}: a value is not below num_buckets"),
                assert_greater_equal(values, cast(0, dtypes.int64), message=f"{self.key}: a value is negative"),
            ]
            with control_dependencies(checks):
                return identity(values)
        outside = logical_or(less(values, cast(0, dtypes.int64)), greater_equal(values, count))
        return where_v2(outside, cast(self.default_value, dtypes.int64), values)


@export("feature_column.weighted_categorical_column")
class WeightedCategoricalColumn(CategoricalColumn):
    """A categorical column with weights from another feature."""

    _fields = ("categorical_column", "weight_feature_key", "dtype")

    def __init__(
        self, categorical_column: CategoricalColumn, weight_feature_key: str, dtype: DTypeLike = dtypes.float32
    ) -> None:
        dtype = dtypes.as_dtype(dtype)
        if not (dtype.is_integer or dtype.is_floating):
            raise ValueError(f"dtype {dtype.name} is not convertible to float.")
        self.categorical_column = categorical_column
        self.weight_feature_key = weight_feature_key
        self.dtype = dtype

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in spec:
            raise ValueError(f"Parse config {spec[self.weight_feature_key]} already exists for its weights.")
        return {**spec, self.weight_feature_key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        return int(self.categorical_column.num_buckets)

    def transform(self, features: Features) -> Any:
        weights = features.get(self.weight_feature_key)
        if not isinstance(weights, SparseTensor):
            weights = as_sparse_like(features.get(self.categorical_column), weights)
        if not weights.dtype.is_floating:
            weights = _with_values(weights, cast(weights.values, dtypes.float32))
        return features.get(self.categorical_column), weights

    def sparse(self, features: Features) -> IdsAndWeights:
        return IdsAndWeights(*features.get(self))


def as_sparse_like(ids: SparseTensor, weights: Any) -> SparseTensor:
    """Returns the weights of a dense feature where there are categories."""
    return _with_values(ids, gather_nd(weights, ids.indices))


@export("feature_column.crossed_column")
class CrossedColumn(CategoricalColumn):
    """A categorical column of hashed feature crosses."""

    _fields = ("keys", "hash_bucket_size", "hash_key")
    num_buckets = ReadOnly[int]("The number of categories.", "hash_bucket_size")

    def __init__(self, keys: Sequence[Any], hash_bucket_size: int, hash_key: int | None = None) -> None:
        if not hash_bucket_size or hash_bucket_size < 1:
            raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
        if not keys or len(keys) < 2:
            raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
        for key in keys:
            if not isinstance(key, str | CategoricalColumn):
                raise ValueError(
                    f"Unsupported key type. All keys must be either string, or categorical column except "
                    f"HashedCategoricalColumn. Given: {key}"
                )
            if isinstance(key, HashedCategoricalColumn):
                raise ValueError(
                    f"categorical_column_with_hash_bucket is not supported for crossing: cross {key.key!r} itself. "
                    f"Given: {key}"
                )
        self.keys, self.hash_bucket_size, self.hash_key = tuple(keys), hash_bucket_size, hash_key

    def _leaves(self) -> Iterator[Any]:
        for key in self.keys:
            if isinstance(key, CrossedColumn):
                yield from key._leaves()
            else:
                yield key

    @property
    def name(self) -> str:
        return "_X_".join(sorted(leaf if isinstance(leaf, str) else leaf.name for leaf in self._leaves()))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = {}
        for key in self.keys:
            spec |= {key: VarLenFeature(dtypes.string)} if isinstance(key, str) else key.parse_example_spec
        return spec

    def transform(self, features: Features) -> Any:
        inputs = []
        for leaf in self._leaves():
            if isinstance(leaf, str):
                inputs.append(features.get(leaf))
                continue
            ids, weights = leaf.sparse(features)
            if weights is not None:
                raise ValueError(
                    f"crossed_column does not support weight_tensor, but the given column populates it: {leaf.name}"
                )
            inputs.append(ids)
        return sparse_cross_hashed(inputs, num_buckets=self.hash_bucket_size, hash_key=self.hash_key)
