"""Choosing between two computations: while the graph is built if the condition is known then, else in the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg import dtypes
from thalweg.client.partitions import PartitionedVariable
from thalweg.client.variables import Variable
from thalweg.graph.convert import convert_to_tensor
from thalweg.graph.operation import Operation
from thalweg.graph.scopes import name_scope
from thalweg.graph.tensor import Tensor
from thalweg.ops.control import group
from thalweg.ops.selecting import where_v2
from thalweg.ops.shaping import constant_value


def smart_constant_value(pred: Any) -> bool | None:
    """Returns the truth of a condition if it is known while the graph is built, else None."""
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        return None if value is None else bool(value)
    if isinstance(pred, Variable | PartitionedVariable):
        return None
    if pred in (0, 1):
        return bool(pred)
    raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(pred)}")


def smart_cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = None) -> Any:
    """Returns what one of two functions returns: of equal structure, if the condition is known only in the step.

    Both are computed then and one result is taken; so functions given here must not change state.
    """
    if not callable(true_fn):
        raise TypeError("`true_fn` must be callable.")
    if not callable(false_fn):
        raise TypeError("`false_fn` must be callable.")
    known = smart_constant_value(pred)
    if known is not None:
        return true_fn() if known else false_fn()
    with name_scope(name, "cond", [pred]):
        return _select(convert_to_tensor(pred, dtypes.bool), true_fn(), false_fn())


def _select(pred: Tensor, left: Any, right: Any) -> Any:
    if left is None and right is None:
        return None
    if isinstance(left, dict):
        _require_alike(left.keys() == right.keys(), left, right)
        return {key: _select(pred, left[key], right[key]) for key in left}
    if isinstance(left, list | tuple):
        _require_alike(isinstance(right, list | tuple) and len(left) == len(right), left, right)
        chosen = [_select(pred, a, b) for a, b in zip(left, right)]
        return type(left)(*chosen) if hasattr(left, "_fields") else type(left)(chosen)
    if isinstance(left, Operation) and isinstance(right, Operation):
        return group(left, right)
    first = convert_to_tensor(left)
    return where_v2(pred, first, convert_to_tensor(right, first.dtype))


def _require_alike(alike: bool, left: Any, right: Any) -> None:
    if not alike:
        raise TypeError(f"true_fn and false_fn must return the same structure, got {left!r} and {right!r}")
