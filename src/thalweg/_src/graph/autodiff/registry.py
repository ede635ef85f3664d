"""The gradient registry: maps op types to the functions that build their gradients."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.registry import Loader, Registry
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.tensor import Tensor

Gradient = Tensor | IndexedSlices
GradientFunction = Callable[..., Any]

_RULES = "thalweg._src.graph.autodiff.rules"
GRADIENTS: Registry[GradientFunction | None] = Registry("gradient", Loader(_RULES))


@export("RegisterGradient")
class RegisterGradient:
    """Decorator that registers `def rule(op, *output_gradients) -> input_gradients`; None means no gradient.

    A gradient may be returned as a function without arguments, which is called only if the gradient is needed.
    """

    def __init__(self, *op_types: str) -> None:
        if not all(isinstance(op_type, str) for op_type in op_types):
            raise TypeError("op_type must be a string")
        self._op_types = op_types

    def __call__(self, function: GradientFunction) -> GradientFunction:
        """Registers a gradient function and returns it."""
        for op_type in self._op_types:
            GRADIENTS.register(op_type, function, function.__module__)
        return function


gradient = RegisterGradient


@export("NoGradient", "NotDifferentiable", "no_gradient")
def no_gradient(*op_types: str) -> None:
    """Registers op types as not differentiable."""
    caller = sys._getframe(1).f_globals["__name__"]
    for op_type in op_types:
        GRADIENTS.register(op_type, None, caller)


def is_library_rule(definition: OpDef, attrs: dict[str, Any]) -> bool:
    """Returns whether the gradient of an operation is one of this library, which consists of operations alone."""
    # A gradient of the user's may do anything, such as calling Python or keeping state, and must run as it is written.
    if "_gradient_op_type" in attrs or (definition.stateful and not definition.facts.reads):
        return False
    rule = GRADIENTS.get(definition.name) if definition.name in GRADIENTS else None
    return rule is None or rule.__module__.startswith(_RULES)


def as_list(result: Any, count: int) -> list[Any]:
    """Returns a gradient function's result as one gradient per input."""
    if count == 1 and not isinstance(result, list | tuple):
        return [result]
    return list(result)
