"""smart_cond: a conditional that is resolved while the graph is built if its condition is constant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.control_flow.cond import case, cond
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.reshape import constant_value
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.partitions import PartitionedVariable
from thalweg._src.training.variables.variables import Variable


@export("contrib.framework.smart_constant_value")
def smart_constant_value(pred: TensorLike) -> bool | None:
    """Returns the static value of a condition, None if it is unknown.

    Args:
        pred: A bool, or a boolean scalar tensor.
    """
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        return None if value is None else bool(value)
    if isinstance(pred, Variable | PartitionedVariable):
        return None
    if pred in (0, 1):
        return bool(pred)
    raise TypeError(f"pred: expected a tensor, a bool, 0 or 1, received {type(pred)}")


@export("contrib.framework.smart_cond")
def smart_cond(
    pred: TensorLike, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = None
) -> Any:
    """Returns the result of one of two functions, selected statically if the condition is constant.

    Args:
        pred: A bool, or a boolean scalar tensor.
    """
    if not callable(true_fn):
        raise TypeError("`true_fn` must be callable.")
    if not callable(false_fn):
        raise TypeError("`false_fn` must be callable.")
    static_pred = smart_constant_value(pred)
    if static_pred is not None:
        return true_fn() if static_pred else false_fn()
    return cond(convert_to_tensor(pred, dtypes.bool), true_fn, false_fn, name=name)


@export("contrib.framework.smart_case")
def smart_case(
    pred_fn_pairs: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    name: str = "smart_case",
) -> Any:
    """Returns the result of the function of the first true predicate, selected statically where they are constant.

    Args:
        pred_fn_pairs: Pairs of a predicate and a function, or a dictionary.
        default: Function that is called if all predicates are false.
        exclusive: Whether more than one true predicate is an error.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    unknown: list[tuple[Tensor, Callable[[], Any]]] = []
    for pred, function in pairs:
        static_pred = smart_constant_value(pred)
        if static_pred and not unknown:
            return function()
        if static_pred is None or static_pred:
            unknown.append((convert_to_tensor(pred, dtypes.bool), function))
    if unknown:
        return case(unknown, default, exclusive=exclusive, name=name)
    if default is None:
        raise ValueError("default: expected a function, since all predicates are false")
    return default()
