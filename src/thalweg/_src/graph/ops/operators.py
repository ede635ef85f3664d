"""Python operators of tensors, and of other objects that convert to one, such as variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.ops import comparison, math
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.shortcut import shortcut
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

Operator = Callable[..., Any]

# Operands of these types have no operators for tensors, so our error is more helpful than their NotImplemented.
_PLAIN = (Tensor, bool, int, float, complex, str, bytes, list, tuple, np.ndarray, np.generic)


def _and(x: Tensor, y: TensorLike, name: str) -> Tensor:
    return (comparison.logical_and if _is_logical(x, y) else comparison.bitwise_and)(x, y, name=name)


def _or(x: Tensor, y: TensorLike, name: str) -> Tensor:
    return (comparison.logical_or if _is_logical(x, y) else comparison.bitwise_or)(x, y, name=name)


def _xor(x: Tensor, y: TensorLike, name: str) -> Tensor:
    return (comparison.logical_xor if _is_logical(x, y) else comparison.bitwise_xor)(x, y, name=name)


def _is_logical(x: Any, y: Any) -> bool:
    tensor: Tensor = x if isinstance(x, Tensor) else y
    return tensor.dtype.is_bool


_ARITHMETIC: dict[str, tuple[Operator, str]] = {
    "add": (math.add, "add"),
    "sub": (math.subtract, "sub"),
    "mul": (math.multiply, "mul"),
    "div": (math.div, "div"),
    "truediv": (math.truediv, "truediv"),
    "floordiv": (math.floordiv_op, "floordiv"),
    "mod": (math.floormod, "mod"),
    "pow": (math.pow, "pow"),
    "matmul": (matmul, "matmul"),
    "and": (_and, "and"),
    "or": (_or, "or"),
    "xor": (_xor, "xor"),
}
_COMPARISONS: dict[str, tuple[Operator, str]] = {
    "lt": (comparison.less, "Less"),
    "le": (comparison.less_equal, "LessEqual"),
    "gt": (comparison.greater, "Greater"),
    "ge": (comparison.greater_equal, "GreaterEqual"),
}
_REFLECTED_COMPARISON = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _negative(x: Tensor) -> Tensor:
    return math.negative(x)


def _absolute(x: Tensor) -> Any:
    return math.abs(x)


def _invert(x: Tensor) -> Tensor:
    return comparison.logical_not(x) if x.dtype.is_bool else comparison.invert(x)


# Those that are one op for all types that the op supports.
_SHORTCUTS: dict[str, OpDef] = {
    "add": math.add_v2_op,
    "sub": math.subtract_op,
    "mul": math.multiply_op,
    "pow": math.pow,
    "lt": comparison.less,
    "le": comparison.less_equal,
    "gt": comparison.greater,
    "ge": comparison.greater_equal,
}


def _forward(key: str, function: Operator, name: str, reflected: str) -> Operator:
    """Returns `x op y`; an operand of an unknown type with the reflected operator takes precedence."""

    def operator(x: Any, y: Any, _: Any = None) -> Any:
        try:
            return function(x, y, name=name)
        except TypeError:
            if isinstance(y, _PLAIN) or not hasattr(type(y), reflected):
                raise
            return NotImplemented

    return shortcut(_SHORTCUTS[key])(operator) if key in _SHORTCUTS else operator


def _backward(function: Operator, name: str) -> Operator:
    """Returns `x op y` when Python calls y's reflected operator, since x does not implement it."""

    def operator(y: Any, x: Any) -> Any:
        return function(x, y, name=name)

    return operator


def _operators() -> dict[str, Operator]:
    result: dict[str, Operator] = {"__neg__": _negative, "__abs__": _absolute, "__invert__": _invert}
    for key, (function, name) in _ARITHMETIC.items():
        result[f"__{key}__"] = _forward(key, function, name, f"__r{key}__")
        result[f"__r{key}__"] = _backward(function, name)
    for key, (function, name) in _COMPARISONS.items():
        result[f"__{key}__"] = _forward(key, function, name, f"__{_REFLECTED_COMPARISON[key]}__")
    return result


def _by_value(operator: Operator, special: str) -> Operator:
    """Returns an operator for objects that represent a tensor, such as variables."""

    def method(x: Any, *operands: Any) -> Any:
        return operator(convert_to_tensor(x), *operands)

    method.__name__ = special
    return method


OPERATORS = _operators()


def install_operators(cls: type) -> None:
    """Installs the operators of tensors on a class that converts to tensors."""
    for special, operator in OPERATORS.items():
        setattr(cls, special, _by_value(operator, special))


for _special, _operator in OPERATORS.items():
    Tensor._override_operator(_special, _operator)
