"""Boolean operators, comparisons and assertions in converted code."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from thalweg._src.graph.autograph import effects
from thalweg._src.graph.autograph.conditionals import if_exp
from thalweg._src.graph.autograph.values import predicate, symbolic
from thalweg._src.graph.control_flow.structures import value_of
from thalweg._src.graph.ops.comparison import equal, logical_not, not_equal
from thalweg._src.graph.ops.printing import Assert

Operand = Callable[[], Any]


def and_(first: Operand, *rest: Operand) -> Any:
    """Returns the value of `first and rest`; operands are evaluated only as far as they are needed."""
    value = first()
    if not rest:
        return value
    # Only what decides is evaluated, as in Python: the other operands belong to the branch of a conditional.
    if symbolic(value):
        return if_exp(value, lambda: and_(*rest), lambda: value)
    return and_(*rest) if value else value


def or_(first: Operand, *rest: Operand) -> Any:
    """Returns the value of `first or rest`; operands are evaluated only as far as they are needed."""
    value = first()
    if not rest:
        return value
    if symbolic(value):
        return if_exp(value, lambda: value, lambda: or_(*rest))
    return value if value else or_(*rest)


def not_(value: object) -> Any:
    """Returns the value of `not value`."""
    return logical_not(value_of(value)) if symbolic(value) else not value


def eq(left: Any, right: Any) -> Any:
    """Returns the value of `left == right`, for tensors that of their elements."""
    return equal(left, right) if _compares_elements(left, right) else left == right


def ne(left: Any, right: Any) -> Any:
    """Returns the value of `left != right`, for tensors that of their elements."""
    return not_equal(left, right) if _compares_elements(left, right) else left != right


def _compares_elements(left: object, right: object) -> bool:
    return (symbolic(left) or symbolic(right)) and left is not None and right is not None


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": eq,
    "ne": ne,
    "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
    **{name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "is_", "is_not")},
}


def compare(names: tuple[str, ...], left: object, *operands: Operand) -> Any:
    """Returns the value of a chain of comparisons, such as `a < b <= c`."""
    right = operands[0]()
    result = _COMPARISONS[names[0]](left, right)
    if len(names) == 1:
        return result
    return and_(lambda: result, lambda: compare(names[1:], right, *operands[1:]))


def assert_stmt(condition: object, message: Operand) -> None:
    """Runs an `assert` statement; for a tensor the step fails if it is false."""
    if symbolic(condition):
        with effects.ordered():
            text = message()
            effects.effect(Assert(predicate(condition, "assert"), ["Assertion error" if text is None else text]))
    elif not condition:
        text = message()
        raise AssertionError() if text is None else AssertionError(text)
