"""Kernels of feature crosses, on the host."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.formats.objects import object_array
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.hash_functions import Hash, farmhash64, hash_all, siphash
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import Function
from thalweg._src.runtime.kernels.sparse import require_fit, require_inside, require_shape
from thalweg._src.runtime.kernels.types import TensorValue
from thalweg._src.runtime.resources.devices import Device

Rows = list[list[Any]]  # one input's features per row
_MASK = 2**64 - 1
_FACTOR = 0xC6A4A7935BD1E995


def join_fingerprints(first: int, second: int) -> int:
    """Returns the combined fingerprint of two, which depends on their order."""

    def mix(value: int) -> int:
        return value ^ (value >> 47)

    result = first ^ _FACTOR
    result ^= mix(second * _FACTOR & _MASK) * _FACTOR & _MASK
    result = result * _FACTOR & _MASK
    return mix(mix(result) * _FACTOR & _MASK)


def _as_text(values: TensorValue) -> list[Any]:
    """Returns features as strings."""
    flat = values.reshape(-1).tolist()
    return flat if isinstance(values, np.ndarray) else [str(value).encode() for value in flat]


def _as_numbers(values: TensorValue) -> list[Any]:
    """Returns features as integers: strings are hashed."""
    flat = values.reshape(-1).tolist()
    return hash_all(farmhash64, flat).tolist() if isinstance(values, np.ndarray) else [v & _MASK for v in flat]


def _as_hashed(hash_function: Hash, strong: bool) -> Callable[[Any], list[Any]]:
    """Returns a reader of hashed features; integers are truncated to 32 bits, or if dense and weak, kept."""

    def read(values: Any) -> list[Any]:
        flat = values.reshape(-1).tolist()
        if not isinstance(values, np.ndarray):
            if values.ndim == 2 and not strong:
                return [v & _MASK for v in flat]
            flat = [(v & 0xFFFFFFFF).to_bytes(4, "little") for v in flat]
        return hash_all(hash_function, flat).tolist()  # type: ignore[no-any-return]

    return read


def _rows(node: Node, inputs: Sequence[Any], read: Callable[[Any], list[Any]]) -> list[Rows]:
    """Returns each input's features per row."""
    count = node.attrs["N"]
    columns: list[Rows] = []
    for indices, values, shape in zip(inputs[:count], inputs[count : 2 * count], inputs[2 * count : 3 * count]):
        require_fit(indices, values, shape)
        require(shape.numel() == 2, f"a sparse input has rank {shape.numel()}", expected="matrices")
        sizes = shape.tolist()
        require_shape(sizes)
        require_inside(indices, sizes)
        require(sizes[0] < 2**31, f"a sparse input has {sizes[0]} rows", expected="fewer than 2**31")
        _require_rows(columns, sizes[0])
        rows: Rows = [[] for _ in range(sizes[0])]
        for row, value in zip(indices[:, 0].tolist(), read(values)):
            rows[row].append(value)
        columns.append(rows)
    for dense in inputs[3 * count :]:
        require(dense.ndim == 2, f"a dense input has rank {dense.ndim}", expected="matrices")
        _require_rows(columns, dense.shape[0])
        flat, width = read(dense), dense.shape[1]
        columns.append([flat[i * width : (i + 1) * width] for i in range(dense.shape[0])])
    return columns


def _require_rows(columns: list[Rows], count: int) -> None:
    differ = columns and len(columns[0]) != count
    require(
        not differ,
        f"numbers of rows differ: {len(columns[0]) if columns else 0} and {count}",
        expected="one number for all",
    )


def _crossed(
    columns: list[Rows], combine: Callable[[tuple[Any, ...]], Any]
) -> tuple[torch.Tensor, list[Any], torch.Tensor]:
    """Returns indices, values and shape of all combinations, the last input varying fastest."""
    crosses = [[combine(features) for features in itertools.product(*row)] for row in zip(*columns)]
    positions = [(i, j) for i, row in enumerate(crosses) for j in range(len(row))]
    indices = torch.tensor(positions, dtype=torch.int64).reshape(-1, 2)
    shape = torch.tensor([len(crosses), max(map(len, crosses), default=0)], dtype=torch.int64)
    return indices, [value for row in crosses for value in row], shape


def _as_strings(columns: list[Rows], separator: bytes) -> Any:
    indices, values, shape = _crossed(columns, separator.join)
    return indices, object_array(values), shape


def _as_hashes(columns: list[Rows], key: int | None, buckets: int) -> Any:
    limit = buckets if buckets > 0 else 2**63 - 1

    def combine(features: tuple[int, ...]) -> int:
        state, rest = (features[0], features[1:]) if key is None else (key & _MASK, features)
        for feature in rest:
            state = join_fingerprints(state, feature)
        return state % limit

    indices, values, shape = _crossed(columns, combine)
    return indices, torch.tensor(values, dtype=torch.int64), shape


@kernel("SparseCross", devices=("CPU",))
def bind_cross(node: Node, device: Device) -> Function:
    """Depends on the types: strings are joined, integers are hashes, whatever hashed_output is."""
    attrs = node.attrs
    if attrs["internal_type"] is dtypes.string:
        kinds = (*attrs["sparse_types"], *attrs["dense_types"])
        require(dtypes.int64 not in kinds, "internal_type is string", expected="int64 for integer features")
    if attrs["out_type"] is dtypes.int64:
        key, buckets = attrs["hash_key"], attrs["num_buckets"]
        return lambda *inputs: _as_hashes(_rows(node, inputs, _as_numbers), key, buckets)
    return lambda *inputs: _as_strings(_rows(node, inputs, _as_text), b"_X_")


@kernel("SparseCrossV2", devices=("CPU",))
def bind_cross_v2(node: Node, device: Device) -> Function:
    def cross(*inputs: object) -> Any:
        separator = np.asarray(inputs[-1], dtype=object)
        require(separator.ndim == 0, f"sep has rank {separator.ndim}", expected="a scalar")
        return _as_strings(_rows(node, inputs[:-1], _as_text), separator.item())

    return cross


@kernel("SparseCrossHashed", devices=("CPU",))
def bind_cross_hashed(node: Node, device: Device) -> Function:
    def cross(*inputs: TensorValue) -> Any:
        *features, buckets, strong, salt = inputs
        require(buckets.ndim == strong.ndim == 0, "num_buckets and strong_hash must be scalars", expected="scalars")
        require(salt.shape == (2,), f"salt has shape {list(salt.shape)}", expected="two numbers")
        first, second = (number & _MASK for number in salt.tolist())
        read = _as_hashed(siphash((first, second)) if strong else farmhash64, bool(strong))
        return _as_hashes(_rows(node, features, read), None, int(buckets))

    return cross
