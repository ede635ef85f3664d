"""Valid calls of lookup tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.sandbox import Variable
from tests.valid_calls.values import Call, longs, texts


@dataclass(frozen=True)
class Table(Variable):
    """An input that is a table's handle; spoiled, it becomes a variable's."""

    static: bool = False
    filled: bool = True

    def make_handle(self, setup: list[Any]) -> Any:
        from thalweg._src.base import dtypes
        from thalweg._src.graph.ops.constants import array_constant
        from thalweg._src.graph.ops.lookup import (
            hash_table_op,
            initialize_table_op,
            lookup_table_insert_op,
            mutable_hash_table_op,
        )

        make = hash_table_op if self.static else mutable_hash_table_op
        fill = initialize_table_op if self.static else lookup_table_insert_op
        handle = make(key_dtype="string", value_dtype="int64", shared_name="table")
        if self.filled:
            keys = array_constant(texts("a", "b"), dtypes.string)
            setup.append(fill.operation(handle, keys, np.array([1, 2], np.int64)))
        return handle


_MUTABLE = Table("int64", ())
_STATIC = Table("int64", (), None, True)
_EMPTY = Table("int64", (), None, True, False)
_PAIR = (texts("a", "c"), longs(1, 3))
_TYPES = {"key_dtype": "string", "value_dtype": "int64"}

VALID: dict[str, Call] = {
    "HashTableV2": ((), _TYPES),
    "MutableHashTableV2": ((), _TYPES),
    "MutableHashTableOfTensorsV2": ((), {**_TYPES, "value_shape": (2,)}),
    "MutableDenseHashTableV2": ((longs(0), longs(-1)), {"value_dtype": "int64"}),
    "LookupTableFindV2": ((_STATIC, texts("a", "z"), longs(-1)), {}),
    "LookupTableInsertV2": ((_MUTABLE, *_PAIR), {}),
    "LookupTableImportV2": ((_MUTABLE, *_PAIR), {}),
    "LookupTableRemoveV2": ((_MUTABLE, texts("a", "z")), {}),
    "LookupTableSizeV2": ((_MUTABLE,), {}),
    "LookupTableExportV2": ((_MUTABLE,), {"Tkeys": "string", "Tvalues": "int64"}),
    "InitializeTableV2": ((_EMPTY, *_PAIR), {}),
    "InitializeTableFromTextFileV2": (
        (_EMPTY, np.array(b"/proc/version", dtype=object)),
        {"key_index": -2, "value_index": -1},
    ),
}
