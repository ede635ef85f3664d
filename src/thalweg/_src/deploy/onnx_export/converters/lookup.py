"""Converters of lookup tables, whose entries become the attributes of a LabelEncoder."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import ML, Table, unsupported
from thalweg._src.graph.ir.step_graph import Node


@converter("HashTableV2", "MutableHashTableV2")
def table(w: GraphWriter, node: Node) -> Table:
    return w.model.tables[node.name]


@converter("LookupTableFindV2")
def find(w: GraphWriter, node: Node, entries: Table, keys: str, default: str) -> str:
    value = w.static_value(default)
    if value is None:
        raise unsupported(node, "has a default value that is computed in the graph", "use a constant")
    attrs: dict[str, Any] = {}
    wide: dict[str, DType] = {}
    for side, array, dtype in (("keys", entries.keys, node.input_dtype(1)), ("values", entries.values, node.dtypes[0])):
        suffix, wide[side], listed = _listed(node, array, dtype)
        attrs[f"{side}_{suffix}s"] = listed
        if side == "values":
            attrs[f"default_{suffix}"] = _listed(node, value, dtype)[2][0]
    values = w.add("LabelEncoder", w.cast(keys, wide["keys"], node.input_dtype(1)), domain=ML, **attrs)
    return w.cast(values, node.dtypes[0], wide["values"])


def _listed(node: Node, array: np.ndarray[Any, Any], dtype: DType) -> tuple[str, DType, list[Any]]:
    """Returns what ONNX calls a type of tables, that type, and the elements."""
    if dtype is dtypes.string:
        return "string", dtype, [x if isinstance(x, bytes) else str(x).encode() for x in array.ravel()]
    if dtype.is_integer:
        return "int64", dtypes.int64, [int(x) for x in array.ravel()]
    if dtype is dtypes.float32:
        return "float", dtype, [float(x) for x in array.ravel()]
    raise unsupported(node, f"has elements of type {dtype.name}", "use strings, integers or float32")


@converter("LookupTableSizeV2")
def size(w: GraphWriter, node: Node, entries: Table) -> str:
    return w.like(len(entries.keys), dtypes.int64)
