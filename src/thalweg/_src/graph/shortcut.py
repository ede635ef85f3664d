"""Shortcuts: functions of two tensors that in eager execution call the kernel of an op without steps in between."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.dispatch import ERRORS, implementation_for
from thalweg._src.graph.op_def import OpDef

F = TypeVar("F", bound=Callable[..., Any])
_new = object.__new__  # a call of the class would take a frame for its __init__


class CachedCall(Protocol):
    """What eager execution keeps of a call: the kernel that it has bound to the types and devices of the inputs."""

    tensor: type[Any]  # the class of tensors with a value
    kind: Any  # that of the output: type and device
    binding: Any
    function: Callable[..., Any]  # the kernel
    record: Callable[..., None]  # on the tapes


def shortcut(definition: OpDef) -> Callable[[F], F]:
    """Decorator: `dispatches` for a function of x and y that calls one op for all types that the op supports.

    If the op was called with such tensors before, its kernel is called at once.
    """
    calls: dict[Any, CachedCall] = definition.calls

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(x: Any, y: Any, name: str | None = None) -> Any:
            if stacks.is_plain and type(x) is type(y):
                try:
                    cached = calls[x.kind, y.kind]
                except (AttributeError, KeyError):  # they are no tensors, or the call is a new one
                    pass
                else:
                    output = _new(cached.tensor)
                    try:
                        output.value = cached.function(x.value, y.value)
                    except Exception as error:
                        raise cached.binding.explain(error, [x.value, y.value]) from None
                    output.kind = cached.kind
                    if stacks.tapes:
                        cached.record(cached.binding, (x, y), (output,))
                    return output
            try:
                return function(x, y, name)
            except ERRORS:
                implementation = implementation_for(call, (x, y), {})
                if implementation is None:
                    raise
            return implementation(x, y, name=name)

        return cast(F, call)

    return decorate
