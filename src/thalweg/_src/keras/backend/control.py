"""Control flow of the Keras backend: selection by a condition or by the learning phase, and loops over elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export, export_from
from thalweg._src.graph.control_flow import cond, functional
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.reshape import expand_dims
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.state import learning_phase
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.variables.variables import Variable

export_from("thalweg._src.graph.scopes", "keras.backend", "name_scope")


@export("keras.backend.backend")
def backend() -> str:
    """Returns the name that Keras has for this backend."""
    return "tensorflow"


def _called(expression: TensorLike | Callable[[], Any]) -> Any:
    """Returns the value of an expression: a tensor, or a function that returns one."""
    return expression() if callable(expression) else expression


@export("keras.backend.switch")
def switch(
    condition: TensorLike,
    then_expression: TensorLike | Callable[[], Any],
    else_expression: TensorLike | Callable[[], Any],
) -> Any:
    """Returns one of two expressions, selected by a scalar, or for each element or example by a tensor."""
    chosen = cast(convert_to_tensor(condition), dtypes.bool)
    rank = chosen._rank()
    if not rank:
        return cond.cond(chosen, lambda: _called(then_expression), lambda: _called(else_expression))
    first, second = convert_to_tensor(_called(then_expression)), convert_to_tensor(_called(else_expression))
    return where_v2(expanded(chosen, first), first, second)


def expanded(condition: Tensor, value: Tensor) -> Tensor:
    """Returns a condition for each element of the first axes of a value, with an axis for each of the others."""
    rank, more = condition._rank(), value._rank()
    if rank is None or more is None or rank > more:
        raise ValueError(f"the condition has shape {condition.shape}: expected no more axes than {value.shape} has")
    for _ in range(more - rank):
        condition = expand_dims(condition, -1)
    return condition


@export("keras.backend.in_train_phase")
def in_train_phase(
    x: TensorLike | Callable[[], Any], alt: TensorLike | Callable[[], Any], training: TensorLike | None = None
) -> Any:
    """Returns x in training and alt otherwise; both may be functions."""
    phase = learning_phase() if training is None else training
    if isinstance(phase, Tensor | Variable):
        return switch(phase, x, alt)
    return _called(x if phase else alt)


@export("keras.backend.in_test_phase")
def in_test_phase(
    x: TensorLike | Callable[[], Any], alt: TensorLike | Callable[[], Any], training: TensorLike | None = None
) -> Any:
    """Returns x outside of training and alt in training; both may be functions."""
    return in_train_phase(alt, x, training)


@export("keras.backend.map_fn")
def map_fn(
    fn: Callable[..., Any], elems: NestedTensors, name: str | None = None, dtype: DTypeLike | None = None
) -> Any:
    """Returns the results of a function of each element, stacked."""
    return functional.map_fn(fn, elems, dtype, name=name)


@export("keras.backend.foldl")
def foldl(
    fn: Callable[..., Any], elems: NestedTensors, initializer: NestedTensors = None, name: str | None = None
) -> Any:
    """Returns elements reduced by a function of the result so far and the next element, from first to last."""
    return functional.foldl(fn, elems, initializer, name=name)


@export("keras.backend.foldr")
def foldr(
    fn: Callable[..., Any], elems: NestedTensors, initializer: NestedTensors = None, name: str | None = None
) -> Any:
    """Returns elements reduced by a function of the result so far and the next element, from last to first."""
    return functional.foldr(fn, elems, initializer, name=name)
