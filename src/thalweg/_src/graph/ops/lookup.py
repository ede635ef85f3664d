"""Lookup table ops: handles, look-up, updates, initializers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import Shape, compatible, concatenate, merge, show
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import no_outputs, require, scalar, with_rank
from thalweg._src.graph.ops.strings import require_scalar
from thalweg._src.graph.tensor import Tensor

_TABLES = ("HashTableV2", "MutableHashTableV2", "MutableHashTableOfTensorsV2", "MutableDenseHashTableV2")


def _table_of(c: Inference) -> Operation | None:
    """Returns the operation that created the handle, if it is statically known."""
    source = c.sources[0]
    if not isinstance(source, Tensor):
        return None  # at run time the kernel receives the table itself
    operation = source.op
    while operation.type not in _TABLES:
        passed = [t for t in operation.inputs if t.dtype is dtypes.resource]
        if not passed or passed[0].op.id >= operation.id:
            return None
        operation = passed[0].op
    return operation


def _shapes_of(table: Operation) -> tuple[Shape, Shape]:
    """Returns the shapes of one key and of one value."""
    key = table.inputs[0].dims if table.inputs else ()
    return key, table.attrs.get("value_shape", ())


def _outer(keys: Shape, key: Shape) -> Shape:
    """Returns the shape of many keys without that of one."""
    if keys is None or key is None:
        return None
    outer = len(keys) - len(key)
    require(
        outer >= 0 and compatible(keys[outer:], key), f"keys have shape {show(keys)}", expected=f"[..., *{show(key)}]"
    )
    return keys[:outer]


def _find(c: Inference) -> Sequence[Shape]:
    table = _table_of(c)
    if table is None:
        return [None]
    key, value = _shapes_of(table)
    require(
        compatible(c.shapes[2], value),
        f"default_value has shape {show(c.shapes[2])}",
        expected=f"a default of the table's value shape {show(value)}",
    )
    return [concatenate(_outer(c.shapes[1], key), merge(c.shapes[2], value))]


def _insert(c: Inference) -> Sequence[Shape]:
    table = _table_of(c)
    if table is not None:
        key, value = _shapes_of(table)
        expected = concatenate(_outer(c.shapes[1], key), value)
        require(
            compatible(c.shapes[2], expected),
            f"values have shape {show(c.shapes[2])}",
            expected=f"a value for each key: {show(expected)}",
        )
    return []


def _export(c: Inference) -> Sequence[Shape]:
    table = _table_of(c)
    if table is None:
        return [None, None]
    key, value = _shapes_of(table)
    return [concatenate((None,), key), concatenate((None,), value)]


def _initialize(c: Inference) -> Sequence[Shape]:
    keys, values = with_rank(c, 1, 1), with_rank(c, 2, 1)
    require(
        compatible(keys, values), f"keys and values differ: {show(keys)} and {show(values)}", "a value for each key"
    )
    return []


def _from_file(c: Inference) -> Sequence[Shape]:
    require_scalar(c, 1)
    for name in ("key_index", "value_index"):
        require(
            c.attrs[name] >= -2,
            f"{name} is {c.attrs[name]}",
            expected="a column, -1 (line number) or -2 (line)",
        )
    require(c.attrs["vocab_size"] >= -1, f"vocab_size is {c.attrs['vocab_size']}", expected="at least -1")
    return []


def _reserved_keys(c: Inference) -> Sequence[Shape]:
    merge(c.shapes[0], c.shapes[1])
    return [()]


def _table_op(name: str, signature: str, doc: str, **more: Any) -> OpDef:
    return stateful_op(
        name,
        signature,
        doc,
        container="",
        shared_name="",
        use_node_name_sharing=False,
        key_dtype=attr.types(),
        value_dtype=attr.types(),
        **{"infer": scalar, **more},
    )


hash_table_op = _table_op(
    "HashTableV2", "-> table_handle: resource", "Creates a table that is initialized once, and returns its handle."
)
mutable_hash_table_op = _table_op(
    "MutableHashTableV2", "-> table_handle: resource", "Creates a mutable table and returns its handle."
)
mutable_hash_table_of_tensors_op = _table_op(
    "MutableHashTableOfTensorsV2",
    "-> table_handle: resource",
    "Creates a mutable table with tensor values and returns its handle.",
    value_shape=attr.shape(()),
)
mutable_dense_hash_table_op = _table_op(
    "MutableDenseHashTableV2",
    "empty_key: key_dtype, deleted_key: key_dtype -> table_handle: resource",
    "Creates a mutable table with reserved empty and deleted keys, and returns its handle.",
    value_shape=attr.shape(()),
    initial_num_buckets=131072,
    max_load_factor=0.8,
    infer=_reserved_keys,
)
lookup_table_find_op = stateful_op(
    "LookupTableFindV2",
    "table_handle: resource, keys: Tin, default_value: Tout -> values: Tout",
    "Looks up keys; missing ones return the default.",
    Tin=attr.types(),
    Tout=attr.types(),
    infer=_find,
)
lookup_table_insert_op = stateful_op(
    "LookupTableInsertV2",
    "table_handle: resource, keys: Tin, values: Tout ->",
    "Inserts keys and values into a table.",
    Tin=attr.types(),
    Tout=attr.types(),
    infer=_insert,
)
lookup_table_size_op = stateful_op(
    "LookupTableSizeV2",
    "table_handle: resource -> size: int64",
    "Returns the number of entries of a table.",
    infer=scalar,
)
lookup_table_export_op = stateful_op(
    "LookupTableExportV2",
    "table_handle: resource -> keys: Tkeys, values: Tvalues",
    "Returns all keys and values of a table.",
    Tkeys=attr.types(),
    Tvalues=attr.types(),
    infer=_export,
)
lookup_table_import_op = stateful_op(
    "LookupTableImportV2",
    "table_handle: resource, keys: Tin, values: Tout ->",
    "Replaces the contents of a table.",
    Tin=attr.types(),
    Tout=attr.types(),
    infer=_insert,
)
lookup_table_remove_op = stateful_op(
    "LookupTableRemoveV2",
    "table_handle: resource, keys: Tin ->",
    "Removes keys from a table.",
    Tin=attr.types(),
    infer=no_outputs,
)
initialize_table_op = stateful_op(
    "InitializeTableV2",
    "table_handle: resource, keys: Tkey, values: Tval ->",
    "Initializes a static table with keys and values.",
    Tkey=attr.types(),
    Tval=attr.types(),
    infer=_initialize,
)
initialize_table_from_text_file_op = stateful_op(
    "InitializeTableFromTextFileV2",
    "table_handle: resource, filename: string ->",
    "Initializes a static table from the lines of a file.",
    key_index=attr.integer(-2),
    value_index=attr.integer(-2),
    vocab_size=attr.integer(-1, -1),
    delimiter="\t",
    offset=0,
    infer=_from_file,
    external="reads files",
)
