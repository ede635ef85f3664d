"""Execution callbacks: functions that see each eager operation of a thread after it has run."""

from __future__ import annotations

import contextlib
import enum
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.runtime.eager.operation import EagerOperation
from thalweg._src.runtime.eager.tensor import EagerTensor

Callback = Callable[[str, Sequence[EagerTensor], tuple[Any, ...], Sequence[EagerTensor], str | None], None]


@export("contrib.eager.ExecutionCallback")
class ExecutionCallback(enum.Enum):
    """What is done when an operation returns an infinity or NaN."""

    IGNORE = "ignore"
    PRINT = "print"
    RAISE = "raise"
    WARN = "warn"


class InfOrNanError(Exception):
    """An operation returned an infinity or NaN."""

    def __init__(
        self, op_type: str, op_name: str | None, output_index: int, num_outputs: int, value: EagerTensor
    ) -> None:
        self._op_type = op_type
        self._op_name = op_name
        self._output_index = output_index
        self._num_outputs = num_outputs
        self._value = value
        super().__init__(str(self))

    op_type = property(lambda self: self._op_type, doc="The type of the operation.")
    op_name = property(lambda self: self._op_name, doc="The name that the operation was given.")
    output_index = property(lambda self: self._output_index, doc="Which output it is.")
    num_outputs = property(lambda self: self._num_outputs, doc="How many outputs the operation has.")
    value = property(lambda self: self._value, doc="The output.")

    def __str__(self) -> str:
        named = f' (name: "{self._op_name}")' if self._op_name else ""
        elements = self._value.value
        infinite, not_numbers = int(torch.isinf(elements).sum()), int(torch.isnan(elements).sum())
        kinds = [text for count, text in ((infinite, "inf"), (not_numbers, "nan")) if count]
        return (
            f"Output {self._output_index} of {self._num_outputs} of the {self._op_type} operation{named} contains "
            f"{' and '.join(kinds)}: {infinite} inf and {not_numbers} nan among {elements.numel()} elements"
        )


@export("contrib.eager.inf_nan_callback")
def inf_nan_callback(
    op_type: str,
    inputs: Sequence[EagerTensor],
    attrs: tuple[Any, ...],
    outputs: Sequence[EagerTensor],
    op_name: str | None,
    check_inf: bool = True,
    check_nan: bool = True,
    action: ExecutionCallback = ExecutionCallback.RAISE,
) -> None:
    """Looks for infinities and NaN in the outputs of an operation; raises, prints or warns about the first."""
    action = ExecutionCallback(action)
    for index, tensor in enumerate(outputs):
        require_kind("outputs", tensor, EagerTensor, "eager tensors")
        if not (tensor.dtype.is_floating or tensor.dtype.is_complex) or action is ExecutionCallback.IGNORE:
            continue
        is_bad = (check_inf and torch.isinf(tensor.value).any()) or (check_nan and torch.isnan(tensor.value).any())
        if not is_bad:
            continue
        error = InfOrNanError(op_type, op_name, index, len(outputs), tensor)
        if action is ExecutionCallback.RAISE:
            raise error
        if action is ExecutionCallback.WARN:
            warnings.warn(str(error), stacklevel=2)
        else:
            print(f"Warning: {error}")


inf_callback = export("contrib.eager.inf_callback")(functools.partial(inf_nan_callback, check_nan=False))
nan_callback = export("contrib.eager.nan_callback")(functools.partial(inf_nan_callback, check_inf=False))


@export("contrib.eager.add_execution_callback")
def add_execution_callback(callback: Callback) -> None:
    """Calls a function after each eager operation of this thread, with its type, inputs, attributes, outputs, name."""
    stacks.callbacks = (*stacks.callbacks, callback)
    stacks.refresh()


@export("contrib.eager.clear_execution_callbacks")
def clear_execution_callbacks() -> None:
    """Calls no function after operations of this thread any more."""
    stacks.callbacks = ()
    stacks.refresh()


@export("contrib.eager.seterr")
def seterr(inf_or_nan: object = None) -> dict[str, ExecutionCallback]:
    """Sets what is done when an operation returns an infinity or NaN; returns the setting before."""
    before = next((c.keywords["action"] for c in stacks.callbacks if _is_setting(c)), ExecutionCallback.IGNORE)
    if inf_or_nan is not None:
        action = ExecutionCallback(inf_or_nan)
        others = tuple(callback for callback in stacks.callbacks if not _is_setting(callback))
        checks = action is not ExecutionCallback.IGNORE
        stacks.callbacks = (*others, functools.partial(inf_nan_callback, action=action)) if checks else others
        stacks.refresh()
    return {"inf_or_nan": before}


def _is_setting(callback: object) -> bool:
    return isinstance(callback, functools.partial) and "action" in callback.keywords


@export("contrib.eager.errstate")
@contextlib.contextmanager
def errstate(inf_or_nan: object = None) -> Iterator[None]:
    """Context manager: sets what is done when an operation returns an infinity or NaN."""
    before = seterr(inf_or_nan)
    try:
        yield
    finally:
        seterr(**before)


def call_back(operation: EagerOperation, name: str | None) -> None:
    """Calls the functions of this thread with an operation that has run."""
    attrs = tuple(name_or_value for item in operation.attrs.items() for name_or_value in item)
    callbacks, stacks.callbacks = stacks.callbacks, ()  # they may call operations themselves
    try:
        for callback in callbacks:
            callback(operation.type, operation.inputs, attrs, operation.outputs, name)
    finally:
        stacks.callbacks = callbacks
