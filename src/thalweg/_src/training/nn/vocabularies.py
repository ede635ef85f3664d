"""Vocabulary tables: words to ids and back, with hash buckets for out-of-vocabulary words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import require_members, require_text
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import not_equal
from thalweg._src.graph.ops.constants import constant, no_op
from thalweg._src.graph.ops.decoding import as_string
from thalweg._src.graph.ops.hashing import string_to_hash_bucket_fast, string_to_hash_bucket_strong
from thalweg._src.graph.ops.math import add
from thalweg._src.graph.ops.reshape import size
from thalweg._src.graph.ops.sequences import range as sequence
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.lookup import (
    HashTable,
    KeyValueTensorInitializer,
    LookupInterface,
    TableInitializerBase,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)

_KEYS = (dtypes.int32, dtypes.int64, dtypes.string)


@export("contrib.lookup.HasherSpec")
class HasherSpec(NamedTuple):
    """A hash function by name, with its key."""

    hasher: str
    key: Any


FastHashSpec = export("contrib.lookup.FastHashSpec")(HasherSpec("fasthash", None))


@export("contrib.lookup.StrongHashSpec")
class StrongHashSpec(HasherSpec):
    """The strong hash function with a key of two integers.

    Args:
        key: Two integers that select the hash function.
    """

    __slots__ = ()

    def __new__(cls, key: Sequence[int]) -> StrongHashSpec:
        if len(key) != 2:
            raise ValueError(f"key must have size 2, got {len(key)}.")
        if not all(isinstance(number, int | np.integer) for number in key):
            raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


@export("contrib.lookup.IdTableWithHashBuckets")
class IdTableWithHashBuckets(LookupInterface):
    """A table of ids with hash buckets, after the last id, for keys that are not in it.

    Args:
        table: The table.
        name: A name for the table.
    """

    init = ReadOnly[Operation](
        "The operation that initializes the table; deprecated name of `initializer`.", "initializer"
    )
    name = ReadOnly[str]("The name of the table.")

    def __init__(
        self,
        table: Any,
        num_oov_buckets: int,
        hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None,
        key_dtype: DTypeLike | None = None,
    ) -> None:
        if table is None and num_oov_buckets <= 0:
            raise ValueError("table and num_oov_buckets are both missing: one of them must be given")
        if table is not None:
            require_members("table", table, "a lookup table or None", "key_dtype", "value_dtype")
        key = (
            table.key_dtype if key_dtype is None and table is not None else dtypes.as_dtype(key_dtype or dtypes.string)
        )
        if key not in _KEYS:
            raise TypeError(f"Invalid key_dtype {key.name}: it must be int32, int64 or string.")
        if table is not None and table.key_dtype.is_integer != key.is_integer:
            raise TypeError(f"Invalid key dtype, expected {key.name} but got {table.key_dtype.name}.")
        super().__init__(key, dtypes.int64)
        self._table = table
        self._num_oov_buckets = num_oov_buckets
        self._hasher_spec = hasher_spec
        if name is not None:
            require_text("name", name)
        self._name = name.rstrip("/") if name else "hash_bucket" if table is None else table.name

    @property
    def initializer(self) -> Operation:
        """The operation that initializes the table."""
        return no_op() if self._table is None else self._table.initializer

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of entries plus that of buckets."""
        with name_scope(name, f"{self._name}_Size"):
            buckets = constant(self._num_oov_buckets, dtypes.int64)
            return buckets if self._table is None else add(self._table.size(), buckets)

    def _bucket(self, strings: Tensor) -> Tensor:
        spec = self._hasher_spec
        if spec.hasher == "fasthash":
            return string_to_hash_bucket_fast(strings, self._num_oov_buckets)
        if spec.hasher == "stronghash":
            return string_to_hash_bucket_strong(strings, self._num_oov_buckets, spec.key)
        raise ValueError(f"Unknown hasher {spec.hasher}: use FastHashSpec or StrongHashSpec")

    def lookup(self, keys: TensorLike | SparseTensor, name: str | None = None) -> Any:
        """Returns the ids of keys, those of buckets for keys that are not in the table."""
        if isinstance(keys, SparseTensorValue):
            keys = SparseTensor.from_value(keys)
        values = keys.values if isinstance(keys, SparseTensor) else keys
        flat = convert_to_tensor(values, None if isinstance(values, Tensor) else self._key_dtype, name="keys")
        if flat.dtype.base_dtype is not self._key_dtype:
            raise TypeError(f"keys: expected {self._key_dtype.name}, received {flat.dtype.name}")
        with name_scope(name, f"{self._name}_Lookup", [flat]):
            ids = self._ids(flat)
        return SparseTensor(keys.indices, ids, keys.dense_shape) if isinstance(keys, SparseTensor) else ids

    def _ids(self, keys: Tensor) -> Tensor:
        table_ids = None
        if self._table is not None:
            table_keys = keys if keys.dtype is self._table.key_dtype else cast(keys, self._table.key_dtype)
            table_ids = self._table.lookup(table_keys)
        if not self._num_oov_buckets:
            assert table_ids is not None
            return table_ids  # type: ignore[no-any-return]
        buckets = self._bucket(keys if keys.dtype is dtypes.string else as_string(keys))
        if table_ids is None:
            return buckets
        ids: Tensor = where(
            not_equal(table_ids, self._table.default_value), table_ids, add(buckets, self._table.size())
        )
        return ids


@export("lookup.StaticVocabularyTable")
class StaticVocabularyTable(IdTableWithHashBuckets):
    """A table of ids with at least one bucket for keys that are not in it.

    Args:
        initializer: What fills the table with numbers from 0 on.
        lookup_key_dtype: Type of the keys that are looked up.
        name: A name for the table.
    """

    def __init__(
        self,
        initializer: TableInitializerBase,
        num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0.")
        table = None
        if initializer is not None:
            require_members("initializer", initializer, "a table initializer or None", "key_dtype", "value_dtype")
            if initializer.value_dtype is not dtypes.int64:
                raise TypeError(f"Invalid value dtype, expected int64 but got {initializer.value_dtype.name}.")
            table = HashTable(initializer, -1, name=name)
        super().__init__(table, num_oov_buckets, FastHashSpec, name, lookup_key_dtype)

    @property
    def resource_handle(self) -> Tensor | None:
        """The tensor of the resource."""
        return None if self._table is None else self._table.resource_handle


@export("contrib.lookup.index_table_from_file", "contrib.lookup.string_to_index_table_from_file")
def index_table_from_file(
    vocabulary_file: TensorLike | None = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: DTypeLike = dtypes.string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """Returns a table from words to ids; the file has one word per line.

    Args:
        vocab_size: Number of lines to read; None reads all.
        name: A name for the table.
    """
    if not isinstance(vocabulary_file, Tensor) and not vocabulary_file:
        raise ValueError(f"vocabulary_file: expected the name of a file, received {vocabulary_file!r}")
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets: expected 0 or more, received {num_oov_buckets}")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"vocab_size: expected 1 or more, received {vocab_size}")
    kind = dtypes.as_dtype(key_dtype)
    if not kind.is_integer and kind is not dtypes.string:
        raise TypeError(f"keys: expected integers or strings, received {kind.name}")
    with name_scope(name, "string_to_index"):
        initializer = TextFileIdTableInitializer(
            vocabulary_file,
            key_column_index=key_column_index,
            value_column_index=value_column_index,
            vocab_size=vocab_size,
            delimiter=delimiter,
            key_dtype=dtypes.int64 if kind.is_integer else kind,
        )
        return _with_buckets(HashTable(initializer, default_value), num_oov_buckets, hasher_spec, kind)


@export("contrib.lookup.index_table_from_tensor", "contrib.lookup.string_to_index_table_from_tensor")
def index_table_from_tensor(
    mapping: TensorLike | None = None,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    dtype: DTypeLike = dtypes.string,
    name: str | None = None,
    vocabulary_list: TensorLike | None = None,
) -> Any:
    """Returns a table from words to their indices in a list.

    Args:
        dtype: Type of the keys.
        name: A name for the table.
        vocabulary_list: Another name of `mapping`.
    """
    mapping = vocabulary_list if mapping is None else mapping
    if mapping is None:
        raise ValueError("mapping: expected words, received None")
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets: expected 0 or more, received {num_oov_buckets}")
    kind = dtypes.as_dtype(dtype)
    if not kind.is_integer and kind is not dtypes.string:
        raise TypeError(f"keys: expected integers or strings, received {kind.name}")
    with name_scope(name, "string_to_index"):
        keys = convert_to_tensor(mapping, None if isinstance(mapping, Tensor) else kind)
        if keys.dtype.is_integer != kind.is_integer:
            raise TypeError(f"Expected {kind.name}, got {keys.dtype.name}.")
        if kind.is_integer:
            keys = cast(keys, dtypes.int64)
        initializer = KeyValueTensorInitializer(keys, _positions(keys), name="table_init")
        return _with_buckets(HashTable(initializer, default_value), num_oov_buckets, hasher_spec, kind)


def _with_buckets(table: Any, num_oov_buckets: int, hasher_spec: HasherSpec, key_dtype: DTypeLike) -> Any:
    if not num_oov_buckets and table.key_dtype is key_dtype:
        return table
    return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=key_dtype)


def _positions(values: Tensor) -> Tensor:
    result: Tensor = cast(sequence(size(values)), dtypes.int64)
    return result


@export("contrib.lookup.index_to_string_table_from_file")
def index_to_string_table_from_file(
    vocabulary_file: TensorLike,
    vocab_size: int | None = None,
    default_value: TensorLike = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> HashTable:
    """Returns a table from ids to words; the file has one word per line.

    Args:
        vocab_size: Number of lines to read; None reads all.
        name: A name for the table.
    """
    if not isinstance(vocabulary_file, Tensor) and not vocabulary_file:
        raise ValueError(f"vocabulary_file: expected the name of a file, received {vocabulary_file!r}")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"vocab_size: expected 1 or more, received {vocab_size}")
    with name_scope(name, "index_to_string"):
        initializer = TextFileStringTableInitializer(
            vocabulary_file,
            key_column_index=key_column_index,
            value_column_index=value_column_index,
            vocab_size=vocab_size,
            delimiter=delimiter,
        )
        return HashTable(initializer, default_value)


@export("contrib.lookup.index_to_string_table_from_tensor")
def index_to_string_table_from_tensor(
    mapping: TensorLike | None = None,
    default_value: TensorLike = "UNK",
    name: str | None = None,
    vocabulary_list: TensorLike | None = None,
) -> HashTable:
    """Returns a table from indices to the words of a list.

    Args:
        name: A name for the table.
        vocabulary_list: Another name of `mapping`.
    """
    mapping = vocabulary_list if mapping is None else mapping
    if mapping is None:
        raise ValueError("mapping: expected words, received None")
    with name_scope(name, "index_to_string"):
        words = convert_to_tensor(mapping, dtypes.string)
        initializer = KeyValueTensorInitializer(_positions(words), words, name="table_init")
        return HashTable(initializer, default_value)


@export("contrib.lookup.string_to_index")
def string_to_index(tensor: TensorLike, mapping: TensorLike, default_value: int = -1, name: str | None = None) -> Any:
    """Returns the indices of words in a list.

    Args:
        tensor: The keys to look up.
    """
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


@export("contrib.lookup.index_to_string")
def index_to_string(
    tensor: TensorLike, mapping: TensorLike, default_value: TensorLike = "UNK", name: str | None = None
) -> Any:
    """Returns the words of a list at indices.

    Args:
        tensor: The keys to look up.
    """
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)
