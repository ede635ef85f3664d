"""Staging area ops; ops of one area share its `shared_name`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import no_outputs, scalar, scalar_value, vector_size


def _unknown(c: Inference) -> Sequence[Shape]:
    return [None] * c.num_outputs


def _peeked(c: Inference) -> Sequence[Shape]:
    scalar_value(c, 0)
    return [None] * c.num_outputs


def _keyed(c: Inference) -> Sequence[Shape]:
    scalar_value(c, 0)
    vector_size(c, 1)
    return [None] * c.num_outputs


def _unkeyed(c: Inference) -> Sequence[Shape]:
    vector_size(c, 0)
    return [(), *[None] * (c.num_outputs - 1)]


def _op(name: str, signature: str, doc: str, types: int | None = 1, **more: Any) -> OpDef:
    return stateful_op(
        name,
        signature,
        doc,
        capacity=attr.integer(0, 0),
        memory_limit=attr.integer(0, 0),
        dtypes=attr.type_list(types),
        container="",
        shared_name="",
        **{"infer": _unknown, **more},
    )


stage_op = _op("Stage", "values: list(dtypes) ->", "Stages values for a later step.", waits=True, infer=no_outputs)
unstage_op = _op("Unstage", "-> values: list(dtypes)", "Takes the values that were staged first.", waits=True)
stage_peek_op = _op(
    "StagePeek",
    "index: int32 -> values: list(dtypes)",
    "Returns the values at an index of a staging area without removing them.",
    waits=True,
    host="index",
    infer=_peeked,
)
stage_size_op = _op(
    "StageSize", "-> size: int32", "Returns the number of staged tuples.", None, host="size", infer=scalar
)
stage_clear_op = _op("StageClear", "->", "Removes all staged values.", None, infer=no_outputs)


def _map_ops(prefix: str, order: str) -> dict[str, OpDef]:
    return {
        "stage": _op(
            f"{prefix}Stage",
            "key: int64, indices: int32, values: list(fake_dtypes) ->",
            "Stages some of the values of a key.",
            None,
            fake_dtypes=attr.type_list(1),
            waits=True,
            host="key, indices",
            infer=_keyed,
        ),
        "peek": _op(
            f"{prefix}Peek",
            "key: int64, indices: int32 -> values: list(dtypes)",
            "Returns some of the values of a key without removing them; blocks until it is complete.",
            waits=True,
            host="key, indices",
            infer=_keyed,
        ),
        "unstage": _op(
            f"{prefix}Unstage",
            "key: int64, indices: int32 -> values: list(dtypes)",
            "Takes some of the values of a key; blocks until it is complete.",
            waits=True,
            host="key, indices",
            infer=_keyed,
        ),
        "unstage_no_key": _op(
            f"{prefix}UnstageNoKey",
            "indices: int32 -> key: int64, values: list(dtypes)",
            f"Takes some of the values of {order} key.",
            waits=True,
            host="indices, key",
            infer=_unkeyed,
        ),
        "size": _op(
            f"{prefix}Size", "-> size: int32", "Returns the number of complete keys.", None, host="size", infer=scalar
        ),
        "incomplete_size": _op(
            f"{prefix}IncompleteSize",
            "-> size: int32",
            "Returns the number of incomplete keys.",
            None,
            host="size",
            infer=scalar,
        ),
        "clear": _op(f"{prefix}Clear", "->", "Removes all staged values.", None, infer=no_outputs),
    }


MAP = _map_ops("Map", "any")
ORDERED_MAP = _map_ops("OrderedMap", "the lowest")
