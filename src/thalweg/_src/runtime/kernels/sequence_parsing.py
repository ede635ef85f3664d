"""Kernels of parsing SequenceExamples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.parsing import (
    Array,
    FeaturePlan,
    decode_message,
    empty_values,
    key_of,
    names_of,
    outputs_of,
    require_rank,
    result_of,
    text_of,
    values_of,
)
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.resources.devices import Device

_KINDS = ("context_sparse", "context_dense", "feature_list_sparse", "feature_list_dense")


class _Lists:
    """The feature lists that an op requests from SequenceExamples."""

    def __init__(self, attrs: dict[str, Any]) -> None:
        self.sparse: Sequence[DType] = attrs["feature_list_sparse_types"]
        self.dense: Sequence[DType] = attrs["feature_list_dense_types"]
        self.shapes: Sequence[tuple[int, ...]] = attrs["feature_list_dense_shapes"]

    def sparse_columns(self, lists: Sequence[Any], names: Sequence[str], keys: Sequence[str]) -> list[Any]:
        """Returns each sparse feature: indices [message, step, position], values, and shape."""
        return [_sparse_lists(lists, names, key, dtype) for key, dtype in zip(keys, self.sparse)]

    def dense_columns(
        self, lists: Sequence[Any], names: Sequence[str], keys: Sequence[str], may_miss: set[str]
    ) -> list[tuple[Array, Array]]:
        """Returns each dense feature, [message, step, ...] padded to the longest, and its lengths."""
        return [
            _dense_lists(lists, names, key, dtype, shape, key in may_miss)
            for key, dtype, shape in zip(keys, self.dense, self.shapes)
        ]


def _steps(lists: Any, name: str, key: str, dtype: DType) -> list[Array | None]:
    """Returns the values of each step of a feature list."""
    return [
        values_of(feature, dtype, lambda i=i: f"Name: {name}, Feature list: {key}, Index: {i}")  # type: ignore[misc]
        for i, feature in enumerate(lists[key].feature)
    ]


def _sparse_lists(lists: Sequence[Any], names: Sequence[str], key: str, dtype: DType) -> tuple[Array, Array, Array]:
    positions: list[tuple[int, int, int]] = []
    values = [empty_values(dtype)]
    steps, longest = 0, 0
    for i, (message, name) in enumerate(zip(lists, names)):
        rows = _steps(message, name, key, dtype) if key in message else []
        steps = max(steps, len(rows))
        for time, row in enumerate(rows):
            if row is not None:
                positions += [(i, time, j) for j in range(len(row))]
                values.append(row)
                longest = max(longest, len(row))
    indices = np.array(positions, np.int64).reshape(-1, 3)
    return indices, np.concatenate(values), np.array([len(lists), steps, longest], np.int64)


def _dense_lists(
    lists: Sequence[Any], names: Sequence[str], key: str, dtype: DType, shape: tuple[int, ...], may_miss: bool
) -> tuple[Array, Array]:
    stride = prod(shape)
    rows = []
    for message, name in zip(lists, names):
        if key not in message and not may_miss:
            raise invalid(
                f"Name: {name}, Feature list '{key}': the example lacks it; hint: allow_missing=True "
                "(feature_list_dense_missing_assumed_empty) reads an empty list instead"
            )
        steps = _steps(message, name, key, dtype) if key in message else []
        for i, step in enumerate(steps):
            if step is None or len(step) != stride:
                count = "no" if step is None else len(step)
                raise invalid(
                    f"Name: {name}, Key: {key}, Index: {i}: expected values of shape {list(shape)}, received {count}"
                )
        rows.append(steps)
    lengths = np.array([len(row) for row in rows], np.int64)
    result = np.zeros((len(rows), lengths.max(initial=0), stride), empty_values(dtype).dtype)
    if result.dtype == object:
        result[...] = b""
    for i, row in enumerate(rows):
        if row and stride:
            result[i, : len(row)] = np.stack(row)  # type: ignore[arg-type]
    return result.reshape(*result.shape[:2], *shape), lengths


@kernel("ParseSingleSequenceExample", devices=("CPU",))
def bind_parse_single_sequence_example(node: Node, device: Device) -> Callable[..., Any]:
    attrs = node.attrs
    plan = FeaturePlan(attrs["context_sparse_types"], attrs["Tcontext_dense"], attrs["context_dense_shapes"])
    lists = _Lists(attrs)
    counts = [attrs[f"N{kind}"] for kind in _KINDS]

    def parse(serialized: np.ndarray[Any, Any], may_miss: np.ndarray[Any, Any], *rest: Any) -> Any:
        require_rank(serialized, 0, "serialized")
        keys, start = [], 0
        for count in counts:
            keys.append([key_of(value) for value in rest[start : start + count]])
            start += count
        names = [key_of(rest[-1]) or "<unknown>"]
        message = decode_message("SequenceExample", serialized.item(), names[0])
        sparse, dense = plan.parse([message.context.feature], names, keys[0], keys[1], rest[start:-1])
        maps = [message.feature_lists.feature_list]
        missing = {text_of(key) for key in may_miss.ravel().tolist()}
        sequences = lists.dense_columns(maps, names, keys[3], missing)
        return result_of(
            outputs_of(sparse, dense, single=True)
            + outputs_of(lists.sparse_columns(maps, names, keys[2]), [array for array, _ in sequences], single=True)
        )

    return parse


@kernel("ParseSequenceExample", devices=("CPU",))
def bind_parse_sequence_example(node: Node, device: Device) -> Callable[..., Any]:
    attrs = node.attrs
    plan = FeaturePlan(attrs["context_sparse_types"], attrs["Tcontext_dense"], attrs["context_dense_shapes"])
    lists = _Lists(attrs)
    keys = [[text_of(key) for key in attrs[f"{kind}_keys"]] for kind in _KINDS]
    missing = {text_of(key) for key in attrs["feature_list_dense_missing_assumed_empty"]}

    def parse(serialized: np.ndarray[Any, Any], debug_name: np.ndarray[Any, Any], *defaults: object) -> Any:
        require_rank(serialized, 1, "serialized")
        names = names_of(debug_name, len(serialized))
        messages = [decode_message("SequenceExample", d, n) for d, n in zip(serialized.tolist(), names)]
        sparse, dense = plan.parse([m.context.feature for m in messages], names, keys[0], keys[1], defaults)
        maps = [message.feature_lists.feature_list for message in messages]
        sequences = lists.dense_columns(maps, names, keys[3], missing)
        arrays, lengths = [array for array, _ in sequences], [length for _, length in sequences]
        return result_of(
            outputs_of(sparse, dense) + outputs_of(lists.sparse_columns(maps, names, keys[2]), arrays, *lengths)
        )

    return parse
