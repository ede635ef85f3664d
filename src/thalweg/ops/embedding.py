"""Embedding lookup: rows of one table, or of a table in several parts."""

from __future__ import annotations

from typing import Any

from thalweg.graph.convert import convert_to_tensor
from thalweg.graph.scopes import colocate_with, name_scope
from thalweg.graph.tensor import Tensor
from thalweg.ops import array, math
from thalweg.ops.reduction import reduce_sum
from thalweg.shapes import as_shape


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Tensor:
    """Returns the rows that ids name, from one table or from parts that hold rows by "mod" or "div"."""
    parts = list(params) if isinstance(params, list | tuple) else [params]
    if not parts:
        raise ValueError("Need at least one param")
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"Unrecognized partition strategy: {partition_strategy}")
    with name_scope(name, "embedding_lookup", [*parts, ids]):
        ids = convert_to_tensor(ids, name="ids")
        parts = [part if hasattr(part, "shape") else convert_to_tensor(part) for part in parts]
        if len(parts) == 1:
            return array.identity(_clip(_rows(parts[0], ids), ids, max_norm))
        return _from_parts(parts, ids, partition_strategy, max_norm)


def _rows(table: Any, ids: Tensor) -> Tensor:
    """Gathers from a variable without reading the whole of it, from a tensor directly."""
    reader = getattr(table, "sparse_read", None)
    return reader(ids) if reader is not None else array.gather(table, ids)


def _clip(rows: Tensor, ids: Tensor, max_norm: Any) -> Tensor:
    """Scales rows whose norm is greater than max_norm."""
    if max_norm is None:
        return rows
    if ids._shape is not None and rows._shape is not None:
        axes: Any = list(range(len(ids._shape), len(rows._shape)))
    else:
        axes = array.range(array.rank(ids), array.rank(rows))
    total = reduce_sum(math.square(rows), axes, keepdims=True)
    norm = math.sqrt(math.maximum(total, 1e-24))
    return math.divide(rows * max_norm, math.maximum(norm, math.cast(max_norm, rows.dtype)))


def _from_parts(parts: list[Any], ids: Tensor, strategy: str, max_norm: Any) -> Tensor:
    """Sends each id to the part that holds it and puts the rows back in order."""
    flat = array.reshape(ids, [-1])
    places = array.range(array.size(flat))
    count = len(parts)
    if strategy == "mod":
        owners, local = math.floormod(flat, count), math.floordiv(flat, count)
    else:
        owners, local = _divided(parts, flat)
    owners = math.cast(owners, "int32")
    local_ids = array.dynamic_partition(local, owners, count)
    positions = array.dynamic_partition(places, owners, count)
    found = []
    for part, part_ids in zip(parts, local_ids):
        with colocate_with(part):
            found.append(_clip(_rows(part, part_ids), part_ids, max_norm))
    result = array.dynamic_stitch(positions, found)
    table = as_shape(parts[0].shape)
    row = array.shape(parts[0])[1:] if table is None or None in table[1:] else list(table[1:])
    result = array.reshape(result, array.concat([array.shape(ids), row], 0))
    if ids._shape is not None and table is not None:
        result.set_shape((*ids._shape, *table[1:]))
    return result


def _divided(parts: list[Any], flat: Tensor) -> tuple[Tensor, Tensor]:
    """Returns part and row of ids in a table cut into runs, the first of which have one row more."""
    sizes = [as_shape(part.shape) for part in parts]
    if all(shape is not None and shape[0] is not None for shape in sizes):
        total: Any = sum(shape[0] for shape in sizes)  # type: ignore[index, misc]
    else:
        total = sum(math.cast(array.shape(part)[0], flat.dtype) for part in parts)
    count = len(parts)
    short, longer = total // count, total % count
    border = longer * (short + 1)
    owners = math.maximum(flat // (short + 1), (flat - longer) // short)
    local = array.where(flat < border, flat % (short + 1), (flat - longer) % short)
    return owners, local
