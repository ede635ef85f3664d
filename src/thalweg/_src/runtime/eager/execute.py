"""Calls of operations in eager execution: what was called before with such arguments runs at once.

This is the path of every eager operation, so it does no more than to find the kernel. A call is known by the kinds of
the tensors among its arguments and by the values of the others: numbers, lists of integers, attributes. A call that was
not made before is converted by `graph/apply.py`, and runs in `EagerGraph.add`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.dtypes import DType
from thalweg._src.graph.apply import results_of
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.op_def import OpDef
from thalweg._src.runtime.eager.binding import Binding, small_value
from thalweg._src.runtime.eager.tape import record_call
from thalweg._src.runtime.eager.tensor import EagerTensor

_MAX_CALLS = 1024  # of one op; beyond it, all are forgotten
_PLAIN = frozenset((int, bool, str, bytes, type(None), DType))
AS_TENSOR: dict[type, Callable[[Any], Any]] = {}  # types with a value that changes, and how to read it: variables


class _CachedCall:
    """A call that ran before.

    fixed_inputs: the inputs that are the same in each such call, None for those that are tensors of the caller
    kind: that of the output, if there is one
    """

    __slots__ = ("binding", "fixed_inputs", "function", "kind")
    tensor = EagerTensor
    record = staticmethod(record_call)

    def __init__(self, binding: Binding, fixed_inputs: Sequence[EagerTensor | None]) -> None:
        self.binding = binding
        self.function = binding.function
        self.kind = binding.kinds[0] if binding.is_single and binding.definition.single_output else None
        self.fixed_inputs = fixed_inputs if any(tensor is not None for tensor in fixed_inputs) else None


def execute(definition: OpDef, args: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Runs an operation; NotImplemented if its arguments have to be converted first."""
    inputs: list[EagerTensor] = []
    try:
        args = [AS_TENSOR[type(value)](value) if type(value) in AS_TENSOR else value for value in args]
        key = (*[_key_of(value, inputs) for value in args], *[(name, _key_of(attrs[name], inputs)) for name in attrs])
        if definition.host_places:
            key += _host_values(definition.host_places, args)
        cached = definition.calls.get(key)
    except _NoKeyError:
        return NotImplemented
    if cached is None:
        return _first_call(definition, args, attrs, key, inputs)
    if cached.fixed_inputs is not None:
        varying = iter(inputs)
        inputs = [next(varying) if tensor is None else tensor for tensor in cached.fixed_inputs]
    if cached.kind is None:
        outputs = cached.binding.run(inputs)
        if stacks.tapes:
            record_call(cached.binding, inputs, outputs)
        return results_of(definition, cached.binding.attrs, outputs)
    try:
        output = EagerTensor(cached.function(*[tensor.value for tensor in inputs]), cached.kind)
    except Exception as error:
        raise cached.binding.explain(error, [tensor.value for tensor in inputs]) from None
    if stacks.tapes:
        record_call(cached.binding, inputs, (output,))
    return output


class _NoKeyError(Exception):
    """An argument that cannot be a key of a call."""


def _key_of(value: Any, inputs: list[EagerTensor]) -> Any:
    """Returns an argument as it stands in the key of a call; adds the tensors in it."""
    kind = type(value)
    if kind is EagerTensor:
        inputs.append(value)
        return value.kind
    if kind in _PLAIN:
        return kind, value
    if kind is float and not math.isnan(value):
        return (kind, value) if value else str(value)  # 0.0 and -0.0 are equal
    if kind is list or kind is tuple:
        return tuple([_key_of(item, inputs) for item in value])
    raise _NoKeyError


def _host_values(places: Sequence[int], args: Sequence[Any]) -> tuple[Any, ...]:
    """Returns the values of tensors that kernels may be bound for, such as shapes."""
    tensors = [args[i] for i in places if i < len(args) and type(args[i]) is EagerTensor]
    values = [small_value(tensor) for tensor in tensors]
    return tuple([None if value is None else (value.shape, value.tobytes()) for value in values])


def _first_call(
    definition: OpDef, args: Sequence[Any], attrs: dict[str, Any], key: tuple[Any, ...], inputs: Sequence[EagerTensor]
) -> Any:
    """Runs an operation, and remembers its kernel."""
    outer = stacks.ran
    ran: list[Any] = []
    stacks.ran = ran
    try:
        result = definition.apply(args, dict(attrs), None)
    finally:
        stacks.ran = outer
    binding: Binding | None = ran[0] if ran else None
    if binding is not None and binding.definition is definition and binding.is_reusable:
        fixed_inputs = _fixed_inputs_of(ran[1], inputs)
        in_key = [args[i] for i in definition.host_places if i < len(args)]
        if fixed_inputs is not None and all(
            fixed_inputs[i] is not None or _is_in(ran[1][i], in_key) for i in binding.fixed
        ):
            if len(definition.calls) >= _MAX_CALLS:
                definition.calls.clear()
            definition.calls[key] = _CachedCall(binding, fixed_inputs)
    return result


def _is_in(tensor: EagerTensor, values: Sequence[Any]) -> bool:
    return any(value is tensor for value in values)


def _fixed_inputs_of(flat: Sequence[EagerTensor], inputs: Sequence[EagerTensor]) -> list[EagerTensor | None] | None:
    """Returns the inputs of the operation that are not tensors of the caller; None if these were converted."""
    left = list(inputs)
    fixed_inputs: list[EagerTensor | None] = []
    for tensor in flat:
        if left and tensor is left[0]:
            fixed_inputs.append(None)
            left.pop(0)
        else:
            fixed_inputs.append(tensor)
    return None if left else fixed_inputs


OpDef.execute = execute
