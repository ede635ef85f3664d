"""Lookup tables: static tables with initializers, and mutable tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import lookup as ops
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.scopes import GraphKeys, add_to_collection, colocate_with, get_collection, name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.checkpoint.saver_builder import SaveableObject, SaveSpec
from thalweg._src.training.checkpoint.trackable import Child, Saved, children_of, saved_by


class _Typed:
    """What has a type of keys and a type of values."""

    key_dtype = ReadOnly[DType]("The type of the keys.")
    value_dtype = ReadOnly[DType]("The type of the values.")

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)


@export("contrib.lookup.LookupInterface")
class LookupInterface(_Typed, ABC):
    """The interface of lookup tables: key and value types, name, size and lookup."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the table."""

    @abstractmethod
    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of entries."""

    @abstractmethod
    def lookup(self, keys: TensorLike | SparseTensor, name: str | None = None) -> Any:
        """Returns the values of keys."""


class _Table(LookupInterface):
    """The base class of tables with a resource handle."""

    resource_handle = ReadOnly[Tensor]("The tensor of the resource.", "_handle")
    table_ref = ReadOnly[Tensor]("The tensor of the resource; deprecated name of `resource_handle`.", "_handle")
    default_value = ReadOnly[Tensor]("The value of missing keys.")

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        handle: Tensor,
        value_shape: Any,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        self._handle = handle
        self._default_value = convert_to_tensor(default_value, self._value_dtype, name="default_value")
        if not shapes.compatible(self._default_value.dims, value_shape):
            raise ValueError(
                f"the default value has shape {shapes.show(self._default_value.dims)}, "
                f"values of the table have shape {shapes.show(value_shape)}"
            )

    @property
    def name(self) -> str:
        return self._handle.source_name.rpartition("/")[2]

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of entries."""
        return ops.lookup_table_size_op(self._handle, name=name or f"{self.name}_Size")

    def lookup(self, keys: TensorLike | SparseTensor, name: str | None = None) -> Any:
        """Returns the values of keys, the default for missing keys; sparse for sparse keys."""
        if isinstance(keys, SparseTensorValue):
            keys = SparseTensor.from_value(keys)
        flat = keys.values if isinstance(keys, SparseTensor) else keys
        flat = self._convert(flat, self._key_dtype, "Keys")
        values = ops.lookup_table_find_op(
            self._handle, flat, self._default_value, name=name or f"{self.name}_lookup_table_find"
        )
        return SparseTensor(keys.indices, values, keys.dense_shape) if isinstance(keys, SparseTensor) else values

    def _convert(self, value: Any, dtype: DType, what: str) -> Tensor:
        tensor = convert_to_tensor(value, None if isinstance(value, Tensor) else dtype, name=what.lower())
        if tensor.dtype.base_dtype is not dtype:
            raise TypeError(f"{what.lower()}: expected {dtype.name}, received {tensor.dtype.name}")
        return tensor


# Static tables and their initializers.


@export("contrib.lookup.TableInitializerBase")
class TableInitializerBase(_Typed, ABC):
    """The base class of initializers of static tables."""

    @property
    def _shared_name(self) -> str:
        """The name under which tables of equal contents share one resource; "" if the resource is not shared."""
        return ""

    @abstractmethod
    def initialize(self, table: Any) -> Operation:
        """Returns the operation that initializes a table, and adds it to those that `tables_initializer` runs."""

    def _check_types(self, table: Any) -> None:
        for what, initializer_dtype, other in (
            ("key", self._key_dtype, table.key_dtype),
            ("value", self._value_dtype, table.value_dtype),
        ):
            if initializer_dtype is not other:
                raise TypeError(f"Invalid {what} dtype, expected {other.name} but got {initializer_dtype.name}.")


@export("lookup.KeyValueTensorInitializer", "contrib.lookup.KeyValueTensorInitializer")
class KeyValueTensorInitializer(TableInitializerBase):
    """Initializes a table from a tensor of keys and one of values.

    Args:
        values: The values, one for each key.
        name: A name for the table.
    """

    def __init__(
        self,
        keys: TensorLike,
        values: TensorLike,
        key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        with name_scope(name, "key_value_init", [keys, values]) as scope:
            self._keys = convert_to_tensor(keys, key_dtype, name="keys")
            self._values = convert_to_tensor(values, value_dtype, name="values")
        self._name = scope
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table: Any) -> Operation:
        self._check_types(table)
        operation = ops.initialize_table_op.operation(
            table.resource_handle, self._keys, self._values, name=f"{self._name}{table.name}_init"
        )
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, operation)
        return operation


@export("lookup.TextFileIndex", "contrib.lookup.TextFileIndex")
class TextFileIndex:
    """Constants for the whole line and the line number in place of a column."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


@export("lookup.TextFileInitializer", "contrib.lookup.TextFileInitializer")
class TextFileInitializer(TableInitializerBase):
    """Initializes a table from the lines of a file: by columns, whole lines, or line numbers.

    Args:
        key_index: Column of the keys, or a constant of `TextFileIndex`.
        value_index: Column of the values, or a constant of `TextFileIndex`.
        vocab_size: Number of lines to read; None reads all.
        name: A name for the table.
        value_index_offset: What is added to values that are line numbers.
    """

    def __init__(
        self,
        filename: TensorLike,
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError("Filename required")
        super().__init__(key_dtype, value_dtype)
        for what, index, dtype in (("key", key_index, self._key_dtype), ("value", value_index, self._value_dtype)):
            if index < -2:
                raise ValueError(f"Invalid {what} index {index}.")
            if index == TextFileIndex.LINE_NUMBER and dtype is not dtypes.int64:
                raise ValueError(f"{what}s: expected int64, received {dtype.name}")
            if index == TextFileIndex.WHOLE_LINE and not (dtype.is_integer or dtype is dtypes.string):
                raise ValueError(f"{what}s: expected integers or strings, received {dtype.name}")
        if vocab_size is not None and vocab_size < 1:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        self._filename = filename
        self._key_index = key_index
        self._value_index = value_index
        self._vocab_size = -1 if vocab_size is None else vocab_size
        self._delimiter = delimiter
        self._offset = value_index_offset
        self._name = name

    @property
    def _shared_name(self) -> str:
        if isinstance(self._filename, Tensor):
            return ""
        limits = (self._vocab_size, self._key_index, self._value_index, self._offset)
        return f"hash_table_{self._filename}_" + "_".join(map(str, limits))

    def initialize(self, table: Any) -> Operation:
        self._check_types(table)
        with name_scope(self._name, "text_file_init", [table.resource_handle]):
            filename = convert_to_tensor(self._filename, dtypes.string, name="asset_filepath")
            operation = ops.initialize_table_from_text_file_op.operation(
                table.resource_handle,
                filename,
                key_index=self._key_index,
                value_index=self._value_index,
                vocab_size=self._vocab_size,
                delimiter=self._delimiter,
                offset=self._offset,
            )
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, operation)
        add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
        return operation


@export("contrib.lookup.TextFileStringTableInitializer")
class TextFileStringTableInitializer(TextFileInitializer):
    """Initializes a table from integers to strings: by default from line number to line.

    Args:
        vocab_size: Number of lines to read; None reads all.
        name: A name for the table.
    """

    def __init__(
        self,
        filename: TensorLike,
        key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_string_table_init",
    ) -> None:
        super().__init__(
            filename, dtypes.int64, key_column_index, dtypes.string, value_column_index, vocab_size, delimiter, name
        )


@export("contrib.lookup.TextFileIdTableInitializer")
class TextFileIdTableInitializer(TextFileInitializer):
    """Initializes a table from strings to integers: by default from line to line number.

    Args:
        vocab_size: Number of lines to read; None reads all.
        name: A name for the table.
    """

    def __init__(
        self,
        filename: TensorLike,
        key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_id_table_init",
        key_dtype: DTypeLike = dtypes.string,
    ) -> None:
        super().__init__(
            filename, key_dtype, key_column_index, dtypes.int64, value_column_index, vocab_size, delimiter, name
        )


@export("contrib.lookup.InitializableLookupTableBase")
class InitializableLookupTableBase(_Table):
    """The base class of tables that an initializer fills once.

    Args:
        initializer: What fills the table.
        name: A name for the table.
    """

    initializer = ReadOnly[Operation]("The operation that initializes the table.")
    init = ReadOnly[Operation](
        "The operation that initializes the table; deprecated name of `initializer`.", "_initializer"
    )

    def __init__(
        self,
        default_value: TensorLike,
        initializer: TableInitializerBase,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        require_members("initializer", initializer, "a table initializer", "key_dtype", "value_dtype", "_shared_name")
        with name_scope(name, "hash_table") as scope:
            handle = ops.hash_table_op(
                container=get_default_graph().scopes.container,
                shared_name=shared_name or initializer._shared_name,
                use_node_name_sharing=True,
                key_dtype=initializer.key_dtype,
                value_dtype=initializer.value_dtype,
                name=scope,
            )
            super().__init__(initializer.key_dtype, initializer.value_dtype, default_value, handle, ())
            self._initializer: Operation = initializer.initialize(self)

    def export(self, name: str | None = None) -> Any:
        """Returns all keys and all values."""
        return ops.lookup_table_export_op.many(
            self._handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype, name=name or f"{self.name}_Export"
        )


@export("lookup.StaticHashTable")
class StaticHashTable(InitializableLookupTableBase):
    """A table that its initializer fills once and that is read-only afterwards.

    Args:
        initializer: What fills the table.
        name: A name for the table.
    """

    def __init__(self, initializer: TableInitializerBase, default_value: TensorLike, name: str | None = None) -> None:
        super().__init__(default_value, initializer, name=name)


@export("contrib.lookup.HashTable")
class HashTable(InitializableLookupTableBase):
    """A static table with the constructor of `tf.contrib.lookup`.

    Args:
        initializer: What fills the table.
        name: A name for the table.
    """

    def __init__(
        self,
        initializer: TableInitializerBase,
        default_value: TensorLike,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(default_value, initializer, shared_name, name)


@export("tables_initializer", "initializers.tables_initializer")
def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Returns an operation that initializes all tables of the default graph."""
    result: Operation = group(*get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)
    return result


@export("initialize_all_tables")
def initialize_all_tables(name: str = "init_all_tables") -> Operation:
    """Returns an operation that initializes all tables; the deprecated name of `tables_initializer`."""
    return tables_initializer(name)


# Mutable tables.


class _MutableTable(_Table):
    """The base class of mutable tables, which are empty in a new session."""

    def remove(self, keys: TensorLike, name: str | None = None) -> Operation:
        """Returns an operation that removes keys from the table."""
        keys = self._convert(keys, self._key_dtype, "Keys")
        return ops.lookup_table_remove_op.operation(self._handle, keys, name=name or f"{self.name}_lookup_table_remove")

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Operation:
        """Returns an operation that inserts keys with their values, or replaces their values."""
        keys = self._convert(keys, self._key_dtype, "Keys")
        values = self._convert(values, self._value_dtype, "Values")
        return ops.lookup_table_insert_op.operation(
            self._handle, keys, values, name=name or f"{self.name}_lookup_table_insert"
        )

    def export(self, name: str | None = None) -> Any:
        """Returns all keys and all values."""
        return ops.lookup_table_export_op.many(
            self._handle,
            Tkeys=self._key_dtype,
            Tvalues=self._value_dtype,
            name=name or f"{self.name}_lookup_table_export_values",
        )

    def _save_with_variables(self, name: str) -> None:
        """Adds the table to the collection of saveable objects, so that a Saver saves its entries."""
        add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _TableSaveable(self, name))


class _TableSaveable(SaveableObject):
    """The entries of a table in a checkpoint: its keys and its values."""

    def __init__(self, table: _MutableTable, name: str) -> None:
        keys, values = table.export()
        super().__init__(table, [SaveSpec(keys, "", f"{name}-keys"), SaveSpec(values, "", f"{name}-values")], name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Sequence[ShapeLike] | None) -> Operation:
        handle = self.op._handle
        with colocate_with(handle):
            return ops.lookup_table_import_op.operation(handle, *restored_tensors)


@children_of.register(_MutableTable)
def _no_children(table: _MutableTable) -> Iterable[Child]:
    return ()


@saved_by.register(_MutableTable)
def _saved(table: _MutableTable) -> Saved:
    return {"table": lambda key: _TableSaveable(table, key)}


@export("contrib.lookup.MutableHashTable")
class MutableHashTable(_MutableTable):
    """A mutable hash table.

    Args:
        name: A name for the table.
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        default = convert_to_tensor(default_value, dtypes.as_dtype(value_dtype), name="default_value")
        attrs: dict[str, Any] = {
            "container": get_default_graph().scopes.container,
            "use_node_name_sharing": checkpoint,
            "key_dtype": key_dtype,
            "value_dtype": value_dtype,
        }
        if default.dims == ():
            handle = ops.mutable_hash_table_op(name=name, **attrs)
        else:
            handle = ops.mutable_hash_table_of_tensors_op(value_shape=default.dims, name=name, **attrs)
        super().__init__(key_dtype, value_dtype, default, handle, default.dims)
        if checkpoint:
            self._save_with_variables(name)


@export("contrib.lookup.MutableDenseHashTable")
class MutableDenseHashTable(_MutableTable):
    """A mutable hash table with keys of any shape; the empty and the deleted key cannot be inserted.

    Args:
        name: A name for the table.
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        empty_key: TensorLike,
        deleted_key: TensorLike,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        default = convert_to_tensor(default_value, dtypes.as_dtype(value_dtype), name="default_value")
        keys = dtypes.as_dtype(key_dtype)
        handle = ops.mutable_dense_hash_table_op(
            convert_to_tensor(empty_key, keys, name="empty_key"),
            convert_to_tensor(deleted_key, keys, name="deleted_key"),
            container=get_default_graph().scopes.container,
            use_node_name_sharing=checkpoint,
            value_dtype=value_dtype,
            value_shape=default.dims,
            initial_num_buckets=131072 if initial_num_buckets is None else initial_num_buckets,
            name=name,
        )
        super().__init__(key_dtype, value_dtype, default, handle, default.dims)
        if checkpoint:
            self._save_with_variables(name)
